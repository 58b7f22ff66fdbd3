// Shared parts of factorisations by Householder reflections. Matrices are stored transposed, with
// their columns as rows, so that the vector of a reflection and the data that it is applied to are
// contiguous.
//
// A reflection is H = I - tau v v^H with v[0] = 1, as in LAPACK.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "dense.h"
#include "space.h"
#include "dense_rows.h"
#include "kernel_set.h"

namespace scriptlang::kernels::dense {

// Products without the handling of infinite parts in std::complex, which calls a function.
inline double times(double a, double b) { return a * b; }
inline Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// Replaces x by the vector v of the reflection H with H^H x = (beta, 0, 0...), and returns beta.
// tau is zero if x needs no reflection.
template <class T>
double make_reflection(int64_t n, T* x, T* tau);

// A matrix, initially zero. Its rows are an odd number of cache lines apart, so that a column does
// not fall into a few sets of a cache.
template <class T>
class Rows {
 public:
  Rows(int64_t rows, int64_t n)
      : stride_(((n * int64_t(sizeof(T)) + 63) / 64 | 1) * kLine), data_() {
    data_.reserve(as_size(rows * stride_ + kLine));
    for (int64_t i = 1; i <= rows; ++i) {
      worked(stride_);
      data_.resize(as_size(i * stride_), T(0));
    }
    data_.resize(as_size(rows * stride_ + kLine), T(0));
    first_ = data_.data();
    while (reinterpret_cast<uintptr_t>(first_) % 64 != 0) ++first_;
  }
  Rows(Rows&&) = default;
  Rows& operator=(Rows&&) = default;
  T* row(int64_t i) const { return first_ + i * stride_; }
  int64_t stride() const { return stride_; }

 private:
  static constexpr int64_t kLine = 64 / int64_t(sizeof(T));
  int64_t stride_;
  Space<T> data_;
  T* first_;
};

// Scales a matrix whose largest element is extreme by a power of two, so that squares neither
// overflow nor underflow. Returns the factor; 1 if the matrix is unchanged.
template <class T>
double bring_into_range(const Rows<T>& a, int64_t rows, int64_t n) {
  double most = 0;
  for (int64_t i = 0; i < rows; ++i) {
    worked(2 * n);
    for (int64_t j = 0; j < n; ++j) most = std::max(most, size_of(a.row(i)[j]));
  }
  if (most == 0 || (most > 1e-140 && most < 1e140)) return 1;
  const double scale = std::ldexp(1.0, most > 1 ? -500 : most > 1e-200 ? 500 : 1000);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < n; ++j) a.row(i)[j] *= scale;
  return scale;
}

void sweep(const RowSweep<double>& s);
void sweep(const RowSweep<Complex>& s);

// A sequence of reflections. Row k of `vectors` is the k-th vector: zeros, a one, and the rest of
// v.
template <class T>
struct Reflections {
  int64_t count, n;
  Rows<T> vectors;
  std::vector<T> tau;
  Reflections(int64_t count, int64_t n)
      : count(count), n(n), vectors(count, n), tau(size_t(count), T(0)) {}

  // Treats each row of x as a column vector c and replaces it by H_0 H_1 ... c; with `adjoint`, by
  // the adjoint of that product times c. The k-th vector is zero before element `offset` + k.
  void apply(T* x, int64_t rows, int64_t stride, bool adjoint, int64_t offset) const;
  void apply_block(int64_t first, int64_t last, T* x, int64_t rows, int64_t stride, bool adjoint,
                   int64_t offset) const;
};

// QR factorisation: replaces the columns of an m x n matrix, stored as the rows of `at`, by those
// of R, and returns Q.
template <class T>
Reflections<T> reduce_columns(Rows<T>* at, int64_t m, int64_t n);

// Transposes: to[j][i] = from[i][j] for i < rows, j < columns.
template <class T>
void turn_over(int64_t rows, int64_t columns, const T* from, int64_t from_stride, T* to,
               int64_t to_stride) {
  constexpr int64_t kSide = 8;
  for (int64_t i = 0; i < rows; i += kSide) {
    const int64_t bottom = std::min(rows, i + kSide);
    worked(2 * kSide * columns);
    for (int64_t j = 0; j < columns; ++j) {
      for (int64_t k = i; k < bottom; ++k) to[j * to_stride + k] = from[k * from_stride + j];
    }
  }
}

// Collects the rotations of an iteration and applies them to rows, many at a time.
class Turning {
 public:
  // Takes rows of n elements; with null, all calls do nothing.
  Turning(double* rows, int64_t n, int64_t stride);
  // Begins a series of at most n rotations of neighbouring rows, starting at row `first`; `step` is
  // 1 or -1.
  void begin(int64_t first, int64_t step);
  void add(double c, double s) {
    if (!rows_) return;
    angles_[used_++] = c;
    angles_[used_++] = s;
    ++turns_.back().count;
  }
  void finish();

 private:
  double* rows_;
  int64_t n_, stride_;
  size_t used_ = 0;
  std::vector<Turns> turns_;
  std::vector<double> angles_;
};

// The indices of the numbers in ascending order.
std::vector<int64_t> sorted_order(const std::vector<double>& keys);

struct Angle {
  double c, s, r;
};
// The rotation with c f + s g = r and c g = s f.
Angle angle_of(double f, double g);

}  // namespace scriptlang::kernels::dense
