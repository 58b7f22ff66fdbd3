// The order of the passes that optimise a function at its first call.
#include "optimize.h"

namespace scriptlang::optimize {

void restore_operators(Function* function) {
  for (Instruction& i : function->code) {
    if (i.op == Opcode::OP || i.op == Opcode::OPN) continue;
    if (bytecode::info_of(i.op).x != bytecode::Operand::Operator) continue;
    i.op = function->operators[size_t(i.x)].variadic ? Opcode::OPN : Opcode::OP;
    if (i.op == Opcode::OP) i.n = 0;
  }
}

std::unique_ptr<Function> optimized(const Function& function, bool inlines) {
  std::unique_ptr<Function> made = inlined(function, inlines);
  verify(made.get());
  find_common(made.get());
  restore_operators(made.get());
  verify(made.get());
#if !defined(SL_NO_FUSION)
  make_groups(made.get());
  restore_operators(made.get());
#endif
  end_lifetimes(made.get());
  verify(made.get());
  share_registers(made.get());
  return made;
}

}  // namespace scriptlang::optimize
