// What a function that was compiled from source runs as: made at its first call.
//
// Bytecode in, bytecode out. Calls are replaced by bodies (inline.cpp), straight rows of pointwise
// operators by groups (groups.cpp), and registers end where they are read last (lifetimes.cpp).
// The function itself stays as it was compiled: it says what the archive holds.
#pragma once

#include <memory>

#include "program/program.h"

namespace scriptlang::optimize {

// A verified function that does the same. Null where that is too much work.
std::unique_ptr<Function> optimized(const Function& function, bool inlines);

// The function with the functions that it calls put in. Operators are OP and OPN again.
std::unique_ptr<Function> inlined(const Function& function, bool inlines);

// Puts pointwise operators into groups. Of verified code; it has to be verified again.
void make_groups(Function* function);

// Leaves out what was computed before. Of verified code; it has to be verified again.
void find_common(Function* function);

// OP and OPN, which the verifier takes, where it made other instructions of them.
void restore_operators(Function* function);

// Gives registers that are never live at the same time one place. Of verified code, which it stays.
void share_registers(Function* function);

// Moves on last reads, and drops of what is not wanted further on.
void end_lifetimes(Function* function);

}  // namespace scriptlang::optimize
