// Reads the record scriptlang/names.pkl. It has the names that bytecode in PyTorch's format has no
// place for:
//
//   (1, enums, classes, defaults)
//   enums     ((class, ((member, value), ...)), ...)
//   classes   ((class, (attribute, ...)), ...)   in the order of slots
//   defaults  ((function, (argument, ...)), ...) the arguments whose default is None, for functions
//             whose schema in bytecode does not say so
#pragma once

#include <string>
#include <unordered_map>

#include "program/program.h"

namespace scriptlang {

inline constexpr char kNamesRecord[] = "scriptlang/names.pkl";

// Adds the members and attributes to the classes, which must have none yet, and returns the
// defaults. Raises ArchiveError for a malformed record.
NoneDefaults read_names(const Value& tree, ClassTable* classes);

}  // namespace scriptlang
