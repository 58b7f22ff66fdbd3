// Convolution of one image and one group: what it is asked to do. isa/conv.cpp does the work.
#pragma once
#include <cstdint>

#include "gemm.h"

namespace scriptlang::kernels {

// Depth, height, width; a 1-d or 2-d convolution has ones (and no padding) in front.
struct ConvShape {
  int64_t channels = 0, outputs = 0;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};

  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t in_pixels() const { return in[0] * in[1] * in[2]; }
  int64_t out_pixels() const { return out[0] * out[1] * out[2]; }
};

// The outputs [first, last) of dimension d for which tap k lies inside of the input.
struct InsideRange {
  int64_t first, last;
  InsideRange(const ConvShape& s, int d, int64_t k) {
    int64_t at = k * s.dilation[d] - s.padding[d], step = s.stride[d];  // for output 0
    first = at < 0 ? (-at + step - 1) / step : 0;
    last = at < s.in[d] ? (s.in[d] - 1 - at) / step + 1 : 0;
    if (last > s.out[d]) last = s.out[d];
    if (first > last) first = last;
  }
  int64_t count() const { return last - first; }
};

// The part of all products that is not with padding.
inline double useful_share(const ConvShape& s) {
  double share = 1;
  for (int d = 0; d < 3; ++d) {
    if (s.padding[d] == 0) continue;
    int64_t inside = 0;
    for (int64_t k = 0; k < s.kernel[d]; ++k) inside += InsideRange(s, d, k).count();
    share *= static_cast<double>(inside) / static_cast<double>(s.out[d] * s.kernel[d]);
  }
  return share;
}
constexpr double kMostlyInside = 0.5;  // a lesser share is worth leaving padding out

// y [outputs][out] = activation(bias [outputs] + w [outputs][channels][kernel] * x [channels][in]),
// all contiguous; bias may be null. The shape is consistent and fits in memory.
template <class T>
struct Conv {
  ConvShape shape;
  const T* x = nullptr;
  const T* w = nullptr;
  const T* bias = nullptr;
  T* y = nullptr;
  Activation activation = Activation::kNone;
};

template <class T>
struct ConvFunctions {
  void (*convolve)(const Conv<T>& c);
};

}  // namespace scriptlang::kernels
