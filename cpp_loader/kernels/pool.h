// Pooling of float32 images: one window of all channels in channels-last layout, or a row of
// results of one plane.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

// The window's pixels are x + h * row + w * pixel for h < rows, w < columns; it has at least one.
struct PoolWindow {
  const float* x;
  int64_t row, pixel, rows, columns, channels;
  float* y;  // [channels]
};

// A row of `results` maxima or sums of a plane. Result o is that of the elements
// x[h * row + o * stride + k * dilation - padding] for h < rows and k < columns that lie inside
// their row, which is `width` long: those of a row of windows. There is at least one row.
// `numbers`: elements are taken for numbers, which is faster; for maxima.
struct PoolRow {
  const float* x;
  int64_t row, rows, width, columns, stride, dilation, padding, results;
  float* y;
  bool numbers = false;
};

struct PoolFunctions {
  void (*maximum)(const PoolWindow& w);             // NaN if there is one
  void (*sum)(const PoolWindow& w, float divisor);  // the sum divided by `divisor`
  // NaN if there is one; -inf for an empty window. Returns false where elements were taken for
  // numbers and perhaps are not: results may then be wrong.
  bool (*maximum_row)(const PoolRow& r);
  void (*sum_row)(const PoolRow& r);  // 0 for an empty window
};

}  // namespace scriptlang::kernels
