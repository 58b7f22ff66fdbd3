// The C API: makes and reads values other than tensors.
#include <algorithm>
#include <cstring>

#include "capi.h"
#include "values/dict.h"
#include "values/list.h"
#include "values/plain_text.h"

using namespace scriptlang;
using namespace scriptlang::capi;

namespace scriptlang::capi {

sl_kind kind_of(Tag tag) {
  switch (tag) {  // numbers of tags may change, those of sl_kind may not
    case Tag::None: return SL_NONE;
    case Tag::Bool: return SL_BOOL;
    case Tag::Int: return SL_INT;
    case Tag::Double: return SL_DOUBLE;
    case Tag::Device: return SL_DEVICE;
    case Tag::Text:
    case Tag::String: return SL_STRING;
    case Tag::Complex: return SL_COMPLEX;
    case Tag::Tensor: return SL_TENSOR;
    case Tag::List: return SL_LIST;
    case Tag::Dict: return SL_DICT;
    case Tag::Tuple: return SL_TUPLE;
    case Tag::Object: return SL_OBJECT;
    case Tag::Enum: return SL_ENUM;
    case Tag::Generator: return SL_GENERATOR;
    case Tag::Future: return SL_FUTURE;
  }
  return SL_NONE;
}

}  // namespace scriptlang::capi

// ---- making

void sl_value_release(sl_value* value) {
  Outside outside;
  delete value;
}
sl_value* sl_value_share(const sl_value* value) {
  if (!value) return nullptr;
  sl_value* handle = made([&] { return value->value; });
  if (handle) handle->domain = value->domain;
  return handle;
}
sl_value* sl_value_none(void) {
  return made([] { return Value(); });
}
sl_value* sl_value_bool(int v) {
  return made([&] { return Value(v != 0); });
}
sl_value* sl_value_int(int64_t v) {
  return made([&] { return Value(v); });
}
sl_value* sl_value_double(double v) {
  return made([&] { return Value(v); });
}
sl_value* sl_value_complex(double real, double imaginary) {
  return made([&] { return Value(std::complex<double>(real, imaginary)); });
}
sl_value* sl_value_string(const char* utf8, size_t size) {
  return made([&] {
    need(utf8, size > 0);
    if (!is_utf8({utf8, size})) raise(ErrorKind::ValueError, "the text is not UTF-8");
    return Value(size ? std::string(utf8, size) : std::string());
  });
}
sl_value* sl_value_device(const char* name) {
  return made([&] {
    need(name);
    return Value(parse_device(name));
  });
}
sl_value* sl_value_generator(uint64_t seed) {
  return made([&] {
    Ref<Generator> generator = Generator::make();
    generator->manual_seed(seed);
    return Value(std::move(generator));
  });
}
namespace {

// Like made(), for a container: it gets the domain of its items.
template <class F>
sl_value* made_of(sl_value* const* items, size_t count, F&& body) noexcept {
  DomainRef domain;
  sl_value* handle = made([&] {
    check_count(items, count);
    for (size_t k = 0; k < count; ++k) join_domain(&domain, items[k]);
    return body();
  });
  if (handle) handle->domain = std::move(domain);
  return handle;
}

}  // namespace

sl_value* sl_value_list(sl_value* const* items, size_t count) {
  return made_of(items, count, [&] { return Value(List::make(values_of(items, count))); });
}
sl_value* sl_value_tuple(sl_value* const* items, size_t count) {
  return made_of(items, count, [&] { return Value(Tuple::make(values_of(items, count))); });
}
sl_value* sl_value_dict(sl_value* const* keys, sl_value* const* values, size_t count) {
  return made_of(values, count, [&] {
    std::vector<Value> named = values_of(keys, count), held = values_of(values, count);
    Ref<Dict> dict = Dict::make();
    for (size_t k = 0; k < count; ++k) dict->set(named[k], held[k]);
    return Value(std::move(dict));
  });
}

// ---- reading

sl_kind sl_value_kind(const sl_value* value) {
  return value ? kind_of(value->value.tag()) : SL_NONE;
}
sl_status sl_value_get_bool(const sl_value* value, int* out) {
  if (!value || !out || !value->value.is_bool()) return SL_INVALID_ARGUMENT;
  *out = value->value.as_bool();
  return SL_OK;
}
sl_status sl_value_get_int(const sl_value* value, int64_t* out) {
  if (!value || !out || !value->value.is_int()) return SL_INVALID_ARGUMENT;
  *out = value->value.as_int();
  return SL_OK;
}
sl_status sl_value_get_double(const sl_value* value, double* out) {
  if (!value || !out) return SL_INVALID_ARGUMENT;
  if (!value->value.is_double() && !value->value.is_int()) return SL_INVALID_ARGUMENT;
  *out = value->value.is_int() ? double(value->value.as_int()) : value->value.as_double();
  return SL_OK;
}
sl_status sl_value_get_complex(const sl_value* value, double* real, double* imaginary) {
  if (!value || !real || !imaginary) return SL_INVALID_ARGUMENT;
  double number;
  if (sl_value_get_double(value, &number) == SL_OK) {
    *real = number;
    *imaginary = 0;
    return SL_OK;
  }
  if (!value->value.is_complex()) return SL_INVALID_ARGUMENT;
  *real = value->value.as_complex().real();
  *imaginary = value->value.as_complex().imag();
  return SL_OK;
}
sl_status sl_value_get_string(const sl_value* value, const char** utf8, size_t* size) {
  if (!value || !utf8 || !value->value.is_string()) return SL_INVALID_ARGUMENT;
  *utf8 = value->value.as_string().data();
  if (size) *size = value->value.as_string().size();
  return SL_OK;
}

namespace {

// The number of parts that item_of() can return; 0 for other values.
size_t length_of(const Value& v) {
  switch (kind_of(v.tag())) {
    case SL_LIST: return v.as_list().size();
    case SL_TUPLE: return v.as_tuple().items.size();
    case SL_OBJECT: return v.as_object().slots.size();
    case SL_ENUM: return 2;
    default: return 0;
  }
}

Value item_of(const Value& v, size_t index) {
  switch (kind_of(v.tag())) {
    case SL_LIST: return v.as_list().get(index);
    case SL_TUPLE: return v.as_tuple().items[index];
    case SL_OBJECT: return v.as_object().slots[index];
    default: return index == 0 ? Value(v.as_enum().known_name()) : v.as_enum().value;
  }
}

// An entry of a dict by its position in insertion order; null beyond the last.
const Dict::Entry* entry_of(const Dict& dict, size_t index) {
  const Dict::Entry* entry = nullptr;
  for (size_t cursor = 0; dict.next(&cursor, &entry);) {
    if (index-- == 0) return entry;
  }
  return nullptr;
}

const Dict::Entry* entry_at(const sl_value* dict, size_t index) {
  return dict && dict->value.is_dict() ? entry_of(dict->value.as_dict(), index) : nullptr;
}

}  // namespace

size_t sl_value_length(const sl_value* value) {
  if (!value) return 0;
  size_t length = 0;
  guarded(nullptr, [&] {
    Look look(value);
    bool is_dict = value->value.is_dict();
    length = is_dict ? size_t(value->value.as_dict().size()) : length_of(value->value);
  });
  return length;
}
sl_value* sl_value_item(const sl_value* value, size_t index) {
  if (!value) return nullptr;
  return made_in(value, [&] {
    if (index < length_of(value->value)) return item_of(value->value, index);
    const Dict::Entry* entry = entry_at(value, index);
    need(entry);
    return entry->value;
  });
}
sl_value* sl_value_key(const sl_value* dict, size_t index) {
  if (!dict) return nullptr;
  return made_in(dict, [&] {
    const Dict::Entry* entry = entry_at(dict, index);
    need(entry);
    return entry->key;
  });
}
const char* sl_value_field(const sl_value* value, size_t index) {
  if (index >= sl_value_length(value) || value->value.is_dict()) return nullptr;
  const Value& v = value->value;
  if (v.is_object()) {
    const std::vector<std::string>& names = v.as_object().type->attributes;
    return index < names.size() ? names[index].c_str() : nullptr;
  }
  if (v.is_enum()) return index == 0 ? "name" : "value";
  if (!v.is_tuple() || !v.as_tuple().named) return nullptr;
  const std::vector<std::string>& fields = v.as_tuple().named->fields;
  return index < fields.size() ? fields[index].c_str() : nullptr;
}
sl_value* sl_value_member(const sl_value* value, const char* name) {
  if (!value || !name) return nullptr;
  for (size_t k = 0; const char* field = sl_value_field(value, k); ++k) {
    if (std::strcmp(field, name) == 0) return sl_value_item(value, k);
  }
  return nullptr;
}
const char* sl_value_class(const sl_value* value) {
  if (!value) return "";
  const Value& v = value->value;
  if (v.is_object()) return v.as_object().type->name.c_str();
  if (v.is_enum()) return v.as_enum().type->name.c_str();
  return v.is_tuple() && v.as_tuple().named ? v.as_tuple().named->name.c_str() : "";
}

sl_status sl_value_text(const sl_value* value, char** text, size_t* size) {
  if (text) *text = nullptr;
  if (size) *size = 0;
  if (!text) return SL_INVALID_ARGUMENT;
  return guarded(nullptr, [&] {
    Look look(value);
    memory::LimitScope bound(kMostText);
    std::string printed = to_text(value ? value->value : Value());
    give_text(printed, text, size);
  });
}
