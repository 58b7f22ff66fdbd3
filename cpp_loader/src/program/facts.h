// Facts of operators: what is known of them besides their schemas. facts.def has the tables.
#pragma once

#include <string_view>

#include "ops/optable.h"

namespace scriptlang {

// Whether a call of the operator only gives a result: it writes to no memory, draws no random
// number and may run earlier or later. *switched: the index of an argument that must be False or 0
// for that (the p of a dropout), or -1.
bool only_gives(const OpEntry& entry, int* switched);
// Whether its results are new memory: they share none with an argument.
bool gives_fresh(const OpEntry& entry);
// Whether a result may be an argument or share its memory, although the schema does not say so.
bool may_share(const OpEntry& entry);
// Whether it changes the shape, the type, the storage or the history of a tensor that exists.
bool reshapes(const OpEntry& entry);
// Whether an operator computes derivatives, so that a program that calls it must be recorded.
bool asks_for_derivatives(std::string_view qualified_name);
// For an in-place operator, the operator that gives a new tensor instead; null for others.
const OpEntry* out_of_place(const OpEntry& entry);

}  // namespace scriptlang
