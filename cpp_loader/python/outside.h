// What lies outside of a run that Python has started: where its callbacks find Python again.
#pragma once

#include <nanobind/nanobind.h>

#include <cxxabi.h>
#include <unistd.h>

#include <memory>
#include <string>

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

// What Python is called by in a thread that may be a daemon: where the process ends, Python ends
// such a thread when it wants the GIL. It stays here then, as it is: nobody needs it any more, and
// what its run holds cannot be given back without the GIL. (What ends it is no object of C++: the
// reference to it is null.)
template <class F>
__attribute__((no_sanitize("undefined"))) auto staying(F&& call) {
#if defined(__GLIBCXX__)
  try {
    return call();
  } catch (abi::__forced_unwind&) {
    for (;;) pause();
  }
#else
  return call();
#endif
}

// Runs something with the GIL.
template <class F>
void with_python(F&& body) {
  struct Gil {
    PyGILState_STATE state = staying(PyGILState_Ensure);
    ~Gil() { PyGILState_Release(state); }
  } gil;
  staying(body);
}

// With the GIL: the exception that is being handled goes through the engine as an Error.
[[noreturn]] void raise_through(Outside* outside, nb::python_error& error);

// With the GIL: sets the exception of Python for an Error that a run has ended with. One that a
// callback has raised is the `original` of the NativeError, or itself where nobody may catch it.
void set_raised(const Outside& outside, const Error& error);

}  // namespace scriptlang::python
