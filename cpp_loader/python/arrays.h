// Reads numpy arrays by the fields of their C struct, which is faster than the buffer protocol.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "values/tensor.h"

namespace scriptlang::python {

namespace nb = nanobind;

// An array that is dense, aligned and writable, and has elements of a type that tensors have, in
// this machine's byte order. The memory belongs to the numpy array.
struct Array {
  char* data;
  ScalarType dtype;
  int64_t numel;
  const Py_ssize_t* shape;
  int ndim;
  bool contiguous;  // row-major; else column-major

  int64_t nbytes() const { return numel * itemsize(dtype); }

  // The fields of an array; nothing for other arrays and other objects.
  static std::optional<Array> read(nb::handle value);
};

// Whether a value is exactly a numpy.ndarray. numpy is not imported for it.
bool is_plain_array(nb::handle value);

}  // namespace scriptlang::python
