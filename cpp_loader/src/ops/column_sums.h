// Sums and products over columns of a contiguous tensor, which stays where it lies.
#pragma once

#include "../../kernels/loops.h"
#include "reduce.h"

namespace scriptlang {

// False where the tensor, which is of the type of `to` or of halves that go to float32, or its
// dimensions are not fit for it.
bool try_products(const Tensor& self, const Dims& dims, const Tensor& to);

// The same for sums. `numbers`: NaN counts as 0. Sums of long columns stay exact: they are made of
// partial ones.
bool try_sums(const Tensor& self, const Dims& dims, const Tensor& to, bool numbers);

}  // namespace scriptlang
