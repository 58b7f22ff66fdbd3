// Pointwise functions with constants: logit, rounding to decimals, degrees, nan_to_num.
#include <algorithm>
#include <limits>

#include "express.h"
#include "pointwise_binary.h"

namespace scriptlang {

using kernels::Unary;

namespace {

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

// logit for half types: every step is rounded, as in PyTorch's loop.
Tensor logit_of_halves(const Tensor& self, double eps) {
  using namespace express;
  Tensor x = self;
  if (eps >= 0) {  // the bounds may cross
    const Scalar low(round_to_half(eps, self.dtype()));
    const Scalar high(round_to_half(1.0 - low.d, self.dtype()));
    x = where(gt(x, high), high, x);
    x = where(lt(self, low), low, x);
  }
  return log(div(x, sub(Scalar(1.0), x)));
}

}  // namespace

SL_OP(aten_logit) {
  const Tensor& self = args.tensor(0);
  double p[kernels::kParams] = {args.number(1, -1.0)};
  out[0] = is_half(self.dtype()) ? logit_of_halves(self, p[0])
                                 : unary_result(self, Unary::k_logit, "logit", Rule::kFloat, p);
}
SL_OP(aten_logit_) {
  const Tensor& self = args.tensor(0);
  double p[kernels::kParams] = {args.number(1, -1.0)};
  if (is_half(self.dtype())) {
    check_writable(self);
    copy_into(self, logit_of_halves(self, p[0]));
    out[0] = self;
  } else {
    out[0] = unary_result(self, Unary::k_logit, "logit", Rule::kFloat, p, self);
  }
}
SL_OP(aten_special_logit) { op_aten_logit(ctx, args, out); }
SL_OP(aten_round_decimals) {
  // Beyond these powers of ten the result does not change.
  double p[kernels::kParams] = {double(std::clamp<int64_t>(args.integer(1), -400, 400))};
  out[0] = unary_result(args.tensor(0), Unary::k_round_decimals, "round", Rule::kSame, p);
}
SL_OP(aten_special_round) { op_aten_round_decimals(ctx, args, out); }
SL_OP(aten_deg2rad) {
  double p[kernels::kParams] = {3.14159265358979323846 / 180.0, -0.0};  // keeps the sign of -0
  out[0] = unary_result(args.tensor(0), Unary::k_scale_shift, "deg2rad", Rule::kFloat, p);
}
SL_OP(aten_rad2deg) {
  double p[kernels::kParams] = {180.0 / 3.14159265358979323846, -0.0};
  out[0] = unary_result(args.tensor(0), Unary::k_scale_shift, "rad2deg", Rule::kFloat, p);
}
SL_OP(aten_nan_to_num) { out[0] = nan_to_num(args, Tensor()); }
SL_OP(aten_nan_to_num_) { out[0] = nan_to_num(args, args.tensor(0)); }

}  // namespace scriptlang
