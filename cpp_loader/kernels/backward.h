// Kernels on rows and columns of gradients, for the derivatives of normalisations and of softmax.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

template <class T>
struct BackwardFunctions {
  // to[0] = sum of g * w, to[1] = sum of g * w * (x - center); null w means ones.
  void (*sums)(int64_t n, const T* g, const T* w, const T* x, T center, T* to);
  // y = a * g * w + b * x + c; null w means ones.
  void (*combine)(int64_t n, const T* g, const T* w, const T* x, T a, T b, T c, T* y);
  // totals[j] += g[j], products[j] += g[j] * (x[j] - center) * scale
  void (*add_row)(int64_t n, const T* g, const T* x, T center, T scale, T* totals, T* products);
  // The same, without a scale, for many contiguous rows; each column has its own center.
  void (*add_columns)(int64_t rows, int64_t n, const T* g, const T* x, const T* center, T* totals,
                      T* products);
  // y = a[j] * g + b[j] * x + c[j] for many contiguous rows.
  void (*combine_columns)(int64_t rows, int64_t n, const T* g, const T* x, const T* a, const T* b,
                          const T* c, T* y);
};

}  // namespace scriptlang::kernels
