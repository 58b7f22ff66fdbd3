// The interface of the machine: runs a function of a verified program.
#pragma once

#include <atomic>
#include <vector>

#include "program/program.h"

namespace scriptlang {

// The limits of a call. Zero means no limit, except for depth.
struct Limits {
  int64_t instructions = 0;  // counted at backward jumps and calls
  int64_t memory_bytes = 0;  // tensors and strings that the call holds
  int64_t milliseconds = 0;  // wall time; checked between instructions, and in operators
  int64_t depth = 2000;      // of nested calls of scripted functions
  const std::atomic<bool>* cancelled = nullptr;  // the call ends when it is true
};

// Runs a function of the program. Arguments that are left out take the defaults of the function's
// schema; ints become floats if the schema says so. Returns the result; None if there is none, a
// tuple if there are several. Raises Error with the script stack.
Value run(const Program& program, const Function& function, std::vector<Value> arguments,
          Context& context, const Limits& limits);

// The same for arguments that are complete and of the declared types. They are moved from.
Value execute(const Program& program, const Function& function, std::vector<Value>& arguments,
              Context& context, const Limits& limits);

}  // namespace scriptlang
