// Helpers of the steps on lists, dicts, tuples and attributes.
#pragma once

#include <algorithm>
#include <utility>

#include "lower/code.h"
#include "ops/language.h"
#include "values/small_blocks.h"
#include "values/type.h"

namespace scriptlang {

inline int64_t raw(const Value& v, int64_t*) { return v.raw_int(); }
inline double raw(const Value& v, double*) { return v.raw_double(); }
inline bool raw(const Value& v, bool*) { return v.raw_bool(); }

// The payload of a number whose tag is proven.
template <class T>
T read(const Value& v) {
  return raw(v, static_cast<T*>(nullptr));
}

inline void put(Value& to, int64_t v) { to.set_int(v); }
inline void put(Value& to, double v) { to.set_double(v); }
inline void put(Value& to, bool v) { to.set_bool(v); }

// Whether a value is not counted.
inline bool is_plain(const Value& v) { return v.tag() < kFirstCounted; }

// Copies the bytes of a value without counting a reference: the value must be uncounted, or the
// slot never dropped. It copies tag and payload separately, as steps write them: a load of both at
// once could not be forwarded from the two stores, and would stall.
inline void copy_bytes(void* to, const void* from) {
  uint32_t tag;
  uint64_t payload;
  static_assert(sizeof(Value) == 16, "a tag and a payload");
  std::memcpy(&tag, from, sizeof tag);
  std::memcpy(&payload, static_cast<const char*>(from) + 8, sizeof payload);
  std::memcpy(to, &tag, sizeof tag);
  std::memcpy(static_cast<char*>(to) + 8, &payload, sizeof payload);
}

// to = from, with a fast path for the usual case that neither is counted.
inline void assign(Value& to, const Value& from) {
  if (__builtin_expect(is_plain(to) && is_plain(from), 1)) {
    copy_bytes(&to, &from);
  } else {
    to = from;
  }
}

// Moves a counted value out of its slot, copies any other: see LIST_SET in lower/code.h.
inline Value take_counted(Value& v) {
  return is_plain(v) ? Value(static_cast<const Value&>(v)) : std::move(v);
}

// ---- lists

inline int64_t* numbers_of(const List& list, int64_t*) {
  return list.kind() == List::Kind::Ints ? list.ints() : nullptr;
}
inline double* numbers_of(const List& list, double*) {
  return list.kind() == List::Kind::Floats ? list.floats() : nullptr;
}
inline bool* numbers_of(const List& list, bool*) {
  return list.kind() == List::Kind::Bools ? list.bools() : nullptr;
}

// Points to an element of a list that stores such numbers without tags; null for other lists.
template <class T>
inline T* number_at(const Value& list, int64_t index) {
  if (__builtin_expect(!list.is_list(), 0)) return nullptr;
  T* numbers = numbers_of(list.raw_list(), static_cast<T*>(nullptr));
  size_t size = list.raw_list().size(), at = size_t(index);
  if (__builtin_expect(at >= size, 0)) {
    at += size;  // a negative index counts from the end
    if (at >= size) return nullptr;
  }
  return numbers ? numbers + at : nullptr;
}

// The same for an element of a row, in a list of lists. A negative `row` gives null.
template <class T>
inline T* number_at(const Value& rows, int64_t row, int64_t index) {
  if (__builtin_expect(!rows.is_list(), 0)) return nullptr;
  const List& list = rows.raw_list();
  bool lies = list.kind() == List::Kind::Values && uint64_t(row) < list.size();
  return lies ? number_at<T>(list.values()[row], index) : nullptr;
}

inline bool push_number(List& list, int64_t v) { return list.push_int(v); }
inline bool push_number(List& list, double v) { return list.push_float(v); }
inline bool push_number(List& list, bool v) { return list.push_bool(v); }

// The position that an index of Python means (negative ones count from the end). Raises IndexError
// if it is out of range.
inline size_t position_in(const List& list, int64_t index) {
  int64_t size = int64_t(list.size()), at = index < 0 ? index + size : index;
  if (__builtin_expect(uint64_t(at) >= uint64_t(size), 0)) {
    raise(ErrorKind::IndexError, "list index out of range");
  }
  return size_t(at);
}
inline Value element(const List& list, int64_t index) { return list.get(position_in(list, index)); }
// An element, by reference. If the list stores numbers without tags, it is copied to `number`.
inline const Value& borrowed_element(const List& list, int64_t index, Value* number) {
  size_t at = position_in(list, index);
  if (list.kind() == List::Kind::Values) return list.values()[at];
  return *number = list.get(at);
}
// The inner list of a list of lists, by reference. Raises TypeError if the element is no list.
inline const List& row_of(const Value& rows, int64_t row) {
  const List& list = rows.as_list();
  size_t at = position_in(list, row);
  if (list.kind() != List::Kind::Values) list.get(at).as_list();  // raises
  return list.values()[at].as_list();
}
// rows[row][index] = value.
inline void set_field(Value& rows, int64_t row, int64_t index, Value value) {
  List& list = const_cast<List&>(row_of(rows, row));
  list.set(position_in(list, index), std::move(value));
}
inline void set_element(List& list, int64_t index, Value value) {
  list.set(position_in(list, index), std::move(value));
}

// The tuple in a list of tuples, by reference.
inline const Tuple& tuple_of(const Value& list, int64_t at) {
  const List& tuples = list.as_list();
  size_t place = position_in(tuples, at);
  if (tuples.kind() != List::Kind::Values) tuples.get(place).as_tuple();  // raises
  return tuples.values()[place].as_tuple();
}

// Points to the number in a value of type T; null for values of other types.
inline const int64_t* number_in(const Value& v, int64_t*) { return v.if_int(); }
inline const double* number_in(const Value& v, double*) { return v.if_double(); }
inline const bool* number_in(const Value& v, bool*) {
  static constexpr bool kBools[] = {false, true};
  return v.is_bool() ? &kBools[v.raw_bool()] : nullptr;
}
// The same for an item of a tuple; below, for an item of a tuple in a list of tuples.
template <class T>
inline const T* number_in_tuple(const Value& tuple, const Value& index) {
  if (!tuple.is_tuple() || !index.is_int()) return nullptr;
  const Tuple::Items& items = tuple.raw_tuple().items;
  uint64_t at = uint64_t(index.raw_int());
  return at < items.size() ? number_in(items[at], static_cast<T*>(nullptr)) : nullptr;
}
template <class T>
inline const T* number_in_tuple(const Value& list, int64_t at, const Value& index) {
  if (!list.is_list() || list.raw_list().kind() != List::Kind::Values) return nullptr;
  const List& tuples = list.raw_list();
  return uint64_t(at) < tuples.size() ? number_in_tuple<T>(tuples.values()[at], index) : nullptr;
}
// The same for an attribute of an object.
template <class T>
inline const T* number_in_slot(const Value& object, int64_t slot) {
  if (!object.is_object()) return nullptr;
  const std::vector<Value>& slots = object.raw_object().slots;
  return uint64_t(slot) < slots.size() ? number_in(slots[size_t(slot)], static_cast<T*>(nullptr))
                                       : nullptr;
}

// The number in a value whose tag is not proven. Raises TypeError if it is of another type. An int
// converts to float.
template <class T>
T number_of(const Value& v);
template <>
inline int64_t number_of<int64_t>(const Value& v) {
  return v.as_int();
}
template <>
inline bool number_of<bool>(const Value& v) {
  return v.as_bool();
}
template <>
inline double number_of<double>(const Value& v) {
  return v.is_int() ? double(v.raw_int()) : v.as_double();
}

// ---- dicts and strings

// dict[key]. Raises KeyError if the key is missing.
inline const Value& dict_value(Dict& dict, const Value& key) {
  const Value* found = dict.find(key);
  return __builtin_expect(found != nullptr, 1) ? *found : language::dict_index(dict, key);
}
inline const Value& dict_get_or(const Value& dict, const Value& key, const Value& other) {
  const Value* found = dict.as_dict().find(key);
  return found ? *found : other;
}

// Points to the number at a key that is an int or a string, or to the default if the key is
// missing; null if the key or the value is of another type.
template <class T>
inline const T* number_in_dict(const Value& dict, const Value& key, const Value* other) {
  if (!dict.is_dict() || !(key.is_int() || key.is_string())) return nullptr;
  const Value* found = dict.as_dict().find(key);
  if (!found) found = other;
  return found ? number_in(*found, static_cast<T*>(nullptr)) : nullptr;
}

inline char character_at(std::string_view text, int64_t index) {
  int64_t size = int64_t(text.size()), at = index < 0 ? index + size : index;
  if (__builtin_expect(uint64_t(at) >= uint64_t(size), 0)) {
    raise(ErrorKind::IndexError, "string index out of range");
  }
  return text[size_t(at)];
}

// text[start:end], whose bounds are ints or None.
inline Value piece_of(std::string_view text, const Value& start, const Value& end) {
  int64_t size = int64_t(text.size());
  auto clamped = [size](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  int64_t from = start.is_none() ? 0 : clamped(start.as_int());
  int64_t to = end.is_none() ? size : clamped(end.as_int());
  return Value::of_piece(text.data() + from, size_t(std::max<int64_t>(to - from, 0)),
                         text.data() + size);
}

inline bool same_text(const Value& a, const Value& b) {
  if (a.is_text()) return a.same(b);
  std::string_view x = a.as_string(), y = b.as_string();
  return x.data() == y.data() || same_text(x, y);
}

// Less than, equal to or greater than zero, as std::string::compare.
inline int order_of(const Value& a, const Value& b) {
  std::string_view x = a.as_string(), y = b.as_string();
  if (x.size() != 1 || y.size() != 1) return x.compare(y);
  return int(static_cast<unsigned char>(x[0])) - int(static_cast<unsigned char>(y[0]));
}

// ---- attributes

inline Value& attribute(Value& object, int64_t slot) {
  Object& o = object.as_object();
  if (slot >= int64_t(o.slots.size())) {
    raise(ErrorKind::RuntimeError, "an object of class ", o.type->name, " has no slot ", slot);
  }
  return o.slots[size_t(slot)];
}

inline void set_attribute(Value& object, int64_t slot, Value& value) {
  constexpr int64_t kMostSlots = 1 << 16;
  Object& o = object.as_object();
  if (__builtin_expect(slot >= int64_t(o.slots.size()), 0)) {
    // If the class is known by name only, the number of its slots is not known: the object grows.
    if (slot >= kMostSlots) raise(ErrorKind::RuntimeError, "slot ", slot, " is out of range");
    o.grow(size_t(slot) + 1);
  }
  value.publish();  // objects are never thread-local
  o.slots[size_t(slot)] = take_counted(value);
}

}  // namespace scriptlang
