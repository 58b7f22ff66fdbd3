// Scaling slices down to a norm.
#include <cmath>

#include "express.h"
#include "index.h"

namespace scriptlang {

using namespace express;

void op_aten_linalg_vector_norm(Context&, Args, Value*);

namespace {

Tensor norm_over(Context& ctx, const Tensor& x, const Value& order,
                 const std::vector<int64_t>& dims, bool keepdim) {
  Value given[5] = {x, order, int_list(dims), keepdim, Value()}, result;
  op_aten_linalg_vector_norm(ctx, Args(given, 5), &result);
  return result.as_tensor();
}

std::vector<int64_t> all_but(int64_t ndim, int64_t dim) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < ndim; ++d) {
    if (d != dim) dims.push_back(d);
  }
  return dims;
}

Tensor renorm(Context& ctx, const Tensor& self, const Value& p, int64_t dim, double most) {
  dim = wrap_dim(dim, self.dim());
  SL_CHECK(self.dim() >= 2, "renorm: input needs at least 2 dimensions, got ", self.dim(),
           " dimensions");
  SL_CHECK(Scalar::of(p).kind != Scalar::Complex, "renorm: p must be real-valued");
  double order = Scalar::of(p).to_double();
  SL_CHECK(order > 0, "renorm: non-positive-norm not supported");
  SL_CHECK(most >= 0, "renorm: expected maxnorm to be >= 0 but got ", most);
  Tensor norm = norm_over(ctx, self, p, all_but(self.dim(), dim), true);
  Tensor shrunk = div(Scalar(most), add(norm, Scalar(1e-7)));
  Tensor scale = where(gt(norm, Scalar(most)), shrunk, Scalar(1.0));
  return to_contiguous(to_dtype(mul(self, scale), self.dtype()));
}

// Scales the indexed rows whose norm exceeds `most` down to it, in place.
void embedding_renorm(Context& ctx, const Tensor& self, const Tensor& indices, double most,
                      const Value& p) {
  SL_CHECK(self.dim() == 2, "Expected 2-dimensional tensor, but got ", self.dim(),
           "-dimensional tensor for argument #1 'self' (while checking arguments for "
           "embedding_renorm_)");
  check_row_indices("embedding_renorm_", 2, indices.dtype());
  SL_CHECK(is_floating(self.dtype()), "\"embedding_renorm\" not implemented for '",
           dtype_display_name(self.dtype()), "'");
  check_writable(self);
  Tensor at = contiguous_as(indices, ScalarType::Int64);
  // As in PyTorch, each index is used once, but both indices of a row are: the negative one, too.
  const int64_t rows = self.size(0);
  std::vector<bool> done(as_size(rows) * 2, false);
  for (int64_t i = 0; i < at.numel(); ++i) {
    const int64_t row = at.data<int64_t>()[i];
    if (row >= -rows && row < rows && done[size_t(row + rows)]) continue;
    Tensor target = view_select(self, 0, row);  // raises if there is no such row
    done[size_t(row + rows)] = true;
    Tensor norm = to_dtype(norm_over(ctx, target, p, {0}, false), ScalarType::Float64);
    double length = norm.data<double>()[0];
    if (!(length > most)) continue;
    copy_into(target, mul(target, Scalar(most / (length + 1e-7))));
  }
}

}  // namespace

SL_OP(aten_renorm) {
  out[0] = renorm(ctx, args.tensor(0), args[1], args.integer(2), args.scalar(3).to_double());
}
SL_OP(aten_norm_except_dim) {
  const Tensor& v = args.tensor(0);
  int64_t dim = args.integer(2);
  if (dim == -1) {
    std::vector<int64_t> all = all_but(v.dim(), -1);
    out[0] = norm_over(ctx, v, Value(args.integer(1)), all, false);
    return;
  }
  if (v.dim() == 0) {
    raise(ErrorKind::IndexError, "Dimension specified as ", dim, " but tensor has no dimensions");
  }
  std::vector<int64_t> others = all_but(v.dim(), wrap_dim(dim, v.dim()));
  if (others.empty()) {  // an empty list would mean all dimensions
    Tensor columns = view_unsqueeze(v, 1);
    out[0] = view_squeeze(norm_over(ctx, columns, Value(args.integer(1)), {1}, true), {1});
    return;
  }
  out[0] = norm_over(ctx, v, Value(args.integer(1)), others, true);
}
SL_OP(aten_embedding_renorm_) {
  embedding_renorm(ctx, args.tensor(0), args.tensor(1), args.number(2), args[3]);
  out[0] = args.tensor(0);
}

}  // namespace scriptlang
