// Sequences of different lengths as one tensor, as far as PyTorch's transformer layers make them:
// padded with zeros, (batch, longest, features), beside their lengths.
#pragma once

#include <functional>
#include <vector>

#include "op.h"

namespace scriptlang {

bool is_nested(const Tensor& t);
// f of each sequence of a nested tensor, (1, length, features), put together again.
Tensor each_sequence(const Tensor& t, const std::function<Tensor(const Tensor&)>& f);

}  // namespace scriptlang
