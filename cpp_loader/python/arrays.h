// Arrays of numpy, read by their header: what a buffer of the protocol would say, without making
// one.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "values/tensor.h"

namespace scriptlang::python {

namespace nb = nanobind;

// An array that lies densely in memory, may be written to, and has elements of a type of ours in
// this machine's byte order. Its memory is the array's.
struct Array {
  char* data;
  ScalarType dtype;
  int64_t numel;
  const Py_ssize_t* shape;
  int ndim;
  bool contiguous;  // row-major; else column-major

  int64_t nbytes() const { return numel * itemsize(dtype); }

  // Nothing for other arrays and other objects.
  static std::optional<Array> read(nb::handle value);
};

// Makes `read` know arrays by numpy's class; it knows none where their header is not the one that
// numpy has had so far.
void set_array_class(const nb::object& ndarray);

}  // namespace scriptlang::python
