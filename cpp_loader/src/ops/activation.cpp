// Activations with constants in their formulas.
#include <algorithm>

#include "view.h"
#include "express.h"
#include "pointwise_binary.h"

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
// exact_at reads a number that must fit the tensor's type; number_at reads one that is computed
// with, so that for half types it must fit float32.
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
  Params p = shrink_params(args);
  p.values[0] = round_to_half(p.values[0], args.tensor(0).dtype());
  activation(args, out, Unary::k_hardshrink, "hardshrink", p);
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
SL_OP(aten_log_sigmoid_forward) {
  const Tensor& self = args.tensor(0);
  Tensor size = unary_result(self, Unary::k_abs, "abs", Rule::kSame);
  out[1] = unary_result(unary_result(size, Unary::k_neg, "neg", Rule::kSame), Unary::k_exp, "exp",
                        Rule::kFloat);
  out[0] = to_contiguous(unary_result(self, Unary::k_log_sigmoid, "log_sigmoid", Rule::kSame));
}
namespace {

Tensor glu(const Tensor& self, int64_t dim) {
  if (!is_floating(self.dtype())) {
    raise(ErrorKind::NotImplementedError, "\"glu_cpu\" not implemented for '",
          dtype_display_name(self.dtype()), "'");
  }
  SL_CHECK(self.dim() > 0, "glu does not support 0-dimensional tensors");
  dim = wrap_dim(dim, self.dim());
  int64_t size = self.size(dim);
  SL_CHECK(size % 2 == 0, "Halving dimension must be even, but dimension ", dim, " is size ", size);
  const ScalarType computed = loop_type(self.dtype());  // rounded once
  Tensor x = to_dtype(view_narrow(self, dim, 0, size / 2), computed);
  Tensor gate = to_dtype(view_narrow(self, dim, size / 2, size / 2), computed);
  return to_dtype(express::mul(x, express::sigmoid(gate)), self.dtype());
}

}  // namespace

SL_OP(aten_glu) { out[0] = glu(args.tensor(0), args.integer(1)); }

}  // namespace scriptlang
