// Calls of single operators from Python, outside of programs: `scriptlang.relu(x)`, `x + y`.
#pragma once

#include <nanobind/nanobind.h>

namespace scriptlang::python {

namespace nb = nanobind;

// Whether calls of operators by the calling thread are not for the native engine: the Python engine
// runs a program, or inference mode marks what they make.
inline thread_local bool eager_is_off = false;

// The Python types `Kernel`, an operator of the library, and `EagerCalls`, the table by which calls
// find their kernels.
nb::object make_kernel_type();
nb::object make_eager_calls_type();

// Kernels and tables look at `calls` and the generator in every call; see watch_calls.
void watch_eager_calls(nb::object calls, nb::object generator);
void clear_eager_calls();

}  // namespace scriptlang::python
