// Pointwise operators on quantized tensors that other operators use.
#pragma once

#include <optional>

#include "quantized.h"

namespace scriptlang {

using Bound = std::optional<float>;

// Clamps a quantized tensor between two numbers.
Tensor clamped(const Tensor& x, Bound low, Bound high);

}  // namespace scriptlang
