// Elements selected by a mask: masked_scatter, indexing with a mask, their indices.
#include <algorithm>
#include <complex>

#include "../../kernels/kernel_set.h"
#include "express.h"
#include "index.h"
#include "layout.h"

namespace scriptlang {

using namespace express;

namespace {

// Branch-free: elements where the mask is not set are written back unchanged.
template <class T>
void take_where(int64_t n, T* to, const uint8_t* mask, const T* from, int64_t count) {
  int64_t next = 0;
  for (int64_t i = 0; i < n && next < count; ++i) {
    T value = mask[i] ? from[next] : to[i];
    to[i] = value;
    next += mask[i] != 0;
  }
}

void scatter_where(const Tensor& self, const uint8_t* mask, const Tensor& values) {
  int64_t n = self.numel(), count = values.numel();
  switch (self.itemsize()) {
    case 1: return take_where(n, self.data<uint8_t>(), mask, values.data<uint8_t>(), count);
    case 2: return take_where(n, self.data<uint16_t>(), mask, values.data<uint16_t>(), count);
    case 4: return take_where(n, self.data<uint32_t>(), mask, values.data<uint32_t>(), count);
    case 8: return take_where(n, self.data<uint64_t>(), mask, values.data<uint64_t>(), count);
    default: {
      using Wide = std::complex<double>;
      return take_where(n, self.data<Wide>(), mask, values.data<Wide>(), count);
    }
  }
}

// Writes the elements of source, in order, where the mask is set.
void masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  SL_CHECK(self.dtype() == source.dtype(),
           "masked_scatter: expected self and source to have same "
           "dtypes but got ",
           dtype_display_name(self.dtype()), " and ", dtype_display_name(source.dtype()));
  SL_CHECK(mask.dtype() == ScalarType::Bool,
           "masked_scatter_ only supports boolean masks, but got "
           "mask with dtype ",
           dtype_display_name(mask.dtype()));
  Tensor wide = to_contiguous(view_expand(mask, self.sizes()));
  int64_t count =
      kernels::kernels().lines->count_row(wide.numel(), static_cast<const uint8_t*>(wide.raw()));
  SL_CHECK(count <= source.numel(), "Number of elements of source < number of ones in mask");
  Tensor values = view_narrow(reshape(to_contiguous(source), {source.numel()}), 0, 0, count);
  check_writable(self);
  if (self.is_contiguous() && self.storage() != values.storage()) {
    return scatter_where(self, static_cast<const uint8_t*>(wide.raw()), values);
  }
  if (self.dim() == 0) {
    if (count > 0) copy_into(self, view_select(values, 0, 0));
    return;
  }
  index_put(self, {wide}, values, false);
}

}  // namespace

std::vector<Tensor> clamped_indices(const Tensor& self, std::vector<Tensor> indices) {
  for (size_t d = 0; d < indices.size() && int64_t(d) < self.dim(); ++d) {
    if (!indices[d].defined()) continue;
    const double size = double(self.size(int64_t(d)));
    double range[2] = {-size, std::max(0.0, size - 1)};
    indices[d] = unary_result(indices[d], Unary::k_clamp, "clamp", Rule::kSame, range);
  }
  return indices;
}

SL_OP(aten_masked_scatter) {
  std::vector<int64_t> shape = broadcast_shapes(args.tensor(0).sizes(), args.tensor(1).sizes());
  Tensor copy = Tensor::empty(shape, args.tensor(0).dtype());
  copy_into(copy, args.tensor(0));
  masked_scatter(copy, args.tensor(1), args.tensor(2));
  out[0] = copy;
}
SL_OP(aten_masked_scatter_) {
  masked_scatter(args.tensor(0), args.tensor(1), args.tensor(2));
  out[0] = args.tensor(0);
}
SL_OP(aten__unsafe_masked_index) {
  const Tensor& self = args.tensor(0);
  const std::vector<Tensor> given = args.opt_tensors(2);
  if (given.empty()) raise(ErrorKind::IndexError, "at least one index must be provided");
  std::vector<Tensor> indices = clamped_indices(self, given);
  if (self.numel() == 0) {
    out[0] = full(args.tensor(1).sizes(), self.dtype(), args.scalar(3));
    return;
  }
  out[0] = where_result(args.tensor(1), index_tensor(self, indices), args.scalar(3), self.dtype());
}
SL_OP(aten_nonzero_static) {
  Tensor found = nonzero(args.tensor(0));
  int64_t size = args.integer(1);
  SL_CHECK(size >= 0, "nonzero_static: 'size' must be an non-negative integer");
  Tensor result = full({size, found.size(1)}, ScalarType::Int64, Scalar(args.integer(2)));
  int64_t kept = std::min(size, found.size(0));
  if (kept > 0) copy_into(view_narrow(result, 0, 0, kept), view_narrow(found, 0, 0, kept));
  out[0] = result;
}

}  // namespace scriptlang
