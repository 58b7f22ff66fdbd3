// Weighted sums of a few pixels of a row, or of a few rows.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

// y[r][i] = sum over k < count[i] of weight[i * width + k] * x[r][place[i * width + k]].
struct ResizeRows {
  int64_t rows = 0, in = 0, out = 0;
  const float* x = nullptr;  // rows of `in` elements
  float* y = nullptr;        // rows of `out` elements
  int64_t width = 0;
  const int32_t* place = nullptr;
  const int32_t* count = nullptr;
  const float* weight = nullptr;
};

struct ResizeFunctions {
  void (*rows)(const ResizeRows& r);
  // to[j] = sum over k of weight[k] * from[k][j].
  void (*combine)(int64_t n, int64_t count, const float* const* from, const float* weight,
                  float* to);
  // To the nearest of 0 to 255.
  void (*to_bytes)(int64_t n, const float* from, uint8_t* to);
  void (*from_bytes)(int64_t n, const uint8_t* from, float* to);
};

}  // namespace scriptlang::kernels
