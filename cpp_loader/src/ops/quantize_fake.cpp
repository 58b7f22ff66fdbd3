// Fake quantization: numbers moved to the nearest that codes stand for.
#include <algorithm>
#include <cmath>

#include "../../kernels/parallel.h"
#include "pointwise.h"
#include "view.h"

namespace scriptlang {

namespace {

// In the type of x, which is float32 or float64; the parameters are float32.
template <class T>
void move(const T* x, int64_t n, float scale, float zero, double low, double high, T* y) {
  float inverse = 1.0f / scale;
  for (int64_t i = 0; i < n; ++i) {
    T code = std::nearbyint(x[i] * T(inverse) + T(zero));
    if (code < T(low)) code = T(low);
    if (code > T(high)) code = T(high);
    y[i] = (code - T(zero)) * T(scale);
  }
}

// Channel c has scales[c] and zeros[c]; one channel stands for all elements.
Tensor moved(const Tensor& given, const Tensor& scales, const Tensor& zeros, int64_t axis,
             int64_t low, int64_t high) {
  SL_CHECK(is_floating(given.dtype()), "fake quantization takes floating point numbers, not ",
           dtype_name(given.dtype()));
  bool wide = given.dtype() == ScalarType::Float64;
  Tensor x = contiguous_as(given, wide ? ScalarType::Float64 : ScalarType::Float32);
  Tensor s = contiguous_as(scales, ScalarType::Float32);
  Tensor z = contiguous_as(zeros, ScalarType::Float32);
  int64_t channels = s.numel(), inner = 1;
  SL_CHECK(channels == z.numel() && channels > 0 && (channels == 1 || channels == x.size(axis)),
           "fake quantization with ", channels, " scales and ", z.numel(),
           " zero points for a tensor of size ", to_string(x.sizes()));
  if (channels == 1) inner = std::max<int64_t>(1, x.numel());
  else for (int64_t d = axis + 1; d < x.dim(); ++d) inner *= x.size(d);
  Tensor y = Tensor::empty(x.sizes(), x.dtype());
  int64_t runs = inner ? x.numel() / inner : 0;
  kernels::parallel_for(runs, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, inner)),
                        [&](int64_t begin, int64_t end) {
    for (int64_t run = begin; run < end; ++run) {
      float scale = s.data<float>()[run % channels], zero = z.data<float>()[run % channels];
      int64_t at = run * inner;
      if (wide) {
        move(x.data<double>() + at, inner, scale, zero, double(low), double(high),
             y.data<double>() + at);
      } else {
        move(x.data<float>() + at, inner, scale, zero, double(low), double(high),
             y.data<float>() + at);
      }
    }
  });
  return to_dtype(y, given.dtype());
}

Tensor one(double value) { return Tensor::scalar(value); }

bool first_is_set(const Tensor& t) {
  SL_CHECK(t.numel() > 0, "a flag of fake quantization is empty");
  return contiguous_as(t, ScalarType::Int64).data<int64_t>()[0] != 0;
}

}  // namespace

SL_OP(aten_fake_quantize_per_tensor_affine) {
  out[0] = moved(args.tensor(0), one(args.number(1)), one(double(args.integer(2))), 0,
                 args.integer(3), args.integer(4));
}
SL_OP(aten_fake_quantize_per_tensor_affine_tensor_qparams) {
  SL_CHECK(args.tensor(1).numel() == 1 && args.tensor(2).numel() == 1,
           "fake quantization per tensor takes one scale and one zero point");
  out[0] = moved(args.tensor(0), args.tensor(1), args.tensor(2), 0, args.integer(3),
                 args.integer(4));
}
SL_OP(aten_fake_quantize_per_channel_affine) {
  const Tensor& x = args.tensor(0);
  out[0] = moved(x, args.tensor(1), args.tensor(2), wrap_dim(args.integer(3), x.dim()),
                 args.integer(4), args.integer(5));
}
// With the parameters as they are: ranges are observed in training only.
SL_OP(aten_fused_moving_avg_obs_fake_quant) {
  const Tensor& x = args.tensor(0);
  SL_CHECK(!first_is_set(args.tensor(1)), "scriptlang does not observe ranges for quantization; "
           "disable the observers (torch.ao.quantization.disable_observer) before saving");
  if (!first_is_set(args.tensor(2))) {
    out[0] = alias_of(x);
    return;
  }
  int64_t axis = args.boolean(11) ? wrap_dim(args.integer(10), x.dim()) : 0;
  out[0] = moved(x, args.tensor(5), args.tensor(6), axis, args.integer(8), args.integer(9));
}

}  // namespace scriptlang
