// Steps that make values from values on the stack, and need nothing else of the machine.
#pragma once

#include "lower/code.h"
#include "program/program.h"

namespace scriptlang {

// Runs one of SL_PLAIN_STEPS. Operands begin at slot `first`; results replace them.
void plain_step(lower::StepOp op, const Instruction& from, const Function& function, Value* first);

}  // namespace scriptlang
