// LDL factorisations of symmetric and hermitian matrices, and solving with them.
#include <cmath>

#include "linalg.h"
#include "matrices.h"

namespace scriptlang {

using namespace express;
using namespace matrices;

namespace {

void ldl_factor(const Tensor& a, bool hermitian, bool check, Value* out) {
  const char* name = "torch.linalg.ldl_factor_ex";
  check_square(a, name);
  int64_t n = a.size(a.dim() - 1);
  Tensor pivots = Tensor::empty(batch_sizes(a, {n}), ScalarType::Int32);
  Tensor info = Tensor::zeros(batch_sizes(a), ScalarType::Int32);
  std::vector<int64_t> order(as_size(n), 0);
  for_number_type(a.dtype(), [&](auto zero) {
    Batch<decltype(zero)> m(a);
    for (int64_t i = 0; i < m.count(); ++i) {
      int64_t first =
          dense::factor_ldl(m.at(i), n, hermitian && is_complex(a.dtype()), order.data());
      SL_CHECK(!check || first == 0, name, ": D[", first, ",", first,
               "] is zero: the matrix is "
               "singular");
      info.data<int32_t>()[i] = int32_t(first);
      for (int64_t j = 0; j < n; ++j) {
        pivots.data<int32_t>()[i * n + j] = int32_t(order[size_t(j)]);
      }
    }
    out[0] = m.finished(a.dtype());
  });
  out[1] = pivots;
  out[2] = info;
}

void check_ldl_solve(const Tensor& ld, const Tensor& pivots, const Tensor& b) {
  const char* name = "torch.linalg.ldl_solve";
  check_square(ld, name);
  SL_CHECK(b.dim() >= 2, name, ": Expected B to have at least 2 dimensions, but it has ", b.dim(),
           " dimensions instead");
  SL_CHECK(pivots.sizes() == IntSpan(ld.sizes().data, ld.dim() - 1), name,
           ": Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape ",
           to_string(pivots.sizes()), " instead");
  SL_CHECK(is_integral(pivots.dtype(), false), name, ": Expected pivots to be integers. Got ",
           dtype_display_name(pivots.dtype()));
  SL_CHECK(ld.dtype() == b.dtype(), "Expected b and A to have the same dtype, but found b of type ",
           dtype_display_name(b.dtype()), " and A of type ", dtype_display_name(ld.dtype()),
           " instead.");
  int64_t n = ld.size(ld.dim() - 1);
  SL_CHECK(n == b.size(b.dim() - 2),
           "Incompatible matrix sizes for torch.linalg.ldl_solve: each A "
           "matrix is ",
           n, " by ", n, " but each b matrix is ", b.size(b.dim() - 2), " by ",
           b.size(b.dim() - 1));
}

Tensor ldl_solve(Tensor ld, const Tensor& pivots, Tensor b, bool hermitian) {
  check_ldl_solve(ld, pivots, b);
  int64_t n = ld.size(ld.dim() - 1);
  Tensor places = view_unsqueeze(pivots, -2);  // as matrices, to broadcast with the others
  spread_batches(&ld, &b);
  std::vector<int64_t> sizes = batch_sizes(b, {1, n});
  places = contiguous_as(view_expand(places, sizes), ScalarType::Int64);
  for (int64_t i = 0; i < places.numel(); ++i) {
    int64_t place = std::abs(places.data<int64_t>()[i]);
    SL_CHECK(place >= 1 && place <= n,
             "torch.linalg.ldl_solve: pivots must be what ldl_factor "
             "gave: between 1 and ",
             n, ", or their negatives");
  }
  Tensor result;
  for_number_type(ld.dtype(), [&](auto zero) {
    using T = decltype(zero);
    Batch<T> a(ld), x(b);
    for (int64_t i = 0; i < x.count(); ++i) {
      dense::solve_ldl(a.at(i), places.data<int64_t>() + i * n, n,
                       hermitian && is_complex(ld.dtype()), x.at(i), x.columns());
    }
    result = x.finished(ld.dtype());
  });
  return result;
}

}  // namespace

SL_OP(aten_linalg_ldl_factor_ex) {
  ldl_factor(args.tensor(0), args.boolean(1), args.boolean(2), out);
}
SL_OP(aten_linalg_ldl_factor) {
  Value all[3];
  ldl_factor(args.tensor(0), args.boolean(1), true, all);
  out[0] = std::move(all[0]);
  out[1] = std::move(all[1]);
}
SL_OP(aten_linalg_ldl_solve) {
  out[0] = ldl_solve(args.tensor(0), args.tensor(1), args.tensor(2), args.boolean(3));
}

}  // namespace scriptlang
