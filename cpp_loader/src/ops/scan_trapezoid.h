// Checks that the integrals by the trapezoidal rule share.
#pragma once

#include "express.h"

namespace scriptlang {

// Raises IndexError for a tensor without dimensions, of which `dim` is named.
void check_has_dim(const Tensor& t, int64_t dim);
// Raises if the distance of the points is a complex number or a bool.
void check_real_step(const char* name, const Input& step);

}  // namespace scriptlang
