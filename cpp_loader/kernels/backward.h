// Rows and columns of gradients: what derivatives of normalisations and of softmax are made of.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

template <class T>
struct BackwardFunctions {
  // to[0] = sum of g * w, to[1] = sum of g * w * (x - center); w may be null, for ones.
  void (*sums)(int64_t n, const T* g, const T* w, const T* x, T center, T* to);
  // y = a * g * w + b * x + c; w may be null.
  void (*combine)(int64_t n, const T* g, const T* w, const T* x, T a, T b, T c, T* y);
  // totals[j] += g[j], products[j] += g[j] * (x[j] - center) * scale
  void (*add_row)(int64_t n, const T* g, const T* x, T center, T scale, T* totals, T* products);
  // The same of many rows that follow each other, where each column has a center.
  void (*add_columns)(int64_t rows, int64_t n, const T* g, const T* x, const T* center, T* totals,
                      T* products);
  // y = a[j] * g + b[j] * x + c[j] in many rows.
  void (*combine_columns)(int64_t rows, int64_t n, const T* g, const T* x, const T* a, const T* b,
                          const T* c, T* y);
};

}  // namespace scriptlang::kernels
