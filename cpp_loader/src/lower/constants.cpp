// A pass on finished code: steps that use a small int constant get variants that hold the constant
// themselves. Constants that no step uses any more are removed, so frames get smaller.
#include <algorithm>
#include <optional>

#include "code.h"

namespace scriptlang::lower {

namespace {

using Op = StepOp;

// The variant of a step that holds an int constant, if there is one.
std::optional<Op> holding(Op op, int64_t number) {
  bool divides = op == Op::FLOORDIV_INT || op == Op::MOD_INT;
  if (op == Op::MOD_INT && number == int64_t(1) << 31) return Op::AND_INT_BY;
  if (number != int32_t(number) || (divides && number <= 0)) return std::nullopt;
  if (op == Op::SHR_INT && (number < 0 || number > 63)) return std::nullopt;
  switch (op) {
    // clang-format off
#define X(name, ...)   \
  case Op::name:       \
    return Op::name##_BY;
    SL_CONSTANT_STEPS(X) SL_CONSTANT_COMPARES(X)
#undef X
#define X(name, ...)                 \
  case Op::JUMP_##name:              \
    return Op::JUMP_##name##_BY;     \
  case Op::JUMP_NOT_##name:          \
    return Op::JUMP_NOT_##name##_BY;
    SL_CONSTANT_COMPARES(X)
#undef X
        // clang-format on
        default : return std::nullopt;
  }
}

// Makes a step one with a constant. Divisions become shifts, masks or multiplications.
void hold(Step* step, Op op, int32_t number) {
  step->op = op;
  step->c = number;
  bool divides = op == Op::FLOORDIV_INT_BY, rest = op == Op::MOD_INT_BY;
  if (!divides && !rest) return;
  if ((number & (number - 1)) == 0) {  // floor division by a power of two is an arithmetic shift
    step->op = divides ? Op::SHR_INT_BY : Op::AND_INT_BY;
    step->c = divides ? __builtin_ctz(uint32_t(number)) : number - 1;
    return;
  }
  scalars::Divisor divisor(number);
  step->inverse = divisor.inverse;
  step->x = divisor.shift;
}

// The last slot of a frame that any step or move uses.
int32_t last_used(const Code& code) {
  int32_t last = 0;
  auto use = [&](int32_t offset) { last = std::max(last, offset / int32_t(sizeof(Value))); };
  for (const Step& step : code.steps) {
    for (const char* letter = operands_of(step.op); *letter; ++letter) {
      switch (*letter) {
        case 'a': use(step.a); break;
        case 'b': use(step.b); break;
        case 'c': use(step.c); break;
        case 's': use(step.x); break;
        case 'y': use(step.y); break;
        default: break;
      }
    }
  }
  for (const Fill& fill : code.fills) use(fill.from);
  return last;
}

}  // namespace

void hold_constants(Code* code) {
  for (Step& step : code->steps) {
    bool returns = step.op == Op::RET && step.c == 1 && step.x == kNothingAtAll;
    int32_t slot = (returns ? step.a : step.c) / int32_t(sizeof(Value));
    int64_t k = int64_t(slot) - code->first_constant;
    if (k < 0 || k >= int64_t(code->constants.size())) continue;
    const Value& value = code->constants[size_t(k)];
    if (returns) {
      if (!value.is_int() || value.raw_int() != int32_t(value.raw_int())) continue;
      step.op = Op::RET_INT;
      step.c = int32_t(value.raw_int());
      continue;
    }
    std::optional<Op> op;
    if (value.is_int()) op = holding(step.op, value.raw_int());
    if (!op) continue;
    hold(&step, *op,
         int32_t(*op == Op::AND_INT_BY && step.op == Op::MOD_INT ? INT32_MAX : value.raw_int()));
  }
  size_t kept = size_t(std::max(0, last_used(*code) + 1 - code->first_constant));
  if (kept < code->constants.size()) code->constants.resize(kept);
}

}  // namespace scriptlang::lower
