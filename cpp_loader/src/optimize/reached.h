// Which operators a program reaches: what a library that is built for it has to have.
#pragma once

#include <string>
#include <vector>

#include "program/program.h"

namespace scriptlang::optimize {

// Qualified names, sorted: those of the table that the functions call as they run, and all that
// they call in turn; and operators whose bodies stand for them, since calls are resolved by their
// names. Lowers the functions.
std::vector<std::string> reached_operators(const Program& program,
                                           const std::vector<const Function*>& from);

}  // namespace scriptlang::optimize
