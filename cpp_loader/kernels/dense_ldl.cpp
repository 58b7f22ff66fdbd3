// LDL factorisation with Bunch-Kaufman pivoting, in the format of LAPACK's sytrf on the lower
// triangle.
#include <algorithm>
#include <cmath>

#include "dense.h"

namespace scriptlang::kernels::dense {

namespace {

const double kThreshold = (1 + std::sqrt(17.0)) / 8;

struct Choice {
  int64_t row;
  int width;  // rows of the block of D; 0: the column is zero
};

// Chooses the pivot of step k from the lower triangle of the remaining matrix.
template <class T>
Choice choose(const T* a, int64_t n, int64_t k) {
  double here = size_of(a[k * n + k]), most = 0, beside = 0;
  int64_t row = k;
  for (int64_t i = k + 1; i < n; ++i) {
    double size = size_of(a[i * n + k]);
    if (size > most) {
      most = size;
      row = i;
    }
  }
  if (std::max(here, most) == 0 || std::isnan(here)) return {k, 0};
  if (here >= kThreshold * most) return {k, 1};
  for (int64_t j = k; j < row; ++j) beside = std::max(beside, size_of(a[row * n + j]));
  for (int64_t i = row + 1; i < n; ++i) beside = std::max(beside, size_of(a[i * n + row]));
  if (here * beside >= kThreshold * most * most) return {k, 1};
  return {row, size_of(a[row * n + row]) >= kThreshold * beside ? 1 : 2};
}

// Exchanges rows and columns `at` and `row` (at < row) of the lower triangle, from column k on.
template <class T>
void exchange(T* a, int64_t n, int64_t k, int64_t at, int64_t row, bool hermitian) {
  auto turn = [&](T x) { return hermitian ? conjugate(x) : x; };
  for (int64_t i = row + 1; i < n; ++i) std::swap(a[i * n + at], a[i * n + row]);
  for (int64_t i = at + 1; i < row; ++i) {
    T kept = turn(a[i * n + at]);
    a[i * n + at] = turn(a[row * n + i]);
    a[row * n + i] = kept;
  }
  a[row * n + at] = turn(a[row * n + at]);
  std::swap(a[at * n + at], a[row * n + row]);
  if (at > k) std::swap(a[at * n + k], a[row * n + k]);
}

// Replaces (p, q) by the solution of D x = (p, q), where D [2][2] is given by its lower triangle.
template <class T>
void solve_two(const T* a, int64_t n, int64_t k, bool hermitian, T* p, T* q) {
  T below = a[(k + 1) * n + k], above = hermitian ? conjugate(below) : below;
  T first = a[k * n + k] / above, second = a[(k + 1) * n + k + 1] / below;
  T scale = first * second - T(1), x = *p / above, y = *q / below;
  *p = (second * x - y) / scale;
  *q = (first * y - x) / scale;
}

}  // namespace

template <class T>
int64_t factor_ldl(T* a, int64_t n, bool hermitian, int64_t* pivots) {
  int64_t info = 0;
  auto turn = [&](T x) { return hermitian ? conjugate(x) : x; };
  for (int64_t i = 0; i < n; ++i) {
    worked(n);
    std::fill(a + i * n + i + 1, a + (i + 1) * n, T(0));
    if (hermitian) a[i * n + i] = T(real_part(a[i * n + i]));
  }
  for (int64_t k = 0, width; k < n; k += width) {
    worked(n);
    Choice choice = choose(a, n, k);
    width = std::max(1, choice.width);
    int64_t at = k + width - 1;
    pivots[k] = pivots[at] = width == 1 ? choice.row + 1 : -(choice.row + 1);
    if (choice.width == 0) {
      if (info == 0) info = k + 1;
      continue;
    }
    if (choice.row != at) exchange(a, n, k, at, choice.row, hermitian);
    for (int64_t j = at + 1; j < n; ++j) {
      worked(2 * (n - j));
      T p = a[j * n + k], q = width == 2 ? a[j * n + k + 1] : T(0);
      T x = turn(p), y = turn(q);
      if (width == 1) {
        p = p / a[k * n + k];
        for (int64_t i = j; i < n; ++i) a[i * n + j] -= a[i * n + k] * turn(p);
      } else {
        // Row j of L is (p, q) D^-1: the solution of D^T z = (p, q), and D^T is conj(D).
        solve_two(a, n, k, hermitian, &x, &y);
        p = turn(x);
        q = turn(y);
        for (int64_t i = j; i < n; ++i) a[i * n + j] -= a[i * n + k] * x + a[i * n + k + 1] * y;
        a[j * n + k + 1] = q;
      }
      a[j * n + k] = p;
      if (hermitian) a[j * n + j] = T(real_part(a[j * n + j]));
    }
  }
  return info;
}

template <class T>
void solve_ldl(const T* a, const int64_t* pivots, int64_t n, bool hermitian, T* b,
               int64_t columns) {
  auto turn = [&](T x) { return hermitian ? conjugate(x) : x; };
  auto swap_rows = [&](int64_t r, int64_t s) {
    if (r != s) std::swap_ranges(b + r * columns, b + (r + 1) * columns, b + s * columns);
  };
  auto subtract = [&](int64_t to, int64_t from, T factor) {
    for (int64_t c = 0; c < columns; ++c) b[to * columns + c] -= factor * b[from * columns + c];
  };
  for (int64_t k = 0, width; k < n; k += width) {
    width = pivots[k] < 0 && k + 1 < n ? 2 : 1;
    int64_t at = k + width - 1;
    swap_rows(at, std::abs(pivots[k]) - 1);
    for (int64_t i = at + 1; i < n; ++i) {
      worked(columns);
      for (int64_t j = k; j <= at; ++j) subtract(i, j, a[i * n + j]);
    }
    for (int64_t c = 0; c < columns; ++c) {
      if (width == 1) b[k * columns + c] /= a[k * n + k];
      else solve_two(a, n, k, hermitian, b + k * columns + c, b + (k + 1) * columns + c);
    }
  }
  for (int64_t at = n - 1, width; at >= 0; at -= width) {
    width = pivots[at] < 0 && at > 0 ? 2 : 1;
    for (int64_t j = at - width + 1; j <= at; ++j) {
      worked(n * columns);
      for (int64_t i = at + 1; i < n; ++i) subtract(j, i, turn(a[i * n + j]));
    }
    swap_rows(at, std::abs(pivots[at]) - 1);
  }
}

#define SL_DENSE(T)                                            \
  template int64_t factor_ldl<T>(T*, int64_t, bool, int64_t*); \
  template void solve_ldl<T>(const T*, const int64_t*, int64_t, bool, T*, int64_t);
SL_DENSE(double)
SL_DENSE(Complex)

}  // namespace scriptlang::kernels::dense
