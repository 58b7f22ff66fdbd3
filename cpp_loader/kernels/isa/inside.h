// Which taps of a convolution lie inside its input.
#pragma once
#include "../conv.h"
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

// The outputs [first, last) of dimension d for which tap k lies inside the input.
struct InsideRange {
  int64_t first, last;
  InsideRange(const ConvShape& s, int d, int64_t k) {
    int64_t at = k * s.dilation[d] - s.padding[d], step = s.stride[d];  // position for output 0
    first = at < 0 ? (-at + step - 1) / step : 0;
    last = at < s.in[d] ? (s.in[d] - 1 - at) / step + 1 : 0;
    if (last > s.out[d]) last = s.out[d];
    if (first > last) first = last;
  }
  int64_t count() const { return last - first; }
};

// The share of products that do not involve padding.
SL_INLINE double useful_share(const ConvShape& s) {
  double share = 1;
  for (int d = 0; d < 3; ++d) {
    if (s.padding[d] == 0) continue;
    int64_t inside = 0;
    for (int64_t k = 0; k < s.kernel[d]; ++k) inside += InsideRange(s, d, k).count();
    share *= static_cast<double>(inside) / static_cast<double>(s.out[d] * s.kernel[d]);
  }
  return share;
}
constexpr double kMostlyInside = 0.5;  // below this share, skipping the padding pays off

}  // namespace
}  // namespace scriptlang::kernels::SL_ISA
