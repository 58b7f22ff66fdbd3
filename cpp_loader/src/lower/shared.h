// What plain code (plain.cpp) and code with proofs (lowering.h) have in common.
#pragma once

#include <vector>

#include "code.h"
#include "program/program.h"

namespace scriptlang::lower {

// The step of the same name, of an instruction that works on the stack.
StepOp stack_op(Opcode op);

// The letter (i f b) of the type check for a value of a declared type; 0 if it needs no check.
char letter_of(const Type& type);
// The same for the result of a call.
char result_letter(const Function& f);

// Whether `x` of the step is an index of a Call.
bool calls_operator(StepOp op);

// The call of an operator whose arguments begin at the offset `first`. Between begin and end, rows
// may be added that put the `given` arguments into their slots; the end adds those of the default
// values, in front of the arguments that stand behind them.
Call begin_call(const Instruction& i, const OperatorUse& use, int32_t first,
                const std::vector<Fill>& fills);
void end_call(Call* call, int64_t given, std::vector<Fill>* fills);

// Completes the code of a function whose steps, first constant and constants are known.
void close(Code* code, const Function& function);

// Plain code: see plain.cpp.
std::unique_ptr<Code> plain_code(const Function& function, bool records = false);

}  // namespace scriptlang::lower
