// Changes of programs that mostly still verify, so that what comes after verification is tried.
//
// A plain mutation of a pickle is nearly always refused: counts disagree, the stack has another
// depth. These change the tuple tree: instructions are put in, taken out, sent elsewhere where the
// stack has the same depth; operators are exchanged for others of as many arguments; constants
// and types for odd ones.
#pragma once

#include <string>

#include "values/value.h"

namespace fuzz {

// The pickle of a changed program; empty when there was nothing to change.
std::string mutate_program(const scriptlang::Value& tree, uint32_t seed);

// A tree of None, bools, numbers, strings, tuples and lists. Others are written as None.
std::string write_pickle(const scriptlang::Value& tree);

}  // namespace fuzz
