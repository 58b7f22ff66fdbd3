// Sums and products over columns of a contiguous tensor, which is read in place.
#pragma once

#include "../../kernels/loops.h"
#include "reduce.h"

namespace scriptlang {

// Multiplies over `dims` into `to`; false, and nothing done, where the layout or the type does not
// allow it. The tensor has the type of `to`, or is of a half type and `to` of float32.
bool try_products(const Tensor& self, const Dims& dims, const Tensor& to);

// The same for sums. `numbers`: NaN counts as 0. Sums of long columns are made of partial sums,
// which keeps their rounding errors small.
bool try_sums(const Tensor& self, const Dims& dims, const Tensor& to, bool numbers);

}  // namespace scriptlang
