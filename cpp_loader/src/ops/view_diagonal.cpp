// Views: diagonals, adjoints, elements as another type, aliases.
#include <algorithm>

#include "copy.h"
#include "diagonal.h"
#include "express.h"
#include "view.h"
#include "values/exact.h"
#include "values/raw_view.h"

namespace scriptlang {

using namespace express;

namespace {

// A view of the same bytes as elements of another type.
Tensor view_of_bytes(const Tensor& t, ScalarType type) {
  int64_t from = t.itemsize(), to = itemsize(type);
  std::vector<int64_t> sizes(t.sizes().begin(), t.sizes().end());
  std::vector<int64_t> strides(t.strides().begin(), t.strides().end());
  if (from == to) return Tensor::on_storage(t.storage(), type, sizes, strides, t.storage_offset());
  SL_CHECK(t.dim() > 0, "self.dim() cannot be 0 to view ", dtype_display_name(t.dtype()), " as ",
           dtype_display_name(type), " (different element sizes)");
  SL_CHECK(strides.back() == 1, "self.stride(-1) must be 1 to view ", dtype_display_name(t.dtype()),
           " as ", dtype_display_name(type), " (different element sizes), but got ",
           strides.back());
  auto scaled = [&](int64_t n, const char* what) {
    int64_t bytes;
    SL_CHECK(!__builtin_mul_overflow(n, from, &bytes), "view: ", what, " ", n, " is too large");
    SL_CHECK(bytes % to == 0, "self.", what, " must be divisible by ", to / from, " to view ",
             dtype_display_name(t.dtype()), " as ", dtype_display_name(type),
             " (different element sizes), but got ", n);
    return bytes / to;
  };
  sizes.back() = scaled(sizes.back(), "size(-1)");
  for (size_t d = 0; d + 1 < strides.size(); ++d) strides[d] = scaled(strides[d], "stride()");
  return Tensor::on_storage(t.storage(), type, sizes, strides,
                            scaled(t.storage_offset(), "storage_offset()"));
}

// The same; a view as bool needs bytes of 0 or 1, since loops rely on it.
Tensor view_as_type(const Tensor& t, ScalarType type) {
  if (type == ScalarType::Bool && t.dtype() != ScalarType::Bool) {
    Tensor bytes = to_contiguous(view_of_bytes(t, ScalarType::UInt8));
    const uint8_t* at = bytes.data<uint8_t>();
    bool fits = std::all_of(at, at + bytes.numel(), [](uint8_t b) { return b <= 1; });
    SL_CHECK(fits, "a view as bool needs bytes that are 0 or 1; use .to(torch.bool) instead");
  }
  return view_of_bytes(t, type);
}

}  // namespace

Tensor diagonal_view(const Tensor& t, int64_t offset, int64_t dim1, int64_t dim2) {
  dim1 = wrap_dim(dim1, t.dim());
  dim2 = wrap_dim(dim2, t.dim());
  SL_CHECK(t.dim() >= 2 && dim1 != dim2, "diagonal dimensions cannot be identical ", dim1, ", ",
           dim2);
  int64_t rows = t.size(dim1), columns = t.size(dim2), length = 0, start = t.storage_offset();
  if (offset >= 0 && offset <= columns) length = std::min(rows, columns - offset);
  if (offset < 0 && offset >= -rows) length = std::min(rows + offset, columns);
  if (length > 0) {
    start = Exact(start) +
            (offset >= 0 ? Exact(offset) * t.stride(dim2) : Exact(-offset) * t.stride(dim1));
  }
  std::vector<int64_t> sizes, strides;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (d == dim1 || d == dim2) continue;
    sizes.push_back(t.size(d));
    strides.push_back(t.stride(d));
  }
  sizes.push_back(length);
  strides.push_back(t.stride(dim1) + t.stride(dim2));
  return t.as_strided(sizes, strides, start);
}

SL_OP(aten_adjoint) {
  const Tensor& self = args.tensor(0);
  SL_CHECK(self.dim() != 1,
           "tensor.adjoint() is only supported on matrices or batches of "
           "matrices. Got 1-D tensor.");
  Tensor t = self.dim() == 0 ? alias_of(self) : view_transpose(self, -2, -1);
  out[0] = is_complex(t.dtype()) ? conj(t) : t;
}
SL_OP(aten_mH) { op_aten_adjoint(ctx, args, out); }
SL_OP(aten_mH_a) { op_aten_adjoint(ctx, args, out); }
SL_OP(aten_matrix_H) {
  const int64_t dims = args.tensor(0).dim();
  SL_CHECK(dims == 0 || dims == 2, "tensor.H is only supported on matrices (2-D tensors). Got ",
           dims, "-D tensor.");
  op_aten_adjoint(ctx, args, out);
}
SL_OP(aten_matrix_H_a) { op_aten_matrix_H(ctx, args, out); }
SL_OP(aten_linalg_diagonal) {
  out[0] = diagonal_view(args.tensor(0), args.integer(1), args.integer(2), args.integer(3));
}
SL_OP(aten_expand_copy) { out[0] = copy_of(view_expand(args.tensor(0), args.ints(1))); }
SL_OP(aten_view_copy) { out[0] = copy_of(reshape(args.tensor(0), args.ints(1))); }
SL_OP(aten_view_dtype) { out[0] = view_as_type(args.tensor(0), args.dtype(1)); }
SL_OP(aten__reshape_alias) {
  const Tensor& t = args.tensor(0);
  out[0] = t.as_strided(args.ints(1), args.ints(2), t.storage_offset());
}
SL_OP(aten_lift_fresh) { out[0] = alias_of(args.tensor(0)); }

}  // namespace scriptlang
