// Kernels: operators of the library that Python calls with all their arguments.
#pragma once

#include <nanobind/nanobind.h>

#include "convert.h"
#include "member.h"
#include "names.h"
#include "ops/optable.h"

namespace scriptlang::python {

namespace nb = nanobind;

// What every call looks at, with the offsets of its attributes.
struct Watched {
  nb::object calls, generator;
  nb::list marks;  // the function that marks a tensor as one of inference mode, if it is there
  Member m_tracer{nb::borrow(calls.type()), "tracer"},
      m_recorder{nb::borrow(calls.type()), "recorder"},
      m_is_ahead{nb::borrow(generator.type()), "is_ahead"};
  nb::object hand_over = interned("hand_over"), is_nested = interned("is_nested"),
             follows_tangents = interned("follows_tangents");
};
extern Watched* watched;  // null until the package is loaded, and when the process ends

// A Kernel as a Python object.
struct Kernel {
  PyObject_HEAD const OpEntry* entry;
  PyObject* op;     // the Operator of the package; its `kernel` runs what this one refuses
  PyObject* named;  // makes the named tuple of several results; None for a tuple
  size_t count;     // how many results there are
  bool may_alias;   // whether it may write an argument, or give a tensor on the memory of one
};

constexpr size_t kMostArguments = 24, kMostResults = 8;

// Whether an object is a Kernel.
bool is_kernel(PyObject* object);

// The results of the operator. Raises what it raises.
nb::object results_of(const Kernel& kernel, Value* values, size_t count, const Passed& passed);

// Several results as their named tuple.
nb::object named_results(const Kernel& kernel, nb::object results);

// Whether a value is a Tensor that has sizes and strides, as nested ones have not.
bool is_strided(nb::handle value);

// An argument. Memory that must not be written has been copied: raises TypeError where it must not
// be.
Tensor tensor_of(const Kernel& kernel, nb::handle value, ToNative& convert, Passed& passed);

// Whether the current exception is one for which the Python engine is asked: not an interrupt.
bool may_ask_again();

}  // namespace scriptlang::python
