// Nested tensors, sequences of different lengths in one tensor, as far as PyTorch's transformer
// layers make them: padded with zeros, (batch, longest, features), with their lengths.
#pragma once

#include <functional>
#include <vector>

#include "op.h"

namespace scriptlang {

bool is_nested(const Tensor& t);
// Applies f to each sequence of a nested tensor, (1, length, features), and joins the results.
Tensor each_sequence(const Tensor& t, const std::function<Tensor(const Tensor&)>& f);

}  // namespace scriptlang
