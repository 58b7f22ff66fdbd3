// Solving and inverting: by LU, by triangular matrices, by given factors.
#include <cmath>
#include <limits>

#include "linalg.h"
#include "matrices.h"

namespace scriptlang {

using namespace express;

namespace matrices {

namespace {

[[noreturn]] void singular(const char* name, int64_t batch, bool many, int64_t at) {
  raise(ErrorKind::RuntimeError, name, ": ", many ? concat("(Batch element ", batch, "): ") : "",
        "The diagonal element ", at, " is zero, the ",
        std::string(name) == "linalg.inv" ? "inversion" : "solve",
        " could not be completed because the input matrix is singular.");
}

void check_fits(const Tensor& a, const Tensor& b, bool left, const char* name) {
  SL_CHECK(b.dim() >= 2 && b.size(b.dim() - 2) == a.size(a.dim() - 1), name,
           ": Incompatible shapes of A and B for the equation ", left ? "AX = B" : "XA = B", " (",
           a.size(a.dim() - 2), "x", a.size(a.dim() - 1), " and ",
           b.dim() >= 2 ? b.size(b.dim() - 2) : b.numel(), "x",
           b.dim() >= 2 ? b.size(b.dim() - 1) : 1, ")");
}

template <class T>
Tensor solve_batches(const Tensor& a, const Tensor& b, const char* name, Tensor* info) {
  Batch<T> m(a), x(b);
  std::vector<int64_t> pivots(as_size(m.rows()), 0);
  if (info) *info = Tensor::zeros(batch_sizes(a), ScalarType::Int32);
  for (int64_t i = 0; i < m.count(); ++i) {
    int64_t zero = dense::factor_lu(m.at(i), m.rows(), m.rows(), pivots.data(), true);
    if (zero && !info) singular(name, i, m.count() > 1, zero);
    if (info) info->data<int32_t>()[i] = int32_t(zero);
    dense::solve_lu(m.at(i), pivots.data(), m.rows(), x.at(i), x.columns(), false);
  }
  return x.finished(b.dtype());
}

}  // namespace

Tensor solve(const Tensor& a_in, const Tensor& b_in, bool left, const char* name, Tensor* info) {
  check_square(a_in, name);
  check_same_type(a_in, b_in, name);
  bool vector = is_vector(a_in, b_in);
  SL_CHECK(left || !vector, name,
           ": Vector broadcasting of the left hand side is not supported "
           "for left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)");
  Tensor a = left ? a_in : view_transpose(a_in, -2, -1);
  Tensor b = vector ? view_unsqueeze(b_in, -1) : left ? b_in : view_transpose(b_in, -2, -1);
  check_fits(a, b, left, name);
  spread_batches(&a, &b);
  Tensor result;
  for_number_type(a.dtype(),
                  [&](auto zero) { result = solve_batches<decltype(zero)>(a, b, name, info); });
  if (!vector) return left ? result : view_transpose(result, -2, -1);
  Tensor x = view_squeeze(result, {-1});  // has the layout of matrices
  return x.dim() > 1 ? columns_first(x) : x;
}

Tensor inverse(const Tensor& a, Tensor* info) {
  check_square(a, "linalg.inv");
  return solve(a, identity_like(a), true, "linalg.inv", info);
}

}  // namespace matrices

using namespace matrices;

namespace {

Tensor solve_triangular(const Tensor& a_in, const Tensor& b_in, bool upper, bool left, bool unit) {
  constexpr const char* kName = "linalg.solve_triangular";
  check_square(a_in, kName);
  check_same_type(a_in, b_in, kName);
  SL_CHECK(b_in.dim() >= 2, kName, ": The input tensor B must have at least 2 dimensions.");
  Tensor a = left ? a_in : view_transpose(a_in, -2, -1);
  Tensor b = left ? b_in : view_transpose(b_in, -2, -1);
  if (!left) upper = !upper;
  check_fits(a, b, left, kName);
  spread_batches(&a, &b);
  Tensor result;
  for_number_type(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Batch<T> m(a), x(b);
    for (int64_t i = 0; i < m.count(); ++i) {
      dense::solve_triangle(m.at(i), m.rows(), upper, unit, x.at(i), x.columns());
    }
    result = x.finished(b.dtype());
  });
  return left ? result : columns_first(view_transpose(result, -2, -1));
}

// Converts LAPACK's pivots, which count from 1, to pivots from 0.
std::vector<int64_t> read_pivots(const Tensor& pivots, int64_t batch, int64_t n) {
  std::vector<int64_t> result;
  for (int64_t k = 0; k < n; ++k) {
    int64_t p = pivots.data<int32_t>()[batch * n + k];
    SL_CHECK(p >= 1 && p <= n, "linalg.lu_solve: a pivot of ", p, " is not between 1 and ", n);
    result.push_back(p - 1);
  }
  return result;
}

Tensor lu_solve(const Tensor& lu, const Tensor& pivots, const Tensor& b_in, bool left,
                bool adjoint_of) {
  constexpr const char* kName = "linalg.lu_solve";
  check_square(lu, kName);
  check_same_type(lu, b_in, kName);
  SL_CHECK(pivots.dtype() == ScalarType::Int32, kName,
           ": pivots should be a Tensor of scalar type torch.int32");
  SL_CHECK(pivots.dim() == lu.dim() - 1 && pivots.sizes() == IntSpan(lu.sizes().data, lu.dim() - 1),
           kName, ": Number of pivots per batch should be same as the dimension of the matrix");
  // X A = B is A^H X^H = B^H.
  Tensor b = left ? b_in : adjoint(b_in), a = lu;
  check_fits(a, b, left, kName);
  if (!left) adjoint_of = !adjoint_of;
  Tensor order = view_unsqueeze(pivots, -1);
  spread_batches(&a, &b);
  Tensor unused = b;
  spread_batches(&order, &unused);
  Tensor places = contiguous_as(order, ScalarType::Int32), result;
  for_number_type(lu.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Batch<T> m(a), x(b);
    for (int64_t i = 0; i < m.count(); ++i) {
      std::vector<int64_t> exchanged = read_pivots(places, i, m.rows());
      dense::solve_lu(m.at(i), exchanged.data(), m.rows(), x.at(i), x.columns(), adjoint_of);
    }
    result = x.finished(b.dtype());
  });
  return left ? result : adjoint(result);
}

Tensor cholesky_solve(const Tensor& b, const Tensor& factor, bool upper) {
  Tensor l = upper ? adjoint(factor) : factor;
  Tensor y = solve_triangular(l, b, false, true, false);
  return solve_triangular(adjoint(l), y, true, true, false);
}

// Raises where a triangular factor has a zero on its diagonal, and therefore no inverse.
void check_no_zero_pivot(const Tensor& factor) {
  const int64_t n = factor.size(factor.dim() - 1);
  Tensor zeros = to_contiguous(eq(factor, Scalar(0.0)));
  const bool* zero = zeros.data<bool>();
  for (int64_t i = 0; i * n < zeros.numel(); ++i) {  // each row of each matrix
    SL_CHECK(
        !zero[i * n + i % n], "cholesky_inverse: The diagonal element ", i % n + 1,
        " is zero, the inversion could not be completed because the input matrix is singular.");
  }
}

// Solves triangular systems, with broadcasting. The second result is the first operand as given.
void triangular_solve(Args args, Value* out) {
  const Tensor &b = args.tensor(0), &a = args.tensor(1);
  bool upper = args.boolean(2), transposed = args.boolean(3);
  SL_CHECK(b.dim() >= 2 && a.dim() >= 2,
           "torch.triangular_solve: Expected self and A to have at "
           "least 2 dimensions, got sizes ",
           to_string(b.sizes()), " and ", to_string(a.sizes()));
  Tensor turned = transposed ? view_transpose(a, -2, -1) : a;
  out[0] = solve_triangular(turned, b, upper != transposed, true, args.boolean(4));
  Tensor spread = a, unused = b;
  spread_batches(&spread, &unused);
  out[1] = columns_first(clone(spread));
}

Tensor tensor_inverse(const Tensor& self, int64_t ind) {
  SL_CHECK(ind > 0, "Expected a strictly positive integer for 'ind'");
  int64_t split = std::min(ind, self.dim());
  IntSpan head(self.sizes().data, split), tail(self.sizes().data + split, self.dim() - split);
  int64_t rows = checked_numel(head), columns = checked_numel(tail);
  SL_CHECK(rows == columns,
           "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
           "prod(self.shape[:ind]), but got ",
           columns, " != ", rows);
  std::vector<int64_t> sizes(tail.begin(), tail.end());
  sizes.insert(sizes.end(), head.begin(), head.end());
  return reshape(inverse(reshape(self, {rows, columns}), nullptr), sizes);
}

Tensor tensor_solve(const Tensor& self, const Tensor& other, const Value& dims) {
  std::vector<int64_t> order;
  bool last[kMaxDims] = {};
  Ints moved(dims);
  for (int64_t d : moved) last[wrap_dim(d, self.dim())] = true;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (!last[d]) order.push_back(d);
  }
  for (int64_t d : moved) order.push_back(wrap_dim(d, self.dim()));
  Tensor a = view_permute(self, order);
  int64_t split = std::min(other.dim(), a.dim());
  std::vector<int64_t> sizes(a.sizes().begin() + split, a.sizes().end());
  int64_t n = checked_numel(sizes);
  SL_CHECK(n == other.numel() && a.numel() == n * n,
           "Expected self to satisfy the requirement "
           "prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got ",
           n, " != ", other.numel());
  return reshape(
      solve(reshape(a, {n, n}), reshape(other, {n}), true, "torch.linalg.solve", nullptr), sizes);
}

}  // namespace

SL_OP(aten_linalg_inv) { out[0] = inverse(args.tensor(0), nullptr); }
SL_OP(aten_inverse) { out[0] = inverse(args.tensor(0), nullptr); }
SL_OP(aten_linalg_inv_ex) {
  Tensor info;
  out[0] = inverse(args.tensor(0), args.boolean(1) ? nullptr : &info);
  const Tensor& a = args.tensor(0);
  out[1] = info.defined() ? info : Tensor::zeros(batch_sizes(a), ScalarType::Int32);
}
SL_OP(aten_linalg_solve) {
  out[0] = solve(args.tensor(0), args.tensor(1), args.boolean(2), "torch.linalg.solve", nullptr);
}
SL_OP(aten_linalg_solve_ex) {
  Tensor info;
  out[0] = solve(args.tensor(0), args.tensor(1), args.boolean(2), "torch.linalg.solve",
                 args.boolean(3) ? nullptr : &info);
  if (!info.defined()) info = Tensor::zeros(batch_sizes(args.tensor(0)), ScalarType::Int32);
  out[1] = info;
}
SL_OP(aten_linalg_solve_triangular) {
  out[0] = solve_triangular(args.tensor(0), args.tensor(1), args.boolean(2), args.boolean(3),
                            args.boolean(4));
}
SL_OP(aten_triangular_solve) { triangular_solve(args, out); }
SL_OP(aten_linalg_lu_solve) {
  out[0] =
      lu_solve(args.tensor(0), args.tensor(1), args.tensor(2), args.boolean(3), args.boolean(4));
}
SL_OP(aten_lu_solve) {
  out[0] = lu_solve(args.tensor(1), args.tensor(2), args.tensor(0), true, false);
}
SL_OP(aten_cholesky_solve) {
  check_square(args.tensor(1), "cholesky_solve");
  out[0] = cholesky_solve(args.tensor(0), args.tensor(1), args.boolean(2));
}
SL_OP(aten_cholesky_inverse) {
  const Tensor& factor = args.tensor(0);
  check_square(factor, "cholesky_inverse");
  check_no_zero_pivot(factor);
  out[0] = cholesky_solve(identity_like(factor), factor, args.boolean(1));
}
SL_OP(aten_linalg_tensorinv) { out[0] = tensor_inverse(args.tensor(0), args.integer(1)); }
SL_OP(aten_linalg_tensorsolve) { out[0] = tensor_solve(args.tensor(0), args.tensor(1), args[2]); }

}  // namespace scriptlang
