// Operators of two tensors, or of a tensor and a number, which run one loop of a table.
#pragma once

#include "pointwise_direct.h"

namespace scriptlang {

// Numbers beside tensors of half types are rounded to these: by all that make a tensor of the
// number first, which mul and div do not.
Args round_numbers(Args args);

// A number as an element of a half type, if it is one.
double round_to_half(double number, ScalarType type);

}  // namespace scriptlang

namespace scriptlang::pointwise {

using kernels::Binary;

constexpr Rule kCommon = Rule::kSame, kFloat = Rule::kFloat, kCompare = Rule::kToBool;

inline void binary(Args args, Value* out, Binary op, const char* name, Rule rule,
                   const double* params = nullptr) {
  if (rule != kCompare && direct_binary(args, out, kernels::loops(op), params)) return;
  out[0] =
      binary_result(Input::of(args[0]), Input::of(args[1]), op, name, rule, params, Tensor(), true);
}

inline void binary_(Args args, Value* out, Binary op, const char* name, Rule rule,
                    const double* params = nullptr) {
  const Tensor& self = args.tensor(0);
  out[0] = binary_result(self, Input::of(args[1]), op, name, rule, params, self);
}

}  // namespace scriptlang::pointwise
