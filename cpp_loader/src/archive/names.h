// The record scriptlang/names.pkl: names that bytecode, as PyTorch reads it, has no place for.
//
//   (1, enums, classes, defaults)
//   enums     ((class, ((member, value), ...)), ...)
//   classes   ((class, (attribute, ...)), ...)   by slot
//   defaults  ((function, (argument, ...)), ...) what is None where a caller leaves it out: of the
//             functions whose schema in bytecode does not tell
#pragma once

#include <string>
#include <unordered_map>

#include "program/program.h"

namespace scriptlang {

inline constexpr char kNamesRecord[] = "scriptlang/names.pkl";

// Lets the classes have what the record says, and gives the defaults. Raises ArchiveError for a
// tree of another form. Nothing else has been made of the classes before.
NoneDefaults read_names(const Value& tree, ClassTable* classes);

}  // namespace scriptlang
