// Binding of archives that the engine reads as C programs do.
#pragma once

#include <nanobind/nanobind.h>

namespace scriptlang::python {

void bind_archive(nanobind::module_& m);

}  // namespace scriptlang::python
