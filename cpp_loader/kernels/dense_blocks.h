// What factorisations by reflections share. Matrices are kept with their columns as rows, so that
// a reflection's vector, and what it is applied to, are contiguous.
//
// A reflection is I - tau v v^H with v[0] = 1, as LAPACK has it.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "dense.h"
#include "space.h"
#include "dense_rows.h"
#include "kernel_set.h"

namespace scriptlang::kernels::dense {

// Products without the library's care for infinite parts, which calls a function.
inline double times(double a, double b) { return a * b; }
inline Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// x becomes v, whose reflection's adjoint takes x to (beta, 0, 0...); returns beta. tau is zero
// where there is nothing to do.
template <class T>
double make_reflection(int64_t n, T* x, T* tau);

// A matrix of zeros. Its rows are an odd number of cache lines apart, so that columns do not fall
// into the same few places of a cache.
template <class T>
class Rows {
 public:
  Rows(int64_t rows, int64_t n)
      : stride_(((n * int64_t(sizeof(T)) + 63) / 64 | 1) * kLine), data_() {
    data_.reserve(size_t(rows * stride_ + kLine));
    for (int64_t i = 1; i <= rows; ++i) {
      worked(stride_);
      data_.resize(size_t(i * stride_), T(0));
    }
    data_.resize(size_t(rows * stride_ + kLine), T(0));
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

// Multiplies a matrix of extreme numbers by a power of two, which it gives, so that squares and
// roundings are those of others.
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

// Vectors of reflections, the k-th in row k: zeros, a one, and the rest of v.
template <class T>
struct Reflections {
  int64_t count, n;
  Rows<T> vectors;
  std::vector<T> tau;
  Reflections(int64_t count, int64_t n)
      : count(count), n(n), vectors(count, n), tau(size_t(count), T(0)) {}

  // The rows x, each a column c, become those of H_0 H_1 ... c; with `adjoint`, of the adjoint's.
  // The k-th vector has no elements before `offset` + k.
  void apply(T* x, int64_t rows, int64_t stride, bool adjoint, int64_t offset) const;
  void apply_block(int64_t first, int64_t last, T* x, int64_t rows, int64_t stride, bool adjoint,
                   int64_t offset) const;
};

// The columns of an m x n matrix, which are the rows of `at`, become those of R; gives Q.
template <class T>
Reflections<T> reduce_columns(Rows<T>* at, int64_t m, int64_t n);

// to[j][i] = from[i][j], for i < rows, j < columns.
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

// The rotations of an iteration, done on rows many at a time.
class Turning {
 public:
  // Rows of n elements; null: nothing is done.
  Turning(double* rows, int64_t n, int64_t stride);
  // At most n rotations follow, of neighbours from row `first` on.
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

// The places of the numbers in ascending order.
std::vector<int64_t> sorted_order(const std::vector<double>& keys);

struct Angle {
  double c, s, r;
};
// c f + s g = r, c g = s f.
Angle angle_of(double f, double g);

}  // namespace scriptlang::kernels::dense
