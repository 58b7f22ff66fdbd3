// Tensors made of diagonals and blocks, and cross products.
#include <algorithm>
#include <cstdlib>

#include "copy.h"
#include "diagonal.h"
#include "express.h"
#include "join.h"
#include "layout.h"
#include "view.h"
#include "values/exact.h"

namespace scriptlang {

using namespace express;

namespace {

Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  int64_t n = self.dim() + 1;
  dim1 = wrap_dim(dim1, n);
  dim2 = wrap_dim(dim2, n);
  SL_CHECK(self.dim() > 0 && dim1 != dim2, "diagonal dimensions cannot be identical ", dim1, ", ",
           dim2);
  int64_t length = self.size(self.dim() - 1);
  constexpr int64_t kLimit = int64_t{1} << 31;
  SL_CHECK(offset > -kLimit && offset < kLimit, "diag_embed: offset ", offset, " is too large");
  int64_t side = Exact(length) + (offset < 0 ? Exact(0) - offset : Exact(offset));
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end() - 1);
  sizes.insert(sizes.begin() + std::min(dim1, dim2), side);
  sizes.insert(sizes.begin() + std::max(dim1, dim2), side);
  Tensor out = Tensor::zeros(sizes, self.dtype());
  if (out.numel() == 0) return out;
  std::vector<int64_t> shape, strides;
  for (int64_t d = 0; d < n; ++d) {
    if (d == dim1 || d == dim2) continue;
    shape.push_back(out.size(d));
    strides.push_back(out.stride(d));
  }
  shape.push_back(length);
  strides.push_back(out.stride(dim1) + out.stride(dim2));
  // `out` has elements, so this offset is inside it.
  int64_t start = offset >= 0 ? offset * out.stride(dim2) : -offset * out.stride(dim1);
  if (length > 0) copy_into(out.as_strided(shape, strides, start), self);
  return out;
}

Tensor diag(const Tensor& self, int64_t offset) {
  SL_CHECK(self.dim() == 1 || self.dim() == 2, "diag(): Supports 1D or 2D tensors. Got ",
           self.dim(), "D");
  return self.dim() == 1 ? diag_embed(self, offset, 0, 1)
                         : copy_of(diagonal_view(self, offset, 0, 1));
}

}  // namespace

SL_OP(aten_diag) { out[0] = diag(args.tensor(0), args.integer(1)); }
SL_OP(aten_diagflat) { out[0] = diag_embed(reshape(args.tensor(0), {-1}), args.integer(1), 0, 1); }
SL_OP(aten_diag_embed) {
  out[0] = diag_embed(args.tensor(0), args.integer(1), args.integer(2), args.integer(3));
}
SL_OP(aten_block_diag) {
  std::vector<Tensor> tensors = args.tensors(0);
  ResultType type;
  int64_t rows = 0, columns = 0;
  for (Tensor& t : tensors) {
    type.add(t);
    SL_CHECK(t.dim() <= 2,
             "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
             "has ",
             t.dim(), " dimensions");
    if (t.dim() < 2) t = reshape(t, {1, t.numel()});
    rows += t.size(0);
    columns += t.size(1);
  }
  if (tensors.empty()) rows = 1;
  ScalarType dtype = tensors.empty() ? ScalarType::Float32 : type.get();
  Tensor result = Tensor::zeros({rows, columns}, dtype);
  int64_t row = 0, column = 0;
  for (const Tensor& t : tensors) {
    if (t.numel() > 0) {
      copy_into(view_narrow(view_narrow(result, 0, row, t.size(0)), 1, column, t.size(1)), t);
    }
    row += t.size(0);
    column += t.size(1);
  }
  out[0] = result;
}
SL_OP(aten_cross) {
  const Tensor& a = args.tensor(0);
  const Tensor& b = args.tensor(1);
  SL_CHECK(a.dim() == b.dim(), "linalg.cross: inputs must have the same number of dimensions.");
  SL_CHECK(a.dim() > 0, "linalg.cross: inputs must have dimensions");
  int64_t dim = -1;
  for (int64_t d = 0; args.none(2) && dim < 0 && d < a.dim(); ++d) {
    if (a.size(d) == 3) dim = d;
  }
  if (!args.none(2)) dim = wrap_dim(args.integer(2), a.dim());
  SL_CHECK(dim >= 0, "no dimension of size 3 in input");
  SL_CHECK(a.size(dim) == 3 && b.size(dim) == 3, "linalg.cross: inputs dimension ", dim,
           " must have length 3. Got ", a.size(dim), " and ", b.size(dim));
  std::vector<int64_t> shape = broadcast_shapes(a.sizes(), b.sizes());
  Tensor x = view_expand(a, shape), y = view_expand(b, shape);
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < 3; ++i) {
    int64_t j = (i + 1) % 3, k = (i + 2) % 3;
    parts.push_back(sub(mul(view_narrow(x, dim, j, 1), view_narrow(y, dim, k, 1)),
                        mul(view_narrow(x, dim, k, 1), view_narrow(y, dim, j, 1))));
  }
  out[0] = cat(parts, dim);
}
SL_OP(aten_linalg_cross) { op_aten_cross(ctx, args, out); }

}  // namespace scriptlang
