// Finds the operators that a program can call. A library that is built for this program only has to
// contain them.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace scriptlang::optimize {

// Returns the qualified names, sorted, of the operators of the table that the functions `from` and
// all functions that they call use when they run. Composite operators whose bodies were compiled in
// are included, because the compiler resolves calls by their names. Lowers the functions.
std::vector<std::string> reached_operators(const Program& program,
                                           const std::vector<const Function*>& from);

}  // namespace scriptlang::optimize
