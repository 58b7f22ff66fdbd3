// Matrix products on tensors, for the operators that are built on them.
#pragma once

#include <cmath>

#include "op.h"
#include "pointwise.h"

namespace scriptlang {

// a [m, k] times b [k, n], of one dtype. A bias of n elements is added to every row.
Tensor matrix_product(const Tensor& a, const Tensor& b, const Tensor& bias = Tensor());
// Batched products: a [s, m, k] times b [s, k, n].
Tensor batched_product(const Tensor& a, const Tensor& b);
Tensor matmul(const Tensor& a, const Tensor& b);
// input [..., k], weight [n, k] (or [k]), bias [n] or undefined.
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias);

// Raises unless `alpha` can scale an operand of a sum of this type.
void check_alpha(const Value& alpha, ScalarType type);
// Converts a factor for tensors of a type: to an int for integers, to a bool for bools.
inline Scalar factor_for(const Scalar& s, ScalarType type) {
  if (type == ScalarType::Bool) return Scalar(s.to_bool());
  check_factor(s, type);
  return is_integral(type, false) ? Scalar(s.to_int()) : s;
}

}  // namespace scriptlang
