// What the engine asks of operators besides their schemas.
#pragma once

#include <string_view>

#include "ops/optable.h"

namespace scriptlang {

// Whether calls of the operator do nothing but give a result: it writes to nothing, draws no random
// number and need not run in its place. *switch: the argument that has to be False or 0 for that.
bool only_gives(const OpEntry& entry, int* switched);
// Whether its results are new memory: neither an argument nor a part of one.
bool gives_fresh(const OpEntry& entry);
// Whether its results may be arguments or share their memory, though its schema does not say so.
bool may_share(const OpEntry& entry);
// Whether it gives a tensor that is there another shape, type, memory or history.
bool reshapes(const OpEntry& entry);
// Whether a program with it asks for derivatives itself.
bool asks_for_derivatives(std::string_view qualified_name);
// For one that writes to its first argument: the one that gives a new tensor; else null.
const OpEntry* out_of_place(const OpEntry& entry);

}  // namespace scriptlang
