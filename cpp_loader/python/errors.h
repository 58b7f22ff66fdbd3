// Turns errors of the engine into Python exceptions.
#pragma once

#include <nanobind/nanobind.h>

#include <new>

#include "values/error.h"

namespace scriptlang::python {

namespace nb = nanobind;

// Makes the exception class NativeError(kind, class_name, message, stack); called once, when the
// module is imported.
nb::object make_native_error();

void set_python_error(const Error& e);
bool is_native_error();  // whether the current Python exception is a NativeError

// Sets the Python exception for the C++ one that is being handled.
void set_python_error();

// The result of a function that may throw. If it throws, the result is null and the Python
// exception is set.
template <class F>
PyObject* guarded(F f) noexcept {
  try {
    return f();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

}  // namespace scriptlang::python
