// Dicts, with one overload per key type. Key types are checked when a dict is made.
#include "kernels/thread_object.h"
#include "values/type.h"
#include "language.h"

namespace scriptlang {

namespace {

// A list of pick(entry) for each entry.
template <class Pick>
Value list_of(const Dict& dict, const TypeRef& element, const Pick& pick) {
  const Dict::Entry* entry;
  size_t cursor = 0;
  if (!dict.next(&cursor, &entry)) return List::make({}, element);
  Value item = pick(*entry);
  Ref<List> list = List::with_room(size_t(dict.size()), item.tag(), element);
  list->push(std::move(item));
  while (dict.next(&cursor, &entry)) list->append(pick(*entry));
  return list;
}

Value keys(const Dict& dict) {
  return list_of(dict, dict.key_type, [](const Dict::Entry& e) { return e.key; });
}

Value values(const Dict& dict) {
  return list_of(dict, dict.value_type, [](const Dict::Entry& e) { return e.value; });
}

// The type of a dict's items, with a thread-local cache of the last one.
TypeRef pair_of(const TypeRef& key, const TypeRef& value) {
  if (!key || !value) return {};
  struct Last {
    TypeRef type;
  };
  TypeRef& last = thread_object<Last>().type;
  bool again =
      last && last->elements[0].get() == key.get() && last->elements[1].get() == value.get();
  if (!again) last = Type::make(TypeKind::Tuple, {key, value});
  return last;
}

Value items_of(const Dict& dict) {
  return list_of(dict, pair_of(dict.key_type, dict.value_type), [](const Dict::Entry& e) {
    Ref<Tuple> pair = Tuple::with_room(2);
    pair->add(e.key);
    pair->add(e.value);
    return Value(std::move(pair));
  });
}

Value copy(const Dict& dict) {
  Ref<Dict> made = Dict::make(dict.key_type, dict.value_type);
  const Dict::Entry* entry;
  for (size_t cursor = 0; dict.next(&cursor, &entry);) made->set(entry->key, entry->value);
  return made;
}

Value from_pairs(const List& pairs) {
  TypeRef key, value;
  if (pairs.element && pairs.element->elements.size() == 2) {
    key = pairs.element->elements[0];
    value = pairs.element->elements[1];
  }
  Ref<Dict> made = Dict::make(key, value);
  for (const Value& pair : pairs) {
    const Tuple::Items& items = pair.as_tuple().items;
    if (items.size() != 2) raise(ErrorKind::RuntimeError, "a dict is made of pairs");
    made->set(items[0], items[1]);
  }
  return made;
}

void update(Dict& dict, Dict& added) {
  if (&dict == &added) return;
  const Dict::Entry* entry;
  for (size_t cursor = 0; added.next(&cursor, &entry);) dict.set(entry->key, entry->value);
}

Value pop(Dict& dict, const Value& key) {
  Value value = language::dict_index(dict, key);
  dict.erase(key);
  return value;
}

// Removes the first entry, as PyTorch does.
Value pop_item(Dict& dict) {
  const Dict::Entry* entry;
  size_t cursor = 0;
  if (!dict.next(&cursor, &entry)) {
    raise(ErrorKind::RuntimeError, "popitem(): dictionary is empty");
  }
  Value key = entry->key, value = entry->value;
  dict.erase(key);
  return Tuple::make({key, value});
}

}  // namespace

#define SL_DICT(key)                                                                           \
  SL_OP(aten_len_Dict_##key) { out[0].set_int(args.dict(0).size()); }                          \
  SL_OP(aten___getitem___Dict_##key) { out[0] = language::dict_index(args.dict(0), args[1]); } \
  SL_OP(aten___contains___##key) { out[0].set_bool(args.dict(0).find(args[1]) != nullptr); }   \
  SL_OP(aten__set_item_##key) { args.dict(0).set(std::move(args[1]), std::move(args[2])); }    \
  SL_OP(aten_get_##key) {                                                                      \
    const Value* found = args.dict(0).find(args[1]);                                           \
    out[0] = found ? *found : Value();                                                         \
  }                                                                                            \
  SL_OP(aten_get_default_##key) {                                                              \
    const Value* found = args.dict(0).find(args[1]);                                           \
    out[0] = found ? *found : std::move(args[2]);                                              \
  }                                                                                            \
  SL_OP(aten_setdefault_##key) {                                                               \
    if (const Value* found = args.dict(0).find(args[1])) {                                     \
      out[0] = *found;                                                                         \
    } else {                                                                                   \
      out[0] = args[2];                                                                        \
      args.dict(0).set(std::move(args[1]), std::move(args[2]));                                \
    }                                                                                          \
  }                                                                                            \
  SL_OP(aten_Delete_Dict_##key) { pop(args.dict(0), args[1]); }                                \
  SL_OP(aten_pop_Dict_##key) { out[0] = pop(args.dict(0), args[1]); }                          \
  SL_OP(aten_pop_Dict_default_##key) {                                                         \
    bool there = args.dict(0).find(args[1]) != nullptr;                                        \
    out[0] = there ? pop(args.dict(0), args[1]) : std::move(args[2]);                          \
  }                                                                                            \
  SL_OP(aten_popitem_##key) { out[0] = pop_item(args.dict(0)); }                               \
  SL_OP(aten_clear_##key) { args.dict(0).clear(); }                                            \
  SL_OP(aten_copy_Dict_##key) { out[0] = copy(args.dict(0)); }                                 \
  SL_OP(aten_keys_##key) { out[0] = keys(args.dict(0)); }                                      \
  SL_OP(aten_values_##key) { out[0] = values(args.dict(0)); }                                  \
  SL_OP(aten_items_##key) { out[0] = items_of(args.dict(0)); }                                 \
  SL_OP(aten_update_##key) { update(args.dict(0), args.dict(1)); }                             \
  SL_OP(aten_dict_##key) { out[0] = from_pairs(args.list(0)); }                                \
  SL_OP(aten_dict_Dict_##key) { out[0] = copy(args.dict(0)); }

SL_DICT(str)
SL_DICT(int)
SL_DICT(bool)
SL_DICT(float)
SL_DICT(complex)
SL_DICT(Tensor)

SL_OP(aten_dict) {
  static const TypeRef kString = Type::make(TypeKind::String);
  static const TypeRef kTensor = Type::make(TypeKind::Tensor);
  out[0] = Dict::make(kString, kTensor);
}

}  // namespace scriptlang
