// Memory of the engine as Python holds it.
#pragma once

#include <nanobind/nanobind.h>

#include "values/tensor.h"

namespace scriptlang::python {

namespace nb = nanobind;

// An instance of the extension's class Memory, which speaks the buffer protocol.
struct Memory {
  PyObject_HEAD Storage* storage;  // one reference
};

nb::object make_memory_type();  // once, when the module is made
bool is_memory(nb::handle value);
nb::object memory_of(Storage* storage);  // a new instance

}  // namespace scriptlang::python
