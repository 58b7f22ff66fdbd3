// Factorisations: LU, Cholesky, QR; determinants and products of reflections.
#include <cmath>

#include "linalg.h"
#include "matrices.h"

namespace scriptlang {

using namespace express;
using namespace matrices;

namespace {

// ---- LU

struct Factors {
  Tensor lu, pivots, info;  // pivots: int32, from 1
};

Factors lu_factors(const Tensor& a, bool pivot, bool check, const char* name) {
  check_matrices(a, name);
  SL_CHECK(pivot, "linalg.lu_factor: LU without pivoting is not implemented on the CPU");
  int64_t k = std::min(a.size(a.dim() - 2), a.size(a.dim() - 1));
  Factors f{Tensor(), Tensor::empty(batch_sizes(a, {k}), ScalarType::Int32),
            Tensor::zeros(batch_sizes(a), ScalarType::Int32)};
  std::vector<int64_t> pivots(as_size(k), 0);
  for_number_type(a.dtype(), [&](auto zero) {
    Batch<decltype(zero)> m(a);
    for (int64_t i = 0; i < m.count(); ++i) {
      int64_t first = dense::factor_lu(m.at(i), m.rows(), m.columns(), pivots.data(), true);
      SL_CHECK(!check || first == 0, "torch.linalg.lu_factor: U[", first, ",", first,
               "] is zero "
               "and using it on lu_solve would result in a division by zero. If you still want to "
               "perform the factorization, consider calling linalg.lu(A, pivot) or "
               "linalg.lu_factor_ex(A, pivot)");
      f.info.data<int32_t>()[i] = int32_t(first);
      for (int64_t j = 0; j < k; ++j) {
        f.pivots.data<int32_t>()[i * k + j] = int32_t(pivots[size_t(j)] + 1);
      }
    }
    f.lu = m.finished(a.dtype());
  });
  return f;
}

// The permutation matrix that undoes the row exchanges: A = P L U.
Tensor permutation_matrix(const Tensor& pivots_in, int64_t rows, ScalarType type) {
  Tensor pivots = contiguous_as(pivots_in, ScalarType::Int32);
  int64_t k = pivots.size(pivots.dim() - 1), count = 1;
  std::vector<int64_t> sizes(pivots.sizes().begin(), pivots.sizes().end() - 1);
  for (int64_t n : sizes) count *= n;
  sizes.insert(sizes.end(), {rows, rows});
  Tensor p = Tensor::zeros(sizes, ScalarType::Float64);
  std::vector<int64_t> order(as_size(rows), 0);
  for (int64_t b = 0; b < count; ++b) {
    for (int64_t i = 0; i < rows; ++i) order[size_t(i)] = i;
    for (int64_t i = 0; i < k; ++i) {
      int64_t other = int64_t{pivots.data<int32_t>()[b * k + i]} - 1;
      SL_CHECK(i < rows && other >= 0 && other < rows,
               "torch.lu_unpack: pivots passed to "
               "lu_unpack must be between 1 and LU.size(-2) inclusive. Did you properly pass the "
               "result of lu_factor?");
      std::swap(order[size_t(i)], order[size_t(other)]);
    }
    for (int64_t i = 0; i < rows; ++i) {
      p.data<double>()[(b * rows + order[size_t(i)]) * rows + i] = 1;
    }
  }
  return to_dtype(p, type);
}

void lu_unpack(const Tensor& lu, const Tensor& pivots, bool data, bool permutation, Value* out) {
  SL_CHECK(lu.dim() >= 2, "torch.lu_unpack: The input tensor A must have at least 2 dimensions.");
  SL_CHECK(!permutation || pivots.dtype() == ScalarType::Int32,
           "torch.lu_unpack: LU_pivots is "
           "expected to be a contiguous tensor of torch.int32 dtype.\nNote: this function is "
           "intended to be used with the output produced by torch.linalg.lu_factor");
  int64_t m = lu.size(lu.dim() - 2), n = lu.size(lu.dim() - 1), k = std::min(m, n);
  Tensor nothing = Tensor::empty({0}, lu.dtype());
  if (permutation) {  // pivots broadcast over the batch
    SL_CHECK(pivots.dim() > 0, "torch.lu_unpack: LU_pivots has no dimensions");
    Tensor all = view_expand(pivots, batch_sizes(lu, {pivots.size(pivots.dim() - 1)}));
    out[0] = permutation_matrix(to_contiguous(all), m, lu.dtype());
  } else {
    out[0] = nothing;
  }
  out[1] = out[2] = nothing;
  if (!data) return;
  Tensor lower = triangle(view_narrow(lu, -1, 0, k), false);
  if (k > 0) {
    std::vector<int64_t> sizes = batch_sizes(lu, {k}), strides;
    for (int64_t d = 0; d + 2 < lu.dim(); ++d) strides.push_back(lower.stride(d));
    strides.push_back(k + 1);
    fill(lower.as_strided(sizes, strides, 0), Scalar(1.0));
  }
  out[1] = lower;
  out[2] = triangle(view_narrow(lu, -2, 0, k), true);
}

// ---- determinants

// d / |d|, also for infinite real numbers; 0 for a real NaN.
template <class T>
T sign_of(const T& d, double size) {
  if (size == 0) return T(0);
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isinf(d)) return std::copysign(T(1), d);
    if (std::isnan(d)) return T(0);
  }
  return d / T(size);
}

// The sign (or phase) and log|det| of every matrix.
void determinants(const Tensor& a, const char* name, Tensor* sign, Tensor* logarithm,
                  Tensor* value) {
  check_square(a, name);
  *logarithm = Tensor::empty(batch_sizes(a), ScalarType::Float64);
  for_number_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Batch<T> m(a);
    int64_t n = m.rows();
    *sign = Tensor::empty(batch_sizes(a), working_type<T>());
    *value = Tensor::empty(batch_sizes(a), working_type<T>());
    std::vector<int64_t> pivots(as_size(n), 0);
    for (int64_t i = 0; i < m.count(); ++i) {
      dense::factor_lu(m.at(i), n, n, pivots.data(), true);
      T s = T(1), product = T(1);
      double l = 0;
      for (int64_t k = 0; k < n; ++k) {
        T d = m.at(i)[k * (n + 1)];
        double size = std::abs(d);
        if (pivots[size_t(k)] != k) d = -d;
        s *= sign_of(d, size);
        product *= d;
        l += std::log(size);
      }
      sign->data<T>()[i] = s;
      value->data<T>()[i] = product;
      logarithm->data<double>()[i] = l;
    }
  });
}

Tensor determinant(const Tensor& a, const char* name) {
  Tensor sign, logarithm, value;
  determinants(a, name, &sign, &logarithm, &value);
  return to_dtype(value, a.dtype());
}

void slogdet(const Tensor& a, Value* out) {
  Tensor sign, logarithm, value;
  determinants(a, "linalg.slogdet", &sign, &logarithm, &value);
  out[0] = to_dtype(sign, a.dtype());
  out[1] = to_dtype(logarithm, to_real(a.dtype()));
}

// ---- Cholesky. Only the requested triangle is read.

Tensor cholesky(const Tensor& a_in, bool upper, const char* name, Tensor* info) {
  check_square(a_in, name);
  Tensor a = upper ? adjoint(a_in) : a_in, result;
  if (info) *info = Tensor::zeros(batch_sizes(a), ScalarType::Int32);
  for_number_type(a.dtype(), [&](auto zero) {
    Batch<decltype(zero)> m(a);
    for (int64_t i = 0; i < m.count(); ++i) {
      int64_t bad = dense::factor_cholesky(m.at(i), m.rows());
      if (info) info->data<int32_t>()[i] = int32_t(bad);
      SL_CHECK(info || bad == 0, name, ": ", a.dim() > 2 ? concat("(Batch element ", i, "): ") : "",
               "The factorization could not be completed because the input is not "
               "positive-definite (the leading minor of order ",
               bad, " is not positive-definite).");
    }
    result = m.finished(a.dtype());
  });
  return upper ? columns_first(adjoint(result)) : result;
}

// ---- QR

// The first `width` columns of Q.
template <class T>
void orthogonal_columns(const T* a, int64_t m, int64_t n, const T* tau, int64_t count, T* q,
                        int64_t width) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < width; ++j) q[i * width + j] = T(double(i == j));
  dense::apply_reflections(a, m, n, tau, count, q, width, false);
}

void qr(const Tensor& a, std::string_view mode, Value* out) {
  SL_CHECK(mode == "reduced" || mode == "complete" || mode == "r",
           "qr received unrecognized mode '", mode,
           "' but expected one of 'reduced' (default), 'r', or 'complete'");
  check_matrices(a, "linalg.qr");
  for_number_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Batch<T> m(a);
    int64_t k = std::min(m.rows(), m.columns()), width = mode == "complete" ? m.rows() : k;
    Batch<T> q(a, mode == "r" ? 0 : m.rows(), width), r(a, width, m.columns());
    for_each_matrix(m.count(), m.rows() * m.columns() * k, [&](int64_t i) {
      std::vector<T> tau(as_size(k), T(0));
      dense::factor_qr(m.at(i), m.rows(), m.columns(), tau.data());
      if (mode != "r") {
        orthogonal_columns(m.at(i), m.rows(), m.columns(), tau.data(), k, q.at(i), width);
      }
      for (int64_t row = 0; row < width; ++row)
        for (int64_t c = row; c < m.columns(); ++c)
          r.at(i)[row * m.columns() + c] = m.at(i)[row * m.columns() + c];
    });
    out[0] = mode == "r" ? Tensor::empty({0}, a.dtype()) : q.finished(a.dtype());
    out[1] = r.finished(a.dtype());
  });
}

void geqrf(const Tensor& a, Value* out) {
  check_matrices(a, "torch.geqrf");
  for_number_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Batch<T> m(a);
    int64_t k = std::min(m.rows(), m.columns());
    Tensor tau = Tensor::empty(batch_sizes(a, {k}), working_type<T>());
    for (int64_t i = 0; i < m.count(); ++i) {
      dense::factor_qr(m.at(i), m.rows(), m.columns(), tau.data<T>() + i * k);
    }
    out[0] = m.finished(a.dtype());
    out[1] = to_dtype(tau, a.dtype());
  });
}

void check_reflections(const Tensor& a, const Tensor& tau, const char* name) {
  check_matrices(a, name);
  int64_t m = a.size(a.dim() - 2), n = a.size(a.dim() - 1);
  SL_CHECK(tau.dim() == a.dim() - 1 &&
               IntSpan(tau.sizes().data, tau.dim() - 1) == IntSpan(a.sizes().data, a.dim() - 2),
           name,
           ": Expected tau to have one dimension less than input, and the same batch, got "
           "sizes ",
           to_string(tau.sizes()), " and ", to_string(a.sizes()));
  SL_CHECK(tau.size(tau.dim() - 1) <= std::min(m, n), name,
           ": input.shape[-1] must be greater "
           "than or equal to tau.shape[-1]");
  SL_CHECK(tau.dtype() == a.dtype(), name, ": tau dtype ", dtype_display_name(tau.dtype()),
           " does not match input dtype ", dtype_display_name(a.dtype()));
}

Tensor householder_product(const Tensor& a, const Tensor& tau_in) {
  constexpr const char* kName = "torch.linalg.householder_product";
  check_reflections(a, tau_in, kName);
  SL_CHECK(a.size(a.dim() - 2) >= a.size(a.dim() - 1), kName,
           ": input.shape[-2] must be greater than or equal to input.shape[-1]");
  Tensor result;
  for_number_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Tensor tau = contiguous_as(tau_in, working_type<T>());
    int64_t count = tau.size(tau.dim() - 1);
    Batch<T> m(a), q(a, m.rows(), m.columns());
    for (int64_t i = 0; i < m.count(); ++i) {
      orthogonal_columns(m.at(i), m.rows(), m.columns(), tau.data<T>() + i * count, count, q.at(i),
                         m.columns());
    }
    result = q.finished(a.dtype());
  });
  return result;
}

// op(Q) C, or C op(Q), for the Q given by reflections.
Tensor ormqr(const Tensor& a, const Tensor& tau_in, const Tensor& other, bool left,
             bool transposed) {
  check_reflections(a, tau_in, "torch.ormqr");
  check_matrices(other, "torch.ormqr");
  check_same_type(a, other, "torch.ormqr");
  SL_CHECK(tau_in.size(tau_in.dim() - 1) ==
               std::min(other.size(other.dim() - (left ? 2 : 1)), a.size(a.dim() - 1)),
           "torch.ormqr: tau.shape[-1] must be equal to min(other.shape[", left ? -2 : -1,
           "], input.shape[-1])");
  // C Q = (Q^H C^H)^H.
  Tensor c = left ? other : adjoint(other), result;
  SL_CHECK(c.dim() == a.dim() && c.size(c.dim() - 2) == a.size(a.dim() - 2) &&
               IntSpan(c.sizes().data, c.dim() - 2) == IntSpan(a.sizes().data, a.dim() - 2),
           "torch.ormqr: other.shape[", left ? -2 : -1,
           "] must be equal to input.shape[-2], got "
           "sizes ",
           to_string(other.sizes()), " and ", to_string(a.sizes()));
  for_number_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Tensor tau = contiguous_as(tau_in, working_type<T>());
    int64_t count = tau.size(tau.dim() - 1);
    Batch<T> m(a), x(c);
    for (int64_t i = 0; i < m.count(); ++i) {
      dense::apply_reflections(m.at(i), m.rows(), m.columns(), tau.data<T>() + i * count, count,
                               x.at(i), x.columns(), left == transposed);
    }
    result = x.finished(c.dtype());
  });
  return left ? result : adjoint(result);
}

}  // namespace

SL_OP(aten_linalg_det) { out[0] = determinant(args.tensor(0), "linalg.det"); }
SL_OP(aten_det) { out[0] = determinant(args.tensor(0), "linalg.det"); }
SL_OP(aten_logdet) { out[0] = log(determinant(args.tensor(0), "logdet")); }
SL_OP(aten_linalg_slogdet) { slogdet(args.tensor(0), out); }
SL_OP(aten_slogdet) { slogdet(args.tensor(0), out); }
SL_OP(aten_linalg_lu_factor) {
  Factors f = lu_factors(args.tensor(0), args.boolean(1), true, "linalg.lu_factor");
  out[0] = f.lu;
  out[1] = f.pivots;
}
SL_OP(aten_linalg_lu_factor_ex) {
  Factors f = lu_factors(args.tensor(0), args.boolean(1), args.boolean(2), "linalg.lu_factor_ex");
  out[0] = f.lu;
  out[1] = f.pivots;
  out[2] = f.info;
}
SL_OP(aten__lu_with_info) {  // check_errors is ignored, as in PyTorch
  args[2] = false;
  op_aten_linalg_lu_factor_ex(ctx, args, out);
}
SL_OP(aten_lu_unpack) {
  lu_unpack(args.tensor(0), args.tensor(1), args.boolean(2), args.boolean(3), out);
}
SL_OP(aten_linalg_lu) {
  Factors f = lu_factors(args.tensor(0), args.boolean(1), false, "linalg.lu");
  lu_unpack(f.lu, f.pivots, true, true, out);
}
SL_OP(aten_linalg_cholesky) {
  out[0] = cholesky(args.tensor(0), args.boolean(1), "linalg.cholesky", nullptr);
}
SL_OP(aten_cholesky) { out[0] = cholesky(args.tensor(0), args.boolean(1), "cholesky", nullptr); }
SL_OP(aten_linalg_cholesky_ex) {
  Tensor info;
  const Tensor& a = args.tensor(0);
  out[0] = cholesky(a, args.boolean(1), "linalg.cholesky_ex", args.boolean(2) ? nullptr : &info);
  out[1] = info.defined() ? info : Tensor::zeros(batch_sizes(args.tensor(0)), ScalarType::Int32);
}
SL_OP(aten_linalg_qr) { qr(args.tensor(0), args.string(1), out); }
SL_OP(aten_qr) { qr(args.tensor(0), args.boolean(1) ? "reduced" : "complete", out); }
SL_OP(aten_geqrf) { geqrf(args.tensor(0), out); }
SL_OP(aten_linalg_householder_product) {
  out[0] = householder_product(args.tensor(0), args.tensor(1));
}
SL_OP(aten_orgqr) { out[0] = householder_product(args.tensor(0), args.tensor(1)); }
SL_OP(aten_ormqr) {
  out[0] = ormqr(args.tensor(0), args.tensor(1), args.tensor(2), args.boolean(3), args.boolean(4));
}

}  // namespace scriptlang
