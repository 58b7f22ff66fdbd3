// Copies of values with all that they hold.
#pragma once

#include "values/value.h"

namespace scriptlang {

// A copy that shares nothing that programs can change: what is one list, object, tensor or memory
// stays one. Generators and futures are shared. Raises RuntimeError for what is nested too deeply.
Value deep_copy(const Value& value);

}  // namespace scriptlang
