// Eigenvalues and singular values: the QL iteration for symmetric matrices, Jacobi's rotations for
// complex hermitian ones and for columns, the shifted QR iteration for the others.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "dense.h"

namespace scriptlang::kernels::dense {

namespace {

constexpr int kMostSweeps = 60;
constexpr int kMostSteps = 60;  // of the QR iteration, for one eigenvalue
constexpr double kEpsilon = 2.220446049250313e-16;

// A rotation of two columns (p, q) after q was multiplied by conj(phase).
template <class T>
struct Rotation {
  double c, s;
  T phase;

  // That makes [[app, x], [conj(x), aqq]] diagonal.
  Rotation(double app, double aqq, T x) {
    double size = std::abs(x), theta = (aqq - app) / (2 * size);
    double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
    c = 1 / std::sqrt(t * t + 1);
    s = t * c;
    phase = x / T(size);
  }
  void apply(T& p, T& q, T factor) const {
    T l = p, r = q * factor;
    p = c * l - s * r;
    q = s * l + c * r;
  }
};

// Squares of the lengths of two vectors and their product, in sums that do not wait for each other.
template <class T>
struct Pair {
  double pp = 0, qq = 0;
  T pq = T(0);

  Pair(int64_t n, const T* left, const T* right) {
    constexpr int kLanes = 4;
    double l[kLanes] = {}, r[kLanes] = {};
    T both[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int k = 0; k < kLanes; ++k) {
        l[k] += square_of(left[i + k]);
        r[k] += square_of(right[i + k]);
        both[k] += conjugate(left[i + k]) * right[i + k];
      }
    }
    for (; i < n; ++i) {
      pp += square_of(left[i]);
      qq += square_of(right[i]);
      pq += conjugate(left[i]) * right[i];
    }
    for (int k = 0; k < kLanes; ++k) {
      pp += l[k];
      qq += r[k];
      pq += both[k];
    }
  }
};

std::vector<int64_t> sorted_order(int64_t n, const std::vector<double>& keys) {
  std::vector<int64_t> order(size_t(n), 0);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return keys[size_t(i)] < keys[size_t(j)]; });
  return order;
}

// Columns of a [rows][n] in another order.
template <class T>
void reorder_columns(T* a, int64_t rows, int64_t n, const std::vector<int64_t>& order) {
  std::vector<T> row(size_t(n), T(0));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < n; ++j) row[size_t(j)] = a[i * n + order[size_t(j)]];
    std::copy(row.begin(), row.end(), a + i * n);
  }
}

template <class T>
void set_identity(T* v, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) v[i * n + j] = T(double(i == j));
}

// The rows of a matrix become vectors of a basis in which a symmetric a is tridiagonal: d on the
// diagonal, e[i] between i and i + 1. Destroys a; `rows` may be null.
void make_tridiagonal(double* a, int64_t n, double* d, double* e, double* rows) {
  std::vector<double> vector(size_t(n), 0.0), product(size_t(n), 0.0);
  double *v = vector.data(), *p = product.data();
  for (int64_t k = 0; k + 2 < n; ++k) {
    double rest = 0, first = a[(k + 1) * n + k];
    for (int64_t i = k + 2; i < n; ++i) rest = std::hypot(rest, a[i * n + k]);
    if (rest == 0) continue;
    double size = std::hypot(first, rest), target = first > 0 ? -size : size, square = 0;
    // Scaled to a first element of 1, so that squares neither vanish nor overflow.
    for (int64_t i = k + 1; i < n; ++i) {
      v[i] = i == k + 1 ? 1 : a[i * n + k] / (first - target);
      square += v[i] * v[i];
    }
    const double beta = 2 / square;
    double along = 0;
    for (int64_t i = k + 1; i < n; ++i) {
      double sum = 0;
      for (int64_t j = k + 1; j < n; ++j) sum += a[i * n + j] * v[j];
      p[i] = beta * sum;
      along += p[i] * v[i];
    }
    for (int64_t i = k + 1; i < n; ++i) p[i] -= beta / 2 * along * v[i];
    for (int64_t i = k + 1; i < n; ++i) {
      double* row = a + i * n;
      const double vi = v[i], pi = p[i];
      for (int64_t j = k + 1; j < n; ++j) row[j] -= vi * p[j] + pi * v[j];
    }
    a[(k + 1) * n + k] = target;
    if (rows == nullptr) continue;
    std::fill(p, p + n, 0.0);
    for (int64_t i = k + 1; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) p[j] += v[i] * rows[i * n + j];
    }
    for (int64_t i = k + 1; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) rows[i * n + j] -= beta * v[i] * p[j];
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    d[i] = a[i * n + i];
    e[i] = i + 1 < n ? a[(i + 1) * n + i] : 0;
  }
}

// One implicit step of the QL iteration on [first, last] of a tridiagonal matrix, whose rotations
// the rows take part in.
void step_ql(int64_t n, int64_t first, int64_t last, double* d, double* e, double* rows) {
  double g = (d[first + 1] - d[first]) / (2 * e[first]), r = std::hypot(g, 1.0);
  g = d[last] - d[first] + e[first] / (g + std::copysign(r, g));
  double s = 1, c = 1, p = 0;
  for (int64_t i = last - 1; i >= first; --i) {
    double f = s * e[i], b = c * e[i];
    r = std::hypot(f, g);
    e[i + 1] = r;
    if (r == 0) {
      d[i + 1] -= p;
      e[last] = 0;
      return;
    }
    s = f / r;
    c = g / r;
    g = d[i + 1] - p;
    r = (d[i] - g) * s + 2 * c * b;
    p = s * r;
    d[i + 1] = g + p;
    g = c * r - b;
    if (rows == nullptr) continue;
    double *low = rows + i * n, *high = low + n;
    for (int64_t k = 0; k < n; ++k) {
      double l = low[k], h = high[k];
      high[k] = s * l + c * h;
      low[k] = c * l - s * h;
    }
  }
  d[first] -= p;
  e[first] = g;
  e[last] = 0;
}

// Of a real matrix: tridiagonal first, then the QL iteration. False when it does not converge.
bool eigen_symmetric(double* a, int64_t n, double* values, double* v) {
  std::vector<double> d(size_t(n), 0.0), e(size_t(n), 0.0), rows;
  if (v) {
    rows.resize(size_t(n * n));
    set_identity(rows.data(), n);
  }
  double* basis = v ? rows.data() : nullptr;
  make_tridiagonal(a, n, d.data(), e.data(), basis);
  auto coupled = [&](int64_t m) {
    double size = std::abs(d[size_t(m)]) + std::abs(d[size_t(m + 1)]);
    return std::abs(e[size_t(m)]) > kEpsilon * size;
  };
  for (int64_t l = 0; l < n; ++l) {
    for (int step = 0;; ++step) {
      int64_t m = l;
      while (m + 1 < n && coupled(m)) ++m;
      if (m == l) break;
      if (step == kMostSteps) return false;
      step_ql(n, l, m, d.data(), e.data(), basis);
    }
  }
  std::vector<int64_t> order = sorted_order(n, d);
  for (int64_t j = 0; j < n; ++j) {
    const int64_t from = order[size_t(j)];
    values[j] = d[size_t(from)];
    for (int64_t i = 0; v && i < n; ++i) v[i * n + j] = rows[size_t(from * n + i)];
  }
  return true;
}

}  // namespace

template <class T>
void eigen_hermitian(T* a, int64_t n, double* values, T* v) {
  if constexpr (std::is_same_v<T, double>) {
    std::vector<double> copy(a, a + n * n);
    if (n > 2 && eigen_symmetric(copy.data(), n, values, v)) return;
  }
  std::vector<T> own;
  if (v == nullptr) {
    own.resize(size_t(n * n));
    v = own.data();
  }
  set_identity(v, n);
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    double off = 0, all = 0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) (i == j ? all : off) += square_of(a[i * n + j]);
    if (!(off > 1e-32 * all)) break;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        T x = a[p * n + q];
        if (x == T(0)) continue;
        Rotation<T> r(real_part(a[p * n + p]), real_part(a[q * n + q]), x);
        T back = conjugate(r.phase);
        for (int64_t k = 0; k < n; ++k) r.apply(a[k * n + p], a[k * n + q], back);
        for (int64_t k = 0; k < n; ++k) r.apply(a[p * n + k], a[q * n + k], r.phase);
        for (int64_t k = 0; k < n; ++k) r.apply(v[k * n + p], v[k * n + q], back);
      }
    }
  }
  std::vector<double> keys;
  for (int64_t i = 0; i < n; ++i) keys.push_back(real_part(a[i * n + i]));
  std::vector<int64_t> order = sorted_order(n, keys);
  for (int64_t j = 0; j < n; ++j) values[j] = keys[size_t(order[size_t(j)])];
  reorder_columns(v, n, n, order);
}

template <class T>
void singular_values(T* a, int64_t m, int64_t n, double* s, T* v) {
  // Columns as rows, which lie together.
  std::vector<T> columns(size_t(n * m), T(0)), right(size_t(n * n), T(0));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) columns[size_t(j * m + i)] = a[i * n + j];
  set_identity(right.data(), n);
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool done = true;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        T *left = &columns[size_t(p * m)], *other = &columns[size_t(q * m)];
        const Pair<T> sums(m, left, other);
        if (!(std::abs(sums.pq) > 1e-15 * std::sqrt(sums.pp * sums.qq)) || sums.pq == T(0)) {
          continue;
        }
        done = false;
        Rotation<T> r(sums.pp, sums.qq, sums.pq);
        T back = conjugate(r.phase);
        for (int64_t i = 0; i < m; ++i) r.apply(left[i], other[i], back);
        T *vp = &right[size_t(p * n)], *vq = &right[size_t(q * n)];
        for (int64_t i = 0; i < n; ++i) r.apply(vp[i], vq[i], back);
      }
    }
    if (done) break;
  }
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) a[i * n + j] = columns[size_t(j * m + i)];
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) v[i * n + j] = right[size_t(j * n + i)];
  std::vector<double> keys(size_t(n), 0.0);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < m; ++i) {
      keys[size_t(j)] = std::hypot(keys[size_t(j)], std::abs(a[i * n + j]));
    }
    keys[size_t(j)] = -keys[size_t(j)];
  }
  std::vector<int64_t> order = sorted_order(n, keys);
  reorder_columns(a, m, n, order);
  reorder_columns(v, n, n, order);
  for (int64_t j = 0; j < n; ++j) {
    s[j] = -keys[size_t(order[size_t(j)])];
    for (int64_t i = 0; i < m; ++i) a[i * n + j] = s[j] > 0 ? a[i * n + j] / T(s[j]) : T(0);
  }
}

template <class T>
void complete_basis(T* u, int64_t rows, int64_t width, int64_t have) {
  std::vector<bool> there(size_t(width), false);
  for (int64_t j = 0; j < std::min(have, width); ++j) {
    double size = 0;
    for (int64_t i = 0; i < rows; ++i) size += square_of(u[i * width + j]);
    there[size_t(j)] = size > 0.5;
  }
  int64_t next = 0;
  for (int64_t j = 0; j < width; ++j) {
    for (; !there[size_t(j)] && next < rows; ++next) {
      for (int64_t i = 0; i < rows; ++i) u[i * width + j] = T(double(i == next));
      for (int pass = 0; pass < 2; ++pass) {
        for (int64_t k = 0; k < width; ++k) {
          if (!there[size_t(k)]) continue;
          T dot = T(0);
          for (int64_t i = 0; i < rows; ++i) dot += conjugate(u[i * width + k]) * u[i * width + j];
          for (int64_t i = 0; i < rows; ++i) u[i * width + j] -= dot * u[i * width + k];
        }
      }
      double norm = 0;
      for (int64_t i = 0; i < rows; ++i) norm = std::hypot(norm, std::abs(u[i * width + j]));
      if (norm < 1e-6) continue;
      for (int64_t i = 0; i < rows; ++i) u[i * width + j] /= T(norm);
      there[size_t(j)] = true;
    }
  }
}

namespace {

// A unitary similarity makes a zero below the first subdiagonal; z is multiplied along.
void reduce_to_hessenberg(Complex* a, int64_t n, Complex* z) {
  std::vector<Complex> v(size_t(n), 0.0);
  for (int64_t k = 0; k + 2 < n; ++k) {
    double norm = 0;
    for (int64_t i = k + 1; i < n; ++i) norm = std::hypot(norm, std::abs(a[i * n + k]));
    Complex head = a[(k + 1) * n + k];
    if (norm == 0 || norm == std::abs(head)) continue;
    Complex beta = head == 0.0 ? Complex(-norm) : -head / std::abs(head) * norm;
    double size = 0;
    for (int64_t i = k + 1; i < n; ++i) {
      v[size_t(i)] = a[i * n + k] - (i == k + 1 ? beta : 0.0);
      size += std::norm(v[size_t(i)]);
    }
    auto reflect = [&](Complex* at, int64_t step, int64_t from, bool left) {
      Complex dot = 0;
      for (int64_t i = from; i < n; ++i) {
        dot += (left ? std::conj(v[size_t(i)]) : v[size_t(i)]) * at[i * step];
      }
      dot *= 2 / size;
      for (int64_t i = from; i < n; ++i) {
        at[i * step] -= dot * (left ? v[size_t(i)] : std::conj(v[size_t(i)]));
      }
    };
    for (int64_t j = k; j < n; ++j) reflect(a + j, n, k + 1, true);
    for (int64_t i = 0; i < n; ++i) reflect(a + i * n, 1, k + 1, false);
    for (int64_t i = 0; i < n; ++i) reflect(z + i * n, 1, k + 1, false);
  }
}

// The eigenvalue of the last 2 x 2 block of rows up to `last` that is nearer its last element.
Complex wilkinson_shift(const Complex* h, int64_t n, int64_t last) {
  Complex a = h[(last - 1) * n + last - 1], b = h[(last - 1) * n + last];
  Complex c = h[last * n + last - 1], d = h[last * n + last];
  Complex half = (a - d) / 2.0, root = std::sqrt(half * half + b * c);
  Complex sum = std::real(std::conj(half) * root) >= 0 ? half + root : half - root;
  return sum == 0.0 ? d : d - b * c / sum;
}

// One QR step on rows [first, last] of the Hessenberg matrix h; z is multiplied along.
void qr_step(Complex* h, int64_t n, int64_t first, int64_t last, Complex shift, Complex* z) {
  std::vector<double> cosines;
  std::vector<Complex> sines;
  for (int64_t k = first; k <= last; ++k) h[k * n + k] -= shift;
  for (int64_t k = first; k < last; ++k) {
    Complex a = h[k * n + k], b = h[(k + 1) * n + k];
    double size = std::hypot(std::abs(a), std::abs(b)), c = 1;
    Complex s = 0;
    if (size > 0) {
      c = std::abs(a) / size;
      s = a == 0.0 ? std::conj(b) / size : a / std::abs(a) * std::conj(b) / size;
    }
    for (int64_t j = k; j < n; ++j) {
      Complex l = h[k * n + j], r = h[(k + 1) * n + j];
      h[k * n + j] = c * l + s * r;
      h[(k + 1) * n + j] = -std::conj(s) * l + c * r;
    }
    h[(k + 1) * n + k] = 0;
    cosines.push_back(c);
    sines.push_back(s);
  }
  auto turn = [&](Complex* row, int64_t k) {
    double c = cosines[size_t(k - first)];
    Complex s = sines[size_t(k - first)], l = row[k], r = row[k + 1];
    row[k] = c * l + std::conj(s) * r;
    row[k + 1] = -s * l + c * r;
  };
  for (int64_t k = first; k < last; ++k) {
    for (int64_t i = 0; i <= k + 1; ++i) turn(h + i * n, k);
    for (int64_t i = 0; i < n; ++i) turn(z + i * n, k);
  }
  for (int64_t k = first; k <= last; ++k) h[k * n + k] += shift;
}

// Schur's form: h becomes upper triangular.
bool iterate_qr(Complex* h, int64_t n, Complex* z) {
  int steps = 0;
  for (int64_t last = n - 1; last > 0;) {
    int64_t first = last;
    for (; first > 0; --first) {
      Complex& below = h[first * n + first - 1];
      double near = size_of(h[first * n + first]) + size_of(h[(first - 1) * n + first - 1]);
      if (size_of(below) <= kEpsilon * near || size_of(below) < 1e-300) {
        below = 0;
        break;
      }
    }
    if (first == last) {
      --last;
      steps = 0;
      continue;
    }
    if (++steps > kMostSteps) return false;
    Complex shift = wilkinson_shift(h, n, last);
    if (steps % 10 == 0) shift = h[last * n + last] + std::abs(h[last * n + last - 1]);
    qr_step(h, n, first, last, shift, z);
  }
  return true;
}

// Eigenvectors of the triangular t by substitution, turned back by z; of length one, the largest
// element real.
void back_substitute(const Complex* t, int64_t n, const Complex* z, Complex* vectors) {
  double norm = 0;
  for (int64_t i = 0; i < n * n; ++i) norm = std::max(norm, size_of(t[i]));
  double least = std::max(kEpsilon * norm, 1e-300);
  std::vector<Complex> x(size_t(n), 0.0);
  for (int64_t k = 0; k < n; ++k) {
    x[size_t(k)] = 1;
    for (int64_t i = k - 1; i >= 0; --i) {
      Complex sum = 0;
      for (int64_t j = i + 1; j <= k; ++j) sum += t[i * n + j] * x[size_t(j)];
      Complex gap = t[k * n + k] - t[i * n + i];
      x[size_t(i)] = sum / (std::abs(gap) < least ? Complex(least) : gap);
    }
    double size = 0;
    Complex largest = 0;
    for (int64_t i = 0; i < n; ++i) {
      Complex sum = 0;
      for (int64_t j = 0; j <= k; ++j) sum += z[i * n + j] * x[size_t(j)];
      vectors[i * n + k] = sum;
      size = std::hypot(size, std::abs(sum));
      if (std::abs(sum) > std::abs(largest)) largest = sum;
    }
    Complex scale = largest == 0.0 ? Complex(1) : std::conj(largest) / std::abs(largest) / size;
    for (int64_t i = 0; i < n; ++i) vectors[i * n + k] *= scale;
  }
}

}  // namespace

bool eigen_general(Complex* a, int64_t n, Complex* values, Complex* vectors) {
  std::vector<Complex> z(size_t(n * n), 0.0);
  set_identity(z.data(), n);
  reduce_to_hessenberg(a, n, z.data());
  if (!iterate_qr(a, n, z.data())) return false;
  for (int64_t i = 0; i < n; ++i) values[i] = a[i * n + i];
  if (vectors) back_substitute(a, n, z.data(), vectors);
  return true;
}

#define SL_DENSE(T)                                                      \
  template void eigen_hermitian<T>(T*, int64_t, double*, T*);            \
  template void singular_values<T>(T*, int64_t, int64_t, double*, T*);   \
  template void complete_basis<T>(T*, int64_t, int64_t, int64_t);
SL_DENSE(double)
SL_DENSE(Complex)

}  // namespace scriptlang::kernels::dense
