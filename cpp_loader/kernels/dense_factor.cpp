// LU and Cholesky factorisations, and solving with triangular factors.
#include <algorithm>
#include <cmath>
#include <vector>

#include "dense.h"
#include "space.h"

namespace scriptlang::kernels::dense {

namespace {

template <class T>
void subtract_row(int64_t n, T factor, const T* row, T* to) {
  for (int64_t j = 0; j < n; ++j) to[j] -= factor * row[j];
}

template <class T>
void exchange_rows(T* b, int64_t columns, int64_t i, int64_t j) {
  if (i != j) std::swap_ranges(b + i * columns, b + (i + 1) * columns, b + j * columns);
}

}  // namespace

template <class T>
int64_t factor_lu(T* a, int64_t m, int64_t n, int64_t* pivots, bool pivot) {
  int64_t zero = 0;
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    worked(m);
    int64_t best = k;
    for (int64_t i = k + 1; pivot && i < m; ++i) {
      if (size_of(a[i * n + k]) > size_of(a[best * n + k])) best = i;
    }
    pivots[k] = best;
    exchange_rows(a, n, k, best);
    T head = a[k * n + k];
    if (head == T(0)) {
      if (zero == 0) zero = k + 1;
      continue;
    }
    for (int64_t i = k + 1; i < m; ++i) {
      multiplied(2 * (n - k));
      T f = a[i * n + k] /= head;
      subtract_row(n - k - 1, f, a + k * n + k + 1, a + i * n + k + 1);
    }
  }
  return zero;
}

template <class T>
void solve_lu(const T* lu, const int64_t* pivots, int64_t n, T* b, int64_t columns, bool adjoint) {
  if (!adjoint) {
    for (int64_t k = 0; k < n; ++k) exchange_rows(b, columns, k, pivots[k]);
    solve_triangle(lu, n, false, true, b, columns);
    solve_triangle(lu, n, true, false, b, columns);
    return;
  }
  Space<T> turned(as_size(n * n), T(0));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) turned[size_t(j * n + i)] = conjugate(lu[i * n + j]);
  solve_triangle(turned.data(), n, false, false, b, columns);
  solve_triangle(turned.data(), n, true, true, b, columns);
  for (int64_t k = n - 1; k >= 0; --k) exchange_rows(b, columns, k, pivots[k]);
}

template <class T>
int64_t factor_cholesky(T* a, int64_t n) {
  int64_t bad = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      worked(j);
      T sum = a[i * n + j];
      for (int64_t k = 0; k < j; ++k) sum -= a[i * n + k] * conjugate(a[j * n + k]);
      if (i != j) {
        a[i * n + j] = sum / a[j * n + j];
        continue;
      }
      if (!(real_part(sum) > 0) && bad == 0) bad = i + 1;
      a[i * n + i] = std::sqrt(real_part(sum));
    }
    for (int64_t j = i + 1; j < n; ++j) a[i * n + j] = T(0);
  }
  return bad;
}

template <class T>
void solve_triangle(const T* a, int64_t n, bool upper, bool unit, T* b, int64_t columns) {
  for (int64_t step = 0; step < n; ++step) {
    worked(columns);
    int64_t r = upper ? n - 1 - step : step;
    T* row = b + r * columns;
    for (int64_t k = upper ? r + 1 : 0; k < (upper ? n : r); ++k) {
      multiplied(2 * columns);
      subtract_row(columns, a[r * n + k], b + k * columns, row);
    }
    for (int64_t j = 0; !unit && j < columns; ++j) row[j] /= a[r * n + r];
  }
}

#define SL_DENSE(T)                                                                \
  template int64_t factor_lu<T>(T*, int64_t, int64_t, int64_t*, bool);             \
  template void solve_lu<T>(const T*, const int64_t*, int64_t, T*, int64_t, bool); \
  template int64_t factor_cholesky<T>(T*, int64_t);                                \
  template void solve_triangle<T>(const T*, int64_t, bool, bool, T*, int64_t);
SL_DENSE(double)
SL_DENSE(Complex)

}  // namespace scriptlang::kernels::dense
