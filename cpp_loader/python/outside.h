// What lies outside of a run that Python has started: where its callbacks find Python again.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "ops/op.h"
#include "turns.h"

namespace scriptlang::python {

namespace nb = nanobind;

// Of one run; `print_user` of its Context. raised: the exception of Python that a callback has
// ended with last, and what the engine's Error says in its place.
struct Outside {
  Turn* turn;
  nb::object raised;
  std::string class_name, message;
};

// That of a run; null where it is not one that Python has started.
Outside* outside_of(const Context& context);

// What a program calls outside may call programs: it has no turn meanwhile.
template <class F>
void call_outside(Outside* outside, F&& body) {
  if (!outside) return body();
  Turn::Pause pause(outside->turn);
  try {
    body();
  } catch (...) {
    pause.over();
    throw;
  }
  pause.over(for_signals());
}

// With the GIL: the exception that is being handled goes through the engine as an Error.
[[noreturn]] void raise_through(Outside* outside, nb::python_error& error);

// With the GIL: sets the exception of Python for an Error that a run has ended with. One that a
// callback has raised is the `original` of the NativeError, or itself where nobody may catch it.
void set_raised(const Outside& outside, const Error& error);

}  // namespace scriptlang::python
