// Plain code: register code in which each register and each stack position has a slot of its own,
// and each instruction becomes the steps that do what it says. No type is proven, so values are
// tested where steps use them, and operators on numbers are called like all others. Functions get
// it that are too large for proofs, and all functions of a build without SCRIPTLANG_OPTIMIZER.
#include "flow.h"
#include "shared.h"

namespace scriptlang::lower {

namespace {

using Op = StepOp;

class Plain {
 public:
  Plain(const Function& function, bool records)
      : f_(function),
        records_(records),
        flow_(flow_of(function)),
        code_(std::make_unique<Code>()),
        starts_(function.code.size(), -1) {
    find_left(f_, Liveness(f_, flow_), &flow_);
  }

  std::unique_ptr<Code> run() {
    for (pc_ = 0; pc_ < f_.code.size(); ++pc_) {
      if (flow_.depth[pc_] < 0) continue;  // no path leads there
      depth_ = flow_.depth[pc_];
      starts_[pc_] = int32_t(code_->steps.size());
      step(f_.code[pc_]);
      if (code_->steps.size() > size_t(INT32_MAX / 4)) {
        raise(ErrorKind::MemoryError, f_.name, " is too large to run");
      }
    }
    finish();
    return std::move(code_);
  }

 private:
  int32_t home(int64_t position) const { return offset_of(f_.registers + int32_t(position)); }
  int32_t top() const { return home(depth_ - 1); }
  static int32_t reg(const Instruction& i, int k = 0) { return offset_of(int32_t(i.x) - 1 + k); }

  Step& emit(Op op, int32_t a = 0, int32_t b = 0, int32_t c = 0) {
    Step made;
    made.op = op;
    made.origin = int32_t(pc_);
    made.a = a;
    made.b = b;
    made.c = c;
    code_->steps.push_back(made);
    return code_->steps.back();
  }
  // `x` of a jump is its target, an instruction, until finish().
  void emit_jump(Op op, size_t target, int32_t b = 0) {
    jumps_.push_back(code_->steps.size());
    emit(op, 0, b).x = int32_t(target);
  }
  // An unconditional jump, which accounts for its work if it goes back.
  void go(size_t target) {
    if (target > pc_) return emit_jump(Op::JUMP, target);
    emit_jump(Op::JUMP_BACK, target);
    code_->steps.back().work = int64_t(pc_ - target) + 1;
  }
  // A check of a slot's type, by the letter of the type; none for other letters.
  void guard(int32_t slot, char letter) {
    if (!letter) return;
    emit(letter == 'i' ? Op::GUARD_INT : letter == 'b' ? Op::GUARD_BOOL : Op::GUARD_FLOAT, slot);
  }

  void step(const Instruction& i) {
    switch (i.op) {
      case Opcode::OP_ONE:
      case Opcode::OP_ANY: return call_operator(i, f_.operators[size_t(i.x)]);
      case Opcode::LOAD:  // the last one of a register moves the value out
        emit(flow_.left[pc_] == Flow::kUnread ? Op::MOVE : Op::COPY, home(depth_), reg(i));
        return;
      case Opcode::MOVE: emit(Op::MOVE, home(depth_), reg(i)); return;
      case Opcode::LOADC: emit(Op::CONSTANT, home(depth_)).x = int32_t(i.x); return;
      case Opcode::STORE: emit(Op::MOVE, reg(i), top()); return;
      case Opcode::STOREN:
        for (int k = i.n; k-- > 0; --depth_) emit(Op::MOVE, reg(i, k), top());
        return;
      case Opcode::DROP: emit(Op::RESET, top()); return;
      case Opcode::DROPR: emit(Op::RESET, reg(i)); return;
      case Opcode::UNCHECKED_CAST: return;
      case Opcode::UN_INITIALIZED: emit(Op::RESET, home(depth_)); return;
      case Opcode::JMP: return go(target_of(f_, pc_));
      case Opcode::JF: return jump_if_false();
      case Opcode::LOOP: return loop(i);
      case Opcode::CALL: return call(*f_.callees[size_t(i.x)]);
      case Opcode::FUSED:  // the group computes what its body says
        if (records_) return call(*f_.callees[size_t(i.x)]);
        break;
      case Opcode::TUPLE_CONSTRUCT: return construct(Op::TUPLE, i.x, nullptr);
      case Opcode::NAMED_TUPLE_CONSTRUCT:
        return construct(Op::TUPLE, i.n, f_.types[size_t(i.x)].get());
      case Opcode::LIST_CONSTRUCT: return construct(Op::LIST, i.n, f_.types[size_t(i.x)].get());
      case Opcode::GET_ATTR: emit(Op::ATTRIBUTE, top(), top()).x = int32_t(i.x); return;
      case Opcode::SET_ATTR:
        emit(Op::SET_ATTRIBUTE, home(depth_ - 2), top()).x = int32_t(i.x);
        emit(Op::RESET, home(depth_ - 2));
        return;
      case Opcode::TUPLE_INDEX: return look_at_two(Op::TUPLE_AT);
      case Opcode::DICT_INDEX: return look_at_two(Op::DICT_GET);
      case Opcode::__IS__: return look_at_two(Op::IS);
      case Opcode::__ISNOT__: return look_at_two(Op::IS_NOT);
      case Opcode::DIM: emit(Op::DIM, top(), top()); return;
      case Opcode::DTYPE: emit(Op::DTYPE, top(), top()); return;
      case Opcode::__NOT__:
        guard(top(), 'b');
        emit(Op::NOT_BOOL, top(), top());
        return;
      case Opcode::RET: {
        const int32_t first = f_.results == 1 ? top() : home(0);
        guard(first, result_letter(f_));  // callers rely on it
        emit(Op::RET, first, 0, int32_t(f_.results)).x = kCounted;
        return;
      }
      default: break;
    }
    emit(stack_op(i.op), home(depth_ - pops_of(f_, i)));
  }

  // A step that reads two operands; its result takes the place of the first.
  void look_at_two(Op op) {
    emit(op, home(depth_ - 2), home(depth_ - 2), top());
    emit(Op::RESET, top());
  }

  void jump_if_false() {
    guard(top(), 'b');
    const size_t target = target_of(f_, pc_);
    if (target > pc_) return emit_jump(Op::JUMP_FALSE, target, top());
    emit_jump(Op::JUMP_TRUE, pc_ + 1, top());  // a branch that goes back accounts for its work
    go(target);
  }

  // LOOP: (trip number, trip limit, condition, carried values...) on top of the stack. The body
  // finds the trip number in place of the condition.
  void loop(const Instruction& i) {
    const int64_t trip = depth_ - i.n - 1, carried = i.n - 2;
    guard(home(trip), 'i');
    guard(home(trip + 1), 'i');
    guard(home(trip + 2), 'b');
    emit(Op::JUMP_FALSE, 0, home(trip + 2)).x = 2;  // over COUNT
    emit_jump(Op::COUNT, pc_ + 1, home(trip + 1));
    code_->steps.back().a = home(trip);
    code_->steps.back().c = home(trip + 2);
    if (carried) emit(Op::SHIFT, home(trip), home(trip + 3), int32_t(carried));
    go(target_of(f_, pc_));
  }

  // Rows that move the values on top of the stack out of their slots.
  int32_t rows_of(int64_t count) {
    const int32_t begin = int32_t(code_->fills.size());
    for (int64_t p = depth_ - count; p < depth_; ++p) {
      code_->fills.push_back({Fill::Move, 0, home(p), nullptr});
    }
    return begin;
  }
  void call(const Function& callee) {
    const int64_t count = callee.parameters;
    Step& made = emit(Op::CALL, home(depth_ - count), 0, int32_t(count));
    made.x = rows_of(count);
    made.callee = records_ ? &recorded(callee) : &callee;
  }
  void construct(Op op, int64_t count, const Type* type) {
    Step& made = emit(op, home(depth_ - count), 0, int32_t(count));
    made.x = rows_of(count);
    made.type = type;
  }

  void call_operator(const Instruction& i, const OperatorUse& use) {
    Call call = begin_call(i, use, home(depth_ - i.arguments), code_->fills);
    end_call(&call, i.arguments, &code_->fills);
    emit(records_         ? Op::OP_RECORDED
         : i.results == 1 ? Op::OP
                          : Op::OP_MANY,
         call.first)
        .x = int32_t(code_->calls.size());
    code_->calls.push_back(call);
  }

  void finish() {
    Code& code = *code_;
    for (size_t k : jumps_) {
      Step& jump = code.steps[k];
      jump.x = starts_[size_t(jump.x)] - int32_t(k);
    }
    for (Call& call : code.calls) call.rows = code.fills.data() + call.fill;
    for (Step& made : code.steps) {
      if (calls_operator(made.op)) made.call = code.calls.data() + made.x;
    }
    for (int64_t k = 0; k < f_.parameters; ++k) code.parameters.push_back(home(k));
    code.in_order = f_.registers == 0;
    code.first_constant = f_.registers + f_.max_stack + 1;
    close(&code, f_);
  }

  const Function& f_;
  const bool records_;
  Flow flow_;
  std::unique_ptr<Code> code_;
  std::vector<int32_t> starts_;  // by instruction: its first step
  std::vector<size_t> jumps_;    // steps
  size_t pc_ = 0;
  int64_t depth_ = 0;
};

}  // namespace

std::unique_ptr<Code> plain_code(const Function& function, bool records) {
  return Plain(function, records).run();
}

}  // namespace scriptlang::lower
