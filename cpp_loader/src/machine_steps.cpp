// The steps of register code, one after the other.
#include <new>

#include "machine.h"
#include "ops/language.h"

// Threaded code where the compiler has labels as values; a switch elsewhere.
#if defined(__GNUC__) && !defined(__clang__) && !defined(SCRIPTLANG_NO_COMPUTED_GOTO)
#define SL_COMPUTED_GOTO 1
#else
#define SL_COMPUTED_GOTO 0
#endif

namespace scriptlang {

namespace {

using lower::Fill;
using lower::Step;
using lower::StepOp;

int64_t raw(const Value& v, int64_t*) { return v.raw_int(); }
double raw(const Value& v, double*) { return v.raw_double(); }
bool raw(const Value& v, bool*) { return v.raw_bool(); }

template <class T>
T read(const Value& v) {
  return raw(v, static_cast<T*>(nullptr));
}
using kind_int = int64_t;
using kind_double = double;
using kind_bool = bool;

bool is_plain(const Value& v) { return v.tag() < Tag::Complex; }

// Counted values are moved, others copied: see LIST_SET in lower/code.h.
Value take_counted(Value& v) {
  return is_plain(v) ? Value(static_cast<const Value&>(v)) : std::move(v);
}

std::vector<Value> take(Value* first, int64_t count) {
  return {std::make_move_iterator(first), std::make_move_iterator(first + count)};
}

Value& attribute(Value& object, int64_t slot) {
  Object& o = object.as_object();
  if (slot >= int64_t(o.slots.size())) {
    raise(ErrorKind::RuntimeError, "an object of class ", o.type->name, " has no slot ", slot);
  }
  return o.slots[size_t(slot)];
}

void set_attribute(Value& object, int64_t slot, Value& value) {
  constexpr int64_t kMostSlots = 1 << 16;
  Object& o = object.as_object();
  if (slot >= int64_t(o.slots.size())) {
    // The class of an object made by the program may be known only by its name.
    if (slot >= kMostSlots) raise(ErrorKind::RuntimeError, "slot ", slot, " is out of range");
    o.slots.resize(size_t(slot) + 1);
  }
  o.slots[size_t(slot)] = take_counted(value);
}

Value make_dict(const Type& type, Value* first, int64_t count) {
  Ref<Dict> dict = Dict::make(type.elements[0], type.elements[1]);
  for (int64_t k = 0; k < count; k += 2) dict->set(std::move(first[k]), std::move(first[k + 1]));
  return dict;
}

bool is_instance(const Value& value, const TypeRef* types, int64_t count) {
  return std::any_of(types, types + count,
                     [&](const TypeRef& type) { return matches(value, *type); });
}

void unpack(Value* to, const std::vector<Value>& items, int64_t count, const char* what) {
  if (int64_t(items.size()) != count) {
    raise(ErrorKind::RuntimeError, "Provided ", items.size(), " values, the program unpacks ",
          count, " from a ", what);
  }
  Value holder = std::move(*to);  // the container may die with the slot that holds it
  for (const Value& item : items) *to++ = item;
}

Value tuple_slice(const Tuple& tuple, int64_t first, int64_t count) {
  const std::vector<Value>& items = tuple.items;
  if (first + count > int64_t(items.size())) {
    raise(ErrorKind::IndexError, "tuple index out of range");
  }
  return Tuple::make({items.begin() + first, items.begin() + first + count});
}

// A Python index into a list.
Value& element(List& list, int64_t index) {
  int64_t size = int64_t(list.items.size());
  int64_t at = index < 0 ? index + size : index;
  if (__builtin_expect(uint64_t(at) >= uint64_t(size), 0)) {
    raise(ErrorKind::IndexError, "list index out of range");
  }
  return list.items[size_t(at)];
}

void replace(Value* item, Value value) {
  Value old = std::move(*item);  // dies last: its end may change the list that holds the item
  *item = std::move(value);
}

double number_of(const Value& v) {
  return v.is_int() ? double(v.raw_int()) : v.as_double();
}

// Lays out the arguments of a call.
inline void fill(char* slots, const Fill* fills, int32_t count) {
  for (const Fill* f = fills; f != fills + count; ++f) {
    Value& to = *reinterpret_cast<Value*>(slots + f->to);
    Value* from = reinterpret_cast<Value*>(slots + f->from);
    switch (f->kind) {
      case Fill::Copy: new (&to) Value(static_cast<const Value&>(*from)); break;
      case Fill::Move: new (&to) Value(std::move(*from)); break;
      case Fill::Constant: new (&to) Value(*f->constant); break;
      // Operators may keep or change a list: every call gets a fresh one.
      case Fill::FreshList: {
        const List& list = f->constant->as_list();
        new (&to) Value(List::make(list.items, list.element));
        break;
      }
    }
  }
}

}  // namespace

// The loop keeps pc and the slots in locals; SAVE writes back what an error or a call needs.
// A computed goto runs no destructors: at NEXT and GO nothing may be in scope that still holds a
// reference. (What was moved from holds none.)
void Machine::loop() {
  Frame* frame;
  const Step* pc;
  char* slots;

#define SAVE() (frame->pc = pc)
#define RELOAD() \
  (frame = &frames_.back(), pc = frame->pc, slots = reinterpret_cast<char*>(frame->slots))
#define SLOT(offset) (*reinterpret_cast<Value*>(slots + (offset)))
#define A SLOT(pc->a)
#define B SLOT(pc->b)
#define C SLOT(pc->c)
#define PUT(slot, value) new (&(slot)) Value(value) /* over what is not counted */
#define FROM() (frame->function->code[size_t(pc->origin)])

#if SL_COMPUTED_GOTO
  static const void* const kLabels[] = {
#define X(name, ...) &&L_##name,
      SL_BINARY_STEPS(X) SL_RAISING_STEPS(X) SL_COMPARE_STEPS(X) SL_UNARY_STEPS(X)
      SL_STACK_STEPS(X) SL_OTHER_STEPS(X)
#undef X
#define X(name, ...) &&L_JUMP_##name,
      SL_COMPARE_STEPS(X)
#undef X
#define X(name, ...) &&L_JUMP_NOT_##name,
      SL_COMPARE_STEPS(X)
#undef X
  };
#define DISPATCH() goto* kLabels[size_t(pc->op)]
#define CASE(name) L_##name
#define BEGIN DISPATCH();
#define END
#else
#define DISPATCH() goto next
#define CASE(name) case StepOp::name
#define BEGIN next: switch (pc->op) { case StepOp::kCount:
#define END }
#endif
#define NEXT() \
  do {         \
    ++pc;      \
    DISPATCH(); \
  } while (0)
#define GO()     \
  do {           \
    pc += pc->x; \
    DISPATCH();  \
  } while (0)
  // A way back: accounted for before it is decided.
#define ACCOUNT()                                                        \
  do {                                                                   \
    if (__builtin_expect((slice_ -= pc->work) < 0, 0)) SAVE(), check_limits(); \
  } while (0)

  RELOAD();
  BEGIN
#define X(name, from, to, result)                         \
  CASE(name) : {                                          \
    auto a = read<kind_##from>(B), b = read<kind_##from>(C); \
    PUT(A, kind_##to(result));                            \
    NEXT();                                               \
  }
  SL_BINARY_STEPS(X)
#undef X
#define X(name, from, to, result)                         \
  CASE(name) : {                                          \
    SAVE();                                               \
    auto a = read<kind_##from>(B), b = read<kind_##from>(C); \
    PUT(A, kind_##to(result));                            \
    NEXT();                                               \
  }
  SL_RAISING_STEPS(X)
#undef X
#define X(name, from, result)                             \
  CASE(name) : {                                          \
    auto a = read<kind_##from>(B), b = read<kind_##from>(C); \
    PUT(A, bool(result));                                 \
    NEXT();                                               \
  }                                                       \
  CASE(JUMP_##name) : {                                   \
    ACCOUNT();                                            \
    auto a = read<kind_##from>(B), b = read<kind_##from>(C); \
    if (result) GO();                                     \
    NEXT();                                               \
  }                                                       \
  CASE(JUMP_NOT_##name) : {                               \
    auto a = read<kind_##from>(B), b = read<kind_##from>(C); \
    if (!(result)) GO();                                  \
    NEXT();                                               \
  }
  SL_COMPARE_STEPS(X)
#undef X
#define X(name, from, to, result)                         \
  CASE(name) : {                                          \
    auto a = read<kind_##from>(B);                        \
    PUT(A, kind_##to(result));                            \
    NEXT();                                               \
  }
  SL_UNARY_STEPS(X)
#undef X
  CASE(FLOAT_CALL) : {
    PUT(A, pc->function(B.raw_double()));
    NEXT();
  }
  CASE(FLOAT_CALL_TWO) : {
    PUT(A, pc->function_two(B.raw_double(), C.raw_double()));
    NEXT();
  }
  CASE(FLOOR) : {
    SAVE();
    PUT(A, scalars::whole(std::floor(B.raw_double())));
    NEXT();
  }
  CASE(CEIL) : {
    SAVE();
    PUT(A, scalars::whole(std::ceil(B.raw_double())));
    NEXT();
  }
  CASE(DERIVE_INDEX) : {
    int64_t steps = scalars::wrap_mul(B.raw_int(), SLOT(pc->x).raw_int());
    PUT(A, scalars::wrap_add(C.raw_int(), steps));
    NEXT();
  }
  CASE(RANGE_LENGTH) : {
    SAVE();
    PUT(A, scalars::range_length(B.raw_int(), C.raw_int(), SLOT(pc->x).raw_int()));
    NEXT();
  }
  CASE(COPY_RAW) : {
    std::memcpy(static_cast<void*>(&A), static_cast<const void*>(&B), sizeof(Value));
    NEXT();
  }
  CASE(COPY) : {
    A = static_cast<const Value&>(B);
    NEXT();
  }
  CASE(MOVE) : {
    A = std::move(B);
    NEXT();
  }
  CASE(CONSTANT) : {
    A = frame->function->constants[size_t(pc->x)];
    NEXT();
  }
  CASE(RESET) : {
    A.reset();
    NEXT();
  }
  CASE(FILL) : {
    fill(slots, frame->code->fills.data() + pc->x, pc->c);
    NEXT();
  }
  CASE(SHIFT) : {
    Value *to = &A, *from = &B;
    for (int32_t k = 0; k < pc->c; ++k) to[k] = std::move(from[k]);
    NEXT();
  }
  CASE(GUARD_INT) : {
    SAVE();
    A.as_int();
    NEXT();
  }
  CASE(GUARD_BOOL) : {
    SAVE();
    A.as_bool();
    NEXT();
  }
  CASE(GUARD_FLOAT) : {
    SAVE();
    if (A.is_int()) PUT(A, double(A.raw_int()));
    A.as_double();
    NEXT();
  }
  CASE(JUMP) : GO();
  CASE(JUMP_BACK) : {
    ACCOUNT();
    GO();
  }
  CASE(JUMP_TRUE) : {
    ACCOUNT();
    if (B.raw_bool()) GO();
    NEXT();
  }
  CASE(JUMP_FALSE) : {
    if (!B.raw_bool()) GO();
    NEXT();
  }
  CASE(COUNT) : {
    ACCOUNT();
    int64_t trip = A.raw_int();
    if (trip < B.raw_int()) {
      PUT(C, trip);
      PUT(A, scalars::wrap_add(trip, 1));
      GO();
    }
    NEXT();
  }
  CASE(OP) : {
    SAVE();
    const lower::Call& call = frame->code->calls[size_t(pc->x)];
    fill(slots, frame->code->fills.data() + call.fill, call.fills);
    Value *first = &SLOT(call.first), *out = first + call.arguments;
    PUT(*out, Value());
    call.run(context_, Args(first, call.arguments), out);
    if (__builtin_expect(limits_.milliseconds > 0, 0)) check_time();
    for (Value* v = first; v != out; ++v) v->reset();
    if (&A != out) A = std::move(*out);
    NEXT();
  }
  CASE(OP_MANY) : {
    SAVE();
    const lower::Call& call = frame->code->calls[size_t(pc->x)];
    fill(slots, frame->code->fills.data() + call.fill, call.fills);
    Value *first = &SLOT(call.first), *out = first + call.arguments;
    for (int32_t k = 0; k < std::max(call.results, 1); ++k) PUT(out[k], Value());
    call.run(context_, Args(first, call.arguments), out);
    if (__builtin_expect(limits_.milliseconds > 0, 0)) check_time();
    for (Value* v = first; v != out; ++v) v->reset();
    Value* to = &A;
    for (int32_t k = 0; k < call.results && to != out; ++k) to[k] = std::move(out[k]);
    if (call.results == 0) out->reset();
    NEXT();
  }
  CASE(LIST_GET) : {
    SAVE();
    Value item = static_cast<const Value&>(element(B.as_list(), C.raw_int()));
    A = std::move(item);
    NEXT();
  }
  CASE(LIST_GET_INT) : {
    SAVE();
    PUT(A, element(B.as_list(), C.raw_int()).as_int());
    NEXT();
  }
  CASE(LIST_GET_FLOAT) : {
    SAVE();
    PUT(A, number_of(element(B.as_list(), C.raw_int())));
    NEXT();
  }
  CASE(LIST_GET_BOOL) : {
    SAVE();
    PUT(A, element(B.as_list(), C.raw_int()).as_bool());
    NEXT();
  }
  CASE(LIST_SET) : {
    SAVE();
    Value& item = element(A.as_list(), B.raw_int());
    if (is_plain(item) && is_plain(C)) {
      std::memcpy(static_cast<void*>(&item), static_cast<const void*>(&C), sizeof(Value));
      NEXT();
    }
    replace(&item, take_counted(C));
    NEXT();
  }
  CASE(LIST_APPEND) : {
    SAVE();
    List& list = A.as_list();
    bool grows = list.items.size() == list.items.capacity();
    list.items.push_back(take_counted(B));
    if (grows) list.charge_growth();
    NEXT();
  }
  CASE(LIST_LEN) : {
    SAVE();
    int64_t size = int64_t(B.as_list().items.size());
    A.set_int(size);
    NEXT();
  }
  CASE(STRING_LEN) : {
    SAVE();
    int64_t size = int64_t(B.as_string().size());
    A.set_int(size);
    NEXT();
  }
  CASE(DICT_LEN) : {
    SAVE();
    int64_t size = B.as_dict().size();
    A.set_int(size);
    NEXT();
  }
  CASE(DICT_GET) : {
    SAVE();
    Value item = language::dict_index(B.as_dict(), C);
    A = std::move(item);
    NEXT();
  }
  CASE(DICT_HAS) : {
    SAVE();
    bool has = B.as_dict().find(C) != nullptr;
    A.set_bool(has);
    NEXT();
  }
  CASE(DICT_SET) : {
    SAVE();
    Dict& dict = A.as_dict();
    Value key = take_counted(B);
    dict.set(std::move(key), take_counted(C));
    NEXT();
  }
  CASE(ATTRIBUTE) : {
    SAVE();
    Value field = static_cast<const Value&>(attribute(B, pc->x));
    A = std::move(field);
    NEXT();
  }
  CASE(SET_ATTRIBUTE) : {
    SAVE();
    set_attribute(A, pc->x, B);
    NEXT();
  }
  CASE(TUPLE_AT) : {
    SAVE();
    Value item = language::tuple_index(B.as_tuple(), C.as_int());
    A = std::move(item);
    NEXT();
  }
  CASE(IS) : {
    bool is = B.same(C);
    A.set_bool(is);
    NEXT();
  }
  CASE(IS_NOT) : {
    bool is = B.same(C);
    A.set_bool(!is);
    NEXT();
  }
  CASE(DIM) : {
    SAVE();
    int64_t dim = B.as_tensor().dim();
    A.set_int(dim);
    NEXT();
  }
  CASE(DTYPE) : {
    SAVE();
    int64_t dtype = int64_t(B.as_tensor().dtype());
    A.set_int(dtype);
    NEXT();
  }
  CASE(OP_MISSING) : {
    SAVE();
    raise(ErrorKind::MissingOperator, "the operator ",
          frame->function->operators[size_t(FROM().x)].qualified_name(),
          " is not in this build of the native engine");
  }
  CASE(RET) : {
    int64_t results = frame->function->results;
    Value* first = &A;
    if (frames_.size() == 1) {
      if (results == 1) {
        result_ = std::move(*first);
      } else if (results > 1) {
        SAVE();
        result_ = Tuple::make(take(first, results));
      }
      pop_frame();
      return;
    }
    Frame& caller = frames_[frames_.size() - 2];
    Value* to = reinterpret_cast<Value*>(reinterpret_cast<char*>(caller.slots) + caller.pc->a);
    for (int64_t k = 0; k < results; ++k) to[k] = std::move(first[k]);
    if (__builtin_expect(bool(frame->future), 0)) settle(*frame, to);
    pop_frame();
    RELOAD();
    NEXT();
  }
  CASE(CALL) : {
    SAVE();
    const Function& callee = *frame->function->callees[size_t(FROM().x)];
    enter(callee, &A, callee.parameters);
    RELOAD();
    DISPATCH();
  }
  CASE(FUSED) : {
    SAVE();
    const Function& callee = *frame->function->callees[size_t(FROM().x)];
    if (callee.group && callee.group->run(context_, &A)) {
      spend(8);
      NEXT();
    }
    enter(callee, &A, callee.parameters);
    RELOAD();
    DISPATCH();
  }
  CASE(INTERFACE_CALL) : {
    SAVE();
    const Instruction& from = FROM();
    const std::string& name = frame->function->constants[size_t(from.x)].as_string();
    enter(method(A, name, 1), &A, from.n);
    RELOAD();
    DISPATCH();
  }
  CASE(ENTER) : {
    SAVE();
    const Function& callee = method(A, "__enter__", 1);
    entered_.push_back({frames_.size(), A});
    enter(callee, &A, 1);
    RELOAD();
    DISPATCH();
  }
  CASE(EXIT) : {
    SAVE();
    if (entered_.empty() || entered_.back().depth != frames_.size()) {
      raise(ErrorKind::RuntimeError, "no `with` statement is open");
    }
    const Function& callee = method(entered_.back().object, "__exit__", 1);
    Value* first = &A;
    first[0] = std::move(entered_.back().object);
    entered_.pop_back();
    for (int k = 1; k < 4; ++k) first[k].reset();
    enter(callee, first, 4);
    RELOAD();
    DISPATCH();
  }
  CASE(LIST_UNPACK) : {
    SAVE();
    unpack(&A, A.as_list().items, FROM().x, "list");
    NEXT();
  }
  CASE(TUPLE_UNPACK) : {
    SAVE();
    unpack(&A, A.as_tuple().items, FROM().n, "tuple");
    NEXT();
  }
  CASE(TUPLE_CONSTRUCT) : {
    SAVE();
    A = Value(Tuple::make(take(&A, FROM().x)));
    NEXT();
  }
  CASE(NAMED_TUPLE_CONSTRUCT) : {
    SAVE();
    const Instruction& from = FROM();
    A = Value(Tuple::make(take(&A, from.n), frame->function->types[size_t(from.x)]));
    NEXT();
  }
  CASE(LIST_CONSTRUCT) : {
    SAVE();
    const Instruction& from = FROM();
    A = Value(List::make(take(&A, from.n), frame->function->types[size_t(from.x)]->elements[0]));
    NEXT();
  }
  CASE(DICT_CONSTRUCT) : {
    SAVE();
    const Instruction& from = FROM();
    A = make_dict(*frame->function->types[size_t(from.x)], &A, from.n);
    NEXT();
  }
  CASE(CREATE_OBJECT) : {
    SAVE();
    A = Value(Object::make(frame->function->types[size_t(FROM().x)]->cls));
    NEXT();
  }
  CASE(ISINSTANCE) : {
    SAVE();
    const Instruction& from = FROM();
    bool is = is_instance(A, frame->function->types.data() + from.x, from.n);
    A.set_bool(is);
    NEXT();
  }
  CASE(TUPLE_SLICE) : {
    SAVE();
    A = tuple_slice(A.as_tuple(), FROM().x, FROM().n);
    NEXT();
  }
  CASE(RAISE_EXCEPTION) : {
    SAVE();
    language::raise_exception((&A)[0], (&A)[1]);
  }
  CASE(FORMAT) : {
    SAVE();
    Value* first = &A;
    int64_t count = FROM().x;
    Value text = language::format(first, count);
    for (int64_t k = 0; k < count; ++k) first[k].reset();
    *first = std::move(text);
    NEXT();
  }
  CASE(DEVICE) : {
    SAVE();
    A.as_tensor();
    A = Value(Device());
    NEXT();
  }
  CASE(TO_LIST) : {
    SAVE();
    Value* first = &A;
    Value list = language::to_list(first[0].as_tensor(), first[1].as_int(), first[2].as_int());
    first[1].reset();
    first[2].reset();
    *first = std::move(list);
    NEXT();
  }
  CASE(NUM_TO_TENSOR) : {
    SAVE();
    A = language::number_to_tensor(A);
    NEXT();
  }
  CASE(IS_CUDA) : {
    SAVE();
    A.as_tensor();
    A.set_bool(false);
    NEXT();
  }
  CASE(WARN) : {
    SAVE();
    language::warn(context_, A.as_string());
    (&A)[0].reset();
    (&A)[1].reset();
    NEXT();
  }
  CASE(FORK) : {  // runs to its end now: one of the orders in which calls side by side may run
    SAVE();
    const Instruction& from = FROM();
    Frame& forked = enter(*frame->function->callees[size_t(from.x)], &A, from.n);
    forked.is_fork = true;
    forked.future = Future::make();
    RELOAD();
    DISPATCH();
  }
  CASE(AWAITABLE) : {
    SAVE();
    const Instruction& from = FROM();
    A = prepare(*frame->function->callees[size_t(from.x)], &A, from.n);
    NEXT();
  }
  CASE(WAIT) : {
    SAVE();
    Future& future = A.as_future();
    if (future.error) throw Error(*future.error);
    if (future.function) {
      start(&A);
      RELOAD();
      DISPATCH();
    }
    Value result = future.value;
    A = std::move(result);
    NEXT();
  }
  END
#undef SAVE
#undef RELOAD
#undef SLOT
#undef A
#undef B
#undef C
#undef PUT
#undef FROM
#undef DISPATCH
#undef CASE
#undef BEGIN
#undef END
#undef NEXT
#undef GO
#undef ACCOUNT
}

}  // namespace scriptlang
