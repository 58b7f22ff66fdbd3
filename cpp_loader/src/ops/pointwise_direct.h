// Fast paths of pointwise operators that need no plan: a few elements, contiguous float tensors of
// the same shape and type, or a tensor and a number.
#pragma once

#include "pointwise.h"

namespace scriptlang {

// Each computes out[0] = f(args[0], args[1]) and returns true, or does nothing and returns false.
// The result may reuse the memory of operands without other owners, and has the operands' type.
bool direct_unary(Args args, Value* out, const kernels::LoopTable& loops,
                  const double* params = nullptr);
bool direct_binary(Args args, Value* out, const kernels::LoopTable& loops,
                   const double* params = nullptr);

}  // namespace scriptlang
