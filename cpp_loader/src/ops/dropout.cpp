// Dropout, which does nothing outside of training.
#include <algorithm>

#include "express.h"
#include "pointwise.h"
#include "random.h"

namespace scriptlang {

namespace {

void check_probability(double p) {
  SL_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
}

Tensor filled_noise(const Tensor& noise, double p, Generator& generator) {
  if (p == 1) {
    fill(noise, 0.0);
    return noise;
  }
  fill_bernoulli(noise, 1 - p, generator);
  return binary_result(noise, Scalar(1 - p), kernels::Binary::k_div, "div", Rule::kSame);
}

// Keeps elements with probability 1 - p, scaled so that the mean stays the same. With `planes`,
// whole channels are kept or zeroed.
Tensor drop(const Tensor& self, double p, bool train, bool planes, Generator& generator) {
  check_probability(p);
  if (!train || p == 0 || self.numel() == 0) return self;
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end());
  if (planes) {
    SL_CHECK(p == 1 || self.dim() >= 2,
             "Feature dropout requires at least 2 dimensions in the input");
    if (self.dim() >= 2) std::fill(sizes.begin() + 2, sizes.end(), 1);
  }
  // With one number for each element, they are drawn in memory order.
  Tensor noise = planes || self.is_contiguous() ? Tensor::empty(sizes, self.dtype())
                                                : Tensor::empty_like(self, self.dtype());
  noise = filled_noise(noise, p, generator);
  return binary_result(self, noise, kernels::Binary::k_mul, "mul", Rule::kSame);
}

// Raises for integers, which would have to become floats.
void check_droppable(const Tensor& self) {
  SL_CHECK(!is_integral(self.dtype(), true),
           "result type Float can't be cast to the desired "
           "output type ",
           dtype_display_name(self.dtype()));
}

void drop_op(Context& ctx, Args args, Value* out, bool in_place, bool planes) {
  const Tensor& self = args.tensor(0);
  double p = args.number(1);
  if (args.boolean(2) && p > 0 && p < 1 && self.numel() > 0) check_droppable(self);
  Tensor result = drop(self, args.number(1), args.boolean(2), planes, *ctx.generator);
  if (in_place && !result.is(self)) copy_into(self, result);
  out[0] = in_place ? self : result;
}

}  // namespace

Tensor dropout_noise(IntSpan sizes, ScalarType dtype, double p, Generator& generator) {
  check_probability(p);
  return filled_noise(Tensor::empty(sizes, dtype), p, generator);
}

SL_OP(aten_dropout) { drop_op(ctx, args, out, false, false); }
SL_OP(aten_dropout_) { drop_op(ctx, args, out, true, false); }
SL_OP(aten_feature_dropout) { drop_op(ctx, args, out, false, true); }
SL_OP(aten_feature_dropout_) { drop_op(ctx, args, out, true, true); }
SL_OP(aten_native_dropout) {
  const Tensor& self = args.tensor(0);
  double p = args.number(1);
  bool train = args.none(2) || args.boolean(2);
  Tensor mask = Tensor::empty_like(self, ScalarType::Bool);
  out[0] = self;
  out[1] = mask;
  if (self.numel() == 0) {
    out[1] = Tensor::empty_like(self, self.dtype());
    return;
  }
  if (!train) {
    out[0] = express::clone(self);
    return fill(mask, true);
  }
  SL_CHECK(is_floating(self.dtype()) || is_complex(self.dtype()),
           "result type Float can't be cast to an integral output type");
  check_probability(p);
  fill_bernoulli(mask, 1 - p, *ctx.generator);
  double scale = p == 1 ? 0 : 1 / (1 - p);
  Tensor kept = binary_result(self, mask, kernels::Binary::k_mul, "mul", Rule::kSame);
  out[0] = binary_result(kept, Scalar(scale), kernels::Binary::k_mul, "mul", Rule::kSame);
}

}  // namespace scriptlang
