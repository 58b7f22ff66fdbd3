// Pointwise operators where nothing has to be planned: a few elements, float tensors that are
// contiguous, of one shape and type, or one tensor and a number.
#pragma once

#include "pointwise.h"

namespace scriptlang {

// Each computes out[0] = f(args[0], args[1]) and is true, or does nothing and is false. Operands
// that nobody else holds give their memory to the result. The loop gives what it takes.
bool direct_unary(Args args, Value* out, const kernels::LoopTable& loops,
                  const double* params = nullptr);
bool direct_binary(Args args, Value* out, const kernels::LoopTable& loops,
                   const double* params = nullptr);

}  // namespace scriptlang
