// Notes of profiled programs: which operator ran when, and on what shapes.
//
// Nothing calls scriptlang::observe but programs that the profiler has made; others cost nothing.
#pragma once

#include <cstdint>
#include <vector>

namespace scriptlang::observe {

// From now on, calls of the operator make notes; what was noted before is forgotten.
void start();

// Ends that. Each note is a row of numbers: place, nanoseconds of the steady clock, thread, count
// of tensors, and for each tensor its dtype, its number of dimensions and its sizes. Lists give the
// tensors that they hold, the first 64.
std::vector<int64_t> take();

}  // namespace scriptlang::observe
