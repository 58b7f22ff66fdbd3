// What factorisations of matrices of doubles do most of the time, on rows that are contiguous.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

// One pass over the rows of a matrix; each of its three parts is left out where its first pointer
// is null.
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

// Rotations of neighbouring rows, one after the other: the row `first` and the next one in the
// direction `step`, that one and the one after it...
struct Turns {
  int64_t first, count, step;
};

struct DenseFunctions {
  void (*sweep)(const RowSweep<double>& s);
  // row -= factor (row . v) v for each of `rows` rows.
  void (*reflect)(int64_t rows, int64_t n, double* a, int64_t stride, const double* v,
                  double factor);
  // Rotates x and y, rows of `columns` elements, to c x + s y and c y - s x; c and s are taken
  // from `angles`, pair after pair.
  void (*turn)(const Turns* turns, int64_t count, const double* angles, int64_t columns, double* a,
               int64_t stride);
};

}  // namespace scriptlang::kernels
