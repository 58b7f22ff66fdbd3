// Prints register code: one step a line, each operand by its kind.
#include "program/program.h"
#include "code.h"

namespace scriptlang::lower {

namespace {

struct Form {
  const char* name;
  const char* operands;
};

constexpr Form kForms[] = {
// clang-format off
#define X(name, ...) {#name, "abc"},
    SL_BINARY_STEPS(X) SL_RAISING_STEPS(X) SL_COMPARE_STEPS(X)
#undef X
#define X(name, ...) {#name, "ab"},
    SL_UNARY_STEPS(X)
#undef X
#define X(name) {#name, "a"},
    SL_STACK_STEPS(X)
#undef X
#define X(name, operands) {#name, operands},
    SL_OTHER_STEPS(X)
#undef X
#define X(name, ...) {#name, "abc"},
    SL_TEST_STEPS(X)
#undef X
#define X(name, ...) {"JUMP_" #name, "bcj"},
    SL_COMPARE_STEPS(X)
#undef X
#define X(name, ...) {"JUMP_NOT_" #name, "bcj"},
    SL_COMPARE_STEPS(X) SL_TEST_STEPS(X)
#undef X
#define X(name, ...) {"JUMP_" #name, "bkj"}, {"JUMP_NOT_" #name, "bkj"},
    SL_CONSTANT_COMPARES(X)
#undef X
#define X(name, ...) {#name, "abk"},
    SL_CONSTANT_STEPS(X) SL_CONSTANT_COMPARES(X)
#undef X
    // clang-format on
};
static_assert(sizeof(kForms) / sizeof(*kForms) == kStepOps);

class Printer {
 public:
  explicit Printer(const Function& function) : code_(code_of(function)), f_(*code_.function) {}

  std::string text() {
    std::string out = concat(f_.name, ": ", f_.registers, " registers, ", code_.slots, " slots\n");
    for (size_t k = 0; k < code_.steps.size(); ++k) out += line(k);
    return out;
  }

 private:
  // r2 is a register, s0 a stack slot, t1 a spare slot; constants are printed as values.
  std::string slot(int32_t offset) const {
    int32_t k = offset / int32_t(sizeof(Value)), spare = f_.registers + f_.max_stack + 1;
    if (k < f_.registers) return concat("r", k);
    if (k < spare) return concat("s", k - f_.registers);
    if (k < code_.first_constant) return concat("t", k - spare);
    return to_text(code_.constants[size_t(k - code_.first_constant)]);
  }

  std::string fills(int32_t first, int32_t count, bool placed = true) const {
    std::string out;
    for (int32_t k = first; k < first + count; ++k) {
      const Fill& fill = code_.fills[size_t(k)];
      bool constant = fill.kind == Fill::Constant || fill.kind == Fill::FreshList;
      out += placed ? concat(" ", slot(fill.to), "=") : std::string(" ");
      out += concat(fill.kind == Fill::Move ? "move " : "",
                    constant ? to_text(*fill.constant) : slot(fill.from));
      if (fill.kind == Fill::Plus) out += concat(fill.to < 0 ? "" : "+", fill.to);
    }
    return out;
  }

  std::string operand(char letter, const Step& step, size_t at) const {
    switch (letter) {
      case 'a': return slot(step.a);
      case 'b': return slot(step.b);
      case 'c': return slot(step.c);
      case 's': return slot(step.x);
      case 'y': return slot(step.y);
      case 'n':
      case 'k': return concat(step.c);
      case 'j': return concat("-> ", int64_t(at) + step.x);
      default: return concat(step.x);
    }
  }

  std::string line(size_t at) const {
    const Step& step = code_.steps[at];
    const Form& form = kForms[size_t(step.op)];
    std::string out = concat(at, "\t", form.name);
    for (const char* letter = form.operands; *letter; ++letter) {
      out += " " + operand(*letter, step, at);
    }
    bool unpacks = step.op == StepOp::UNPACK || step.op == StepOp::UNPACK_LAST;
    int32_t parts = unpacks ? step.c : step.op == StepOp::UNPACK_AT ? step.y : 0;
    for (int32_t k = 0; k < parts; ++k) {
      const Fill& part = code_.fills[size_t(step.x + k)];
      out += part.kind == Fill::Nowhere ? " -" : " " + slot(part.to);
    }
    if (step.op == StepOp::FILL) out += fills(step.x, step.c);
    bool makes = step.op == StepOp::TUPLE || step.op == StepOp::TUPLE_SET ||
                 step.op == StepOp::LIST || step.op == StepOp::CALL ||
                 step.op == StepOp::CALL_PROVEN;
    if (makes) out += fills(step.x, step.c, false);
    if (step.op == StepOp::OP_BORROWED || step.op == StepOp::OP_BORROWED_ONE) {
      const Call& call = code_.calls[size_t(step.x)];
      const Instruction& from = f_.code[size_t(step.origin)];
      std::string name =
          from.op == Opcode::FORMAT ? "format" : f_.operators[size_t(from.x)].qualified_name();
      out += concat(" ", name, " of");
      for (int32_t k = 0, row = 0; k < call.arguments; ++k) {
        bool lies = row < call.fills && call.rows[row].to == offset_of(k);
        out += " " + (lies ? slot(call.rows[row++].from) : to_text(call.borrowed[k]));
      }
    }
    if (step.op == StepOp::OP || step.op == StepOp::OP_MANY || step.op == StepOp::OP_RECORDED) {
      const Call& call = code_.calls[size_t(step.x)];
      const Instruction& from = f_.code[size_t(step.origin)];
      out += concat(" ", f_.operators[size_t(from.x)].qualified_name(), " from ", slot(call.first),
                    fills(call.fill, call.fills));
    }
    return out + "\n";
  }

  const Code& code_;
  const Function& f_;  // the function that was lowered: Code::made, if there is one
};

}  // namespace

const char* operands_of(StepOp op) { return kForms[size_t(op)].operands; }

std::string print_code(const Function& function) { return Printer(function).text(); }

}  // namespace scriptlang::lower
