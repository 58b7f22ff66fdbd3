// Activations with constants, and clamping.
#include <algorithm>
#include <cmath>
#include <limits>

#include "view.h"
#include "express.h"
#include "pointwise.h"

namespace scriptlang {

using kernels::Unary;

namespace {

struct Params {
  double values[kernels::kParams];
};

void activation(Args args, Value* out, Unary op, const char* name, const Params& p) {
  out[0] = unary_result(args.tensor(0), op, name, Rule::kSame, p.values, Tensor(), true);
}
void activation_(Args args, Value* out, Unary op, const char* name, const Params& p) {
  out[0] = unary_result(args.tensor(0), op, name, Rule::kSame, p.values, args.tensor(0));
}

double as_element(const Scalar& s, ScalarType type) {
  return is_integral(type, true) ? double(s.to_int()) : s.to_double();
}
// A number that must fit the tensor's type, and one that is computed with.
double exact_at(Args args, int i) {
  check_fits(args.scalar(i), args.tensor(0).dtype());
  return as_element(args.scalar(i), args.tensor(0).dtype());
}
double number_at(Args args, int i) {
  check_factor(args.scalar(i), args.tensor(0).dtype());
  return as_element(args.scalar(i), args.tensor(0).dtype());
}

Params clamp_to(double low, double high) { return {{low, high}}; }
Params shrink_params(Args args) { return {{exact_at(args, 1)}}; }
Params hardtanh_params(Args args) {
  Params p{{exact_at(args, 1), exact_at(args, 2)}};
  SL_CHECK(args.tensor(0).dtype() != ScalarType::UInt8 || (p.values[0] >= 0 && p.values[1] >= 0),
           "cannot do hardtanh on an unsigned type with negative limits");
  return p;
}
Params threshold_params(Args args) { return {{number_at(args, 1), exact_at(args, 2)}}; }
Params slope(Args args) { return {{number_at(args, 1)}}; }
Params softplus_params(Args args) { return {{number_at(args, 1), number_at(args, 2)}}; }
Params elu_params(Args args) {
  return {{number_at(args, 1), number_at(args, 2), number_at(args, 3)}};
}
Params celu_params(Args args) {
  double alpha = number_at(args, 1);
  SL_CHECK(alpha != 0, "ZeroDivisionError: alpha cannot be 0 for CELU");
  check_factor(Scalar(1.0 / alpha), args.tensor(0).dtype());
  return {{alpha, 1.0, 1.0 / alpha}};
}
constexpr Params kSelu{{1.6732632423543772, 1.0507009873554805, 1.0}};

Unary gelu_kind(std::string_view approximate) {
  if (approximate == "tanh") return Unary::k_gelu_tanh;
  SL_CHECK(approximate == "none", "approximate argument must be either none or tanh.");
  return Unary::k_gelu;
}

// ---- clamp by numbers

// A bound as an element of the type; negative ones of unsigned types wrap.
double clamp_bound(const Scalar& bound, ScalarType type) {
  if (is_complex(type)) {
    raise(ErrorKind::NotImplementedError, "clamp is not supported for complex types");
  }
  check_fits(bound, type);
  double value = bound.to_double();
  return type == ScalarType::UInt8 && value < 0 ? value + 256 : value;
}

Tensor clamp_numbers(const Tensor& self, const Value& low, const Value& high, const Tensor& into) {
  SL_CHECK(!low.is_none() || !high.is_none(),
           "torch.clamp: At least one of 'min' or 'max' must not be None");
  ResultType type;
  type.add(self);
  for (const Value* bound : {&low, &high}) {
    if (!bound->is_none()) type.add(Input(Scalar::of(*bound)));
  }
  Params p{};
  if (!low.is_none()) p.values[0] = clamp_bound(Scalar::of(low), type.get());
  if (!high.is_none()) p.values[low.is_none() ? 0 : 1] = clamp_bound(Scalar::of(high), type.get());
  Unary op = low.is_none()    ? Unary::k_clamp_max
             : high.is_none() ? Unary::k_clamp_min
                              : Unary::k_clamp;
  ScalarType result = type.get();
  for (double bound : {p.values[0], p.values[1]}) {
    if (!std::isnan(bound)) continue;
    return binary_result(self, Scalar(bound), kernels::Binary::k_add, "clamp", Rule::kSame, nullptr,
                         into);
  }
  if (into.defined()) {
    check_can_cast(result, into.dtype());
    return unary_result(self, op, "clamp", Rule::kSame, p.values, into);
  }
  return unary_result(to_dtype(self, result), op, "clamp", Rule::kSame, p.values);
}

// ---- clamp by tensors

Tensor clamp_tensors(const Tensor& self, const Tensor& low, const Tensor& high,
                     const Tensor& into) {
  SL_CHECK(low.defined() || high.defined(),
           "torch.clamp: At least one of 'min' or 'max' must not be None");
  using kernels::Binary;
  if (!high.defined()) {
    return binary_result(self, low, Binary::k_maximum, "clamp", Rule::kSame, nullptr, into);
  }
  if (!low.defined()) {
    return binary_result(self, high, Binary::k_minimum, "clamp", Rule::kSame, nullptr, into);
  }
  Pointwise p;
  p.table = &kernels::loops(kernels::Ternary::k_clamp_tensor);
  p.name = "clamp";
  ResultType type;
  type.add(self);
  type.add(low);
  type.add(high);
  p.compute = type.get();
  p.count = 3;
  p.in[0] = self;
  p.in[1] = low;
  p.in[2] = high;
  p.out = into;
  if (into.defined()) check_can_cast(p.compute, into.dtype());
  return run(p);
}

double largest_finite(ScalarType t) {
  switch (t) {
    case ScalarType::Float64: return std::numeric_limits<double>::max();
    case ScalarType::Float16: return 65504.0;
    case ScalarType::BFloat16: return 3.3895313892515355e38;
    default: return std::numeric_limits<float>::max();
  }
}

Tensor nan_to_num(Args args, const Tensor& into) {
  const Tensor& self = args.tensor(0);
  if (is_integral(self.dtype(), true)) {
    if (into.defined()) return into;
    return unary_result(self, Unary::k_copy, "nan_to_num", Rule::kSame);
  }
  double largest = largest_finite(self.dtype());
  double p[kernels::kParams] = {args.number(1, 0.0), args.number(2, largest),
                                args.number(3, -largest)};
  return unary_result(self, Unary::k_nan_to_num, "nan_to_num", Rule::kSame, p, into);
}

}  // namespace

SL_OP(aten_gelu) { activation(args, out, gelu_kind(args.string(1)), "gelu", {}); }
SL_OP(aten_gelu_) { activation_(args, out, gelu_kind(args.string(1)), "gelu", {}); }
SL_OP(aten_relu6) { activation(args, out, Unary::k_clamp, "relu6", clamp_to(0, 6)); }
SL_OP(aten_relu6_) { activation_(args, out, Unary::k_clamp, "relu6", clamp_to(0, 6)); }
SL_OP(aten_hardtanh) { activation(args, out, Unary::k_clamp, "hardtanh", hardtanh_params(args)); }
SL_OP(aten_hardtanh_) { activation_(args, out, Unary::k_clamp, "hardtanh", hardtanh_params(args)); }
SL_OP(aten_leaky_relu) { activation(args, out, Unary::k_leaky_relu, "leaky_relu", slope(args)); }
SL_OP(aten_leaky_relu_) { activation_(args, out, Unary::k_leaky_relu, "leaky_relu", slope(args)); }
SL_OP(aten_elu) { activation(args, out, Unary::k_elu, "elu", elu_params(args)); }
SL_OP(aten_elu_) { activation_(args, out, Unary::k_elu, "elu", elu_params(args)); }
SL_OP(aten_selu) { activation(args, out, Unary::k_elu, "selu", kSelu); }
SL_OP(aten_selu_) { activation_(args, out, Unary::k_elu, "selu", kSelu); }
SL_OP(aten_celu) { activation(args, out, Unary::k_elu, "celu", celu_params(args)); }
SL_OP(aten_celu_) { activation_(args, out, Unary::k_elu, "celu", celu_params(args)); }
SL_OP(aten_softplus) {
  activation(args, out, Unary::k_softplus, "softplus", softplus_params(args));
}
SL_OP(aten_hardshrink) {
  activation(args, out, Unary::k_hardshrink, "hardshrink", shrink_params(args));
}
SL_OP(aten_softshrink) {
  double lambda = exact_at(args, 1);
  SL_CHECK(lambda >= 0, "lambda must be greater or equal to 0, but found to be ", lambda, ".");
  activation(args, out, Unary::k_softshrink, "softshrink", shrink_params(args));
}
SL_OP(aten_threshold) {
  activation(args, out, Unary::k_threshold, "threshold", threshold_params(args));
}
SL_OP(aten_threshold_) {
  activation_(args, out, Unary::k_threshold, "threshold", threshold_params(args));
}
SL_OP(aten_logit) {
  double p[kernels::kParams] = {args.number(1, -1.0)};
  out[0] = unary_result(args.tensor(0), Unary::k_logit, "logit", Rule::kFloat, p);
}
SL_OP(aten_logit_) {
  double p[kernels::kParams] = {args.number(1, -1.0)};
  out[0] = unary_result(args.tensor(0), Unary::k_logit, "logit", Rule::kFloat, p, args.tensor(0));
}
SL_OP(aten_special_logit) { op_aten_logit(ctx, args, out); }
SL_OP(aten_log_sigmoid_forward) {
  const Tensor& self = args.tensor(0);
  Tensor size = unary_result(self, Unary::k_abs, "abs", Rule::kSame);
  out[1] = unary_result(unary_result(size, Unary::k_neg, "neg", Rule::kSame), Unary::k_exp, "exp",
                        Rule::kFloat);
  out[0] = to_contiguous(unary_result(self, Unary::k_log_sigmoid, "log_sigmoid", Rule::kSame));
}
SL_OP(aten_round_decimals) {
  // Beyond these powers of ten the result does not change.
  double p[kernels::kParams] = {double(std::clamp<int64_t>(args.integer(1), -400, 400))};
  out[0] = unary_result(args.tensor(0), Unary::k_round_decimals, "round", Rule::kSame, p);
}
SL_OP(aten_special_round) { op_aten_round_decimals(ctx, args, out); }
SL_OP(aten_deg2rad) {
  double p[kernels::kParams] = {3.14159265358979323846 / 180.0, 0.0};
  out[0] = unary_result(args.tensor(0), Unary::k_scale_shift, "deg2rad", Rule::kFloat, p);
}
SL_OP(aten_rad2deg) {
  double p[kernels::kParams] = {180.0 / 3.14159265358979323846, 0.0};
  out[0] = unary_result(args.tensor(0), Unary::k_scale_shift, "rad2deg", Rule::kFloat, p);
}
SL_OP(aten_nan_to_num) { out[0] = nan_to_num(args, Tensor()); }
SL_OP(aten_nan_to_num_) { out[0] = nan_to_num(args, args.tensor(0)); }

SL_OP(aten_clamp) { out[0] = clamp_numbers(args.tensor(0), args[1], args[2], Tensor()); }
SL_OP(aten_clamp_) { out[0] = clamp_numbers(args.tensor(0), args[1], args[2], args.tensor(0)); }
SL_OP(aten_clip) { op_aten_clamp(ctx, args, out); }
SL_OP(aten_clip_) { op_aten_clamp_(ctx, args, out); }
SL_OP(aten_clamp_min) { out[0] = clamp_numbers(args.tensor(0), args[1], Value(), Tensor()); }
SL_OP(aten_clamp_max) { out[0] = clamp_numbers(args.tensor(0), Value(), args[1], Tensor()); }
SL_OP(aten_clamp_min_) { out[0] = clamp_numbers(args.tensor(0), args[1], Value(), args.tensor(0)); }
SL_OP(aten_clamp_max_) { out[0] = clamp_numbers(args.tensor(0), Value(), args[1], args.tensor(0)); }
SL_OP(aten_clamp_Tensor) {
  out[0] = clamp_tensors(args.tensor(0), args.opt_tensor(1), args.opt_tensor(2), Tensor());
}
SL_OP(aten_clamp__Tensor) {
  out[0] = clamp_tensors(args.tensor(0), args.opt_tensor(1), args.opt_tensor(2), args.tensor(0));
}
SL_OP(aten_clip_Tensor) { op_aten_clamp_Tensor(ctx, args, out); }
SL_OP(aten_clamp_min_Tensor) {
  out[0] = clamp_tensors(args.tensor(0), args.tensor(1), Tensor(), Tensor());
}
SL_OP(aten_clamp_max_Tensor) {
  out[0] = clamp_tensors(args.tensor(0), Tensor(), args.tensor(1), Tensor());
}
SL_OP(aten_clamp_min__Tensor) {
  out[0] = clamp_tensors(args.tensor(0), args.tensor(1), Tensor(), args.tensor(0));
}
SL_OP(aten_clamp_max__Tensor) {
  out[0] = clamp_tensors(args.tensor(0), Tensor(), args.tensor(1), args.tensor(0));
}

namespace {

Tensor glu(const Tensor& self, int64_t dim) {
  if (!is_floating(self.dtype()) && !is_complex(self.dtype())) {
    raise(ErrorKind::NotImplementedError, "\"glu_cpu\" not implemented for '",
          dtype_display_name(self.dtype()), "'");
  }
  SL_CHECK(self.dim() > 0, "glu does not support 0-dimensional tensors");
  dim = wrap_dim(dim, self.dim());
  int64_t size = self.size(dim);
  SL_CHECK(size % 2 == 0, "Halving dimension must be even, but dimension ", dim, " is size ", size);
  return express::mul(view_narrow(self, dim, 0, size / 2),
                      express::sigmoid(view_narrow(self, dim, size / 2, size / 2)));
}

}  // namespace

SL_OP(aten_glu) { out[0] = glu(args.tensor(0), args.integer(1)); }

}  // namespace scriptlang
