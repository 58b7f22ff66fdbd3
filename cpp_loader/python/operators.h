// Binding of custom operators: Python functions that programs call, and operators of plug-ins that
// Python calls.
#pragma once

#include <nanobind/nanobind.h>

namespace scriptlang::python {

void bind_operators(nanobind::module_& m);

}  // namespace scriptlang::python
