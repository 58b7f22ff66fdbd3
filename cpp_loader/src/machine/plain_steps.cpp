// The steps of SL_PLAIN_STEPS, which make values from values on the stack: parts of lists and
// tuples, dicts, objects, text.
#include "plain_steps.h"

#include <algorithm>

#include "container_steps.h"

namespace scriptlang {

namespace {

using lower::StepOp;

Value make_dict(const Type& type, Value* first, int64_t count) {
  Ref<Dict> dict = Dict::make(type.elements[0], type.elements[1]);
  for (int64_t k = 0; k < count; k += 2) dict->set(first[k], std::move(first[k + 1]));
  return dict;
}

// Whether a value is of any of the types.
bool is_instance(const Value& value, const TypeRef* types, int64_t count) {
  return std::any_of(types, types + count,
                     [&](const TypeRef& type) { return matches(value, *type); });
}

// Replaces the container in slot `to` by its items, in the slots from there on. `what` names the
// container in errors.
template <class Items>
void unpack(Value* to, const Items& items, int64_t count, const char* what) {
  if (int64_t(items.size()) != count) {
    raise(ErrorKind::RuntimeError, "Provided ", items.size(), " values, the program unpacks ",
          count, " from a ", what);
  }
  Value holder = std::move(*to);  // keeps the container alive while its slot is overwritten
  for (const Value& item : items) *to++ = item;
}

Value tuple_slice(const Tuple& tuple, int64_t first, int64_t count) {
  const Tuple::Items& items = tuple.items;
  if (first + count > int64_t(items.size())) {
    raise(ErrorKind::IndexError, "tuple index out of range");
  }
  Ref<Tuple> part = Tuple::with_room(size_t(count));
  for (int64_t k = first; k < first + count; ++k) part->add(items[size_t(k)]);
  return part;
}

// Stores the result in the first slot, and drops the operands.
void replace(Value* first, int64_t count, Value result) {
  for (int64_t k = 1; k < count; ++k) first[k].reset();
  *first = std::move(result);
}

}  // namespace

void plain_step(StepOp op, const Instruction& from, const Function& f, Value* first) {
  switch (op) {
    case StepOp::LIST_UNPACK: unpack(first, first->as_list(), from.x, "list"); break;
    case StepOp::TUPLE_UNPACK: unpack(first, first->as_tuple().items, from.n, "tuple"); break;
    case StepOp::DICT_CONSTRUCT: *first = make_dict(*f.types[size_t(from.x)], first, from.n); break;
    case StepOp::CREATE_OBJECT: *first = Value(Object::make(f.types[size_t(from.x)]->cls)); break;
    case StepOp::ISINSTANCE: {
      bool is = is_instance(*first, f.types.data() + from.x, from.n);
      first->set_bool(is);
      break;
    }
    case StepOp::TUPLE_SLICE: *first = tuple_slice(first->as_tuple(), from.x, from.n); break;
    case StepOp::FORMAT: replace(first, from.x, language::format(first, from.x)); break;
    case StepOp::DEVICE:
      first->as_tensor();
      *first = Value(Device());
      break;
    case StepOp::TO_LIST:
      replace(first, 3,
              language::to_list(first[0].as_tensor(), first[1].as_int(), first[2].as_int()));
      break;
    case StepOp::NUM_TO_TENSOR: *first = language::number_to_tensor(*first); break;
    case StepOp::IS_CUDA:
      first->as_tensor();
      first->set_bool(false);
      break;
    default: raise(ErrorKind::RuntimeError, "step ", int(op), " is none of those on the stack");
  }
}

}  // namespace scriptlang
