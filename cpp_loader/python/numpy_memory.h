// An allocator for numpy that counts what the Python engine makes while a run has limits.
//
// numpy lets a program replace the functions that allocate arrays (NEP 49), and calls them with or
// without the GIL. These touch nothing of Python: no signal handler can run inside of them, and no
// error can be raised through numpy's C code. They refuse, numpy raises MemoryError, and who runs
// the program asks what was refused.
#pragma once
#include <nanobind/nanobind.h>

namespace scriptlang::python {

void bind_numpy_memory(nanobind::module_& m);

}  // namespace scriptlang::python
