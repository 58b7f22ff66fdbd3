// Indexing by tensors.
#pragma once

#include "op.h"

namespace scriptlang {

// x[indices]: an undefined index stands for a whole dimension, a bool or uint8 one for a mask.
Tensor index_tensor(const Tensor& self, const std::vector<Tensor>& indices);
// x[indices] = values, or += with `accumulate`.
void index_put(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
               bool accumulate);
Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index);
Tensor nonzero(const Tensor& self);  // [count][dim]

}  // namespace scriptlang
