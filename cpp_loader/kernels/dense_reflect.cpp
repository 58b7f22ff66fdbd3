// Householder reflections: their construction, and their application in blocks, as matrix products.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "dense_blocks.h"

namespace scriptlang::kernels::dense {

namespace {

constexpr double kLeastSize = 0x1p-930;
constexpr int64_t kBlock = 32;  // reflections applied as one product

// c += a b. Strides are in elements; rows of c are contiguous.
template <class T>
struct Product {
  int64_t m, n, k;
  const T* a;
  int64_t a_row, a_column;
  const T* b;
  int64_t b_row, b_column;
  T* c;
  int64_t c_row;
};

void add_product(const Product<double>& p) {
  Gemm<double> g;
  g.m = p.m;
  g.n = p.n;
  g.k = p.k;
  g.a = p.a;
  g.a_row = p.a_row;
  g.a_column = p.a_column;
  g.b = p.b;
  g.b_row = p.b_row;
  g.b_column = p.b_column;
  g.c = p.c;
  g.c_row = p.c_row;
  g.start = Start::kResult;
  kernels().gemm_f64->multiply(g);
}

void add_product(const Product<Complex>& p) {
  for (int64_t i = 0; i < p.m; ++i) {
    worked(p.k * p.n);
    for (int64_t k = 0; k < p.k; ++k) {
      const Complex x = p.a[i * p.a_row + k * p.a_column];
      const Complex* b = p.b + k * p.b_row;
      for (int64_t j = 0; j < p.n; ++j) p.c[i * p.c_row + j] += times(x, b[j * p.b_column]);
    }
  }
}

template <class T>
double squares(int64_t n, const T* x, double scale) {
  constexpr int kLanes = 4;
  double sums[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) sums[k] += square_of(x[i + k] * scale);
  for (; i < n; ++i) sums[0] += square_of(x[i] * scale);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The length of a vector, whose squares may be out of range.
template <class T>
double length_of(int64_t n, const T* x) {
  double sum = squares(n, x, 1);
  if (sum > 1e-280 && sum < 1e280) return std::sqrt(sum);
  double most = 0;
  for (int64_t i = 0; i < n; ++i) most = std::max(most, size_of(x[i]));
  if (most == 0 || !std::isfinite(most)) return std::sqrt(sum);
  int exponent = std::max(std::ilogb(most), -1000);
  return std::ldexp(std::sqrt(squares(n, x, std::ldexp(1.0, -exponent))), exponent);
}

}  // namespace

template <class T>
double make_reflection(int64_t n, T* x, T* tau) {
  const T head = x[0];
  const double below = length_of(n - 1, x + 1);
  x[0] = T(1);
  *tau = T(0);
  if (below == 0 && head == T(real_part(head))) return real_part(head);
  const double size = std::hypot(below, std::abs(head));
  if (size < kLeastSize) {  // too small to be precise: scale it up
    x[0] = head;
    for (int64_t i = 0; i < n; ++i) x[i] *= 1 / kLeastSize;
    return make_reflection(n, x, tau) * kLeastSize;
  }
  const double beta = real_part(head) >= 0 ? -size : size;
  *tau = (T(beta) - head) / beta;
  const T factor = T(1) / (head - T(beta));
  for (int64_t i = 1; i < n; ++i) x[i] = times(x[i], factor);
  return beta;
}

void sweep(const RowSweep<double>& s) {
  kernels().dense_rows->sweep(s);
  multiplied(4 * s.rows * s.n);
}

void sweep(const RowSweep<Complex>& s) {
  for (int64_t i = 0; i < s.rows; ++i) {
    multiplied(4 * s.n);
    Complex *row = s.a + i * s.stride, dot = 0;
    for (int64_t j = 0; s.left && j < s.n; ++j) {
      row[j] -= times(s.left[i], s.p[j]) + times(s.right[i], s.q[j]);
    }
    for (int64_t j = 0; s.v && j < s.n; ++j) dot += times(row[j], s.v[j]);
    for (int64_t j = 0; s.s && j < s.n; ++j) s.sums[j] += times(s.s[i], row[j]);
    if (s.v) s.dots[i] = dot;
  }
}

Turning::Turning(double* rows, int64_t n, int64_t stride) : rows_(rows), n_(n), stride_(stride) {
  constexpr size_t kLeastAngles = 1 << 13;
  if (rows) angles_.resize(std::max(kLeastAngles, 2 * as_size(n)));
}

void Turning::begin(int64_t first, int64_t step) {
  if (!rows_) return;
  if (used_ + 2 * size_t(n_) > angles_.size()) finish();
  turns_.push_back({first, 0, step});
}

void Turning::finish() {
  if (turns_.empty()) return;
  kernels().dense_rows->turn(turns_.data(), int64_t(turns_.size()), angles_.data(), n_, rows_,
                             stride_);
  turns_.clear();
  used_ = 0;
}

std::vector<int64_t> sorted_order(const std::vector<double>& keys) {
  std::vector<int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return keys[size_t(i)] < keys[size_t(j)]; });
  return order;
}

Angle angle_of(double f, double g) {
  if (g == 0) return {1, 0, f};
  if (f == 0) return {0, 1, g};
  double r = std::sqrt(f * f + g * g);
  if (!(r > 1e-140 && r < 1e140)) {
    r = std::hypot(f, g);
    return {f / r, g / r, r};
  }
  const double inverse = 1 / r;
  return {f * inverse, g * inverse, r};
}

namespace {

// Reflects each row of x: row - factor (row . conj(v)) v.
void reflect(int64_t rows, int64_t n, double* x, int64_t stride, const double* v, double factor) {
  kernels().dense_rows->reflect(rows, n, x, stride, v, factor);
  multiplied(4 * rows * n);
}
void reflect(int64_t rows, int64_t n, Complex* x, int64_t stride, const Complex* v,
             Complex factor) {
  for (int64_t i = 0; i < rows; ++i, x += stride) {
    worked(2 * n);
    Complex dot = 0;
    for (int64_t j = 0; j < n; ++j) dot += times(x[j], std::conj(v[j]));
    dot = times(dot, factor);
    for (int64_t j = 0; j < n; ++j) x[j] -= times(dot, v[j]);
  }
}

}  // namespace

// Applies the block of reflections to the rows of x. On columns it is I - V^T F V, where the rows
// of V are the reflection vectors; on rows that is x - (x V^H) F^T V.
template <class T>
void Reflections<T>::apply_block(int64_t first, int64_t last, T* x, int64_t rows, int64_t stride,
                                 bool adjoint, int64_t offset) const {
  const int64_t b = last - first, begin = first + offset, length = n - begin;
  if (length <= 0 || rows <= 0) return;
  if (b < 4 || rows < 4) {
    for (int64_t i = 0; i < b; ++i) {
      const int64_t k = adjoint ? first + i : last - 1 - i, at = k + offset;
      const T factor = adjoint ? conjugate(tau[size_t(k)]) : tau[size_t(k)];
      if (at < n && factor != T(0)) {
        reflect(rows, n - at, x + at, stride, vectors.row(k) + at, factor);
      }
    }
    return;
  }
  const T* v = vectors.row(first) + begin;
  const int64_t v_row = vectors.stride();
  std::vector<T> turned;  // conj(V)
  const T* other = v;
  int64_t other_row = v_row;
  if constexpr (!std::is_same_v<T, double>) {
    turned.resize(as_size(b * length));
    for (int64_t i = 0; i < b; ++i)
      for (int64_t j = 0; j < length; ++j) {
        turned[size_t(i * length + j)] = conjugate(v[i * v_row + j]);
      }
    other = turned.data();
    other_row = length;
  }
  // F is upper triangular: column i is tau_i times -F (conj(V) v_i), with tau_i on the diagonal.
  Space<T> space(as_size(2 * b * b + 2 * rows * b), T(0));
  T *f = space.data(), *dots = f + b * b, *w = dots + b * b, *w2 = w + rows * b;
  add_product({b, b, length, other, other_row, 1, v, 1, v_row, dots, b});
  for (int64_t i = 0; i < b; ++i) {
    worked(b * b);
    const T factor = tau[size_t(first + i)];
    for (int64_t r = 0; r < i; ++r) {
      T sum = T(0);
      for (int64_t k = r; k < i; ++k) sum += times(f[r * b + k], dots[k * b + i]);
      f[r * b + i] = -times(factor, sum);
    }
    f[i * b + i] = factor;
  }
  for (int64_t i = 0; i < b * b; ++i) f[i] = adjoint ? -conjugate(f[i]) : -f[i];
  add_product({rows, b, length, x + begin, stride, 1, other, 1, other_row, w, b});
  if (adjoint) add_product({rows, b, b, w, b, 1, f, b, 1, w2, b});
  else add_product({rows, b, b, w, b, 1, f, 1, b, w2, b});
  add_product({rows, length, b, w2, b, 1, v, v_row, 1, x + begin, stride});
}

template <class T>
void Reflections<T>::apply(T* x, int64_t rows, int64_t stride, bool adjoint, int64_t offset) const {
  const int64_t blocks = (count + kBlock - 1) / kBlock;
  for (int64_t i = 0; i < blocks; ++i) {
    const int64_t first = (adjoint ? i : blocks - 1 - i) * kBlock;
    apply_block(first, std::min(count, first + kBlock), x, rows, stride, adjoint, offset);
  }
}

template <class T>
Reflections<T> reduce_columns(Rows<T>* at, int64_t m, int64_t n) {
  const int64_t count = std::min(m, n);
  Reflections<T> q(count, m);
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t last = std::min(count, first + kBlock);
    for (int64_t k = first; k < last; ++k) {
      T *v = q.vectors.row(k) + k, *column = at->row(k) + k;
      std::copy(column, column + (m - k), v);
      *column = T(make_reflection(m - k, v, &q.tau[size_t(k)]));
      std::fill(column + 1, column + (m - k), T(0));
      const T factor = conjugate(q.tau[size_t(k)]);
      if (factor != T(0) && k + 1 < last) {
        reflect(last - k - 1, m - k, at->row(k + 1) + k, at->stride(), v, factor);
      }
    }
    if (last < n) q.apply_block(first, last, at->row(last), n - last, at->stride(), true, 0);
  }
  return q;
}

template <class T>
void factor_qr(T* a, int64_t m, int64_t n, T* tau) {
  Rows<T> at(n, m);
  turn_over(m, n, a, n, at.row(0), at.stride());
  Reflections<T> q = reduce_columns(&at, m, n);
  for (int64_t k = 0; k < q.count; ++k) {
    worked(1);
    tau[k] = q.tau[size_t(k)];
    std::copy(q.vectors.row(k) + k + 1, q.vectors.row(k) + m, at.row(k) + k + 1);
  }
  turn_over(n, m, at.row(0), at.stride(), a, n);
}

template <class T>
void apply_reflections(const T* a, int64_t m, int64_t width, const T* tau, int64_t count, T* c,
                       int64_t columns, bool adjoint) {
  Reflections<T> q(count, m);
  std::copy(tau, tau + count, q.tau.begin());
  turn_over(m, count, a, width, q.vectors.row(0), q.vectors.stride());
  for (int64_t k = 0; k < count; ++k) {
    std::fill(q.vectors.row(k), q.vectors.row(k) + k, T(0));
    q.vectors.row(k)[k] = T(1);
  }
  Rows<T> rows(columns, m);
  turn_over(m, columns, c, columns, rows.row(0), rows.stride());
  q.apply(rows.row(0), columns, rows.stride(), adjoint, 0);
  turn_over(columns, m, rows.row(0), rows.stride(), c, columns);
}

#define SL_DENSE(T)                                                                              \
  template double make_reflection<T>(int64_t, T*, T*);                                           \
  template struct Reflections<T>;                                                                \
  template Reflections<T> reduce_columns<T>(Rows<T>*, int64_t, int64_t);                         \
  template void factor_qr<T>(T*, int64_t, int64_t, T*);                                          \
  template void apply_reflections<T>(const T*, int64_t, int64_t, const T*, int64_t, T*, int64_t, \
                                     bool);
SL_DENSE(double)
SL_DENSE(Complex)

}  // namespace scriptlang::kernels::dense
