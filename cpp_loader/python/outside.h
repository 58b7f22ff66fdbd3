// What lies outside of a run that Python has started: where its callbacks find Python again.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "gil.h"
#include "ops/op.h"
#include "turns.h"

namespace scriptlang::python {

namespace nb = nanobind;

// Of one run; `print_user` of its Context. raised: the exception of Python that a callback has
// ended with last, and what the engine's Error says in its place.
struct Outside {
  struct Raised {
    nb::object exception;
    std::string class_name, message;
  };
  Turn* turn;
  std::unique_ptr<Raised> raised;
};

// That of a run; null where it is not one that Python has started.
Outside* outside_of(const Context& context);

// With the GIL: the exception that is being handled goes through the engine as an Error.
[[noreturn]] void raise_through(Outside* outside, nb::python_error& error);

// With the GIL: sets the exception of Python for an Error that a run has ended with. One that a
// callback has raised is the `original` of the NativeError, or itself where nobody may catch it.
void set_raised(const Outside& outside, const Error& error);

}  // namespace scriptlang::python
