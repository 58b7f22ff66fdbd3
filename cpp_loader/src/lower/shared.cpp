// What plain code and code with proofs have in common: see shared.h.
#include "shared.h"

namespace scriptlang::lower {

using Op = StepOp;

// The switch has no default: a new opcode does not compile until it is listed here.
Op stack_op(Opcode op) {
  switch (op) {
    // clang-format off
#define X(name)                      \
  case Opcode::name:                 \
    return Op::name;
    SL_STACK_STEPS(X)
#undef X
      // clang-format on
    // Lowering::step() and translate() handle these.
    case Opcode::OP:
    case Opcode::OPN:
    case Opcode::OP_ONE:
    case Opcode::OP_ANY:
    case Opcode::LOAD:
    case Opcode::MOVE:
    case Opcode::LOADC:
    case Opcode::STORE:
    case Opcode::STOREN:
    case Opcode::DROP:
    case Opcode::DROPR:
    case Opcode::JF:
    case Opcode::JMP:
    case Opcode::LOOP:
    case Opcode::CALL:
    case Opcode::GET_ATTR:
    case Opcode::SET_ATTR:
    case Opcode::TUPLE_CONSTRUCT:
    case Opcode::NAMED_TUPLE_CONSTRUCT:
    case Opcode::LIST_CONSTRUCT:
    case Opcode::TUPLE_INDEX:
    case Opcode::DICT_INDEX:
    case Opcode::UNCHECKED_CAST:
    case Opcode::UN_INITIALIZED:
    case Opcode::__IS__:
    case Opcode::__ISNOT__:
    case Opcode::__NOT__:
    case Opcode::DTYPE:
    case Opcode::DIM:
    // The verifier refuses these.
    case Opcode::GUARD:
    case Opcode::TYPECHECK:
    case Opcode::FAIL_GUARD:
    case Opcode::PROFILE_OP:
    case Opcode::TAIL_CALL: break;
  }
  raise(ErrorKind::RuntimeError, opcode_name(op), " has no step on the stack");
}

char letter_of(const Type& type) {
  switch (type.kind) {
    case TypeKind::Int: return 'i';
    case TypeKind::Float: return 'f';
    case TypeKind::Bool: return 'b';
    default: return 0;
  }
}

char result_letter(const Function& f) {
  bool one = f.has_schema && f.results == 1 && f.returns.size() == 1;
  return one ? letter_of(*f.returns[0].type) : 0;
}

bool calls_operator(Op op) {
  return op == Op::OP || op == Op::OP_BORROWED || op == Op::OP_BORROWED_ONE || op == Op::OP_MANY ||
         op == Op::OP_RECORDED;
}

Call begin_call(const Instruction& i, const OperatorUse& use, int32_t first,
                const std::vector<Fill>& fills) {
  Call call;
  call.run = i.run;
  call.first = first;
  call.arguments = int32_t(i.arguments + use.defaults.size());
  call.results = i.results;
  call.fill = int32_t(fills.size());
  call.use = &use;
  return call;
}

void end_call(Call* call, int64_t given, std::vector<Fill>* fills) {
  const OperatorUse& use = *call->use;
  const int64_t filled = int64_t(use.defaults.size()), outs = use.trailing_out, at = given - outs;
  auto place = [&](int64_t k) { return call->first + offset_of(int32_t(at + k)); };
  for (int64_t k = outs; filled && k-- > 0;) {
    fills->push_back({Fill::Move, place(k + filled), place(k), nullptr});
  }
  for (int64_t k = 0; k < filled; ++k) {
    const Value& value = use.defaults[size_t(k)];
    fills->push_back({value.is_list() ? Fill::FreshList : Fill::Constant, place(k), 0, &value});
  }
  call->fills = int32_t(fills->size()) - call->fill;
}

void close(Code* code, const Function& function) {
  // Variants of steps are computed by arithmetic on StepOp, and the machine indexes a table by it.
  for (const Step& step : code->steps) {
    SL_CHECK(size_t(step.op) < kStepOps, function.name, " was lowered to step ", int(step.op));
  }
  code->function = &function;
  code->first = code->proven = code->steps.data();
  code->work = int64_t(function.code.size()) / 8 + 8;
  const int32_t used = code->first_constant + int32_t(code->constants.size());
  code->slots = (used + kImageStep - 1) / kImageStep * kImageStep;
  code->bytes = int64_t(code->slots) * int64_t(sizeof(Value));
  code->image.resize(size_t(code->first_constant));
  code->image.insert(code->image.end(), code->constants.begin(), code->constants.end());
  code->image.resize(size_t(code->slots));
}

}  // namespace scriptlang::lower
