// Pooling of images in channels-last layout: one window, all channels.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

// The window's pixels are x + h * row + w * pixel for h < rows, w < columns; it has at least one.
struct PoolWindow {
  const float* x;
  int64_t row, pixel, rows, columns, channels;
  float* y;  // [channels]
};

struct LastPoolFunctions {
  void (*maximum)(const PoolWindow& w);             // NaN if there is one
  void (*sum)(const PoolWindow& w, float divisor);  // the sum divided by `divisor`
};

}  // namespace scriptlang::kernels
