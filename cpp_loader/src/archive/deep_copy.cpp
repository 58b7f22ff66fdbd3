// Deep copies: copies each object, container, tensor and storage once. See deep_copy.h.
#include "deep_copy.h"

#include <cstring>
#include <unordered_map>

#include "values/dict.h"
#include "values/list.h"
#include "values/quantizer.h"
#include "values/raw_view.h"

namespace scriptlang {

namespace {

constexpr int kMostNested = 2000;

class Copier {
 public:
  ~Copier() {
    for (auto& [original, copy] : storages_) copy->release();
  }

  Value copied(const Value& value, int depth = 0) {
    if (depth > kMostNested) raise(ErrorKind::RuntimeError, "the module is nested too deeply");
    switch (value.tag()) {
      case Tag::Tensor:
      case Tag::List:
      case Tag::Dict:
      case Tag::Tuple:
      case Tag::Object: break;
      default: return value;
    }
    auto known = copies_.find(value.bits());
    if (known != copies_.end()) return known->second;
    if (value.is_list()) return list(value, depth);
    if (value.is_dict()) return dict(value, depth);
    if (value.is_object()) return object(value, depth);
    Value made = value.is_tensor() ? Value(tensor(value.as_tensor())) : tuple(value, depth);
    return keep(value, std::move(made));
  }

 private:
  const Value& keep(const Value& value, Value made) {
    return copies_.emplace(value.bits(), std::move(made)).first->second;
  }

  // Copies of lists, dicts and objects are noted before their contents are copied, because they may
  // contain themselves.
  Value list(const Value& value, int depth) {
    const List& from = value.as_list();
    Ref<List> made = List::make({}, from.element);
    Value copy(made);
    keep(value, copy);
    if (from.kind() != List::Kind::Values) {
      made->extend(from);
      return copy;
    }
    for (size_t k = 0; k < from.size(); ++k) made->push(copied(from.get(k), depth + 1));
    return copy;
  }
  Value dict(const Value& value, int depth) {
    const Dict& from = value.as_dict();
    Ref<Dict> made = Dict::make(from.key_type, from.value_type);
    Value copy(made);
    keep(value, copy);
    const Dict::Entry* entry;
    for (size_t cursor = 0; from.next(&cursor, &entry);) {
      made->set(copied(entry->key, depth + 1), copied(entry->value, depth + 1));
    }
    return copy;
  }
  Value tuple(const Value& value, int depth) {
    std::vector<Value> items;
    for (const Value& item : value.as_tuple().items) items.push_back(copied(item, depth + 1));
    return Value(Tuple::make(std::move(items), value.as_tuple().named));
  }
  Value object(const Value& value, int depth) {
    const Object& from = value.as_object();
    Ref<Object> made = Object::make(from.type);
    if (from.slots.size() > made->slots.size()) made->grow(from.slots.size());
    made->slots.resize(from.slots.size());  // an object that is still to be restored has fewer
    Value copy(made);
    keep(value, copy);
    for (size_t k = 0; k < from.slots.size(); ++k) {
      made->slots[k] = copied(from.slots[k], depth + 1);
    }
    return copy;
  }

  Tensor tensor(const Tensor& t) {
    Storage* whole = storage(t.storage());
    const int64_t at = t.storage_offset();
    // Nothing has to be checked: the original has the same sizes and strides on as much memory.
    Tensor made = unchecked_on_storage(whole, t.dtype(), t.sizes(), t.strides(), at);
    made.impl()->requires_grad = t.requires_grad();
    if (t.quantizer()) set_quantizer(made, t.quantizer());
    return made;
  }
  Storage* storage(Storage* from) {
    auto [known, fresh] = storages_.try_emplace(from, nullptr);
    if (!fresh) return known->second;
    Storage* made;
    try {
      made = Storage::allocate(from->nbytes());
    } catch (...) {
      storages_.erase(known);
      throw;
    }
    if (from->nbytes()) std::memcpy(made->data(), from->data(), size_t(from->nbytes()));
    return known->second = made;
  }

  std::unordered_map<uint64_t, Value> copies_;
  std::unordered_map<Storage*, Storage*> storages_;
};

}  // namespace

Value deep_copy(const Value& value) { return Copier().copied(value); }

}  // namespace scriptlang
