// Putting tensors together.
#pragma once

#include "op.h"

namespace scriptlang {

Tensor cat(const std::vector<Tensor>& tensors, int64_t dim);
Tensor stack(const std::vector<Tensor>& tensors, int64_t dim);
Tensor flip(const Tensor& self, IntSpan dims);

}  // namespace scriptlang
