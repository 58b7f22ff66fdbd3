// Pointwise operators of one tensor.
#include <cstring>

#include "pointwise_direct.h"

namespace scriptlang {

using kernels::Unary;

Tensor unary_result(const Tensor& self, Unary op, const char* name, Rule rule, const double* params,
                    const Tensor& into, bool may_reuse) {
  Pointwise p;
  p.table = &kernels::loops(op);
  p.name = name;
  p.compute = rule == Rule::kFloat ? float_type(self.dtype()) : self.dtype();
  if (rule == Rule::kToBool) p.produced = ScalarType::Bool;
  if ((op == Unary::k_abs || op == Unary::k_angle) && is_complex(p.compute)) {
    p.produced = to_real(p.compute);
  }
  p.params = params;
  p.may_reuse = may_reuse;
  p.count = 1;
  p.in[0] = self;
  p.out = into;
  if (into.defined()) {
    check_can_cast(p.produced != ScalarType::Undefined ? p.produced : p.compute, into.dtype());
  }
  return run(p);
}

namespace {

constexpr Rule kSame = Rule::kSame, kToFloat = Rule::kFloat, kToBool = Rule::kToBool;

void check_meaning(const Tensor& self, Unary op, const char* name) {
  if (op == Unary::k_sign && std::strcmp(name, "sgn") != 0 && is_complex(self.dtype()))
    raise(ErrorKind::NotImplementedError,
          "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use "
          "torch.sgn instead.");
  if (self.dtype() != ScalarType::Bool) return;
  SL_CHECK(op != Unary::k_neg,
           "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
           "invert a mask, use the `~` or `logical_not()` operator instead.");
}

void unary(Args args, Value* out, Unary op, const char* name, Rule rule,
           const double* params = nullptr) {
  if (rule != kToBool && direct_unary(args, out, kernels::loops(op), params)) return;
  const Tensor& self = args.tensor(0);
  check_meaning(self, op, name);
  if (op == Unary::k_square && self.dtype() == ScalarType::Bool) {
    out[0] = unary_result(to_dtype(self, ScalarType::Int64), op, name, rule, params, Tensor());
    return;
  }
  out[0] = unary_result(self, op, name, rule, params, Tensor(), true);
}

void unary_(Args args, Value* out, Unary op, const char* name, Rule rule,
            const double* params = nullptr) {
  const Tensor& self = args.tensor(0);
  check_meaning(self, op, name);
  SL_CHECK(op != Unary::k_abs || !is_complex(self.dtype()),
           "In-place abs is not supported for complex tensors.");
  out[0] = unary_result(self, op, name, rule, params, self);
}

}  // namespace

// Results of a float type: integers and bool become float32.
SL_OP(aten_exp) { unary(args, out, Unary::k_exp, "exp", kToFloat); }
SL_OP(aten_exp_) { unary_(args, out, Unary::k_exp, "exp", kToFloat); }
SL_OP(aten_exp2) { unary(args, out, Unary::k_exp2, "exp2", kToFloat); }
SL_OP(aten_exp2_) { unary_(args, out, Unary::k_exp2, "exp2", kToFloat); }
SL_OP(aten_expm1) { unary(args, out, Unary::k_expm1, "expm1", kToFloat); }
SL_OP(aten_expm1_) { unary_(args, out, Unary::k_expm1, "expm1", kToFloat); }
SL_OP(aten_log) { unary(args, out, Unary::k_log, "log", kToFloat); }
SL_OP(aten_log_) { unary_(args, out, Unary::k_log, "log", kToFloat); }
SL_OP(aten_log2) { unary(args, out, Unary::k_log2, "log2", kToFloat); }
SL_OP(aten_log2_) { unary_(args, out, Unary::k_log2, "log2", kToFloat); }
SL_OP(aten_log10) { unary(args, out, Unary::k_log10, "log10", kToFloat); }
SL_OP(aten_log10_) { unary_(args, out, Unary::k_log10, "log10", kToFloat); }
SL_OP(aten_log1p) { unary(args, out, Unary::k_log1p, "log1p", kToFloat); }
SL_OP(aten_log1p_) { unary_(args, out, Unary::k_log1p, "log1p", kToFloat); }
SL_OP(aten_sqrt) { unary(args, out, Unary::k_sqrt, "sqrt", kToFloat); }
SL_OP(aten_sqrt_) { unary_(args, out, Unary::k_sqrt, "sqrt", kToFloat); }
SL_OP(aten_rsqrt) { unary(args, out, Unary::k_rsqrt, "rsqrt", kToFloat); }
SL_OP(aten_rsqrt_) { unary_(args, out, Unary::k_rsqrt, "rsqrt", kToFloat); }
SL_OP(aten_sin) { unary(args, out, Unary::k_sin, "sin", kToFloat); }
SL_OP(aten_sin_) { unary_(args, out, Unary::k_sin, "sin", kToFloat); }
SL_OP(aten_cos) { unary(args, out, Unary::k_cos, "cos", kToFloat); }
SL_OP(aten_cos_) { unary_(args, out, Unary::k_cos, "cos", kToFloat); }
SL_OP(aten_tan) { unary(args, out, Unary::k_tan, "tan", kToFloat); }
SL_OP(aten_tan_) { unary_(args, out, Unary::k_tan, "tan", kToFloat); }
SL_OP(aten_asin) { unary(args, out, Unary::k_asin, "asin", kToFloat); }
SL_OP(aten_asin_) { unary_(args, out, Unary::k_asin, "asin", kToFloat); }
SL_OP(aten_acos) { unary(args, out, Unary::k_acos, "acos", kToFloat); }
SL_OP(aten_acos_) { unary_(args, out, Unary::k_acos, "acos", kToFloat); }
SL_OP(aten_atan) { unary(args, out, Unary::k_atan, "atan", kToFloat); }
SL_OP(aten_atan_) { unary_(args, out, Unary::k_atan, "atan", kToFloat); }
SL_OP(aten_sinh) { unary(args, out, Unary::k_sinh, "sinh", kToFloat); }
SL_OP(aten_sinh_) { unary_(args, out, Unary::k_sinh, "sinh", kToFloat); }
SL_OP(aten_cosh) { unary(args, out, Unary::k_cosh, "cosh", kToFloat); }
SL_OP(aten_cosh_) { unary_(args, out, Unary::k_cosh, "cosh", kToFloat); }
SL_OP(aten_tanh) { unary(args, out, Unary::k_tanh, "tanh", kToFloat); }
SL_OP(aten_tanh_) { unary_(args, out, Unary::k_tanh, "tanh", kToFloat); }
SL_OP(aten_asinh) { unary(args, out, Unary::k_asinh, "asinh", kToFloat); }
SL_OP(aten_asinh_) { unary_(args, out, Unary::k_asinh, "asinh", kToFloat); }
SL_OP(aten_acosh) { unary(args, out, Unary::k_acosh, "acosh", kToFloat); }
SL_OP(aten_acosh_) { unary_(args, out, Unary::k_acosh, "acosh", kToFloat); }
SL_OP(aten_atanh) { unary(args, out, Unary::k_atanh, "atanh", kToFloat); }
SL_OP(aten_atanh_) { unary_(args, out, Unary::k_atanh, "atanh", kToFloat); }
SL_OP(aten_erf) { unary(args, out, Unary::k_erf, "erf", kToFloat); }
SL_OP(aten_erf_) { unary_(args, out, Unary::k_erf, "erf", kToFloat); }
SL_OP(aten_erfc) { unary(args, out, Unary::k_erfc, "erfc", kToFloat); }
SL_OP(aten_erfc_) { unary_(args, out, Unary::k_erfc, "erfc", kToFloat); }
SL_OP(aten_erfinv) { unary(args, out, Unary::k_erfinv, "erfinv", kToFloat); }
SL_OP(aten_erfinv_) { unary_(args, out, Unary::k_erfinv, "erfinv", kToFloat); }
SL_OP(aten_sigmoid) { unary(args, out, Unary::k_sigmoid, "sigmoid", kToFloat); }
SL_OP(aten_sigmoid_) { unary_(args, out, Unary::k_sigmoid, "sigmoid", kToFloat); }
SL_OP(aten_lgamma) { unary(args, out, Unary::k_lgamma, "lgamma", kToFloat); }
SL_OP(aten_lgamma_) { unary_(args, out, Unary::k_lgamma, "lgamma", kToFloat); }
SL_OP(aten_digamma) { unary(args, out, Unary::k_digamma, "digamma", kToFloat); }
SL_OP(aten_digamma_) { unary_(args, out, Unary::k_digamma, "digamma", kToFloat); }
SL_OP(aten_reciprocal) { unary(args, out, Unary::k_reciprocal, "reciprocal", kToFloat); }
SL_OP(aten_reciprocal_) { unary_(args, out, Unary::k_reciprocal, "reciprocal", kToFloat); }
SL_OP(aten_sinc) { unary(args, out, Unary::k_sinc, "sinc", kToFloat); }
SL_OP(aten_sinc_) { unary_(args, out, Unary::k_sinc, "sinc", kToFloat); }
SL_OP(aten_i0) { unary(args, out, Unary::k_i0, "i0", kToFloat); }
SL_OP(aten_i0_) { unary_(args, out, Unary::k_i0, "i0", kToFloat); }
SL_OP(aten_arcsin) { unary(args, out, Unary::k_asin, "asin", kToFloat); }
SL_OP(aten_arcsin_) { unary_(args, out, Unary::k_asin, "asin", kToFloat); }
SL_OP(aten_arccos) { unary(args, out, Unary::k_acos, "acos", kToFloat); }
SL_OP(aten_arccos_) { unary_(args, out, Unary::k_acos, "acos", kToFloat); }
SL_OP(aten_arctan) { unary(args, out, Unary::k_atan, "atan", kToFloat); }
SL_OP(aten_arctan_) { unary_(args, out, Unary::k_atan, "atan", kToFloat); }
SL_OP(aten_arcsinh) { unary(args, out, Unary::k_asinh, "asinh", kToFloat); }
SL_OP(aten_arcsinh_) { unary_(args, out, Unary::k_asinh, "asinh", kToFloat); }
SL_OP(aten_arccosh) { unary(args, out, Unary::k_acosh, "acosh", kToFloat); }
SL_OP(aten_arccosh_) { unary_(args, out, Unary::k_acosh, "acosh", kToFloat); }
SL_OP(aten_arctanh) { unary(args, out, Unary::k_atanh, "atanh", kToFloat); }
SL_OP(aten_arctanh_) { unary_(args, out, Unary::k_atanh, "atanh", kToFloat); }
SL_OP(aten_special_expit) { unary(args, out, Unary::k_sigmoid, "sigmoid", kToFloat); }
SL_OP(aten_special_erf) { unary(args, out, Unary::k_erf, "erf", kToFloat); }
SL_OP(aten_special_erfc) { unary(args, out, Unary::k_erfc, "erfc", kToFloat); }
SL_OP(aten_special_erfinv) { unary(args, out, Unary::k_erfinv, "erfinv", kToFloat); }
SL_OP(aten_special_exp2) { unary(args, out, Unary::k_exp2, "exp2", kToFloat); }
SL_OP(aten_special_expm1) { unary(args, out, Unary::k_expm1, "expm1", kToFloat); }
SL_OP(aten_special_log1p) { unary(args, out, Unary::k_log1p, "log1p", kToFloat); }
SL_OP(aten_special_gammaln) { unary(args, out, Unary::k_lgamma, "lgamma", kToFloat); }
SL_OP(aten_special_digamma) { unary(args, out, Unary::k_digamma, "digamma", kToFloat); }
SL_OP(aten_special_psi) { unary(args, out, Unary::k_digamma, "digamma", kToFloat); }
SL_OP(aten_special_i0) { unary(args, out, Unary::k_i0, "i0", kToFloat); }
SL_OP(aten_special_sinc) { unary(args, out, Unary::k_sinc, "sinc", kToFloat); }

// Results of the operand's type; the loop tables do not support some types.
SL_OP(aten_abs) { unary(args, out, Unary::k_abs, "abs", kSame); }
SL_OP(aten_abs_) { unary_(args, out, Unary::k_abs, "abs", kSame); }
SL_OP(aten_neg) { unary(args, out, Unary::k_neg, "neg", kSame); }
SL_OP(aten_neg_) { unary_(args, out, Unary::k_neg, "neg", kSame); }
SL_OP(aten_sign) { unary(args, out, Unary::k_sign, "sign", kSame); }
SL_OP(aten_sign_) { unary_(args, out, Unary::k_sign, "sign", kSame); }
SL_OP(aten_square) { unary(args, out, Unary::k_square, "square", kSame); }
SL_OP(aten_square_) { unary_(args, out, Unary::k_square, "square", kSame); }
SL_OP(aten_ceil) { unary(args, out, Unary::k_ceil, "ceil", kSame); }
SL_OP(aten_ceil_) { unary_(args, out, Unary::k_ceil, "ceil", kSame); }
SL_OP(aten_floor) { unary(args, out, Unary::k_floor, "floor", kSame); }
SL_OP(aten_floor_) { unary_(args, out, Unary::k_floor, "floor", kSame); }
SL_OP(aten_trunc) { unary(args, out, Unary::k_trunc, "trunc", kSame); }
SL_OP(aten_trunc_) { unary_(args, out, Unary::k_trunc, "trunc", kSame); }
SL_OP(aten_frac) { unary(args, out, Unary::k_frac, "frac", kSame); }
SL_OP(aten_frac_) { unary_(args, out, Unary::k_frac, "frac", kSame); }
SL_OP(aten_bitwise_not) { unary(args, out, Unary::k_bitwise_not, "bitwise_not", kSame); }
SL_OP(aten_bitwise_not_) { unary_(args, out, Unary::k_bitwise_not, "bitwise_not", kSame); }
SL_OP(aten_relu) { unary(args, out, Unary::k_relu, "relu", kSame); }
SL_OP(aten_relu_) { unary_(args, out, Unary::k_relu, "relu", kSame); }
SL_OP(aten_silu) { unary(args, out, Unary::k_silu, "silu", kSame); }
SL_OP(aten_silu_) { unary_(args, out, Unary::k_silu, "silu", kSame); }
SL_OP(aten_mish) { unary(args, out, Unary::k_mish, "mish", kSame); }
SL_OP(aten_mish_) { unary_(args, out, Unary::k_mish, "mish", kSame); }
SL_OP(aten_hardswish) { unary(args, out, Unary::k_hardswish, "hardswish", kSame); }
SL_OP(aten_hardswish_) { unary_(args, out, Unary::k_hardswish, "hardswish", kSame); }
SL_OP(aten_hardsigmoid) { unary(args, out, Unary::k_hardsigmoid, "hardsigmoid", kSame); }
SL_OP(aten_hardsigmoid_) { unary_(args, out, Unary::k_hardsigmoid, "hardsigmoid", kSame); }
SL_OP(aten_log_sigmoid) {  // row-major, whatever the input is
  unary(args, out, Unary::k_log_sigmoid, "log_sigmoid", kSame);
  out[0] = to_contiguous(out[0].as_tensor());
}
SL_OP(aten_absolute) { unary(args, out, Unary::k_abs, "abs", kSame); }
SL_OP(aten_absolute_) { unary_(args, out, Unary::k_abs, "abs", kSame); }
SL_OP(aten_negative) { unary(args, out, Unary::k_neg, "neg", kSame); }
SL_OP(aten_negative_) { unary_(args, out, Unary::k_neg, "neg", kSame); }
SL_OP(aten_fix) { unary(args, out, Unary::k_trunc, "trunc", kSame); }
SL_OP(aten_fix_) { unary_(args, out, Unary::k_trunc, "trunc", kSame); }
SL_OP(aten_sgn) { unary(args, out, Unary::k_sign, "sgn", kSame); }
SL_OP(aten_sgn_) { unary_(args, out, Unary::k_sign, "sgn", kSame); }
SL_OP(aten_round) { unary(args, out, Unary::k_round, "round", kSame); }
SL_OP(aten_round_) { unary_(args, out, Unary::k_round, "round", kSame); }

// Results of type bool.
SL_OP(aten_isnan) { unary(args, out, Unary::k_isnan, "isnan", kToBool); }
SL_OP(aten_isinf) { unary(args, out, Unary::k_isinf, "isinf", kToBool); }
SL_OP(aten_isfinite) { unary(args, out, Unary::k_isfinite, "isfinite", kToBool); }
SL_OP(aten_isposinf) { unary(args, out, Unary::k_isposinf, "isposinf", kToBool); }
SL_OP(aten_isneginf) { unary(args, out, Unary::k_isneginf, "isneginf", kToBool); }
SL_OP(aten_signbit) { unary(args, out, Unary::k_signbit, "signbit", kToBool); }
SL_OP(aten_logical_not) { unary(args, out, Unary::k_logical_not, "logical_not", kToBool); }
SL_OP(aten_logical_not_) { unary_(args, out, Unary::k_logical_not, "logical_not", kToBool); }

}  // namespace scriptlang
