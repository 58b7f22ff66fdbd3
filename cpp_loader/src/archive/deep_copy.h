// Deep copies of values.
#pragma once

#include "values/value.h"

namespace scriptlang {

// Copies a value with all that it holds. A list, object, tensor or storage that occurs several
// times is copied once, so the copies share it as the originals do. Generators and futures are not
// copied but shared with the original. Raises RuntimeError for a value that is nested too deeply.
Value deep_copy(const Value& value);

}  // namespace scriptlang
