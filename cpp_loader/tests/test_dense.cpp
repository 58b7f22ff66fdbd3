// Factors and spectra of matrices that are hard: of rank one, zero in places, graded, clustered, of
// extreme size, wide for their blocks.
#include <cmath>
#include <random>
#include <vector>

#include "../kernels/dense.h"
#include "../kernels/parallel.h"
#include "harness.h"

using namespace scriptlang::kernels;
using dense::Complex;

namespace {

constexpr double kAllowed = 4;  // in rounding errors times the order; measured: up to 2.1

template <class T>
using Matrix = std::vector<T>;

template <class T>
T random_number(std::mt19937& random) {
  std::normal_distribution<double> normal;
  if constexpr (std::is_same_v<T, double>) return normal(random);
  else return {normal(random), normal(random)};
}

// a [m][k] times b [k][n], or its adjoint's.
template <class T>
Matrix<T> product(const Matrix<T>& a, const Matrix<T>& b, int64_t m, int64_t k, int64_t n,
                  bool adjoint) {
  Matrix<T> c(size_t(m * n), T(0));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t p = 0; p < k; ++p) {
        T x = adjoint ? dense::conjugate(b[size_t(j * k + p)]) : b[size_t(p * n + j)];
        c[size_t(i * n + j)] += a[size_t(i * k + p)] * x;
      }
  return c;
}

template <class T>
double difference(const Matrix<T>& a, const Matrix<T>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    double one = std::abs(a[i] - b[i]);
    most = std::max(most, std::isnan(one) ? 1e300 : one);
  }
  return most;
}

template <class T>
Matrix<T> identity(int64_t n) {
  Matrix<T> one(size_t(n * n), T(0));
  for (int64_t i = 0; i < n; ++i) one[size_t(i * n + i)] = T(1);
  return one;
}

template <class T>
Matrix<T> adjoint_of(const Matrix<T>& a, int64_t m, int64_t n) {
  Matrix<T> turned(a.size());
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      turned[size_t(j * m + i)] = dense::conjugate(a[size_t(i * n + j)]);
    }
  return turned;
}

template <class T>
double from_orthonormal(const Matrix<T>& columns, int64_t m, int64_t n) {
  Matrix<T> rows = adjoint_of(columns, m, n);
  return difference(product(rows, rows, n, m, n, true), identity<T>(n));
}

// The kinds of matrices, m x n.
template <class T>
Matrix<T> matrix_of(int kind, int64_t m, int64_t n) {
  std::mt19937 random(unsigned(kind * 1000 + m * 31 + n));
  Matrix<T> a(size_t(m * n), T(0));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      T& x = a[size_t(i * n + j)];
      switch (kind) {
        case 0: break;
        case 1: x = T(1); break;
        case 2: x = T(double(i == j)); break;
        case 3: x = T(double((j == i && i % 3 != 0) || j == i + 1)); break;
        case 4: x = random_number<T>(random) * std::pow(10.0, -double(i)); break;
        case 5: x = random_number<T>(random) * std::pow(10.0, -double(j)); break;
        case 6: x = random_number<T>(random) * 1e200; break;
        case 7: x = random_number<T>(random) * 1e-305; break;
        case 8: x = T(double(i == j)) + random_number<T>(random) * 1e-14; break;
        default: x = random_number<T>(random);
      }
    }
  return a;
}
constexpr int kKinds = 10;

void check(bool good, const char* what, int kind, int64_t m, int64_t n) {
  if (good) return;
  test::fail(__FILE__, __LINE__, scriptlang::concat(what, ", kind ", kind, ", ", m, "x", n));
}

template <class F>
void for_matrices(F f) {
  const int64_t sizes[][2] = {{0, 0}, {3, 0},  {1, 1},   {2, 2},   {3, 3},  {5, 2},
                              {9, 9}, {20, 7}, {33, 33}, {50, 33}, {70, 70}};
  for (int kind = 0; kind < kKinds; ++kind)
    for (const auto& size : sizes) f(kind, size[0], size[1]);
}

// Elements of a matrix of kind 7 have few digits left below the least normal number.
double unit_of(double norm, int64_t order) {
  return std::max(norm * 2.3e-16 * double(std::max<int64_t>(order, 1)), 1e-320);
}

template <class T>
double frobenius(const Matrix<T>& a) {
  double most = 0, sum = 0;
  for (T x : a) most = std::max(most, std::abs(x));
  for (T x : a) sum += most == 0 ? 0 : dense::square_of(x / most);
  return most * std::sqrt(sum);
}

template <class T>
void check_singular_values(int kind, int64_t m, int64_t n) {
  Matrix<T> a = matrix_of<T>(kind, m, n);
  double unit = unit_of(frobenius(a), m);
  for (int64_t width : {n, m}) {
    std::vector<double> s(size_t(n), 0.0), alone = s;
    Matrix<T> u(size_t(m * width), T(0)), v(size_t(n * n), T(0));
    check(dense::singular_values(a.data(), m, n, s.data(), u.data(), width, v.data()), "converges",
          kind, m, n);
    check(dense::singular_values<T>(a.data(), m, n, alone.data(), nullptr, 0, nullptr), "converges",
          kind, m, n);
    check(difference(s, alone) <= unit, "the same values without vectors", kind, m, n);
    check(from_orthonormal(u, m, width) < kAllowed * unit_of(1, m), "left vectors", kind, m, n);
    check(from_orthonormal(v, n, n) < kAllowed * unit_of(1, m), "right vectors", kind, m, n);
    Matrix<T> scaled(size_t(m * n), T(0));
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        scaled[size_t(i * n + j)] = u[size_t(i * width + j)] * s[size_t(j)];
      }
    double lost = difference(product(scaled, v, m, n, n, true), a);
    check(lost <= kAllowed * unit, "U S V^H", kind, m, n);
    for (size_t i = 1; i < s.size(); ++i) check(s[i - 1] >= s[i], "descending", kind, m, n);
    for (double value : s) check(value >= 0, "not negative", kind, m, n);
  }
}

template <class T>
void check_eigenvalues(int kind, int64_t n) {
  Matrix<T> a = matrix_of<T>(kind, n, n), turned = adjoint_of(a, n, n);
  for (size_t i = 0; i < a.size(); ++i) a[i] = (a[i] + turned[i]) * 0.5;
  std::vector<double> values(size_t(n), 0.0), alone = values;
  Matrix<T> v(size_t(n * n), T(0));
  double unit = unit_of(frobenius(a), n);
  check(dense::eigen_hermitian(a.data(), n, values.data(), v.data()), "converges", kind, n, n);
  check(dense::eigen_hermitian<T>(a.data(), n, alone.data(), nullptr), "converges", kind, n, n);
  check(difference(values, alone) <= unit, "the same values without vectors", kind, n, n);
  check(from_orthonormal(v, n, n) < kAllowed * unit_of(1, n), "vectors", kind, n, n);
  Matrix<T> scaled = v;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) scaled[size_t(i * n + j)] *= values[size_t(j)];
  check(difference(product(scaled, v, n, n, n, true), a) <= kAllowed * unit, "V W V^H", kind, n, n);
  for (size_t i = 1; i < values.size(); ++i) {
    check(values[i - 1] <= values[i], "ascending", kind, n, n);
  }
}

template <class T>
void check_qr(int kind, int64_t m, int64_t n) {
  Matrix<T> a = matrix_of<T>(kind, m, n), factors = a, q = identity<T>(m), r(size_t(m * n), T(0));
  const int64_t count = std::min(m, n);
  std::vector<T> tau(size_t(count), T(0));
  dense::factor_qr(factors.data(), m, n, tau.data());
  dense::apply_reflections(factors.data(), m, n, tau.data(), count, q.data(), m, false);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = i; j < n; ++j) r[size_t(i * n + j)] = factors[size_t(i * n + j)];
  check(from_orthonormal(q, m, m) < kAllowed * unit_of(1, m), "Q", kind, m, n);
  const double allowed = kAllowed * unit_of(frobenius(a), m);
  check(difference(product(q, r, m, m, n, false), a) <= allowed, "Q R", kind, m, n);
  Matrix<T> back = a;
  dense::apply_reflections(factors.data(), m, n, tau.data(), count, back.data(), n, true);
  check(difference(back, r) <= allowed, "Q^H A", kind, m, n);
}

}  // namespace

TEST(singular_values_of_hard_matrices) {
  for_matrices([](int kind, int64_t m, int64_t n) {
    check_singular_values<double>(kind, m, n);
    check_singular_values<Complex>(kind, m, n);
  });
}

TEST(eigenvalues_of_hard_matrices) {
  for_matrices([](int kind, int64_t m, int64_t n) {
    if (m != n) return;
    check_eigenvalues<double>(kind, n);
    check_eigenvalues<Complex>(kind, n);
  });
}

TEST(orthogonal_factors_of_hard_matrices) {
  for_matrices([](int kind, int64_t m, int64_t n) {
    for (bool wide : {false, true}) {
      check_qr<double>(kind, wide ? n : m, wide ? m : n);
      check_qr<Complex>(kind, wide ? n : m, wide ? m : n);
    }
  });
}

TEST(spectra_do_not_depend_on_threads) {
  Matrix<double> a = matrix_of<double>(9, 150, 150);
  std::vector<double> s[2], u[2], v[2];
  for (int i = 0; i < 2; ++i) {
    set_thread_count(i == 0 ? 1 : 3);
    s[i].resize(150);
    u[i].resize(150 * 150);
    v[i].resize(150 * 150);
    CHECK(dense::singular_values(a.data(), 150, 150, s[i].data(), u[i].data(), 150, v[i].data()));
  }
  set_thread_count(1);
  CHECK(s[0] == s[1] && u[0] == u[1] && v[0] == v[1]);
}

int main(int count, char** arguments) { return test::main(count, arguments); }
