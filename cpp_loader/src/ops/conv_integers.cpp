// Convolutions of integers: they wrap, as in PyTorch.
#include <algorithm>
#include <cmath>

#include "../../kernels/parallel.h"
#include "../../kernels/stop.h"
#include "conv.h"
#include "pointwise.h"

namespace scriptlang::convolutions {

namespace {

using kernels::ConvShape;
using U = uint64_t;  // sums wrap

// Calls f(index in the map, index in the result) for all elements under a tap of the kernel.
template <class F>
void for_each_place(const ConvShape& s, int64_t tap, F f) {
  const int64_t k[3] = {tap / s.kernel[2] / s.kernel[1], tap / s.kernel[2] % s.kernel[1],
                        tap % s.kernel[2]};
  int64_t first[3];
  for (int d = 0; d < 3; ++d) first[d] = k[d] * s.dilation[d] - s.padding[d];
  kernels::worked(s.out_pixels());
  int64_t place = 0;
  for (int64_t row = 0; row < s.out[0] * s.out[1]; ++row) {
    const int64_t d = first[0] + row / s.out[1] * s.stride[0];
    const int64_t h = first[1] + row % s.out[1] * s.stride[1];
    const bool inside = d >= 0 && d < s.in[0] && h >= 0 && h < s.in[1];
    for (int64_t i = 0; i < s.out[2]; ++i, ++place) {
      const int64_t w = first[2] + i * s.stride[2];
      if (inside && w >= 0 && w < s.in[2]) f((d * s.in[1] + h) * s.in[2] + w, place);
    }
  }
}

// A convolution of int64 that wraps. w: [result channels * groups][map channels][taps]. The forward
// convolution reads the map and writes the result; the transposed one does the reverse.
void wrapping(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias,
              const Settings& s) {
  const Tensor &map = s.transposed ? y : x, &result = s.transposed ? x : y;
  const ConvShape shape = shape_of(s, map.sizes().data + 2, result.sizes().data + 2, w);
  const int64_t taps = shape.taps(), of_map = shape.in_pixels(), of_result = shape.out_pixels();
  const int64_t channels = w.size(1), results = w.size(0) / s.groups;
  const int64_t outputs = s.transposed ? channels : results,
                plane = y.numel() / y.size(0) / y.size(1);
  auto run = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {  // an image and a group
      const int64_t group = i % s.groups;
      U* to = reinterpret_cast<U*>(y.data<int64_t>()) + i * outputs * plane;
      const U* from = reinterpret_cast<const U*>(x.data<int64_t>()) +
                      i * (s.transposed ? results * of_result : channels * of_map);
      for (int64_t o = 0; o < outputs; ++o) {
        const U start = bias.defined() ? U(bias.data<int64_t>()[group * outputs + o]) : 0;
        std::fill_n(to + o * plane, plane, start);
      }
      for (int64_t r = 0; r < results; ++r) {
        for (int64_t c = 0; c < channels; ++c) {
          const int64_t* weight = w.data<int64_t>() + ((group * results + r) * channels + c) * taps;
          for (int64_t tap = 0; tap < taps; ++tap) {
            const U factor = U(weight[tap]);
            if (s.transposed) {
              const U* in = from + r * of_result;
              U* out = to + c * of_map;
              for_each_place(shape, tap, [&](int64_t m, int64_t p) { out[m] += in[p] * factor; });
            } else {
              const U* in = from + c * of_map;
              U* out = to + r * of_result;
              for_each_place(shape, tap, [&](int64_t m, int64_t p) { out[p] += in[m] * factor; });
            }
          }
        }
      }
    }
  };
  kernels::parallel_for(x.size(0) * s.groups, 1, run);
}

double greatest(const Tensor& t) {
  double most = 0;
  const int64_t* values = t.data<int64_t>();
  for (int64_t i = 0; i < t.numel(); ++i) most = std::max(most, std::abs(double(values[i])));
  return most;
}

// Whether every sum is exact in float64, whose kernels are fast.
bool fits_in_double(const Tensor& x, const Tensor& w, const Tensor& bias, const Settings& s) {
  const int64_t terms = w.numel() / (s.transposed ? w.size(1) : w.size(0));
  const double sum = greatest(x) * greatest(w) * double(terms);
  return sum + (bias.defined() ? greatest(bias) : 0.0) < 9007199254740992.0;  // 2^53
}

}  // namespace

void convolve_integers(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias,
                       const Settings& s) {
  if (!fits_in_double(x, w, bias, s)) return wrapping(y, x, w, bias, s);
  auto wide = [](const Tensor& t) { return t.defined() ? to_dtype(t, ScalarType::Float64) : t; };
  Tensor sums = Tensor::empty(y.sizes(), ScalarType::Float64);
  convolve_into(sums, wide(x), wide(w), wide(bias), s);
  copy_into(y, sums);
}

}  // namespace scriptlang::convolutions
