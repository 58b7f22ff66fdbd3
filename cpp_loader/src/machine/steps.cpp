// The loop of the machine: what each step of register code does.
#include <new>

#include "autograd/record.h"
#include "container_steps.h"
#include "machine.h"
#include "moves.h"
#include "ops/custom.h"
#include "plain_steps.h"

// Uses threaded code (computed goto) if the compiler is GCC, else a switch. Plain code has few
// kinds of steps: a build that makes no other has no cases for the rest.
#if defined(__GNUC__) && !defined(__clang__) && !defined(SCRIPTLANG_NO_COMPUTED_GOTO) && \
    !defined(SL_NO_OPTIMIZER)
#define SL_COMPUTED_GOTO 1
#else
#define SL_COMPUTED_GOTO 0
#endif

namespace scriptlang {

namespace {

using lower::Fill;
using lower::Step;
using lower::StepOp;

using kind_int = int64_t;
using kind_double = double;
using kind_bool = bool;

[[noreturn]] void raise_missing(const OperatorUse& use) {
  const std::string name = use.qualified_name();
  if (find_op(name)) {
    raise(ErrorKind::MissingOperator, "the program calls ", name, " with ", use.given,
          " arguments, which this overload does not take");
  }
#if defined(SL_SELECTED)
  if (is_built_in(name) || name.compare(0, 13, "torchvision::") == 0) {
    raise(ErrorKind::MissingOperator, "the operator ", name,
          " was left out of this build, which has the operators of SCRIPTLANG_OPS: add it to that "
          "list, or those that `scriptlang ops` prints for this archive");
  }
#endif
  if (!is_built_in(name)) {
    raise(ErrorKind::MissingOperator, "nobody has registered the operator ", name,
          ": its host, or a plug-in, does before the archive is loaded");
  }
  const char* why = name.find("sparse") == std::string::npos ? "" : "; there are no sparse tensors";
  raise(ErrorKind::MissingOperator, "the operator ", name,
        " is not in this build of the native engine", why);
}

}  // namespace

// The loop keeps pc and the slots in local variables. SAVE writes pc back to the frame, where
// errors and calls need it. A computed goto runs no destructors, so at NEXT and GO no object in
// scope may still hold a reference; one that was moved from holds none.
void Machine::loop() {
  Frame* frame;
  const Step* pc;
  char* slots;
  [[maybe_unused]] Value
      borrowed_number;  // a borrowed or returned number that has no slot; never counted
  Value* results;

#define SAVE() (frame->pc = pc)
#define RELOAD() \
  (frame = &frames_.back(), pc = frame->pc, slots = reinterpret_cast<char*>(frame->slots))
#define SLOT(offset) (*reinterpret_cast<Value*>(slots + (offset)))
#define A SLOT(pc->a)
#define B SLOT(pc->b)
#define C SLOT(pc->c)
#define PUT(slot, value) new (&(slot)) Value(value) /* the old value must be uncounted */
#define FROM() (frame->code->function->code[size_t(pc->origin)])

#if SL_COMPUTED_GOTO
  static const void* const kLabels[] = {
  // clang-format off
#define X(name, ...) &&L_##name,
      SL_BINARY_STEPS(X) SL_RAISING_STEPS(X) SL_COMPARE_STEPS(X) SL_UNARY_STEPS(X)
      SL_STACK_STEPS(X) SL_OTHER_STEPS(X) SL_TEST_STEPS(X)
#undef X
#define X(name, ...) &&L_JUMP_##name,
      SL_COMPARE_STEPS(X)
#undef X
#define X(name, ...) &&L_JUMP_NOT_##name,
      SL_COMPARE_STEPS(X) SL_TEST_STEPS(X)
#undef X
#define X(name, ...) &&L_JUMP_##name##_BY, &&L_JUMP_NOT_##name##_BY,
      SL_CONSTANT_COMPARES(X)
#undef X
#define X(name, ...) &&L_##name##_BY,
      SL_CONSTANT_STEPS(X) SL_CONSTANT_COMPARES(X)
#undef X
      // clang-format on
  };
  static_assert(sizeof(kLabels) / sizeof(*kLabels) == lower::kStepOps, "a label for each step");
#define DISPATCH() goto* kLabels[size_t(pc->op)]
#define CASE(name) L_##name
#define BEGIN DISPATCH();
#define END
#else
#define DISPATCH() goto next
#define CASE(name) case StepOp::name
#define BEGIN \
  next:       \
  switch (pc->op) {
#if defined(SL_NO_OPTIMIZER)
#define END                         \
  default: __builtin_unreachable(); \
    }
#else
#define END }
#endif
#endif
#define NEXT()  \
  do {          \
    ++pc;       \
    DISPATCH(); \
  } while (0)
#define GO()     \
  do {           \
    pc += pc->x; \
    DISPATCH();  \
  } while (0)
  // A back edge: its work is accounted for before the condition is tested.
#define ACCOUNT()                                                              \
  do {                                                                         \
    if (__builtin_expect((slice_ -= pc->work) < 0, 0)) SAVE(), check_limits(); \
  } while (0)

  RELOAD();
  BEGIN
#if defined(SL_NO_OPTIMIZER)
  CASE(NOT_BOOL) : {
    PUT(A, !B.raw_bool());
    NEXT();
  }
#else
#include "number_cases.inc"
  CASE(COPY_RAW) : {
    copy_bytes(&A, &B);
    NEXT();
  }
  CASE(FILL) : {
    fill(slots, frame->code->fills.data() + pc->x, pc->c);
    NEXT();
  }
#endif
  CASE(COPY) : {
    A = static_cast<const Value&>(B);
    NEXT();
  }
  CASE(MOVE) : {
    A = std::move(B);
    NEXT();
  }
  CASE(CONSTANT) : {
    A = frame->code->function->constants[size_t(pc->x)];
    NEXT();
  }
  CASE(RESET) : {
    A.reset();
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
    const lower::Call& call = *pc->call;
    fill(slots, call.rows, call.fills);
    Value *first = &SLOT(call.first), *out = first + call.arguments;
    PUT(*out, Value());
    call.run(context_, Args(first, call.arguments), out);
    look();
    for (Value* v = first; v != out; ++v) v->reset();
    if (&A != out) A = std::move(*out);
    NEXT();
  }
#if !defined(SL_NO_OPTIMIZER)
  // Stores the result of an operator; `result` is None afterwards.
#define GIVEN()                \
  do {                         \
    look();                    \
    if (is_plain(A)) {         \
      copy_bytes(&A, &result); \
      result.forget();         \
    } else {                   \
      A = std::move(result);   \
    }                          \
    NEXT();                    \
  } while (0)
  CASE(OP_BORROWED) : {
    SAVE();
    const lower::Call& call = *pc->call;
    alignas(Value) char borrowed[lower::kMostBorrowed * sizeof(Value)];  // never dropped
    for (int32_t k = 0; k < call.arguments; k += 2) {
      std::memcpy(borrowed + size_t(k) * sizeof(Value), static_cast<const void*>(call.borrowed + k),
                  2 * sizeof(Value));
    }
    for (const Fill *row = call.rows, *end = row + call.fills; row != end; ++row) {
      copy_bytes(borrowed + row->to, slots + row->from);
    }
    Value result;
    call.run(context_, Args(reinterpret_cast<Value*>(borrowed), call.arguments), &result);
    GIVEN();
  }
  CASE(OP_BORROWED_ONE) : {
    SAVE();
    Value result;
    pc->call->run(context_, Args(&B, 1), &result);
    GIVEN();
  }
#undef GIVEN
#endif
  CASE(OP_MANY) : {
    SAVE();
    const lower::Call& call = *pc->call;
    fill(slots, call.rows, call.fills);
    Value *first = &SLOT(call.first), *out = first + call.arguments;
    for (int32_t k = 0; k < std::max(call.results, 1); ++k) PUT(out[k], Value());
    call.run(context_, Args(first, call.arguments), out);
    look();
    for (Value* v = first; v != out; ++v) v->reset();
    Value* to = &A;
    for (int32_t k = 0; k < call.results && to != out; ++k) to[k] = std::move(out[k]);
    if (call.results == 0) out->reset();
    NEXT();
  }
  CASE(OP_RECORDED) : {
    SAVE();
    const lower::Call& call = *pc->call;
    fill(slots, call.rows, call.fills);
    Value *first = &SLOT(call.first), *out = first + call.arguments;
    for (int32_t k = 0; k < std::max(call.results, 1); ++k) PUT(out[k], Value());
#if !defined(SL_NO_TRAINING)  // builds without training never record
    autograd::run_recorded(context_, call, Args(first, call.arguments), out);
#endif
    look();
    for (Value* v = first; v != out; ++v) v->reset();
    Value* to = &A;
    for (int32_t k = 0; k < call.results && to != out; ++k) to[k] = std::move(out[k]);
    if (call.results == 0) out->reset();
    NEXT();
  }
#include "container_cases.inc"
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
    raise_missing(frame->code->function->operators[size_t(FROM().x)]);
  }
  // Returns to the caller. Before LEAVE, the result is moved to the slot RESULT of the caller,
  // whose old value is not counted.
#define RESULT() value_at((frame - 1)->slots, (frame - 1)->pc->a)
#define LEAVE()                                    \
  do {                                             \
    top_ = frame->slots;                           \
    frames_.remove();                              \
    --frame;                                       \
    pc = frame->pc;                                \
    slots = reinterpret_cast<char*>(frame->slots); \
    NEXT();                                        \
  } while (0)
#if !defined(SL_NO_OPTIMIZER)
  CASE(RET_NUMBER) : {
    if (__builtin_expect(frame->special, 0)) {
      results = &A;
      goto leave_special;
    }
    copy_bytes(RESULT(), &A);
    LEAVE();
  }
  CASE(RET_INT) : {
    if (__builtin_expect(frame->special, 0)) {
      borrowed_number.set_int(pc->c);
      results = &borrowed_number;
      goto leave_special;
    }
    new (RESULT()) Value(int64_t(pc->c));
    LEAVE();
  }
#define X(NAME, sum)                           \
  CASE(NAME) : {                               \
    int64_t number = sum;                      \
    if (__builtin_expect(frame->special, 0)) { \
      PUT(A, number);                          \
      NEXT();                                  \
    }                                          \
    new (RESULT()) Value(number);              \
    LEAVE();                                   \
  }
  X(ADD_INT_RET, scalars::wrap_add(B.raw_int(), C.raw_int()))
  X(ADD_INT_BY_RET, scalars::wrap_add(B.raw_int(), pc->c))
#undef X
#endif
  CASE(RET) : {
    if (__builtin_expect(!frame->special && pc->c == 1, 1)) {
      new (RESULT()) Value(std::move(A));
      if (pc->x == lower::kCounted) drop_slots(*frame);
      LEAVE();
    }
    results = &A;
  }
#if !defined(SL_NO_OPTIMIZER)
leave_special:
#endif
  {
    int64_t count = frame->code->function->results;
    if (frames_.size() == 1) {
      if (count == 1) {
        result_ = std::move(*results);
      } else if (count > 1) {
        SAVE();
        result_ = Tuple::make(results, count);
      }
      pop_frame();
      return;
    }
    Frame& caller = frames_[frames_.size() - 2];
    Value* to = value_at(caller.slots, caller.pc->a);
    for (int64_t k = 0; k < count; ++k) to[k] = std::move(results[k]);
    if (__builtin_expect(has_future(), 0)) settle(to);
    pop_frame(pc->op != StepOp::RET || pc->x != lower::kCounted);
    RELOAD();
    NEXT();
  }
#define CALL_FROM(start)                                                    \
  do {                                                                      \
    SAVE();                                                                 \
    const Function& function = *pc->callee;                                 \
    const lower::Code* code = code_of(function);                            \
    spend(code->work);                                                      \
    const Fill* rows = frame->code->fills.data() + pc->x;                   \
    frame = &push_frame(code);                                              \
    if (__builtin_expect(code->in_order, 1)) {                              \
      pass_in_order(slots, rows, pc->c, frame->slots);                      \
    } else {                                                                \
      pass_rows(slots, rows, pc->c, frame->slots, code->parameters.data()); \
    }                                                                       \
    slots = reinterpret_cast<char*>(frame->slots);                          \
    pc = code->start;                                                       \
    DISPATCH();                                                             \
  } while (0)
  CASE(CALL) : CALL_FROM(first);
#if !defined(SL_NO_OPTIMIZER)
  CASE(CALL_PROVEN) : CALL_FROM(proven);
#endif
  CASE(FUSED) : {
    SAVE();
    const Function& callee = *frame->code->function->callees[size_t(FROM().x)];
#if !defined(SL_NO_FUSION)
    if (callee.group && callee.group->run(context_, &A)) {
      spend(8);
      NEXT();
    }
#endif
    enter(callee, &A, callee.parameters);
    RELOAD();
    DISPATCH();
  }
  CASE(INTERFACE_CALL) : {
    SAVE();
    const Instruction& from = FROM();
    std::string_view name = frame->code->function->constants[size_t(from.x)].as_string();
    enter(method(A, name, 1), &A, from.n);
    RELOAD();
    DISPATCH();
  }
  CASE(ENTER) : {
    SAVE();
    const Function& callee = method(A, "__enter__", 1);
    entered_.push_back({frames_.size(), A});
    frame->special = true;
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
  // clang-format off
#define X(name) CASE(name) :
  SL_PLAIN_STEPS(X) {
    SAVE();
    plain_step(pc->op, FROM(), *frame->code->function, &A);
    NEXT();
  }
#undef X
  // clang-format on
  CASE(RAISE_EXCEPTION) : {
    SAVE();
    language::raise_exception((&A)[0], (&A)[1]);
  }
  CASE(WARN) : {
    SAVE();
    language::warn(context_, A.as_string());
    (&A)[0].reset();
    (&A)[1].reset();
    NEXT();
  }
  CASE(FORK) : {  // the call runs to its end at once: an order that PyTorch allows
    SAVE();
    const Instruction& from = FROM();
    Frame& callee = enter(*frame->code->function->callees[size_t(from.x)], &A, from.n);
    callee.special = true;
    forked_.push_back({frames_.size(), true, Future::make()});
    RELOAD();
    DISPATCH();
  }
  CASE(AWAITABLE) : {
    SAVE();
    const Instruction& from = FROM();
    A = prepare(*frame->code->function->callees[size_t(from.x)], &A, from.n);
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
#undef CALL_FROM
#undef RESULT
#undef LEAVE
}

}  // namespace scriptlang
