// Executes rows of moves (lower::Fill), which lay out the arguments of calls and the items of
// tuples and lists, and store the parts of a tuple.
#pragma once

#include "container_steps.h"
#include "machine.h"

namespace scriptlang {

// Lays out the arguments of a call.
inline void fill(char* slots, const lower::Fill* fills, int32_t count) {
  for (const lower::Fill* f = fills; f != fills + count; ++f) {
    Value& to = *reinterpret_cast<Value*>(slots + f->to);
    Value* from = reinterpret_cast<Value*>(slots + f->from);
    switch (f->kind) {
      case lower::Fill::Raw: copy_bytes(&to, from); break;
      case lower::Fill::Copy: new (&to) Value(static_cast<const Value&>(*from)); break;
      case lower::Fill::Move: new (&to) Value(std::move(*from)); break;
      case lower::Fill::Constant: new (&to) Value(*f->constant); break;
      // Operators may keep or change a list: every call gets a fresh one.
      case lower::Fill::FreshList: {
        const List& list = f->constant->as_list();
        new (&to) Value(list.slice(0, 1, list.size()));
        break;
      }
      default: break;  // the other kinds occur only when tuples are unpacked
    }
  }
}

// The value that a row names, moved out of its slot if the row is a Move.
inline Value named_by(char* slots, const lower::Fill& row) {
  using lower::Fill;
  if (row.kind == Fill::Constant) return *row.constant;
  Value& from = *reinterpret_cast<Value*>(slots + row.from);
  if (row.kind == Fill::Move) return std::move(from);
  return static_cast<const Value&>(from);
}
// `type` is the NamedTuple, or null.
inline Value make_tuple(char* slots, const lower::Fill* rows, int32_t count, const Type* type) {
  void* block = type ? nullptr : memory::quick::take_kept(Tuple::bytes_of(size_t(count)));
  Ref<Tuple> tuple = __builtin_expect(block != nullptr, 1)
                         ? Ref<Tuple>(Tuple::at(block, size_t(count)))
                         : Tuple::with_room(size_t(count), TypeRef::share(type));
  Value* item = tuple->items.data();
  for (int32_t k = 0; k < count; ++k, ++item) {
    if (rows[k].kind == lower::Fill::Raw) {
      copy_bytes(item, slots + rows[k].from);
    } else {
      new (item) Value(named_by(slots, rows[k]));
    }
  }
  tuple->has_all(size_t(count));
  return tuple;
}
// The tuple at the key that was found or set last in a dict, if the tuple is thread-local and has
// no other reference; else null.
inline Value* tuple_again(const Value& dict, const Value& key) {
  Value* at = dict.is_dict() ? dict.as_dict().found_again(key) : nullptr;
  bool alone = at && at->is_tuple() && at->raw_tuple().is_thread_local() && at->raw_tuple().alone();
  return alone ? at : nullptr;
}
// Reuses a tuple that is about to be dropped: overwrites its items with those that rows name.
// Returns false, and changes nothing, if the types differ or any item is counted.
inline bool write_over(Tuple& tuple, char* slots, const lower::Fill* rows, int32_t count,
                       const Type* type) {
  bool fits = tuple.items.size() == size_t(count) && tuple.named.get() == type;
  for (int32_t k = 0; fits && k < count; ++k) {
    fits = rows[k].kind == lower::Fill::Raw && is_plain(tuple.items[size_t(k)]);
  }
  for (int32_t k = 0; fits && k < count; ++k) {
    copy_bytes(&tuple.items[size_t(k)], slots + rows[k].from);
  }
  return fits;
}
inline Value make_list(char* slots, const lower::Fill* rows, int32_t count, const Type& type) {
  constexpr int32_t kFew = 8;
  int64_t ints[kFew];
  int32_t known = 0;
  for (; known < count && count <= kFew; ++known) {
    const Value& item = *reinterpret_cast<const Value*>(slots + rows[known].from);
    if (rows[known].kind != lower::Fill::Raw || !item.is_int()) break;
    ints[known] = item.raw_int();
  }
  if (known && known == count) return List::make(ints, size_t(count), type.elements[0]);
  if (count == 0) return List::make(nullptr, 0, type.elements[0]);
  Value first = named_by(slots, rows[0]);
  Ref<List> list = List::with_room(size_t(count), first.tag(), type.elements[0]);
  list->push(std::move(first));
  for (int32_t k = 1; k < count; ++k) list->append(named_by(slots, rows[k]));
  return list;
}

// Stores the parts of a tuple as `rows` say, which also check their types. With `last`, the parts
// are moved out if the tuple has no other reference.
__attribute__((always_inline)) inline void unpack(char* slots, const Tuple& t,
                                                  const lower::Fill* rows, int32_t count,
                                                  bool last = false) {
  using lower::Fill;
  if (int64_t(t.items.size()) != count) {
    raise(ErrorKind::RuntimeError, "Provided ", t.items.size(), " values, the program unpacks ",
          count, " from a tuple");
  }
  bool empties = last && t.alone();
  for (int32_t k = 0; k < count; ++k) {
    Value& to = *reinterpret_cast<Value*>(slots + rows[k].to);
    const Value& item = t.items[size_t(k)];
    if (__builtin_expect(rows[k].kind == Fill::Int && item.is_int(), 1)) {
      to.set_int(item.raw_int());
      continue;
    }
    switch (rows[k].kind) {
      case Fill::Int: to.set_int(item.as_int()); break;
      case Fill::Float: to.set_double(number_of<double>(item)); break;
      case Fill::Bool: to.set_bool(item.as_bool()); break;
      case Fill::Nowhere: to.reset(); break;
      default:
        if (empties) {
          to = std::move(const_cast<Value&>(item));
        } else {
          to = item;
        }
    }
  }
}

// Passes the argument that a row names to the slot of a parameter, whose old value is not dropped.
inline void pass_row(char* slots, const lower::Fill& row, Value* place) {
  if (__builtin_expect(row.kind == lower::Fill::Raw, 1)) {
    copy_bytes(place, slots + row.from);
  } else if (row.kind == lower::Fill::Plus) {
    const Value& from = *reinterpret_cast<Value*>(slots + row.from);
    new (place) Value(scalars::wrap_add(from.raw_int(), row.to));
  } else {
    new (place) Value(named_by(slots, row));
  }
}
// Passes all arguments of a call, to slots in order (Code::in_order).
inline void pass_in_order(char* slots, const lower::Fill* rows, int32_t count, Value* place) {
  for (const lower::Fill* end = rows + count; rows != end; ++rows) pass_row(slots, *rows, place++);
}
// Passes all arguments of a call to the places in the callee's frame (Code::parameters). An
// argument without a place is dropped.
__attribute__((noinline)) inline void pass_rows(char* slots, const lower::Fill* rows, int32_t count,
                                                Value* to, const int32_t* places) {
  for (int32_t k = 0; k < count; ++k) {
    if (places[k] >= 0) {
      pass_row(slots, rows[k], value_at(to, places[k]));
    } else if (rows[k].kind == lower::Fill::Move) {
      reinterpret_cast<Value*>(slots + rows[k].from)->reset();
    }
  }
}

}  // namespace scriptlang
