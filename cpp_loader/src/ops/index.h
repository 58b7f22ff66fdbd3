// Indexing by tensors, shared by the operators on indices.
#pragma once

#include <cstring>

#include "op.h"

namespace scriptlang {

// x[indices]. An undefined index selects a whole dimension; a bool or uint8 index is a mask.
Tensor index_tensor(const Tensor& self, const std::vector<Tensor>& indices);
// x[indices] = values, or += with `accumulate`.
void index_put(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
               bool accumulate);
// index_put with the checks for a program's arguments: the number of indices and element types. A
// single number is assigned through a mask whatever its type and shape.
void index_put_checked(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
                       bool accumulate);
// Clamps every index into the tensor's range (negative ones count from the end), since the indices
// of elements that a mask hides may lie outside.
std::vector<Tensor> clamped_indices(const Tensor& self, std::vector<Tensor> indices);
// Gathers slices of a contiguous tensor along one dimension at contiguous int64 `places`; in the
// result the dimensions of `places` replace that dimension. Negative places count from the end.
Tensor parts_along(const Tensor& self, int64_t dim, const Tensor& places);
Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index);
// Writes (or adds) slices of contiguous tensors at positions along one dimension; false where the
// layouts or types do not allow it.
bool try_write_parts(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& values,
                     bool accumulate);
Tensor nonzero(const Tensor& self);  // [count][dim]
// Raises unless the type is one of indices into the rows of a table. For the message: the operator,
// and the position of the indices among its arguments, from 1.
void check_row_indices(const char* name, int position, ScalarType type);
// Whether all n places are in [least, size).
bool all_within(const int64_t* at, int64_t n, int64_t least, int64_t size);

// Raises IndexError unless int64 indices are those of elements, counted from either end.
void check_elements(const Tensor& index, int64_t count);

// Copies a few bytes, in most cases one element.
inline void move_bytes(void* to, const void* from, int64_t bytes) {
  switch (bytes) {
    case 1: std::memcpy(to, from, 1); break;
    case 2: std::memcpy(to, from, 2); break;
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    default: std::memcpy(to, from, size_t(bytes));
  }
}

}  // namespace scriptlang
