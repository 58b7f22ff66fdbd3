// The Python class Memory, by which Python holds memory of the engine.
#pragma once

#include <nanobind/nanobind.h>

#include "values/tensor.h"

namespace scriptlang::python {

namespace nb = nanobind;

// An instance of the class, which supports the buffer protocol.
struct Memory {
  PyObject_HEAD Storage* storage;  // owned
};

nb::object make_memory_type();  // called once, when the module is imported
bool is_memory(nb::handle value);
nb::object memory_of(Storage* storage);  // a new instance

}  // namespace scriptlang::python
