// Binding of archives whose code the engine compiles itself, and whose objects Python shares.
#pragma once

#include <nanobind/nanobind.h>

namespace scriptlang::python {

void bind_code_archive(nanobind::module_& m);

}  // namespace scriptlang::python
