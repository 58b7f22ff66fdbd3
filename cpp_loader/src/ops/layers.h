// Operators that other operators are composed of.
#pragma once

#include "op.h"
#include "values/dims.h"

namespace scriptlang {

Tensor softmax(const Tensor& self, int64_t dim);
Tensor log_softmax(const Tensor& self, int64_t dim);
Tensor layer_norm_of(const Tensor& input, IntSpan shape, const Tensor& weight, const Tensor& bias,
                     double eps);
Tensor sum_over(const Tensor& self, const Dims& dims, bool keepdim = false);
Tensor extreme_along(const Tensor& self, int64_t dim, bool keepdim, bool greatest);
Tensor mean_of_all(const Tensor& self);

}  // namespace scriptlang
