// Calls of single operators from Python, outside of programs: `scriptlang.relu(x)`, `x + y`.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

namespace scriptlang::python {

namespace nb = nanobind;

// What calls of operators by a thread are for; see GradMode.tell in ops/calling/current.py.
struct EagerMode {
  bool is_off = false;       // they are for Python alone: the Python engine runs a program
  bool marks = false;        // inference mode marks the tensors that they make
  bool is_bare = false;      // a rule of a derivative makes them, so that nothing has to be noted
  bool is_followed = false;  // hooks of users keep what is saved, or anomalies are looked for
};
inline thread_local EagerMode eager_mode;

// The Python types `Kernel`, an operator of the library (operator_kernel.h), and `EagerCalls`, the
// table by which calls find their kernels.
nb::object make_kernel_type();
nb::object make_eager_calls_type();

// Kernels and tables look at `calls` and the generator in every call; see watch_calls. marks: a
// list of the function that marks a tensor as one of inference mode, once that was entered.
void watch_eager_calls(nb::object calls, nb::object generator, nb::list marks);
void clear_eager_calls();

// How many calls Kernels have passed on to the Python engine.
int64_t eager_refusals();

}  // namespace scriptlang::python
