// Caller: the base class of what Python calls again and again to run a program.
#pragma once

#include <nanobind/nanobind.h>

namespace scriptlang::python {

namespace nb = nanobind;

// Instances run a Program that `_enter_` was given, as long as that is the function's `direct`,
// nothing traces and all arguments are as the function declares them. Every other call is
// `self._call_(*args, **kwargs)`.
nb::object make_caller_type();

// What a Caller looks at in a call, once the package has it: the class of functions, which have a
// slot `direct`; `calls`, whose `tracer` is None where nothing traces, whose `trainable` is another
// object once more parameters were given to Python, and whose `last` is set to the function;
// `generator`, whose `is_ahead` asks for `hand_over()` first.
void watch_calls(nb::object function_class, nb::object calls, nb::object generator);

// Forgets them; for the end of the module.
void clear_calls();

}  // namespace scriptlang::python
