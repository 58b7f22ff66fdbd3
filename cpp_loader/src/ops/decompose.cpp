// Dense linear algebra on batches of small matrices, in float64 inside: LU, Cholesky, Householder
// QR, and Jacobi's rotations for symmetric eigenproblems and singular values.
#include <algorithm>
#include <cmath>
#include <limits>

#include "../../kernels/parallel.h"
#include "express.h"
#include "linalg.h"

namespace scriptlang {

using namespace express;

namespace {

constexpr int kMostSweeps = 60;

void check_square(const Tensor& a, const char* name) {
  SL_CHECK(a.dim() >= 2, name, ": The input tensor A must have at least 2 dimensions.");
  SL_CHECK(a.size(a.dim() - 1) == a.size(a.dim() - 2), name,
           ": A must be batches of square matrices, but they are ", a.size(a.dim() - 2), " by ",
           a.size(a.dim() - 1), " matrices");
}

void check_floats(const Tensor& a, const char* name) {
  SL_CHECK(a.dtype() == ScalarType::Float32 || a.dtype() == ScalarType::Float64, name,
           ": this engine has it for float and double tensors, got ",
           dtype_display_name(a.dtype()));
}

// A batch of matrices as float64, row-major.
struct Batch {
  Tensor t;
  int64_t count, rows, columns;
  explicit Batch(const Tensor& a)
      : t(contiguous_as(a, ScalarType::Float64)),
        count(1),
        rows(a.size(a.dim() - 2)),
        columns(a.size(a.dim() - 1)) {
    for (int64_t d = 0; d + 2 < a.dim(); ++d) count *= a.size(d);
    if (t.storage() == a.storage()) t = clone(t);
  }
  double* at(int64_t i) const { return t.data<double>() + i * rows * columns; }
};

std::vector<int64_t> lead(const Tensor& a, std::vector<int64_t> tail) {
  std::vector<int64_t> sizes(a.sizes().begin(), a.sizes().end() - 2);
  sizes.insert(sizes.end(), tail.begin(), tail.end());
  return sizes;
}

Tensor fresh(const Tensor& a, std::vector<int64_t> tail) {
  return Tensor::zeros(lead(a, std::move(tail)), ScalarType::Float64);
}

// ---- LU with partial pivoting: in place; gives the row exchanged at each step. The number of
// the first zero pivot, from 1, or 0.
int64_t factor(double* a, int64_t m, int64_t n, int64_t* pivots, bool pivot = true) {
  int64_t zero = 0;
  for (int64_t k = 0; k < std::min(m, n); ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; pivot && i < m; ++i) {
      if (std::abs(a[i * n + k]) > std::abs(a[best * n + k])) best = i;
    }
    pivots[k] = best;
    if (best != k) std::swap_ranges(a + k * n, a + (k + 1) * n, a + best * n);
    double head = a[k * n + k];
    if (head == 0) {
      if (zero == 0) zero = k + 1;
      continue;
    }
    for (int64_t i = k + 1; i < m; ++i) {
      double f = a[i * n + k] /= head;
      for (int64_t j = k + 1; j < n; ++j) a[i * n + j] -= f * a[k * n + j];
    }
  }
  return zero;
}

void subtract_row(int64_t n, double factor, const double* row, double* to) {
  for (int64_t j = 0; j < n; ++j) to[j] -= factor * row[j];
}

// x = A^-1 b by the factors; b is [n][columns], in place.
void solve_factored(const double* lu, const int64_t* pivots, int64_t n, double* b,
                    int64_t columns) {
  for (int64_t k = 0; k < n; ++k) {
    if (pivots[k] != k) {
      std::swap_ranges(b + k * columns, b + (k + 1) * columns, b + pivots[k] * columns);
    }
  }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < i; ++k)
      subtract_row(columns, lu[i * n + k], b + k * columns, b + i * columns);
  for (int64_t i = n - 1; i >= 0; --i) {
    for (int64_t k = i + 1; k < n; ++k)
      subtract_row(columns, lu[i * n + k], b + k * columns, b + i * columns);
    for (int64_t j = 0; j < columns; ++j) b[i * columns + j] /= lu[i * n + i];
  }
}

struct Factors {
  Tensor lu, pivots, info;  // pivots: int32, from 1
};

Factors lu_factors(const Tensor& a, bool pivot, const char* name) {
  check_floats(a, name);
  SL_CHECK(a.dim() >= 2, name, ": The input tensor A must have at least 2 dimensions.");
  Batch m(a);
  int64_t k = std::min(m.rows, m.columns);
  Factors f{Tensor(), Tensor::empty(lead(a, {k}), ScalarType::Int32),
            Tensor::zeros(IntSpan(a.sizes().data, a.dim() - 2), ScalarType::Int32)};
  std::vector<int64_t> pivots(size_t(k), 0);
  for (int64_t i = 0; i < m.count; ++i) {
    f.info.data<int32_t>()[i] = int32_t(factor(m.at(i), m.rows, m.columns, pivots.data(), pivot));
    for (int64_t j = 0; j < k; ++j) {
      f.pivots.data<int32_t>()[i * k + j] = int32_t(pivots[size_t(j)] + 1);
    }
  }
  f.lu = to_dtype(m.t, a.dtype());
  return f;
}

[[noreturn]] void singular(const char* name, int64_t batch, bool many, int64_t at) {
  raise(ErrorKind::RuntimeError, name, ": ", many ? concat("(Batch element ", batch, "): ") : "",
        "The diagonal element ", at, " is zero, the ",
        std::string(name) == "linalg.inv" ? "inversion" : "solve",
        " could not be completed because the input matrix is singular.");
}

Tensor identity_like(const Tensor& a) {
  int64_t n = a.size(a.dim() - 1);
  Tensor eye = Tensor::zeros({n, n}, a.dtype());
  fill(eye.as_strided({n}, {n + 1}, 0), Scalar(1.0));
  return view_expand(eye, a.sizes());
}

// info: null raises on singular matrices.
Tensor solve(const Tensor& a_in, const Tensor& b_in, bool left, const char* name, Tensor* info) {
  check_square(a_in, name);
  check_floats(a_in, name);
  SL_CHECK(a_in.dtype() == b_in.dtype(), name, ": Expected A and B to have the same dtype");
  Tensor a = left ? a_in : view_transpose(a_in, -2, -1);
  bool vector = b_in.dim() == 1 || (b_in.dim() == a.dim() - 1 &&
                                    b_in.sizes() == IntSpan(a.sizes().data, a.dim() - 1));
  Tensor b = vector ? view_unsqueeze(b_in, -1) : left ? b_in : view_transpose(b_in, -2, -1);
  SL_CHECK(b.dim() >= 2 && b.size(b.dim() - 2) == a.size(a.dim() - 1), name,
           ": Incompatible shapes of A and B for the equation AX = B (", a.size(a.dim() - 2), "x",
           a.size(a.dim() - 1), " and ", b.size(b.dim() - 2), "x", b.size(b.dim() - 1), ")");
  std::vector<int64_t> batch = broadcast_shapes({a.sizes().data, a.dim() - 2},
                                                {b.sizes().data, b.dim() - 2});
  auto spread = [&](const Tensor& t) {
    std::vector<int64_t> sizes = batch;
    sizes.insert(sizes.end(), t.sizes().end() - 2, t.sizes().end());
    return view_expand(t, sizes);
  };
  Batch m(spread(a)), x(spread(b));
  std::vector<int64_t> pivots(size_t(m.rows), 0);
  if (info) *info = Tensor::zeros(batch, ScalarType::Int32);
  for (int64_t i = 0; i < m.count; ++i) {
    int64_t zero = factor(m.at(i), m.rows, m.rows, pivots.data());
    if (zero && !info) singular(name, i, m.count > 1, zero);
    if (info) info->data<int32_t>()[i] = int32_t(zero);
    solve_factored(m.at(i), pivots.data(), m.rows, x.at(i), x.columns);
  }
  Tensor result = to_dtype(x.t, a.dtype());
  if (vector) return view_squeeze(result, {-1});
  return left ? result : view_transpose(result, -2, -1);
}

// sign and log|det| of every matrix.
void determinants(const Tensor& a, const char* name, Tensor* sign, Tensor* logarithm) {
  check_square(a, name);
  check_floats(a, name);
  Batch m(a);
  IntSpan batch(a.sizes().data, a.dim() - 2);
  *sign = Tensor::empty(batch, ScalarType::Float64);
  *logarithm = Tensor::empty(batch, ScalarType::Float64);
  std::vector<int64_t> pivots(size_t(m.rows), 0);
  for (int64_t i = 0; i < m.count; ++i) {
    double* x = m.at(i);
    factor(x, m.rows, m.rows, pivots.data());
    double s = 1, l = 0;
    for (int64_t k = 0; k < m.rows; ++k) {
      if (pivots[size_t(k)] != k) s = -s;
      double d = x[k * m.rows + k];
      s *= d == 0 ? 0 : d < 0 ? -1 : 1;
      l += std::log(std::abs(d));
    }
    sign->data<double>()[i] = s;
    logarithm->data<double>()[i] = l;
  }
}

Tensor determinant(const Tensor& a) {
  Tensor sign, logarithm;
  determinants(a, "linalg.det", &sign, &logarithm);
  return to_dtype(mul(sign, exp(logarithm)), a.dtype());
}

// ---- Cholesky: the lower factor; the first row that fails, from 1, in info

Tensor cholesky(const Tensor& a, bool upper, const char* name, Tensor* info) {
  check_square(a, name);
  check_floats(a, name);
  Batch m(a);
  int64_t n = m.rows;
  if (info) *info = Tensor::zeros(IntSpan(a.sizes().data, a.dim() - 2), ScalarType::Int32);
  for (int64_t b = 0; b < m.count; ++b) {
    double* x = m.at(b);
    int64_t bad = 0;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j <= i; ++j) {
        // The triangle that is asked for is the one that is read.
        double sum = upper ? x[j * n + i] : x[i * n + j];
        const double *p = upper ? x + i : x + i * n, *q = upper ? x + j : x + j * n;
        int64_t step = upper ? n : 1;
        for (int64_t k = 0; k < j; ++k) sum -= p[k * step] * q[k * step];
        if (i == j && sum <= 0 && bad == 0) bad = i + 1;
        double value = i == j ? std::sqrt(sum) : sum / x[j * n + j];
        (upper ? x[j * n + i] : x[i * n + j]) = value;
      }
    }
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = i + 1; j < n; ++j) (upper ? x[j * n + i] : x[i * n + j]) = 0;
    if (info) {
      info->data<int32_t>()[b] = int32_t(bad);
    } else {
      SL_CHECK(bad == 0, name, ": ", m.count > 1 ? concat("(Batch element ", b, "): ") : "",
               "The factorization could not be completed because the input is not "
               "positive-definite (the leading minor of order ", bad,
               " is not positive-definite).");
    }
  }
  return to_dtype(m.t, a.dtype());
}

// ---- triangular systems

Tensor solve_triangular(const Tensor& a_in, const Tensor& b_in, bool upper, bool left,
                        bool unit) {
  check_square(a_in, "linalg.solve_triangular");
  check_floats(a_in, "linalg.solve_triangular");
  Tensor a = left ? a_in : view_transpose(a_in, -2, -1);
  if (!left) upper = !upper;
  Tensor b = left ? b_in : view_transpose(b_in, -2, -1);
  SL_CHECK(b.dim() >= 2 && b.size(b.dim() - 2) == a.size(a.dim() - 1),
           "linalg.solve_triangular: Incompatible shapes of A and B for the equation ",
           left ? "AX = B" : "XA = B");
  std::vector<int64_t> batch = broadcast_shapes({a.sizes().data, a.dim() - 2},
                                                {b.sizes().data, b.dim() - 2});
  auto spread = [&](const Tensor& t) {
    std::vector<int64_t> sizes = batch;
    sizes.insert(sizes.end(), t.sizes().end() - 2, t.sizes().end());
    return view_expand(t, sizes);
  };
  Batch m(spread(a)), x(spread(b));
  int64_t n = m.rows, columns = x.columns;
  for (int64_t i = 0; i < m.count; ++i) {
    const double* t = m.at(i);
    double* y = x.at(i);
    for (int64_t step = 0; step < n; ++step) {
      int64_t r = upper ? n - 1 - step : step;
      for (int64_t k = upper ? r + 1 : 0; k < (upper ? n : r); ++k)
        subtract_row(columns, t[r * n + k], y + k * columns, y + r * columns);
      for (int64_t j = 0; !unit && j < columns; ++j) y[r * columns + j] /= t[r * n + r];
    }
  }
  Tensor result = to_dtype(x.t, a.dtype());
  return left ? result : view_transpose(result, -2, -1);
}

// ---- QR by Householder reflections

void householder_qr(double* a, int64_t m, int64_t n, double* q, int64_t width) {
  // q starts as the first `width` columns of the identity; reflections are applied at the end.
  int64_t steps = std::min(m - 1, n);
  std::vector<std::vector<double>> reflections;
  std::vector<double> factors;
  for (int64_t k = 0; k < steps; ++k) {
    double norm = 0;
    for (int64_t i = k; i < m; ++i) norm = std::hypot(norm, a[i * n + k]);
    std::vector<double> v(size_t(m), 0.0);
    double head = a[k * n + k];
    bool below = false;
    for (int64_t i = k + 1; i < m; ++i) below = below || a[i * n + k] != 0;
    double tau = 0;
    if (below) {
      double beta = head >= 0 ? -norm : norm;
      tau = (beta - head) / beta;
      v[size_t(k)] = 1;
      for (int64_t i = k + 1; i < m; ++i) v[size_t(i)] = a[i * n + k] / (head - beta);
      for (int64_t j = k; j < n; ++j) {
        double dot = 0;
        for (int64_t i = k; i < m; ++i) dot += v[size_t(i)] * a[i * n + j];
        for (int64_t i = k; i < m; ++i) a[i * n + j] -= tau * dot * v[size_t(i)];
      }
    }
    reflections.push_back(std::move(v));
    factors.push_back(tau);
  }
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < width; ++j) q[i * width + j] = i == j;
  for (int64_t k = steps - 1; k >= 0; --k) {
    if (factors[size_t(k)] == 0) continue;
    const std::vector<double>& v = reflections[size_t(k)];
    for (int64_t j = 0; j < width; ++j) {
      double dot = 0;
      for (int64_t i = k; i < m; ++i) dot += v[size_t(i)] * q[i * width + j];
      for (int64_t i = k; i < m; ++i) q[i * width + j] -= factors[size_t(k)] * dot * v[size_t(i)];
    }
  }
}

void qr(const Tensor& a, const std::string& mode, Value* out) {
  SL_CHECK(a.dim() >= 2, "linalg.qr: The input tensor A must have at least 2 dimensions.");
  check_floats(a, "linalg.qr");
  SL_CHECK(mode == "reduced" || mode == "complete" || mode == "r",
           "qr received unrecognized mode '", mode,
           "' but expected one of 'reduced' (default), 'r', or 'complete'");
  Batch m(a);
  int64_t k = std::min(m.rows, m.columns), width = mode == "complete" ? m.rows : k;
  Tensor q = fresh(a, {m.rows, width}), r = fresh(a, {width, m.columns});
  for (int64_t i = 0; i < m.count; ++i) {
    double* x = m.at(i);
    householder_qr(x, m.rows, m.columns, q.data<double>() + i * m.rows * width, width);
    double* to = r.data<double>() + i * width * m.columns;
    for (int64_t row = 0; row < width; ++row)
      for (int64_t c = row; c < m.columns; ++c) to[row * m.columns + c] = x[row * m.columns + c];
  }
  out[0] = mode == "r" ? Tensor::empty({0}, a.dtype()) : to_dtype(q, a.dtype());
  out[1] = to_dtype(r, a.dtype());
}

// ---- symmetric eigenproblem: cyclic Jacobi; eigenvalues ascending, vectors in columns of v

void symmetric_eigen(double* a, int64_t n, double* values, double* v) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) v[i * n + j] = i == j;
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    double off = 0, all = 0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) (i == j ? all : off) += a[i * n + j] * a[i * n + j];
    if (!(off > 1e-32 * all)) break;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        double x = a[p * n + q];
        if (x == 0) continue;
        double theta = (a[q * n + q] - a[p * n + p]) / (2 * x);
        double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
        double c = 1 / std::sqrt(t * t + 1), s = t * c;
        for (int64_t k = 0; k < n; ++k) {
          double l = a[k * n + p], r = a[k * n + q];
          a[k * n + p] = c * l - s * r;
          a[k * n + q] = s * l + c * r;
        }
        for (int64_t k = 0; k < n; ++k) {
          double l = a[p * n + k], r = a[q * n + k];
          a[p * n + k] = c * l - s * r;
          a[q * n + k] = s * l + c * r;
        }
        for (int64_t k = 0; k < n; ++k) {
          double l = v[k * n + p], r = v[k * n + q];
          v[k * n + p] = c * l - s * r;
          v[k * n + q] = s * l + c * r;
        }
      }
    }
  }
  std::vector<int64_t> order(size_t(n), 0);
  for (int64_t i = 0; i < n; ++i) order[size_t(i)] = i;
  std::sort(order.begin(), order.end(),
            [&](int64_t i, int64_t j) { return a[i * n + i] < a[j * n + j]; });
  std::vector<double> copy(v, v + n * n);
  for (int64_t j = 0; j < n; ++j) {
    values[j] = a[order[size_t(j)] * (n + 1)];
    for (int64_t i = 0; i < n; ++i) v[i * n + j] = copy[size_t(i * n + order[size_t(j)])];
  }
}

void eigh(const Tensor& a, const std::string& side, Tensor* values, Tensor* vectors) {
  check_square(a, "linalg.eigh");
  check_floats(a, "linalg.eigh");
  SL_CHECK(side == "L" || side == "U" || side == "l" || side == "u",
           "Expected UPLO argument to be 'L' or 'U', but got ", side);
  bool lower = side == "L" || side == "l";
  Batch m(a);
  int64_t n = m.rows;
  *values = fresh(a, {n});
  *vectors = fresh(a, {n, n});
  for (int64_t b = 0; b < m.count; ++b) {
    double* x = m.at(b);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < i; ++j) {
        if (lower) x[j * n + i] = x[i * n + j];
        else x[i * n + j] = x[j * n + i];
      }
    symmetric_eigen(x, n, values->data<double>() + b * n, vectors->data<double>() + b * n * n);
  }
  *values = to_dtype(*values, a.dtype());
  *vectors = to_dtype(*vectors, a.dtype());
}

// ---- singular values: one-sided Jacobi on the columns of a tall matrix

void tall_svd(double* a, int64_t m, int64_t n, double* s, double* v) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) v[i * n + j] = i == j;
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool done = true;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        double pp = 0, qq = 0, pq = 0;
        for (int64_t i = 0; i < m; ++i) {
          double l = a[i * n + p], r = a[i * n + q];
          pp += l * l;
          qq += r * r;
          pq += l * r;
        }
        if (std::abs(pq) <= 1e-15 * std::sqrt(pp * qq) || pq == 0) continue;
        done = false;
        double zeta = (qq - pp) / (2 * pq);
        double t = (zeta >= 0 ? 1 : -1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
        double c = 1 / std::sqrt(1 + t * t), sine = c * t;
        for (int64_t i = 0; i < m + n; ++i) {
          double* row = i < m ? a + i * n : v + (i - m) * n;
          double l = row[p], r = row[q];
          row[p] = c * l - sine * r;
          row[q] = sine * l + c * r;
        }
      }
    }
    if (done) break;
  }
  std::vector<int64_t> order(size_t(n), 0);
  std::vector<double> sizes(size_t(n), 0.0);
  for (int64_t j = 0; j < n; ++j) {
    order[size_t(j)] = j;
    for (int64_t i = 0; i < m; ++i) sizes[size_t(j)] = std::hypot(sizes[size_t(j)], a[i * n + j]);
  }
  std::sort(order.begin(), order.end(),
            [&](int64_t i, int64_t j) { return sizes[size_t(i)] > sizes[size_t(j)]; });
  std::vector<double> copy_a(a, a + m * n), copy_v(v, v + n * n);
  for (int64_t j = 0; j < n; ++j) {
    int64_t from = order[size_t(j)];
    s[j] = sizes[size_t(from)];
    for (int64_t i = 0; i < m; ++i) {
      double x = copy_a[size_t(i * n + from)];
      a[i * n + j] = s[j] > 0 ? x / s[j] : 0;
    }
    for (int64_t i = 0; i < n; ++i) v[i * n + j] = copy_v[size_t(i * n + from)];
  }
}

// Columns [have, width) of the rows x width matrix u become orthonormal to the ones before.
void complete_basis(double* u, int64_t rows, int64_t width, int64_t have) {
  for (int64_t j = 0, next = 0; j < width; ++j) {
    double size = 0;
    for (int64_t i = 0; i < rows; ++i) size += u[i * width + j] * u[i * width + j];
    if (j < have && size > 0.5) continue;
    for (; next < rows; ++next) {
      for (int64_t i = 0; i < rows; ++i) u[i * width + j] = i == next;
      for (int pass = 0; pass < 2; ++pass) {
        for (int64_t k = 0; k < width; ++k) {
          if (k == j || (k > j && k >= have)) continue;
          double dot = 0;
          for (int64_t i = 0; i < rows; ++i) dot += u[i * width + k] * u[i * width + j];
          for (int64_t i = 0; i < rows; ++i) u[i * width + j] -= dot * u[i * width + k];
        }
      }
      double norm = 0;
      for (int64_t i = 0; i < rows; ++i) norm = std::hypot(norm, u[i * width + j]);
      if (norm < 1e-6) continue;
      for (int64_t i = 0; i < rows; ++i) u[i * width + j] /= norm;
      ++next;
      break;
    }
  }
}

struct Singular {
  Tensor u, s, vh;
};

Singular svd(const Tensor& a_in, bool full_matrices) {
  SL_CHECK(a_in.dim() >= 2, "linalg.svd: The input tensor A must have at least 2 dimensions.");
  check_floats(a_in, "linalg.svd");
  bool wide = a_in.size(a_in.dim() - 2) < a_in.size(a_in.dim() - 1);
  Tensor a = wide ? view_transpose(a_in, -2, -1) : a_in;
  Batch m(a);
  int64_t rows = m.rows, n = m.columns, width = full_matrices ? rows : n;
  Tensor u = fresh(a, {rows, width}), s = fresh(a, {n}), v = fresh(a, {n, n});
  for (int64_t b = 0; b < m.count; ++b) {
    double* x = m.at(b);
    tall_svd(x, rows, n, s.data<double>() + b * n, v.data<double>() + b * n * n);
    double* to = u.data<double>() + b * rows * width;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < n; ++j) to[i * width + j] = x[i * n + j];
    complete_basis(to, rows, width, n);
  }
  ScalarType type = a.dtype();
  u = to_dtype(u, type);
  s = to_dtype(s, type);
  v = to_dtype(v, type);
  if (wide) return {v, s, view_transpose(u, -2, -1)};
  return {u, s, view_transpose(v, -2, -1)};
}

Tensor pseudo_inverse(const Tensor& a, double rcond) {
  Singular x = svd(a, false);
  Tensor largest = x.s.size(x.s.dim() - 1) ? extreme_along(x.s, -1, true, true) : x.s;
  Tensor kept = gt(x.s, mul(largest, Scalar(rcond)));
  Tensor inverse = where(kept, div(Scalar(1.0), x.s), Scalar(0.0));
  Tensor v = view_transpose(x.vh, -2, -1);
  return matmul(mul(v, view_unsqueeze(to_dtype(inverse, a.dtype()), -2)),
                view_transpose(x.u, -2, -1));
}

double default_rcond(const Tensor& a) {
  double eps = a.dtype() == ScalarType::Float64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
  return eps * double(std::max(a.size(a.dim() - 1), a.size(a.dim() - 2)));
}

Tensor matrix_power(Tensor a, int64_t n) {
  check_square(a, "linalg.matrix_power");
  if (n < 0) {
    a = solve(a, identity_like(a), true, "linalg.inv", nullptr);
    n = n == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max() : -n;
  }
  Tensor result;
  for (; n > 0; n >>= 1) {
    if (n & 1) result = result.defined() ? matmul(result, a) : a;
    if (n > 1) a = matmul(a, a);
  }
  return result.defined() ? (result.is(a) ? clone(a) : result) : clone(identity_like(a));
}

}  // namespace

SL_OP(aten_linalg_inv) {
  const Tensor& a = args.tensor(0);
  check_square(a, "linalg.inv");
  out[0] = solve(a, identity_like(a), true, "linalg.inv", nullptr);
}
SL_OP(aten_inverse) { op_aten_linalg_inv(ctx, args, out); }
SL_OP(aten_linalg_inv_ex) {
  const Tensor& a = args.tensor(0);
  check_square(a, "linalg.inv");
  Tensor info;
  out[0] = solve(a, identity_like(a), true, "linalg.inv", &info);
  out[1] = info;
}
SL_OP(aten_linalg_solve) {
  out[0] = solve(args.tensor(0), args.tensor(1), args.boolean(2), "torch.linalg.solve", nullptr);
}
SL_OP(aten_linalg_solve_ex) {
  Tensor info;
  out[0] = solve(args.tensor(0), args.tensor(1), args.boolean(2), "torch.linalg.solve", &info);
  out[1] = info;
}
SL_OP(aten_linalg_det) { out[0] = determinant(args.tensor(0)); }
SL_OP(aten_det) { out[0] = determinant(args.tensor(0)); }
SL_OP(aten_logdet) { out[0] = log(determinant(args.tensor(0))); }
SL_OP(aten_linalg_slogdet) {
  Tensor sign, logarithm;
  determinants(args.tensor(0), "linalg.slogdet", &sign, &logarithm);
  out[0] = to_dtype(sign, args.tensor(0).dtype());
  out[1] = to_dtype(logarithm, args.tensor(0).dtype());
}
SL_OP(aten_slogdet) { op_aten_linalg_slogdet(ctx, args, out); }
SL_OP(aten_linalg_lu_factor) {
  Factors f = lu_factors(args.tensor(0), args.boolean(1), "linalg.lu_factor");
  out[0] = f.lu;
  out[1] = f.pivots;
}
SL_OP(aten_linalg_lu_factor_ex) {
  Factors f = lu_factors(args.tensor(0), args.boolean(1), "linalg.lu_factor_ex");
  out[0] = f.lu;
  out[1] = f.pivots;
  out[2] = f.info;
}
SL_OP(aten__lu_with_info) {
  Factors f = lu_factors(args.tensor(0), args.boolean(1), "linalg.lu_factor_ex");
  out[0] = f.lu;
  out[1] = f.pivots;
  out[2] = f.info;
}
SL_OP(aten_linalg_cholesky) {
  out[0] = cholesky(args.tensor(0), args.boolean(1), "linalg.cholesky", nullptr);
}
SL_OP(aten_cholesky) {
  out[0] = cholesky(args.tensor(0), args.boolean(1), "cholesky", nullptr);
}
SL_OP(aten_linalg_cholesky_ex) {
  Tensor info;
  out[0] = cholesky(args.tensor(0), args.boolean(1), "linalg.cholesky_ex", &info);
  out[1] = info;
}
SL_OP(aten_cholesky_solve) {
  const Tensor& factor_of = args.tensor(1);
  bool upper = args.boolean(2);
  Tensor l = upper ? view_transpose(factor_of, -2, -1) : factor_of;
  Tensor y = solve_triangular(l, args.tensor(0), false, true, false);
  out[0] = solve_triangular(view_transpose(l, -2, -1), y, true, true, false);
}
SL_OP(aten_cholesky_inverse) {
  const Tensor& factor_of = args.tensor(0);
  check_square(factor_of, "cholesky_inverse");
  Tensor l = args.boolean(1) ? view_transpose(factor_of, -2, -1) : factor_of;
  Tensor y = solve_triangular(l, identity_like(l), false, true, false);
  out[0] = solve_triangular(view_transpose(l, -2, -1), y, true, true, false);
}
SL_OP(aten_linalg_solve_triangular) {
  out[0] = solve_triangular(args.tensor(0), args.tensor(1), args.boolean(2), args.boolean(3),
                            args.boolean(4));
}
SL_OP(aten_linalg_qr) { qr(args.tensor(0), args.string(1), out); }
SL_OP(aten_qr) { qr(args.tensor(0), args.boolean(1) ? "reduced" : "complete", out); }
SL_OP(aten_linalg_eigh) {
  Tensor values, vectors;
  eigh(args.tensor(0), args.string(1), &values, &vectors);
  out[0] = values;
  out[1] = vectors;
}
SL_OP(aten_linalg_eigvalsh) {
  Tensor values, vectors;
  eigh(args.tensor(0), args.string(1), &values, &vectors);
  out[0] = values;
}
SL_OP(aten_linalg_svd) {
  Singular x = svd(args.tensor(0), args.boolean(1));
  out[0] = x.u;
  out[1] = x.s;
  out[2] = x.vh;
}
SL_OP(aten_svd) {
  Singular x = svd(args.tensor(0), !args.boolean(1));
  out[0] = x.u;
  out[1] = x.s;
  out[2] = view_transpose(x.vh, -2, -1);
}
SL_OP(aten_linalg_svdvals) { out[0] = svd(args.tensor(0), false).s; }
SL_OP(aten_linalg_pinv) { out[0] = pseudo_inverse(args.tensor(0), args.number(1)); }
SL_OP(aten_linalg_pinv_atol_rtol_float) {
  SL_CHECK(args.none(1), "linalg.pinv: an absolute tolerance is not supported");
  const Tensor& a = args.tensor(0);
  SL_CHECK(a.dim() >= 2, "linalg.pinv: The input tensor A must have at least 2 dimensions.");
  out[0] = pseudo_inverse(a, args.number(2, default_rcond(a)));
}
SL_OP(aten_pinverse) { out[0] = pseudo_inverse(args.tensor(0), args.number(1)); }
SL_OP(aten_linalg_matrix_power) { out[0] = matrix_power(args.tensor(0), args.integer(1)); }
SL_OP(aten_matrix_power) { out[0] = matrix_power(args.tensor(0), args.integer(1)); }

}  // namespace scriptlang
