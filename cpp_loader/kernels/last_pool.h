// Pooling of images whose channels lie last: one window, all channels.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

// Pixels x + h * row + w * pixel for h < rows, w < columns (at least one of each).
struct PoolWindow {
  const float* x;
  int64_t row, pixel, rows, columns, channels;
  float* y;  // [channels]
};

struct LastPoolFunctions {
  void (*maximum)(const PoolWindow& w);             // a NaN wins
  void (*sum)(const PoolWindow& w, float divisor);  // the sum divided by `divisor`
};

}  // namespace scriptlang::kernels
