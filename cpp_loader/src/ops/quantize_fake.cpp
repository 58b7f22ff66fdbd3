// Fake quantization: rounds numbers to the nearest that a code represents.
#include <algorithm>
#include <cmath>

#include "../../kernels/parallel.h"
#include "pointwise.h"
#include "view.h"

namespace scriptlang {

namespace {

// Computes in the type of x, float32 or float64; the parameters are float32. Ties go to the even
// code; with integer zero points, to the code at an even distance from the zero point.
template <class T>
void move(const T* x, int64_t n, float scale, float zero, bool is_whole, double low, double high,
          T* y) {
  const float inverse = 1.0f / scale;
  const T before = is_whole ? T(0) : T(zero), after = is_whole ? T(zero) : T(0);
  for (int64_t i = 0; i < n; ++i) {
    T code = std::nearbyint(x[i] * T(inverse) + before) + after;
    if (code < T(low)) code = T(low);
    if (code > T(high)) code = T(high);
    y[i] = (code - T(zero)) * T(scale);
  }
}

// Channel c uses scales[c] and zeros[c]; a single channel applies to all elements.
Tensor moved(const Tensor& given, const Tensor& scales, const Tensor& zeros, int64_t axis,
             int64_t low, int64_t high) {
  SL_CHECK(is_floating(given.dtype()), "fake quantization takes floating point numbers, not ",
           dtype_name(given.dtype()));
  bool wide = given.dtype() == ScalarType::Float64;
  Tensor x = contiguous_as(given, wide ? ScalarType::Float64 : ScalarType::Float32);
  Tensor s = contiguous_as(scales, ScalarType::Float32);
  Tensor z = contiguous_as(zeros, ScalarType::Float32);
  const bool is_whole = !is_floating(zeros.dtype());
  int64_t channels = s.numel(), inner = 1;
  SL_CHECK(channels == z.numel() && channels > 0 && (channels == 1 || channels == x.size(axis)),
           "fake quantization with ", channels, " scales and ", z.numel(),
           " zero points for a tensor of size ", to_string(x.sizes()));
  if (channels == 1) inner = std::max<int64_t>(1, x.numel());
  else
    for (int64_t d = axis + 1; d < x.dim(); ++d) inner *= x.size(d);
  Tensor y = Tensor::empty(x.sizes(), x.dtype());
  int64_t runs = inner ? x.numel() / inner : 0;
  kernels::parallel_for(runs, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, inner)),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t run = begin; run < end; ++run) {
                            float scale = s.data<float>()[run % channels],
                                  zero = z.data<float>()[run % channels];
                            int64_t at = run * inner;
                            if (wide) {
                              move(x.data<double>() + at, inner, scale, zero, is_whole, double(low),
                                   double(high), y.data<double>() + at);
                            } else {
                              move(x.data<float>() + at, inner, scale, zero, is_whole, double(low),
                                   double(high), y.data<float>() + at);
                            }
                          }
                        });
  return to_dtype(y, given.dtype());
}

void check_codes(int64_t low, int64_t high) {
  SL_CHECK(low <= high, "`quant_min` should be less than or equal to `quant_max`.");
}

void check_zero_point(int64_t point, int64_t low, int64_t high) {
  SL_CHECK(point >= low && point <= high,
           "`zero_point` must be between `quant_min` and `quant_max`.");
}

Tensor per_tensor(const Tensor& x, double scale, int64_t zero, int64_t low, int64_t high) {
  check_codes(low, high);
  check_zero_point(zero, low, high);
  return moved(x, Tensor::scalar(scale), Tensor::scalar(zero), 0, low, high);
}

Tensor per_tensor(const Tensor& x, const Tensor& scale, const Tensor& zero, int64_t low,
                  int64_t high) {
  for (const Tensor* t : {&scale, &zero}) {
    SL_CHECK(t->numel() == 1, "a Tensor with ", t->numel(),
             " elements cannot be converted to Scalar");
  }
  return per_tensor(x, contiguous_as(scale, ScalarType::Float64).data<double>()[0],
                    contiguous_as(zero, ScalarType::Int64).data<int64_t>()[0], low, high);
}

Tensor per_channel(const Tensor& x, const Tensor& scale, const Tensor& zero, int64_t axis,
                   int64_t low, int64_t high) {
  SL_CHECK(scale.dtype() == ScalarType::Float32 || scale.dtype() == ScalarType::BFloat16,
           "Scale must be Float or BFloat16, found ", dtype_display_name(scale.dtype()));
  SL_CHECK(zero.dtype() == ScalarType::Int32 || zero.dtype() == ScalarType::Float32 ||
               zero.dtype() == ScalarType::Float16,
           "Zero-point must be Int32, Float or Half, found ", dtype_display_name(zero.dtype()));
  SL_CHECK(scale.dim() == 1 && zero.dim() == 1, "scale and zero point should be 1-D tensors");
  SL_CHECK(scale.numel() == zero.numel(), "scale and zero-point need to have the same dimensions");
  check_codes(low, high);
  SL_CHECK(x.dim() > 0 && scale.numel() == x.size(wrap_dim(axis, x.dim())),
           "dimensions of scale and zero-point are not consistent with input tensor");
  SL_CHECK(axis >= 0, "`axis` must be between 0 and number of dimensions of input");
  if (zero.dtype() == ScalarType::Int32) {
    Tensor points = contiguous_as(zero, ScalarType::Int64);
    for (int64_t i = 0; i < points.numel(); ++i) {
      check_zero_point(points.data<int64_t>()[i], low, high);
    }
  }
  if (scale.numel() == 0) return Tensor::empty(x.sizes(), x.dtype());
  return moved(x, scale, zero, axis, low, high);
}

bool first_is_set(const Tensor& t) {
  SL_CHECK(t.numel() == 1, "a Tensor with ", t.numel(), " elements cannot be converted to Scalar");
  return contiguous_as(t, ScalarType::Int64).data<int64_t>()[0] != 0;
}

}  // namespace

SL_OP(aten_fake_quantize_per_tensor_affine) {
  out[0] =
      per_tensor(args.tensor(0), args.number(1), args.integer(2), args.integer(3), args.integer(4));
}
SL_OP(aten_fake_quantize_per_tensor_affine_tensor_qparams) {
  out[0] =
      per_tensor(args.tensor(0), args.tensor(1), args.tensor(2), args.integer(3), args.integer(4));
}
SL_OP(aten_fake_quantize_per_channel_affine) {
  out[0] = per_channel(args.tensor(0), args.tensor(1), args.tensor(2), args.integer(3),
                       args.integer(4), args.integer(5));
}
// Uses the parameters as they are; observing ranges (training) is not supported.
SL_OP(aten_fused_moving_avg_obs_fake_quant) {
  const Tensor& x = args.tensor(0);
  SL_CHECK(!first_is_set(args.tensor(1)),
           "scriptlang does not observe ranges for quantization; "
           "disable the observers (torch.ao.quantization.disable_observer) before saving");
  if (!first_is_set(args.tensor(2))) {
    out[0] = alias_of(x);
    return;
  }
  out[0] = args.boolean(11)
               ? per_channel(x, args.tensor(5), args.tensor(6), args.integer(10), args.integer(8),
                             args.integer(9))
               : per_tensor(x, args.tensor(5), args.tensor(6), args.integer(8), args.integer(9));
}

}  // namespace scriptlang
