// Weighted sums of a few pixels of each row, or of a few rows.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

// y[r][i] = sum over k < count[i] of weight[i * width + k] * x[r][place[i * width + k]].
template <class T, class W>
struct RowsToResize {
  int64_t rows = 0, in = 0, out = 0;
  const T* x = nullptr;  // rows of `in` elements
  T* y = nullptr;        // rows of `out` elements
  int64_t width = 0;
  const int32_t* place = nullptr;
  const int32_t* count = nullptr;
  const W* weight = nullptr;
};
using ResizeRows = RowsToResize<float, float>;
using ResizeByteRows = RowsToResize<uint8_t, int32_t>;

struct ResizeFunctions {
  void (*rows)(const ResizeRows& r);
  // to[j] = sum over k of weight[k] * from[k][j].
  void (*combine)(int64_t n, int64_t count, const float* const* from, const float* weight,
                  float* to);
  // The same for bytes, with weights in units of 2^-bits, bits > 0. Results are rounded to nearest
  // and saturated to [0, 255].
  void (*byte_rows)(const ResizeByteRows& r, int bits);
  void (*combine_bytes)(int64_t n, int64_t count, const uint8_t* const* from, const int32_t* weight,
                        int bits, uint8_t* to);
};

}  // namespace scriptlang::kernels
