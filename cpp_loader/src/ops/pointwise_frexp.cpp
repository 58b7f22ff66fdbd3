// Mantissas and exponents of floats.
#include <cmath>

#include "express.h"
#include "layout.h"
#include "pieces.h"

namespace scriptlang {

using namespace express;

namespace {

Tensor frexp_mantissa(const Tensor& self, Tensor* exponent) {
  SL_CHECK(is_floating(self.dtype()), "torch.frexp() only supports floating-point dtypes");
  Tensor x = contiguous_as(self, ScalarType::Float64);
  Tensor mantissa = Tensor::empty(self.sizes(), ScalarType::Float64);
  *exponent = Tensor::empty(self.sizes(), ScalarType::Int32);
  in_pieces(x.numel(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int e = 0;
      mantissa.data<double>()[i] = std::frexp(x.data<double>()[i], &e);
      exponent->data<int32_t>()[i] = e;
    }
  });
  *exponent = laid_like(*exponent, self);
  return laid_like(to_dtype(mantissa, self.dtype()), self);
}

}  // namespace

SL_OP(aten_frexp_Tensor) {
  Tensor exponent;
  out[0] = frexp_mantissa(args.tensor(0), &exponent);
  out[1] = exponent;
}

}  // namespace scriptlang
