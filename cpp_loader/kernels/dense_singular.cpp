// Singular values: reduction to bidiagonal form by reflections from both sides, then the implicit
// QR iteration of Golub and Kahan, with the zero-shift step of Demmel and Kahan where the shift is
// negligible.
#include <algorithm>
#include <cmath>

#include "dense_blocks.h"

namespace scriptlang::kernels::dense {

namespace {

constexpr double kEpsilon = 2.220446049250313e-16;
constexpr int64_t kMostSteps = 60;  // per singular value

// A = Q B P^H, where B has d on its diagonal and e above it.
template <class T>
struct Bidiagonal {
  std::vector<double> d, e;
  Reflections<T> q, p;
  Bidiagonal(const Rows<T>& a, int64_t n);
};

template <class T>
Bidiagonal<T>::Bidiagonal(const Rows<T>& a, int64_t n)
    : d(size_t(n), 0.0), e(size_t(n), 0.0), q(n, n), p(n - 1, n) {
  std::vector<T> space(as_size(6 * n), T(0));
  // The pending update of the matrix: u y + x conj(v).
  T *u = space.data(), *y = u + n, *x = y + n, *conj_v = x + n, *conj_u = conj_v + n;
  T* sums = conj_u + n;
  for (int64_t k = 0; k < n; ++k) {
    worked(n);
    T *column = q.vectors.row(k), &tau = q.tau[size_t(k)];
    for (int64_t i = k; i < n; ++i) {
      column[i] = a.row(i)[k];
      if (k > 0) column[i] -= times(u[i], y[k]) + times(x[i], conj_v[k]);
    }
    d[size_t(k)] = make_reflection(n - k, column + k, &tau);
    if (k + 1 == n) break;
    RowSweep<T> s;
    s.rows = n - k;
    s.n = n - k - 1;
    s.a = a.row(k) + k + 1;
    s.stride = a.stride();
    if (k > 0) {
      s.left = u + k;
      s.p = y + k + 1;
      s.right = x + k;
      s.q = conj_v + k + 1;
    }
    for (int64_t i = k; i < n; ++i) conj_u[i] = conjugate(column[i]);
    std::fill(sums + k + 1, sums + n, T(0));
    s.s = conj_u + k;
    s.sums = sums + k + 1;
    sweep(s);
    T *row = p.vectors.row(k), *from = a.row(k);
    for (int64_t j = k + 1; j < n; ++j) {
      y[j] = times(conjugate(tau), sums[j]);
      row[j] = conjugate(from[j] - y[j]);
    }
    T& other = p.tau[size_t(k)];
    e[size_t(k)] = make_reflection(n - k - 1, row + k + 1, &other);
    T along = T(0);
    for (int64_t j = k + 1; j < n; ++j) along += times(y[j], row[j]);
    RowSweep<T> m;
    m.rows = m.n = n - k - 1;
    m.a = a.row(k + 1) + k + 1;
    m.stride = a.stride();
    m.v = row + k + 1;
    m.dots = x + k + 1;
    sweep(m);
    for (int64_t i = k + 1; i < n; ++i) {
      u[i] = column[i];
      x[i] = times(other, x[i] - times(column[i], along));
      conj_v[i] = conjugate(row[i]);
    }
  }
}

// The smaller singular value of [[f, g], [0, h]].
double least_of(double f, double g, double h) {
  const double most = (std::hypot(f + h, g) + std::hypot(f - h, g)) / 2;
  return most == 0 ? 0 : std::abs(f) / most * std::abs(h);
}

struct Iteration {
  double *d, *e;
  Turning *left, *right;

  // One step on rows [first, last] with a shift.
  void step(int64_t first, int64_t last, double shift) {
    double f = (std::abs(d[first]) - shift) * (std::copysign(1.0, d[first]) + shift / d[first]);
    double g = e[first];
    begin(first);
    for (int64_t i = first; i < last; ++i) {
      worked(1);
      const Angle r = angle_of(f, g);
      if (i > first) e[i - 1] = r.r;
      f = r.c * d[i] + r.s * e[i];
      e[i] = r.c * e[i] - r.s * d[i];
      g = r.s * d[i + 1];
      d[i + 1] = r.c * d[i + 1];
      const Angle l = angle_of(f, g);
      d[i] = l.r;
      f = l.c * e[i] + l.s * d[i + 1];
      d[i + 1] = l.c * d[i + 1] - l.s * e[i];
      if (i + 1 < last) {
        g = l.s * e[i + 1];
        e[i + 1] = l.c * e[i + 1];
      }
      right->add(r.c, r.s);
      left->add(l.c, l.s);
    }
    e[last - 1] = f;
  }

  // One step without a shift, which moves zeros on the diagonal to the end.
  void step(int64_t first, int64_t last) {
    Angle l{1, 0, 0};
    double c = 1;
    begin(first);
    for (int64_t i = first; i < last; ++i) {
      worked(1);
      const Angle r = angle_of(c * d[i], e[i]);
      if (i > first) e[i - 1] = l.s * r.r;
      l = angle_of(l.c * r.r, d[i + 1] * r.s);
      d[i] = l.r;
      c = r.c;
      right->add(r.c, r.s);
      left->add(l.c, l.s);
    }
    const double h = d[last] * c;
    d[last] = h * l.c;
    e[last - 1] = h * l.s;
  }

  void begin(int64_t first) {
    left->begin(first, 1);
    right->begin(first, 1);
  }

  bool run(int64_t n) {
    double norm = 0;
    for (int64_t i = 0; i < n; ++i) norm = std::max({norm, std::abs(d[i]), std::abs(e[i])});
    int64_t steps = 0;
    for (int64_t last = n - 1; last > 0;) {
      worked(1);
      int64_t first = last;
      bool zero = false;
      for (; first > 0; --first) {
        const double near = std::abs(d[first - 1]) + std::abs(d[first]);
        if (!(std::abs(e[first - 1]) > kEpsilon * std::max(near, norm / 8))) {
          e[first - 1] = 0;
          break;
        }
        zero = zero || std::abs(d[first - 1]) <= kEpsilon * norm / 8;
      }
      if (first == last) {
        --last;
        continue;
      }
      if (++steps > kMostSteps * n) return false;
      double shift = zero ? 0 : least_of(d[last - 1], e[last - 1], d[last]);
      const double share = zero ? 0 : shift / d[first];
      if (share * share < kEpsilon) step(first, last);
      else step(first, last, shift);
    }
    left->finish();
    right->finish();
    return true;
  }
};

}  // namespace

template <class T>
bool singular_values(const T* a, int64_t m, int64_t n, double* s, T* u, int64_t width, T* v) {
  if (n == 0) {
    for (int64_t i = 0; u && i < m; ++i)
      for (int64_t j = 0; j < width; ++j) u[i * width + j] = T(double(i == j));
    return true;
  }
  Rows<T> square(n, n), turned(m > n ? n : 0, m);
  Reflections<T> first(0, 0);
  if (m > n) {
    turn_over(m, n, a, n, turned.row(0), turned.stride());
    first = reduce_columns(&turned, m, n);
    turn_over(n, n, turned.row(0), turned.stride(), square.row(0), square.stride());
  } else {
    for (int64_t i = 0; i < n; ++i) std::copy(a + i * n, a + (i + 1) * n, square.row(i));
  }
  const double scale = bring_into_range(square, n, n);
  Bidiagonal<T> b(square, n);
  const bool wanted = u != nullptr;
  Rows<double> left(wanted ? n : 0, n), right(wanted ? n : 0, n);
  for (int64_t i = 0; wanted && i < n; ++i) left.row(i)[i] = right.row(i)[i] = 1;
  Turning turn_left(wanted ? left.row(0) : nullptr, n, left.stride());
  Turning turn_right(wanted ? right.row(0) : nullptr, n, right.stride());
  if (!Iteration{b.d.data(), b.e.data(), &turn_left, &turn_right}.run(n)) return false;
  std::vector<double> keys;
  for (double value : b.d) keys.push_back(-std::abs(value));
  std::vector<int64_t> order = sorted_order(keys);
  for (int64_t i = 0; i < n; ++i) s[i] = -keys[size_t(order[size_t(i)])] / scale;
  if (!wanted) return true;
  for (int64_t i = 0; i < n; ++i) {
    worked(n);
    const int64_t from = order[size_t(i)];
    const double sign = std::signbit(b.d[size_t(from)]) ? -1 : 1;
    for (int64_t j = 0; j < n; ++j) square.row(i)[j] = T(sign * right.row(from)[j]);
  }
  b.p.apply(square.row(0), n, square.stride(), false, 1);
  turn_over(n, n, square.row(0), square.stride(), v, n);
  Rows<T> columns(width, m);
  for (int64_t i = 0; i < width; ++i) {
    const double* from = i < n ? left.row(order[size_t(i)]) : nullptr;
    if (from) std::copy(from, from + n, columns.row(i));
    else columns.row(i)[i] = T(1);
  }
  b.q.apply(columns.row(0), n, columns.stride(), false, 0);
  if (m > n) first.apply(columns.row(0), width, columns.stride(), false, 0);
  turn_over(width, m, columns.row(0), columns.stride(), u, width);
  return true;
}

template bool singular_values<double>(const double*, int64_t, int64_t, double*, double*, int64_t,
                                      double*);
template bool singular_values<Complex>(const Complex*, int64_t, int64_t, double*, Complex*, int64_t,
                                       Complex*);

}  // namespace scriptlang::kernels::dense
