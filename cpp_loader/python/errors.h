// The engine's errors as Python's exceptions.
#pragma once

#include <nanobind/nanobind.h>

#include <new>

#include "values/error.h"

namespace scriptlang::python {

namespace nb = nanobind;

// NativeError(kind, class_name, message, stack); made once, when the module is.
nb::object make_native_error();

void set_python_error(const Error& e);
bool is_native_error();  // whether the exception that is set is one

// Sets the Python exception for the C++ one that is being handled.
void set_python_error();

// What a function gives that may throw; null with a Python exception set where it has thrown.
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
