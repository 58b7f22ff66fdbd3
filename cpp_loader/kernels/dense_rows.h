// The innermost loops of factorisations of matrices of doubles, on contiguous rows.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

// One pass over the rows of a matrix. It has three parts, each of which is skipped if its first
// pointer is null; the second and third are not used together.
template <class T>
struct RowSweep {
  int64_t rows = 0, n = 0;
  T* a = nullptr;
  int64_t stride = 0;
  // a[i][j] -= left[i] * p[j] + right[i] * q[j]
  const T *left = nullptr, *p = nullptr, *right = nullptr, *q = nullptr;
  // dots[i] = the sum of a[i][j] * v[j]
  const T* v = nullptr;
  T* dots = nullptr;
  // sums[j] += s[i] * a[i][j]
  const T* s = nullptr;
  T* sums = nullptr;
};

// Successive rotations of neighbouring rows: of row `first` and the next one in the direction
// `step`, then of that one and the one after it, and so on.
struct Turns {
  int64_t first, count, step;
};

struct DenseFunctions {
  void (*sweep)(const RowSweep<double>& s);
  // row -= factor (row . v) v, for each of `rows` rows.
  void (*reflect)(int64_t rows, int64_t n, double* a, int64_t stride, const double* v,
                  double factor);
  // Rotates pairs of rows x and y of `columns` elements to c x + s y and c y - s x; `angles` holds
  // the pairs (c, s) in order.
  void (*turn)(const Turns* turns, int64_t count, const double* angles, int64_t columns, double* a,
               int64_t stride);
};

}  // namespace scriptlang::kernels
