// Matrix products on tensors, for the operators that are built on them.
#pragma once

#include "op.h"

namespace scriptlang {

// a [m, k] times b [k, n], of one dtype. With a bias of n elements, that is added to every row.
Tensor matrix_product(const Tensor& a, const Tensor& b, const Tensor& bias = Tensor());
// Batches of the above: a [s, m, k] times b [s, k, n].
Tensor batched_product(const Tensor& a, const Tensor& b);
Tensor matmul(const Tensor& a, const Tensor& b);
// input [..., k], weight [n, k] (or [k]), bias [n] or undefined.
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias);

}  // namespace scriptlang
