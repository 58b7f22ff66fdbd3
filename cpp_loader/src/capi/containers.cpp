// The C API: reads and changes lists and dicts in place.
#include "capi.h"
#include "values/dict.h"
#include "values/list.h"

using namespace scriptlang;
using namespace scriptlang::capi;

namespace {

// Holds the lock of a container while it is changed. Joins the domain of an item that is put into
// it.
class Change {
 public:
  Change(sl_value* container, const sl_value* item) {
    join_domain(&container->domain, item);
    if (container->domain) turn_.look(container->domain.get(), true);
  }

 private:
  Turn turn_;
};

const Value& value_in(const sl_value* handle) {
  static const Value* const none = new Value();  // a null handle
  return handle ? handle->value : *none;
}

// Whether a value can be put into a container whose items have a declared type, or null. An int is
// converted to a float if that is declared. A container cannot be put into itself.
bool fits(const sl_value* container, const sl_value* given, const TypeRef& type, Value* value) {
  *value = value_in(given);
  if (type && type->kind == TypeKind::Float && value->is_int()) {
    *value = Value(double(value->as_int()));
  }
  return (!type || matches(*value, *type)) && !reaches(*value, container->value);
}

// Whether a value can be a key of a dict.
bool is_key(const Value& key) {
  switch (key.tag()) {
    case Tag::None:
    case Tag::List:
    case Tag::Dict:
    case Tag::Tuple:
    case Tag::Object:
    case Tag::Generator:
    case Tag::Future: return false;
    default: return true;
  }
}

bool is_dict(const sl_value* handle) { return handle && handle->value.is_dict(); }
bool is_list(const sl_value* handle) { return handle && handle->value.is_list(); }

// Calls a body. Returns SL_INVALID_ARGUMENT if it returns false, and a status if it throws.
template <class F>
sl_status agreed(F&& body) noexcept {
  bool good = true;
  sl_status status = guarded(nullptr, [&] { good = body(); });
  return good ? status : SL_INVALID_ARGUMENT;
}

// A handle of a part of a container. The caller must hold the lock of the container.
sl_value* part_of(const sl_value* whole, const Value& value) {
  auto handle = std::make_unique<sl_value>();
  handle->value = value;
  if (is_open(value)) handle->domain = whole->domain;
  return handle.release();
}

}  // namespace

sl_status sl_dict_get(const sl_value* dict, const sl_value* key, sl_value** value) {
  if (value) *value = nullptr;
  if (!is_dict(dict) || !value || !is_key(value_in(key))) return SL_INVALID_ARGUMENT;
  return guarded(nullptr, [&] {
    Look look(dict);
    const Value* found = dict->value.as_dict().find(value_in(key));
    if (found) *value = part_of(dict, *found);
  });
}

sl_status sl_dict_set(sl_value* dict, const sl_value* key, const sl_value* value) {
  if (!is_dict(dict) || !is_key(value_in(key))) return SL_INVALID_ARGUMENT;
  return agreed([&] {
    Change change(dict, value);
    Dict& held = dict->value.as_dict();
    Value name, item;
    bool good = fits(dict, key, held.key_type, &name) && fits(dict, value, held.value_type, &item);
    if (good) held.set(name, std::move(item));
    return good;
  });
}

sl_status sl_dict_remove(sl_value* dict, const sl_value* key) {
  if (!is_dict(dict) || !is_key(value_in(key))) return SL_INVALID_ARGUMENT;
  return guarded(nullptr, [&] {
    Change change(dict, nullptr);
    dict->value.as_dict().erase(value_in(key));
  });
}

sl_status sl_dict_next(const sl_value* dict, size_t* cursor, sl_value** key, sl_value** value) {
  if (key) *key = nullptr;
  if (value) *value = nullptr;
  if (!is_dict(dict) || !cursor || !key || !value) return SL_INVALID_ARGUMENT;
  return guarded(nullptr, [&] {
    Look look(dict);
    const Dict::Entry* entry;
    size_t next = *cursor;
    if (!dict->value.as_dict().next(&next, &entry)) return;
    std::unique_ptr<sl_value> first(part_of(dict, entry->key));
    *value = part_of(dict, entry->value);
    *key = first.release();
    *cursor = next;
  });
}

sl_status sl_list_set(sl_value* list, size_t index, const sl_value* value) {
  if (!is_list(list)) return SL_INVALID_ARGUMENT;
  return agreed([&] {
    Change change(list, value);
    List& held = list->value.as_list();
    Value item;
    bool good = index < held.size() && fits(list, value, held.element, &item);
    if (good) held.set(index, std::move(item));
    return good;
  });
}

sl_status sl_list_append(sl_value* list, const sl_value* value) {
  if (!is_list(list)) return SL_INVALID_ARGUMENT;
  return agreed([&] {
    Change change(list, value);
    List& held = list->value.as_list();
    Value item;
    bool good = fits(list, value, held.element, &item);
    if (good) held.push(std::move(item));
    return good;
  });
}

sl_status sl_list_remove(sl_value* list, size_t index) {
  if (!is_list(list)) return SL_INVALID_ARGUMENT;
  return agreed([&] {
    Change change(list, nullptr);
    List& held = list->value.as_list();
    bool good = index < held.size();
    if (good) held.take(index);
    return good;
  });
}

namespace {

template <class T>
sl_status numbers_of(const sl_value* list, List::Kind kind, T* (List::*numbers)() const noexcept,
                     const T** data, size_t* count) {
  if (data) *data = nullptr;
  if (count) *count = 0;
  if (!is_list(list) || !data || !count) return SL_INVALID_ARGUMENT;
  return agreed([&] {
    Look look(list);
    const List& held = list->value.as_list();
    if (held.empty()) return true;
    if (held.kind() != kind) return false;
    *data = (held.*numbers)();
    *count = held.size();
    return true;
  });
}

}  // namespace

sl_status sl_list_ints(const sl_value* list, const int64_t** data, size_t* count) {
  return numbers_of(list, List::Kind::Ints, &List::ints, data, count);
}
sl_status sl_list_doubles(const sl_value* list, const double** data, size_t* count) {
  return numbers_of(list, List::Kind::Floats, &List::floats, data, count);
}
