// Pointwise operators on quantized tensors that others are made of.
#pragma once

#include <optional>

#include "quantized.h"

namespace scriptlang {

using Bound = std::optional<float>;

// Codes between those of two numbers.
Tensor clamped(const Tensor& x, Bound low, Bound high);

}  // namespace scriptlang
