// Pointwise operators on quantized tensors that other operators use.
#pragma once

#include <functional>
#include <optional>

#include "quantized.h"

namespace scriptlang {

using Bound = std::optional<float>;

// Clamps a quantized tensor between two numbers.
Tensor clamped(const Tensor& x, Bound low, Bound high);
// Applies f, from numbers to numbers of the same memory order, to every element of a tensor, and
// rounds as PyTorch's kernels do, which compute blocks of codes, and the rest one by one. f may be
// given others than the tensor's numbers. `inverse` is that of the scale, for blocks.
struct Blocks {
  bool in_rows = false;
  std::optional<float> inverse;
};
Tensor by_blocks(const Tensor& x, double scale, int64_t zero_point,
                 const std::function<Tensor(const Tensor&)>& f, const Blocks& how = {});

}  // namespace scriptlang
