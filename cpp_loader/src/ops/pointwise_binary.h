// Operators on two tensors, or a tensor and a number, that run one loop of a table.
#pragma once

#include "pointwise_direct.h"

namespace scriptlang {

// Rounds number arguments to the half type of the tensor beside them. For operators that turn the
// number into a tensor first, as all do but mul and div.
Args round_numbers(Args args);

// Rounds a number to `type`, if that is a half type.
double round_to_half(double number, ScalarType type);

// Floor division as in PyTorch's loops for half types, which round every step. `into` gets the
// result, if it is defined.
Tensor floor_divide_halves(const Tensor& a, const Tensor& b, const Tensor& into);

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
