// Indexing by tensors: what the operators on indices share.
#pragma once

#include <cstring>

#include "op.h"

namespace scriptlang {

// x[indices]: an undefined index stands for a whole dimension, a bool or uint8 one for a mask.
Tensor index_tensor(const Tensor& self, const std::vector<Tensor>& indices);
// x[indices] = values, or += with `accumulate`.
void index_put(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
               bool accumulate);
// The same, checked as what a program says: counts and element types; one number goes by a mask
// whatever its type and shape.
void index_put_checked(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
                       bool accumulate);
// Every index brought into the tensor, where negative ones count from the end: what a mask hides
// may lie outside.
std::vector<Tensor> clamped_indices(const Tensor& self, std::vector<Tensor> indices);
// The parts of a contiguous tensor that contiguous places (int64) name along one dimension, for
// which the dimensions of `places` stand in the result. Those below zero count from the end.
Tensor parts_along(const Tensor& self, int64_t dim, const Tensor& places);
Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index);
Tensor nonzero(const Tensor& self);  // [count][dim]
// Whether all places lie from `least` to below `size`.
bool all_within(const int64_t* at, int64_t n, int64_t least, int64_t size);

// Copies what mostly is one element.
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
