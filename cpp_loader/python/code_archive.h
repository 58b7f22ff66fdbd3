// An archive whose code the engine compiles by itself, for Python: its objects are Python's, too.
#pragma once

#include <nanobind/nanobind.h>

namespace scriptlang::python {

void bind_code_archive(nanobind::module_& m);

}  // namespace scriptlang::python
