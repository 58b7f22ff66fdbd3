// Optimises bytecode that was compiled from source, at the first call of a function.
//
// Calls are replaced by the bodies of the callees (inline.cpp), repeated computations of a number
// are removed (common.cpp), pointwise operators become fused groups (groups.cpp), the last read of
// a register moves its value (lifetimes.cpp), and registers are reused (registers.cpp). The
// original function stays as it was compiled, because it says what the archive holds.
#pragma once

#include <memory>

#include "program/program.h"

namespace scriptlang::optimize {

// Returns a new, verified function that does the same faster. All passes run; with `inlines` false,
// calls stay calls.
std::unique_ptr<Function> optimized(const Function& function, bool inlines);

// Returns a copy of the function with the functions that it calls inlined, if `inlines`. It has to
// be verified.
std::unique_ptr<Function> inlined(const Function& function, bool inlines);

// Puts pointwise operators into fused groups. The code must be verified before, and again after.
void make_groups(Function* function);

// Removes repeated computations. The code must be verified before, and again after.
void find_common(Function* function);

// Turns the specialised operator instructions that verify() made (OP_ONE, OP_ANY) into OP and OPN
// again, which verify() accepts.
void restore_operators(Function* function);

// Gives registers that are never live at the same time one number. The code must be verified, and
// need not be verified again.
void share_registers(Function* function);

// Makes the last read of each register a MOVE, and inserts a DROPR for each register that a branch
// does not read any more.
void end_lifetimes(Function* function);

}  // namespace scriptlang::optimize
