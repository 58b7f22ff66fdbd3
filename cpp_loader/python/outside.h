// The state by which callbacks of a run that Python has started get back to Python.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "gil.h"
#include "ops/op.h"
#include "turns.h"

namespace scriptlang::python {

namespace nb = nanobind;

// The state of one run, which is the `print_user` of its Context. raised: the last Python exception
// of a callback, and the class and message of the Error that stands for it in the engine.
struct Outside {
  struct Raised {
    nb::object exception;
    std::string class_name, message;
  };
  Turn* turn;
  std::unique_ptr<Raised> raised;
};

// The state of a run; null if Python has not started the run.
Outside* outside_of(const Context& context);

// Raises an Error that carries a Python exception through the engine. Requires the GIL.
[[noreturn]] void raise_through(Outside* outside, nb::python_error& error);

// Sets the Python exception for an Error that has ended a run. If a callback has raised it, it
// becomes the attribute `original` of the NativeError. Exceptions that are not subclasses of
// Exception, such as KeyboardInterrupt, are set themselves. Requires the GIL.
void set_raised(const Outside& outside, const Error& error);

}  // namespace scriptlang::python
