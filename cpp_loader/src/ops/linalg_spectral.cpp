// Eigenvalues and singular values, and operators based on them: pseudo-inverses, ranks, least
// squares.
#include <cmath>
#include <limits>

#include "scratch.h"
#include "linalg.h"
#include "matrices.h"
#include "reduce.h"

namespace scriptlang {

using namespace express;

namespace matrices {

namespace {

template <class T>
Singular svd_batches(const Tensor& a, bool full_matrices, bool vectors, const char* name) {
  Batch<T> m(a);
  int64_t rows = m.rows(), n = m.columns(), width = full_matrices ? rows : n;
  Batch<T> u(a, vectors ? rows : 0, width), v(a, vectors ? n : 0, n);
  Tensor s = Tensor::empty(batch_sizes(a, {n}), ScalarType::Float64);
  for_each_matrix(m.count(), rows * n * n, [&](int64_t b) {
    const T* x = m.at(b);
    if (!all_finite(x, rows * n)) {  // NaN raises; infinities give NaN
      SL_CHECK(std::none_of(x, x + rows * n, [](T v) { return v != v; }), name,
               ": The algorithm failed to converge because the input "
               "matrix contained non-finite values.");
      const double nan = std::numeric_limits<double>::quiet_NaN();
      std::fill_n(s.data<double>() + b * n, n, nan);
      if (vectors) std::fill_n(u.at(b), rows * width, T(nan));
      if (vectors) std::fill_n(v.at(b), n * n, T(nan));
      return;
    }
    bool done = dense::singular_values(x, rows, n, s.data<double>() + b * n,
                                       vectors ? u.at(b) : nullptr, width, v.at(b));
    SL_CHECK(done, name,
             ": The algorithm failed to converge because the input matrix is "
             "ill-conditioned or has too many repeated singular values.");
  });
  Tensor values = to_dtype(s, to_real(a.dtype()));
  if (!vectors) return {Tensor(), values, Tensor()};
  return {u.finished(a.dtype()), values, v.finished(a.dtype())};
}

Singular svd_of(const Tensor& a_in, bool full_matrices, bool vectors, const char* name) {
  check_matrices(a_in, name);
  bool wide = a_in.size(a_in.dim() - 2) < a_in.size(a_in.dim() - 1);
  Tensor a = wide ? adjoint(a_in) : a_in;
  Singular r;
  for_number_type(a.dtype(), [&](auto zero) {
    r = svd_batches<decltype(zero)>(a, full_matrices, vectors, name);
  });
  if (!vectors) return r;
  if (wide) return {r.vh, r.s, columns_first(adjoint(r.u))};
  return {r.u, r.s, columns_first(adjoint(r.vh))};
}

}  // namespace

Singular svd(const Tensor& a, bool full_matrices, const char* name) {
  return svd_of(a, full_matrices, true, name);
}

Tensor singular_values_of(const Tensor& a, const char* name) {
  return svd_of(a, false, false, name).s;
}

}  // namespace matrices

using namespace matrices;

namespace {

// `vectors` may be null.
void eigh(const Tensor& a, std::string_view side, Tensor* values, Tensor* vectors) {
  SL_CHECK(side == "L" || side == "U" || side == "l" || side == "u",
           "Expected UPLO argument to be 'L' or 'U', but got ", side);
  check_square(a, "linalg.eigh");
  bool lower = side == "L" || side == "l";
  for_number_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Batch<T> m(a);
    int64_t n = m.rows();
    Batch<T> v(a, vectors ? n : 0, vectors ? n : 0);
    Tensor w = Tensor::empty(batch_sizes(a, {n}), ScalarType::Float64);
    for_each_matrix(m.count(), n * n * n, [&](int64_t b) {
      T* x = m.at(b);
      for (int64_t i = 0; i < n; ++i) {
        x[i * n + i] = T(dense::real_part(x[i * n + i]));
        for (int64_t j = 0; j < i; ++j) {
          T &below = x[i * n + j], &above = x[j * n + i];
          (lower ? above : below) = dense::conjugate(lower ? below : above);
        }
      }
      SL_CHECK(all_finite(x, n * n),
               "linalg.eigh: The algorithm failed to converge because the "
               "input matrix contained non-finite values.");
      bool done =
          dense::eigen_hermitian(x, n, w.data<double>() + b * n, vectors ? v.at(b) : nullptr);
      SL_CHECK(done,
               "linalg.eigh: The algorithm failed to converge because the input matrix is "
               "ill-conditioned or has too many repeated eigenvalues.");
    });
    *values = to_dtype(w, to_real(a.dtype()));
    if (vectors) *vectors = v.finished(a.dtype());
  });
}

// Sets imaginary parts that are only rounding errors to zero, for eigenvalues of real matrices.
void drop_rounding(dense::Complex* values, int64_t n) {
  double largest = 0;
  for (int64_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(values[i]));
  for (int64_t i = 0; i < n; ++i) {
    if (std::abs(values[i].imag()) <= 1e-13 * largest) values[i] = values[i].real();
  }
}

void eig(const Tensor& a, const char* name, Tensor* values, Tensor* vectors) {
  check_square(a, name);
  Batch<dense::Complex> m(a);
  int64_t n = m.rows();
  Batch<dense::Complex> v(a, n, n);
  *values = Tensor::empty(batch_sizes(a, {n}), ScalarType::Complex128);
  for (int64_t b = 0; b < m.count(); ++b) {
    dense::Complex* w = values->data<dense::Complex>() + b * n;
    for (int64_t i = 0; i < n * n; ++i) {
      SL_CHECK(std::isfinite(dense::size_of(m.at(b)[i])),
               "torch.linalg.eig: input tensor should not contain infs or NaNs.");
    }
    SL_CHECK(dense::eigen_general(m.at(b), n, w, vectors ? v.at(b) : nullptr), name,
             ": The "
             "algorithm failed to converge because the input matrix is ill-conditioned or has too "
             "many repeated eigenvalues.");
    if (!is_complex(a.dtype())) drop_rounding(w, n);
  }
  ScalarType type = to_complex(a.dtype());
  *values = to_dtype(*values, type);
  if (vectors) *vectors = v.finished(type);
}

// ---- tolerances: numbers, tensors with one for each matrix, or none

struct Tolerance {
  Value absolute, relative;  // None where not given
};

Input bound_of(const Value& v, Tensor* held) {
  if (!v.is_tensor()) return Input(Scalar::of(v));
  *held = view_unsqueeze(v.as_tensor(), -1);
  return Input(*held);
}

bool is_positive(const Value& v) {
  if (!v.is_tensor()) return Scalar::of(v).to_double() > 0;
  Tensor t = contiguous_as(v.as_tensor(), ScalarType::Float64);
  return std::any_of(t.data<double>(), t.data<double>() + t.numel(),
                     [](double x) { return x > 0; });
}

double epsilon_of(const Tensor& a) {
  double eps = to_real(a.dtype()) == ScalarType::Float64
                   ? std::numeric_limits<double>::epsilon()
                   : double(std::numeric_limits<float>::epsilon());
  return eps * double(std::max(a.size(a.dim() - 1), a.size(a.dim() - 2)));
}

// Which singular values [..., k], k > 0, are above the tolerance.
Tensor counted(const Tensor& a, const Tensor& s, const Tolerance& given) {
  for (const Value* v : {&given.absolute, &given.relative}) {
    SL_CHECK(!v->is_tensor() || !is_complex(v->as_tensor().dtype()),
             "torch.linalg: ", v == &given.absolute ? "atol" : "rtol",
             " tensor of complex type is not supported. Got ",
             dtype_display_name(v->as_tensor().dtype()));
  }
  Value relative = given.relative;
  if (relative.is_none()) {
    bool stated = !given.absolute.is_none() && is_positive(given.absolute);
    relative = Value(stated ? 0.0 : epsilon_of(a));
  }
  Tensor held_a, held_r, largest = extreme_along(s, s.dim() - 1, true, true);
  Tensor bound = mul(largest, bound_of(relative, &held_r));
  if (!given.absolute.is_none())
    bound = maximum(
        bound,
        to_dtype(add(mul(largest, Scalar(0.0)), bound_of(given.absolute, &held_a)), bound.dtype()));
  return gt(s, bound);
}

// Absolute eigenvalues or singular values.
Tensor spectrum(const Tensor& a, bool hermitian, const char* name) {
  if (!hermitian) return singular_values_of(a, name);
  Tensor values;
  eigh(a, "L", &values, nullptr);
  return abs(values);
}

Tensor rank(const Tensor& a, const Tolerance& tolerance, bool hermitian) {
  check_matrices(a, "linalg.matrix_rank");
  Tensor s = spectrum(a, hermitian, "linalg.matrix_rank");
  if (s.size(s.dim() - 1) == 0) return Tensor::zeros(batch_sizes(a), ScalarType::Int64);
  Tensor kept = counted(a, s, tolerance);  // tolerances may have more dimensions than the matrices
  return sum_over(to_dtype(kept, ScalarType::Int64), {kept.dim() - 1});
}

Tensor inverted(const Tensor& s, const Tensor& kept) {
  return where(kept, div(Scalar(1.0), where(kept, s, Scalar(1.0))), Scalar(0.0));
}

// The pseudo-inverse; for hermitian matrices, from the eigenvalues of the lower triangle.
Tensor pseudo_inverse(const Tensor& a, const Tolerance& tolerance, bool hermitian) {
  check_matrices(a, "linalg.pinv");
  if (a.numel() == 0) {
    return Tensor::empty(batch_sizes(a, {a.size(a.dim() - 1), a.size(a.dim() - 2)}), a.dtype());
  }
  if (hermitian) {
    Tensor values, vectors;
    eigh(a, "L", &values, &vectors);
    Tensor inverse = to_dtype(inverted(values, counted(a, abs(values), tolerance)), a.dtype());
    return matmul(mul(vectors, view_unsqueeze(inverse, -2)), adjoint(vectors));
  }
  Singular x = svd(a, false, "linalg.pinv");
  Tensor inverse = to_dtype(inverted(x.s, counted(a, x.s, tolerance)), a.dtype());
  return matmul(mul(adjoint(x.vh), view_unsqueeze(inverse, -2)), adjoint(x.u));
}

// An upper bound on the condition number of an upper triangular matrix, by inverting it; not finite
// for singular ones.
template <class T>
double condition_bound(const T* r, int64_t n) {
  Working<T> inverse(as_size(n * n), T(0));
  double of_r = 0, of_inverse = 0;
  for (int64_t i = n - 1; i >= 0; --i) {
    T* row = &inverse[size_t(i * n)];
    row[i] = T(1);
    for (int64_t k = i + 1; k < n; ++k) {
      const T factor = r[i * n + k], *other = &inverse[size_t(k * n)];
      for (int64_t j = k; j < n; ++j) row[j] -= factor * other[j];
      of_r += dense::square_of(factor);
    }
    of_r += dense::square_of(r[i * n + i]);
    for (int64_t j = i; j < n; ++j) of_inverse += dense::square_of(row[j] /= r[i * n + i]);
  }
  return std::sqrt(of_r) * std::sqrt(of_inverse);
}

// Least squares by QR, which is several times faster. Undefined unless it is certain that all
// singular values count.
Tensor solve_full_rank(const Tensor& a, const Tensor& b, const Value& rcond) {
  constexpr double kMostCondition = 1e8;
  const double least = rcond.is_none() ? epsilon_of(a) : Scalar::of(rcond).to_double();
  const double most = least > 0 ? std::min(kMostCondition, 0.5 / least) : kMostCondition;
  const int64_t rows = a.size(a.dim() - 2), n = a.size(a.dim() - 1);
  Tensor result;
  for_number_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Batch<T> m(a), x(b), solution(a, n, b.size(b.dim() - 1));
    std::vector<char> certain(as_size(m.count()), 0);
    for_each_matrix(m.count(), rows * n * n, [&](int64_t i) {
      std::vector<T> tau(as_size(n), T(0));
      dense::factor_qr(m.at(i), rows, n, tau.data());
      if (!(condition_bound(m.at(i), n) < most)) return;
      certain[size_t(i)] = 1;
      dense::apply_reflections(m.at(i), rows, n, tau.data(), n, x.at(i), x.columns(), true);
      std::copy_n(x.at(i), n * x.columns(), solution.at(i));
      dense::solve_triangle(m.at(i), n, true, false, solution.at(i), x.columns());
    });
    if (std::find(certain.begin(), certain.end(), 0) != certain.end()) return;
    result = to_dtype(solution.tensor(), a.dtype());
  });
  return result;
}

// Least squares. Residuals and singular values are returned where the driver computes them.
void lstsq(const Tensor& a, const Tensor& b_in, const Value& rcond, const Value& driver_name,
           Value* out) {
  constexpr const char* kName = "torch.linalg.lstsq";
  SL_CHECK(a.dim() >= 2, kName, ": input must have at least 2 dimensions.");
  check_matrices(a, kName);
  check_same_type(a, b_in, kName);
  std::string_view driver = driver_name.is_none() ? "gelsy" : driver_name.as_string();
  SL_CHECK(driver == "gels" || driver == "gelsy" || driver == "gelsd" || driver == "gelss", kName,
           ": parameter `driver` should be one of (gels, gelsy, gelsd, gelss)");
  bool vector = is_vector(a, b_in);
  Tensor b = vector ? view_unsqueeze(b_in, -1) : b_in;
  int64_t m = a.size(a.dim() - 2), n = a.size(a.dim() - 1);
  SL_CHECK(b.dim() >= 2 && b.size(b.dim() - 2) == m, kName,
           ": input.size(-2) should match "
           "other.size(-2), got sizes ",
           to_string(a.sizes()), " and ", to_string(b_in.sizes()));
  ScalarType real = to_real(a.dtype());
  Tensor nothing = Tensor::empty({0}, real);
  Tensor kept, ranks = Tensor::zeros(batch_sizes(a), ScalarType::Int64), solution;
  const bool alike = IntSpan(b.sizes().data, b.dim() - 2) == IntSpan(a.sizes().data, a.dim() - 2);
  const bool values = driver == "gelsd" || driver == "gelss";
  if (m >= n && n > 0 && alike && !values) solution = solve_full_rank(a, b, rcond);
  Singular x;
  if (solution.defined()) {
    fill(ranks, Scalar(n));
  } else {
    x = svd(a, false, kName);
    solution = Tensor::zeros(batch_sizes(a, {n, b.size(b.dim() - 1)}), a.dtype());
  }
  if (x.s.defined() && std::min(m, n) > 0) {
    kept = counted(a, x.s, {Value(), rcond});
    ranks = sum_over(to_dtype(kept, ScalarType::Int64), {kept.dim() - 1});
    Tensor inverse = to_dtype(inverted(x.s, kept), a.dtype());
    solution = matmul(adjoint(x.vh), mul(view_unsqueeze(inverse, -1), matmul(adjoint(x.u), b)));
  }
  bool full = m > n && driver != "gelsy";
  for (int64_t i = 0; full && i < ranks.numel(); ++i) {
    full = to_contiguous(ranks).data<int64_t>()[i] == n;
  }
  Tensor residuals = nothing;
  if (full) {
    Tensor gap = abs(sub(matmul(a, solution), b));
    residuals = to_dtype(sum_over(mul(gap, gap), {gap.dim() - 2}), real);
  }
  if (!vector) {  // LAPACK leaves the solution in the memory of the right-hand side
    std::vector<int64_t> room = batch_sizes(a, {b.size(b.dim() - 1), std::max(m, n)});
    Tensor place = view_transpose(Tensor::zeros(room, a.dtype()), -2, -1);
    place = view_narrow(place, -2, 0, n);
    copy_into(place, solution);
    solution = place;
  }
  out[0] = vector ? view_squeeze(solution, {-1}) : solution;
  out[1] = residuals;
  out[2] = driver == "gels" ? Tensor::empty({0}, ScalarType::Int64) : ranks;
  out[3] = values ? x.s : nothing;
}

void old_svd(const Tensor& a, bool some, bool vectors, Value* out) {
  Singular x = svd(a, !some, "linalg.svd");
  out[1] = x.s;
  if (vectors) {
    out[0] = x.u;
    out[2] = to_contiguous(adjoint(x.vh));
    return;
  }
  int64_t m = a.size(a.dim() - 2), n = a.size(a.dim() - 1);
  out[0] = Tensor::zeros(batch_sizes(a, {m, m}), a.dtype());
  out[2] = Tensor::zeros(batch_sizes(a, {n, n}), a.dtype());
}

}  // namespace

SL_OP(aten_linalg_eigh) {
  Tensor values, vectors;
  eigh(args.tensor(0), args.string(1), &values, &vectors);
  out[0] = values;
  out[1] = vectors;
}
SL_OP(aten_linalg_eigvalsh) {
  Tensor values;
  eigh(args.tensor(0), args.string(1), &values, nullptr);
  out[0] = values;
}
SL_OP(aten_linalg_eig) {
  Tensor values, vectors;
  eig(args.tensor(0), "linalg.eig", &values, &vectors);
  out[0] = values;
  out[1] = vectors;
}
SL_OP(aten_linalg_eigvals) {
  Tensor values;
  eig(args.tensor(0), "linalg.eigvals", &values, nullptr);
  out[0] = values;
}
SL_OP(aten__linalg_eigvals) { op_aten_linalg_eigvals(ctx, args, out); }
static void check_no_driver(const Value& driver) {
  SL_CHECK(driver.is_none(),
           "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with "
           "cuSOLVER backend.");
}
SL_OP(aten_linalg_svd) {
  check_no_driver(args[2]);
  Singular x = svd(args.tensor(0), args.boolean(1), "linalg.svd");
  out[0] = x.u;
  out[1] = x.s;
  out[2] = x.vh;
}
SL_OP(aten_svd) { old_svd(args.tensor(0), args.boolean(1), args.boolean(2), out); }
SL_OP(aten_linalg_svdvals) {
  check_no_driver(args[1]);
  out[0] = singular_values_of(args.tensor(0), "linalg.svdvals");
}

SL_OP(aten_linalg_matrix_rank) {
  out[0] = rank(args.tensor(0), {args[1], Value(0.0)}, args.boolean(2));
}
SL_OP(aten_linalg_matrix_rank_tol_tensor) {
  out[0] = rank(args.tensor(0), {args[1], Value(0.0)}, args.boolean(2));
}
SL_OP(aten_linalg_matrix_rank_atol_rtol_tensor) {
  out[0] = rank(args.tensor(0), {args[1], args[2]}, args.boolean(3));
}
SL_OP(aten_linalg_matrix_rank_atol_rtol_float) {
  out[0] = rank(args.tensor(0), {args[1], args[2]}, args.boolean(3));
}
SL_OP(aten_linalg_pinv) {
  out[0] = pseudo_inverse(args.tensor(0), {Value(0.0), args[1]}, args.boolean(2));
}
SL_OP(aten_linalg_pinv_rcond_tensor) {
  out[0] = pseudo_inverse(args.tensor(0), {Value(0.0), args[1]}, args.boolean(2));
}
SL_OP(aten_linalg_pinv_atol_rtol_float) {
  out[0] = pseudo_inverse(args.tensor(0), {args[1], args[2]}, args.boolean(3));
}
SL_OP(aten_linalg_pinv_atol_rtol_tensor) {
  out[0] = pseudo_inverse(args.tensor(0), {args[1], args[2]}, args.boolean(3));
}
SL_OP(aten_pinverse) { out[0] = pseudo_inverse(args.tensor(0), {Value(0.0), args[1]}, false); }
SL_OP(aten_linalg_lstsq) { lstsq(args.tensor(0), args.tensor(1), args[2], args[3], out); }

}  // namespace scriptlang
