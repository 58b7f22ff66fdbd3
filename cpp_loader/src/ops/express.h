// Tensor arithmetic as expressions, for operators that are composed of other operators.
#pragma once

#include "layers.h"
#include "pointwise.h"
#include "view.h"

namespace scriptlang::express {

using kernels::Binary;
using kernels::Unary;

#define SL_EXPRESS_BINARY(name, op, rule)                  \
  inline Tensor name(const Input& a, const Input& b) {     \
    return binary_result(a, b, Binary::k_##op, #op, rule); \
  }
SL_EXPRESS_BINARY(add, add, Rule::kSame)
SL_EXPRESS_BINARY(sub, sub, Rule::kSame)
SL_EXPRESS_BINARY(mul, mul, Rule::kSame)
SL_EXPRESS_BINARY(div, div, Rule::kFloat)
SL_EXPRESS_BINARY(pow, pow, Rule::kSame)
SL_EXPRESS_BINARY(maximum, maximum, Rule::kSame)
SL_EXPRESS_BINARY(minimum, minimum, Rule::kSame)
SL_EXPRESS_BINARY(squared_difference, squared_difference, Rule::kSame)
SL_EXPRESS_BINARY(remainder, remainder, Rule::kSame)
SL_EXPRESS_BINARY(eq, eq, Rule::kToBool)
SL_EXPRESS_BINARY(ne, ne, Rule::kToBool)
SL_EXPRESS_BINARY(lt, lt, Rule::kToBool)
SL_EXPRESS_BINARY(le, le, Rule::kToBool)
SL_EXPRESS_BINARY(gt, gt, Rule::kToBool)
SL_EXPRESS_BINARY(ge, ge, Rule::kToBool)
SL_EXPRESS_BINARY(logical_and, logical_and, Rule::kToBool)
SL_EXPRESS_BINARY(logical_or, logical_or, Rule::kToBool)
#undef SL_EXPRESS_BINARY

Tensor xlogy(const Input& a, const Input& b);  // for half types the logarithm is rounded

#define SL_EXPRESS_UNARY(name, op, rule) \
  inline Tensor name(const Tensor& a) { return unary_result(a, Unary::k_##op, #op, rule); }
SL_EXPRESS_UNARY(neg, neg, Rule::kSame)
SL_EXPRESS_UNARY(abs, abs, Rule::kSame)
SL_EXPRESS_UNARY(exp, exp, Rule::kFloat)
SL_EXPRESS_UNARY(log, log, Rule::kFloat)
SL_EXPRESS_UNARY(log1p, log1p, Rule::kFloat)
SL_EXPRESS_UNARY(sqrt, sqrt, Rule::kFloat)
SL_EXPRESS_UNARY(sin, sin, Rule::kFloat)
SL_EXPRESS_UNARY(cos, cos, Rule::kFloat)
SL_EXPRESS_UNARY(sigmoid, sigmoid, Rule::kFloat)
SL_EXPRESS_UNARY(log_sigmoid, log_sigmoid, Rule::kSame)
SL_EXPRESS_UNARY(relu, relu, Rule::kSame)
SL_EXPRESS_UNARY(conj, conj, Rule::kSame)
SL_EXPRESS_UNARY(isnan, isnan, Rule::kToBool)
SL_EXPRESS_UNARY(isinf, isinf, Rule::kToBool)
SL_EXPRESS_UNARY(isfinite, isfinite, Rule::kToBool)
SL_EXPRESS_UNARY(logical_not, logical_not, Rule::kToBool)
#undef SL_EXPRESS_UNARY

inline Tensor clamp_min(const Tensor& a, double low) {
  double params[kernels::kParams] = {low};
  return unary_result(a, Unary::k_clamp_min, "clamp_min", Rule::kSame, params);
}
inline Tensor where(const Tensor& condition, const Input& a, const Input& b) {
  return where_result(condition, a, b, result_type(a, b));
}
inline Tensor clone(const Tensor& t) {
  Tensor copy = Tensor::empty_like(t, t.dtype());
  copy_into(copy, t);
  return copy;
}
// A copy with the same strides, including gaps between elements; dense where elements share memory.
inline Tensor clone_as_it_lies(const Tensor& t) {
  if (t.numel() == 0) return clone(t);  // their sizes and strides may overflow below
  int64_t reach = 1;                    // cannot overflow: all elements are in the storage
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (t.size(d) > 1 && t.stride(d) == 0) return clone(t);
    reach += (t.size(d) - 1) * t.stride(d);
  }
  Tensor memory = Tensor::empty({reach}, t.dtype());
  copy_into(memory, t.as_strided({reach}, {1}, t.storage_offset()));
  return memory.as_strided(t.sizes(), t.strides(), 0);
}
inline Tensor full(IntSpan sizes, ScalarType dtype, const Scalar& value) {
  Tensor t = Tensor::empty(sizes, dtype);
  fill(t, value);
  return t;
}

}  // namespace scriptlang::express
