// Pooling windows, shared by the pooling operators and their derivatives.
#pragma once

#include <algorithm>

#include "op.h"
#include "values/pooled.h"

namespace scriptlang::pools {

// Sizes by depth, height and width; missing leading dimensions of 1-d and 2-d pooling are 1.
struct Window {
  int64_t n = 0;  // dimensions
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};

  int64_t in_pixels() const { return in[0] * in[1] * in[2]; }
  int64_t out_pixels() const { return out[0] * out[1] * out[2]; }
};

// Checks the settings and returns the windows of a pooling over the last n dimensions. `name` is
// the operator's, for messages.
Window window(const char* name, const Tensor& self, int64_t n, const Ints& kernel,
              const Ints& stride, const Ints& padding, const Ints& dilation, bool ceil_mode);
// Windows of nearly equal size that cover the input; `sizes`: a list, or a number for all.
Window adaptive_window(const char* name, const Tensor& self, int64_t n, const Value& sizes);
Sizes result_sizes(const Tensor& self, const Window& w);
// Gives a pooling result over n dimensions the memory format of the input. Signals (n = 1) are
// treated as images of one row.
Tensor as_input(const Tensor& y, const Tensor& input, int64_t n);

// The input positions of a window's taps that lie inside the input, along one dimension.
struct Range {
  int64_t first, last;  // input positions, in steps of the dilation
};
inline Range inside(const Window& w, int d, int64_t o) {
  int64_t start = o * w.stride[d] - w.padding[d];
  int64_t end = std::min(start + (w.kernel[d] - 1) * w.dilation[d] + 1, w.in[d]);
  if (start < 0) start += (w.dilation[d] - 1 - start) / w.dilation[d] * w.dilation[d];
  return {start, end};
}

// An upper bound on the number of taps in three ranges (it ignores dilation).
inline int64_t taps_of(Range d, Range h, Range w) {
  return std::max<int64_t>(0, d.last - d.first) * std::max<int64_t>(0, h.last - h.first) *
         std::max<int64_t>(0, w.last - w.first);
}

// How many positions a window covers along a dimension, padding included.
inline int64_t covered(const Window& w, int d, int64_t o) {
  int64_t start = o * w.stride[d] - w.padding[d];
  return std::min(start + w.kernel[d], w.in[d] + w.padding[d]) - start;
}

inline Range adaptive_range(const Window& w, int d, int64_t o) {
  return {o * w.in[d] / w.out[d], ((o + 1) * w.in[d] + w.out[d] - 1) / w.out[d]};
}

}  // namespace scriptlang::pools
