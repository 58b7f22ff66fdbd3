// An allocator for numpy that counts the memory of the Python engine while a run has limits.
//
// numpy lets a program replace the functions that allocate arrays (NEP 49), and calls them with or
// without the GIL. The functions here use nothing of Python, so no signal handler runs inside of
// them, and no exception is raised through numpy's C code. If they refuse, numpy raises
// MemoryError, and the caller of the program asks what was refused (scriptlang/allocations.py).
#pragma once
#include <nanobind/nanobind.h>

namespace scriptlang::python {

void bind_numpy_memory(nanobind::module_& m);

}  // namespace scriptlang::python
