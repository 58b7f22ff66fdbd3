// Caller: the base class of Python objects that run a program when they are called.
#pragma once

#include <nanobind/nanobind.h>

namespace scriptlang::python {

namespace nb = nanobind;

// The Python type. An instance runs the Program that was passed to `_enter_`, as long as that is
// the function's `direct`, nothing is traced, all arguments already have the declared types, and
// the thread is not in grad mode, if gradients of the object may be wanted.
// Every other call becomes `self._call_(*args, **kwargs)`.
nb::object make_caller_type();

// Sets the Python objects that each call of a Caller reads:
// - the class of functions, which has a slot `direct`;
// - `calls`, whose `tracer` is None if nothing is traced, whose `trainable` is replaced when more
//   parameters are handed to Python, and whose `last` is set to the function;
// - `generator`: if its `is_ahead` is set, `hand_over()` has to be called first.
void watch_calls(nb::object function_class, nb::object calls, nb::object generator);

// Releases these objects, when the process ends.
void clear_calls();

}  // namespace scriptlang::python
