// Dropout: what a trained network leaves alone.
#include "pointwise.h"

namespace scriptlang {

namespace {

void check_probability(double p) {
  SL_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
}

// Elements survive with probability 1 - p and are scaled so that the mean stays.
Tensor drop(const Tensor& self, double p, bool train, Generator& generator) {
  check_probability(p);
  if (!train || p == 0 || self.numel() == 0) return self;
  Tensor noise = Tensor::empty(self.sizes(), ScalarType::Float32);
  {
    std::lock_guard<std::mutex> lock(generator.mutex);
    float* to = noise.data<float>();
    for (int64_t i = 0; i < noise.numel(); ++i) {
      // 53 random bits make a double in [0, 1), as PyTorch draws it.
      uint64_t high = generator.engine(), low = generator.engine();
      double u = double((high << 32 | low) & ((uint64_t{1} << 53) - 1)) * 0x1p-53;
      to[i] = u < 1 - p ? float(1 / (1 - p)) : 0.0f;
    }
  }
  return binary_result(self, to_dtype(noise, self.dtype()), kernels::Binary::k_mul, "mul",
                       Rule::kSame);
}

}  // namespace

SL_OP(aten_dropout) {
  out[0] = drop(args.tensor(0), args.number(1), args.boolean(2), *ctx.generator);
}
SL_OP(aten_dropout_) {
  const Tensor& self = args.tensor(0);
  Tensor result = drop(self, args.number(1), args.boolean(2), *ctx.generator);
  if (!result.is(self)) copy_into(self, result);
  out[0] = self;
}
SL_OP(aten_native_dropout) {
  const Tensor& self = args.tensor(0);
  bool train = args.none(2) || args.boolean(2);
  Tensor ones = Tensor::empty(self.sizes(), self.dtype());
  fill(ones, int64_t{1});
  Tensor kept = drop(ones, args.number(1), train, *ctx.generator);
  out[0] = binary_result(self, kept, kernels::Binary::k_mul, "mul", Rule::kSame);
  out[1] = to_dtype(kept, ScalarType::Bool);
}
// Whole channels are dropped in training; without it these are the identity.
SL_OP(aten_feature_dropout) {
  check_probability(args.number(1));
  SL_CHECK(!args.boolean(2) || args.number(1) == 0, "feature_dropout in training mode is not "
           "supported: call eval() on the module before saving it");
  out[0] = args.tensor(0);
}
SL_OP(aten_alpha_dropout) {
  check_probability(args.number(1));
  SL_CHECK(!args.boolean(2) || args.number(1) == 0, "alpha_dropout in training mode is not "
           "supported: call eval() on the module before saving it");
  out[0] = args.tensor(0);
}

}  // namespace scriptlang
