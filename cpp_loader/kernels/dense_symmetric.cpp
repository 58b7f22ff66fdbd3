// Eigenvalues of hermitian matrices: reduction to tridiagonal form by reflections, then the QL
// iteration.
#include <algorithm>
#include <cmath>

#include "dense_blocks.h"

namespace scriptlang::kernels::dense {

namespace {

constexpr int kMostSteps = 60;  // of the iteration, per eigenvalue
constexpr double kEpsilon = 2.220446049250313e-16;

// Q^H A Q = T, where T has d on its diagonal and e beside it. One pass over the remaining matrix
// does the update of one reflection and the product that the next one needs.
template <class T>
Reflections<T> make_tridiagonal(const Rows<T>& a, int64_t n, double* d, double* e) {
  Reflections<T> q(std::max<int64_t>(n - 1, 0), n);
  std::vector<T> space(as_size(5 * n), T(0));
  // The pending update of the matrix: v p + w conj(v).
  T *v = space.data(), *p = v + n, *w = p + n, *conj_v = w + n, *dots = conj_v + n;
  for (int64_t k = 0; k < n; ++k) {
    worked(n);
    T* row = a.row(k);
    for (int64_t j = k; k > 0 && j < n; ++j) row[j] -= times(v[k], p[j]) + times(w[k], conj_v[j]);
    d[k] = real_part(row[k]);
    if (k + 1 == n) break;
    T *next = q.vectors.row(k), &tau = q.tau[size_t(k)];
    for (int64_t j = k + 1; j < n; ++j) next[j] = conjugate(row[j]);
    e[k] = make_reflection(n - k - 1, next + k + 1, &tau);
    RowSweep<T> s;
    s.rows = s.n = n - k - 1;
    s.a = a.row(k + 1) + k + 1;
    s.stride = a.stride();
    if (k > 0) {
      s.left = v + k + 1;
      s.p = p + k + 1;
      s.right = w + k + 1;
      s.q = conj_v + k + 1;
    }
    s.v = next + k + 1;
    s.dots = dots + k + 1;
    sweep(s);
    T along = T(0);
    for (int64_t i = k + 1; i < n; ++i) {
      v[i] = next[i];
      w[i] = times(tau, dots[i]);
      along += times(conjugate(v[i]), w[i]);
    }
    along = times(conjugate(tau), along) * 0.5;
    for (int64_t i = k + 1; i < n; ++i) {
      w[i] -= times(along, v[i]);
      p[i] = conjugate(w[i]);
      conj_v[i] = conjugate(v[i]);
    }
  }
  return q;
}

// One implicit step of the QL iteration on [first, last].
void step_ql(int64_t first, int64_t last, double* d, double* e, Turning* turning) {
  double g = (d[first + 1] - d[first]) / (2 * e[first]), r = std::hypot(g, 1.0);
  g = d[last] - d[first] + e[first] / (g + std::copysign(r, g));
  double s = 1, c = 1, p = 0;
  turning->begin(last, -1);
  for (int64_t i = last - 1; i >= first; --i) {
    worked(1);
    const double b = c * e[i];
    const Angle turn = angle_of(g, s * e[i]);
    e[i + 1] = turn.r;
    if (turn.r == 0) {
      d[i + 1] -= p;
      e[last] = 0;
      return;
    }
    c = turn.c;
    s = turn.s;
    g = d[i + 1] - p;
    r = (d[i] - g) * s + 2 * c * b;
    p = s * r;
    d[i + 1] = g + p;
    g = c * r - b;
    turning->add(c, s);
  }
  d[first] -= p;
  e[first] = g;
  e[last] = 0;
}

bool iterate_ql(int64_t n, double* d, double* e, Turning* turning) {
  auto coupled = [&](int64_t m) {
    return std::abs(e[m]) > kEpsilon * (std::abs(d[m]) + std::abs(d[m + 1]));
  };
  for (int64_t l = 0; l < n; ++l) {
    worked(n);
    for (int step = 0;; ++step) {
      worked(1);
      int64_t m = l;
      while (m + 1 < n && coupled(m)) ++m;
      if (m == l) break;
      if (step == kMostSteps) return false;
      step_ql(l, m, d, e, turning);
    }
  }
  turning->finish();
  return true;
}

}  // namespace

template <class T>
bool eigen_hermitian(const T* given, int64_t n, double* values, T* vectors) {
  if (n == 0) return true;
  Rows<T> a(n, n);
  for (int64_t i = 0; i < n; ++i) std::copy(given + i * n, given + (i + 1) * n, a.row(i));
  const double scale = bring_into_range(a, n, n);
  std::vector<double> d(as_size(n), 0.0), e(as_size(n), 0.0);
  Reflections<T> q = make_tridiagonal(a, n, d.data(), e.data());
  Rows<double> z(vectors ? n : 0, n);
  for (int64_t i = 0; vectors && i < n; ++i) z.row(i)[i] = 1;
  Turning turning(vectors ? z.row(0) : nullptr, n, z.stride());
  if (!iterate_ql(n, d.data(), e.data(), &turning)) return false;
  std::vector<int64_t> order = sorted_order(d);
  for (int64_t i = 0; i < n; ++i) values[i] = d[size_t(order[size_t(i)])] / scale;
  if (!vectors) return true;
  for (int64_t i = 0; i < n; ++i) {
    worked(n);
    const double* row = z.row(order[size_t(i)]);
    std::copy(row, row + n, a.row(i));
  }
  q.apply(a.row(0), n, a.stride(), false, 1);
  turn_over(n, n, a.row(0), a.stride(), vectors, n);
  return true;
}

template bool eigen_hermitian<double>(const double*, int64_t, double*, double*);
template bool eigen_hermitian<Complex>(const Complex*, int64_t, double*, Complex*);

}  // namespace scriptlang::kernels::dense
