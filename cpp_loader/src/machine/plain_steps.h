// Steps that make values from values on the stack and touch nothing else of the machine.
#pragma once

#include "lower/code.h"
#include "program/program.h"

namespace scriptlang {

// One of SL_PLAIN_STEPS: `first` is the first of the operands, and of the results.
void plain_step(lower::StepOp op, const Instruction& from, const Function& function, Value* first);

// to = a + b, of strings. a's text grows when nobody else has it, and is taken; a sum that comes to
// where a was is likely to grow again.
void append(Value& to, Value& a, const Value& b);

}  // namespace scriptlang
