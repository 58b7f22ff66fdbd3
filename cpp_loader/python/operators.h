// Operators that Python registers, and those of plug-ins as Python calls them.
#pragma once

#include <nanobind/nanobind.h>

namespace scriptlang::python {

void bind_operators(nanobind::module_& m);

}  // namespace scriptlang::python
