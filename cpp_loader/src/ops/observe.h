// Events of profiled programs: which operator ran when, and on what shapes.
//
// Only programs instrumented by the profiler call scriptlang::observe; others have no overhead.
#pragma once

#include <cstdint>
#include <vector>

namespace scriptlang::observe {

// Starts recording calls of the operator; earlier events are dropped.
void start();

// Stops recording and returns the events. Each is a sequence of numbers: the operator's place in
// the program, nanoseconds of the steady clock, thread, number of tensors, and for each tensor its
// dtype, number of dimensions and sizes. For lists, tensors among the first 64 items are listed.
std::vector<int64_t> take();

}  // namespace scriptlang::observe
