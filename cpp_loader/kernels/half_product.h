// Matrix products of 16-bit floats.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

// c[m][n] = bias[n] + sum over k of a[m][k] * b[k][n], accumulated in float32 and rounded once.
// Strides are in elements, rows of c are contiguous; `bias` may be null.
struct HalfProduct {
  int64_t m = 0, n = 0, k = 0;
  const uint16_t* a = nullptr;
  int64_t a_row = 0, a_column = 1;
  const uint16_t* b = nullptr;
  int64_t b_row = 0, b_column = 1;
  uint16_t* c = nullptr;
  const uint16_t* bias = nullptr;
  bool bfloat = false;  // bfloat16 instead of float16
};

struct HalfProductFunctions {
  void (*multiply)(const HalfProduct& p);
};

}  // namespace scriptlang::kernels
