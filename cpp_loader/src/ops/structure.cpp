// Operators that rearrange: diagonals, scatters into views, shuffles, splits, comparisons of
// whole tensors.
#include <algorithm>
#include <numeric>
#include <cmath>
#include <cstring>
#include <limits>

#include "options.h"
#include "scratch.h"
#include "express.h"
#include "index.h"
#include "join.h"
#include "layout.h"
#include "strided.h"
#include "values/exact.h"
#include "values/raw_view.h"

namespace scriptlang {

using namespace express;

namespace {

Tensor scattered(const Tensor& self, const Tensor& view_of_copy, const Tensor& copy,
                 const Tensor& src) {
  SL_CHECK(view_of_copy.sizes() == src.sizes(),
           "expected src to have a size equal to the slice of "
           "self. src size = ",
           to_string(src.sizes()), ", slice size = ", to_string(view_of_copy.sizes()),
           ", self size = ", to_string(self.sizes()));
  copy_into(view_of_copy, src);
  return copy;
}

Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  int64_t n = self.dim() + 1;
  dim1 = wrap_dim(dim1, n);
  dim2 = wrap_dim(dim2, n);
  SL_CHECK(self.dim() > 0 && dim1 != dim2, "diagonal dimensions cannot be identical ", dim1, ", ",
           dim2);
  int64_t length = self.size(self.dim() - 1);
  constexpr int64_t kLimit = int64_t{1} << 31;
  SL_CHECK(offset > -kLimit && offset < kLimit, "diag_embed: offset ", offset, " is too large");
  int64_t side = Exact(length) + std::abs(offset);
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
  // `out` has elements, so this is one of its places.
  int64_t start = offset >= 0 ? offset * out.stride(dim2) : -offset * out.stride(dim1);
  if (length > 0) copy_into(out.as_strided(shape, strides, start), self);
  return out;
}

// The elements of a diagonal, as a view; what lies outside the matrix is left away.
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

Tensor copy_of(const Tensor& t) {
  Tensor copy = Tensor::empty(t.sizes(), t.dtype());
  copy_into(copy, t);
  return copy;
}

Tensor diag(const Tensor& self, int64_t offset) {
  SL_CHECK(self.dim() == 1 || self.dim() == 2, "diag(): Supports 1D or 2D tensors. Got ",
           self.dim(), "D");
  return self.dim() == 1 ? diag_embed(self, offset, 0, 1)
                         : copy_of(diagonal_view(self, offset, 0, 1));
}

// [.., channels, h, w]: r x r neighbouring pixels from r * r channels, and back.
Tensor pixel_shuffle(const Tensor& self, int64_t r) {
  SL_CHECK(self.dim() >= 3,
           "pixel_shuffle expects input to have at least 3 dimensions, but got "
           "input with ",
           self.dim(), " dimension(s)");
  SL_CHECK(r > 0, "pixel_shuffle expects a positive upscale_factor, but got ", r);
  if (r > 3037000499) {  // the square root of 2^63
    raise(ErrorKind::ValueError,
          "upscale factor is too large, (upscale_factor)^2 overflowed: "
          "upscale_factor=",
          r);
  }
  int64_t n = self.dim() - 3, channels = self.size(n), h = self.size(n + 1), w = self.size(n + 2);
  SL_CHECK(channels % (r * r) == 0,
           "pixel_shuffle expects its input's 'channel' dimension to be "
           "divisible by the square of upscale_factor, but input.size(-3)=",
           channels, " is not divisible by ", r * r);
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end() - 3), order;
  std::vector<int64_t> result = sizes;
  for (int64_t d = 0; d < n; ++d) order.push_back(d);
  sizes.insert(sizes.end(), {channels / (r * r), r, r, h, w});
  for (int64_t d : {0, 3, 1, 4, 2}) order.push_back(n + d);
  result.insert(result.end(), {channels / (r * r), h * r, w * r});
  Tensor moved = copy_of(view_permute(reshape(self, sizes), order));
  return in_format_of(reshape(moved, result), self);
}

Tensor pixel_unshuffle(const Tensor& self, int64_t r) {
  SL_CHECK(self.dim() >= 3,
           "pixel_unshuffle expects input to have at least 3 dimensions, but got "
           "input with ",
           self.dim(), " dimension(s)");
  SL_CHECK(r > 0 && r < (1 << 20), "pixel_unshuffle expects a positive downscale_factor, but got ",
           r);
  int64_t n = self.dim() - 3, channels = self.size(n), h = self.size(n + 1), w = self.size(n + 2);
  SL_CHECK(h % r == 0 && w % r == 0,
           "pixel_unshuffle expects height and width to be divisible by "
           "downscale_factor, but input.size(-2)=",
           h, " and input.size(-1)=", w, " are not divisible by ", r);
  if (self.numel() == 0) return copy_of(self);  // PyTorch leaves its shape
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end() - 3), order;
  std::vector<int64_t> result = sizes;
  for (int64_t d = 0; d < n; ++d) order.push_back(d);
  sizes.insert(sizes.end(), {channels, h / r, r, w / r, r});
  for (int64_t d : {0, 2, 4, 1, 3}) order.push_back(n + d);
  result.insert(result.end(), {channels * r * r, h / r, w / r});
  Tensor moved = copy_of(view_permute(reshape(self, sizes), order));
  return in_format_of(reshape(moved, result), self);
}

Tensor channel_shuffle(const Tensor& self, int64_t groups) {
  SL_CHECK(self.dim() > 2, "channel_shuffle expects input with > 2 dims, but got input with sizes ",
           to_string(self.sizes()));
  int64_t channels = self.size(1);
  SL_CHECK(groups > 0 && channels % groups == 0,
           "Number of groups to divide channels in must be "
           "positive and divide the channels, got groups: ",
           groups, ", channels: ", channels);
  std::vector<int64_t> sizes(self.sizes().begin(), self.sizes().end());
  std::vector<int64_t> split{sizes[0], groups, channels / groups};
  split.insert(split.end(), sizes.begin() + 2, sizes.end());
  return in_format_of(reshape(copy_of(view_transpose(reshape(self, split), 1, 2)), sizes), self);
}

Tensor glu(const Tensor& self, int64_t dim) {
  if (!is_floating(self.dtype()) && !is_complex(self.dtype())) {
    raise(ErrorKind::NotImplementedError, "\"glu_cpu\" not implemented for '",
          dtype_display_name(self.dtype()), "'");
  }
  SL_CHECK(self.dim() > 0, "glu does not support 0-dimensional tensors");
  dim = wrap_dim(dim, self.dim());
  int64_t size = self.size(dim);
  SL_CHECK(size % 2 == 0, "Halving dimension must be even, but dimension ", dim, " is size ", size);
  return mul(view_narrow(self, dim, 0, size / 2),
             sigmoid(view_narrow(self, dim, size / 2, size / 2)));
}

bool equal_elements(const Tensor& a, const Tensor& b) {
  if (a.sizes() != b.sizes()) return false;
  auto all_equal = [](const Tensor& x, const Tensor& y) {
    Tensor same = contiguous_as(eq(x, y), ScalarType::Bool);
    const bool* flags = same.data<bool>();
    return std::all_of(flags, flags + same.numel(), [](bool f) { return f; });
  };
  // Piece by piece, so that tensors that differ are soon done with.
  constexpr int64_t kPiece = 4096;
  if (a.numel() <= kPiece || !a.is_contiguous() || !b.is_contiguous()) return all_equal(a, b);
  Tensor x = reshape(a, {a.numel()}), y = reshape(b, {b.numel()});
  for (int64_t at = 0, n = kPiece; at < x.numel(); at += n, n *= 4) {
    n = std::min(n, x.numel() - at);
    if (!all_equal(view_narrow(x, 0, at, n), view_narrow(y, 0, at, n))) return false;
  }
  return true;
}

Tensor isclose(const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
  SL_CHECK(a.dtype() == b.dtype(), dtype_display_name(a.dtype()), " did not match ",
           dtype_display_name(b.dtype()));
  SL_CHECK(rtol >= 0, "rtol must be greater than or equal to zero, but got ", rtol);
  SL_CHECK(atol >= 0, "atol must be greater than or equal to zero, but got ", atol);
  Tensor close = eq(a, b);
  if (is_integral(a.dtype(), true) && rtol == 0 && atol == 0) return close;
  bool floats = is_floating(a.dtype()) || is_complex(a.dtype());
  if (equal_nan && floats) close = logical_or(close, logical_and(isnan(a), isnan(b)));
  ScalarType wide = floats ? a.dtype() : ScalarType::Float32;
  Tensor x = to_dtype(a, wide), y = to_dtype(b, wide);
  Tensor allowed = add(abs(mul(y, Scalar(rtol))), Scalar(atol));
  Tensor error = abs(sub(x, y));
  return logical_or(close, logical_and(isfinite(error), le(error, allowed)));
}

std::vector<Tensor> split_named(Args args, const char* name, int64_t least, int64_t dim) {
  const Tensor& self = args.tensor(0);
  SL_CHECK(self.dim() >= least, "torch.", name, " requires a tensor with at least ", least,
           " dimension, but got a tensor with ", self.dim(), " dimensions!");
  std::vector<Tensor> parts;
  int64_t size = self.size(dim);
  if (args[1].is_int()) {
    int64_t sections = args.integer(1);
    SL_CHECK(sections > 0 && size % sections == 0 && sections <= 1 << 24, "torch.", name,
             " attempted to split along dimension ", dim, ", but the size of the dimension ", size,
             " is not divisible by the split_size ", sections, "!");
    for (int64_t i = 0; i < sections; ++i) {
      parts.push_back(view_narrow(self, dim, i * (size / sections), size / sections));
    }
    return parts;
  }
  int64_t start = 0;
  for (int64_t end : args.ints(1)) {
    parts.push_back(view_slice(self, dim, start, end));
    start = end;
  }
  parts.push_back(view_slice(self, dim, start, size));
  return parts;
}

// Indices of a triangle of a rows x columns matrix, as [2][count].
Tensor triangle_indices(Args args, bool lower) {
  int64_t rows = args.integer(0), columns = args.integer(1), offset = args.integer(2);
  SL_CHECK(rows >= 0 && columns >= 0, "row and col must be non-negative, got ", rows, ", ",
           columns);
  if (rows == 0 || columns == 0) rows = columns = 0;
  constexpr int64_t kLimit = int64_t{1} << 40;
  // What lies beyond the triangle may be as large as it likes.
  const __int128 reach = lower ? __int128(rows) + offset : __int128(columns) - offset;
  int64_t& bounded = lower ? columns : rows;
  bounded = int64_t(std::clamp<__int128>(reach, 0, bounded));
  if (bounded == 0) rows = columns = 0;
  SL_CHECK(rows < kLimit && columns < kLimit, "a matrix of ", rows, " x ", columns,
           " has too many indices");
  offset = std::clamp(offset, -rows - 1, columns + 1);
  want_strided_on_cpu(args, 4);
  auto edge = [&](int64_t r) { return std::clamp<int64_t>(r + offset + lower, 0, columns); };
  // Rows [top, bottom) have a part on both sides of the edge; above and below them a row is
  // wholly in or wholly out.
  int64_t top = std::clamp<int64_t>(-offset - lower, 0, rows);
  int64_t bottom = std::clamp<int64_t>(columns - offset - lower, top, rows);
  __int128 below = 0;  // elements left of the edge
  if (bottom > top) below += __int128(edge(top) + edge(bottom - 1)) * (bottom - top) / 2;
  below += __int128(rows - bottom) * columns;
  __int128 wanted = lower ? below : __int128(rows) * columns - below;
  SL_CHECK(wanted < kLimit, "a matrix of ", rows, " x ", columns, " has too many indices");
  int64_t count = int64_t(wanted);
  Tensor out = Tensor::empty({2, count}, ScalarType::Int64);
  int64_t *row = out.data<int64_t>(), *column = row + count;
  for (int64_t r = lower ? top : 0; r < (lower ? rows : bottom) && count > 0; ++r) {
    const int64_t first = lower ? 0 : edge(r), length = (lower ? edge(r) : columns) - first;
    row = std::fill_n(row, length, r);
    std::iota(column, column + length, first);
    column += length;
  }
  return to_dtype(out, args.dtype(3, ScalarType::Int64));
}

// Lets a dense tensor lie in a memory format; kPreserve: in the order of `model`.
void relay(const Tensor& self, const Tensor& model, int64_t format) {
  int64_t strides[kMaxDims], n = self.dim();
  SL_CHECK(format >= 0 && format <= kChannelsLast3d, "there is no memory format ", format);
  SL_CHECK(format < kChannelsLast || n == format + 2, "required rank ", format + 2,
           " tensor to use channels_last", format == kChannelsLast ? "" : "_3d", " format");
  if (format == kPreserve) model.like_strides(strides);
  else format_strides(self.sizes(), format, strides);
  lay(self, {strides, n});
}

Tensor from_parts(const Tensor& real, const Tensor& imag) {
  SL_CHECK(real.dtype() == imag.dtype() && is_floating(real.dtype()) &&
               real.dtype() != ScalarType::BFloat16,
           "Expected both inputs to be Half, Float or Double tensors but got ",
           dtype_display_name(real.dtype()), " and ", dtype_display_name(imag.dtype()));
  std::vector<int64_t> shape = broadcast_shapes(real.sizes(), imag.sizes());
  Tensor out = Tensor::empty(shape, complex_of(real.dtype()));
  StridedPlan plan;
  plan.begin(3);
  for (const Tensor* t : {&real, &imag}) plan.broadcast(t->sizes());
  plan.set_operand(1, real.sizes(), real.strides(), real.itemsize());
  plan.set_operand(2, imag.sizes(), imag.strides(), imag.itemsize());
  int64_t lies[kMaxDims];
  plan.result_strides(lies);
  lay(out, {lies, out.dim()});
  std::vector<int64_t> strides;
  for (int64_t s : out.strides()) strides.push_back(2 * s);
  for (int64_t part = 0; part < 2; ++part) {
    Tensor view = Tensor::on_storage(out.storage(), to_real(out.dtype()), shape, strides, part);
    copy_into(view, view_expand(part ? imag : real, shape));
  }
  return out;
}

}  // namespace

SL_OP(aten_broadcast_tensors) {
  std::vector<Tensor> tensors = args.tensors(0);
  std::vector<int64_t> shape;
  for (const Tensor& t : tensors) shape = broadcast_shapes(shape, t.sizes());
  for (Tensor& t : tensors) t = view_expand(t, shape);
  out[0] = tensor_list(std::move(tensors));
}
SL_OP(aten_equal) { out[0] = equal_elements(args.tensor(0), args.tensor(1)); }
SL_OP(aten_isclose) {
  out[0] = isclose(args.tensor(0), args.tensor(1), args.number(2), args.number(3), args.boolean(4));
}
SL_OP(aten_allclose) {
  Tensor close =
      isclose(args.tensor(0), args.tensor(1), args.number(2), args.number(3), args.boolean(4));
  close = contiguous_as(close, ScalarType::Bool);
  const bool* flags = close.data<bool>();
  out[0] = std::all_of(flags, flags + close.numel(), [](bool f) { return f; });
}
SL_OP(aten_positive) {
  SL_CHECK(args.tensor(0).dtype() != ScalarType::Bool,
           "The `+` operator, on a bool tensor is not supported.");
  out[0] = args.tensor(0);
}
SL_OP(aten_isreal) {
  const Tensor& self = args.tensor(0);
  if (!is_complex(self.dtype())) {
    Tensor all = Tensor::empty_like(self, ScalarType::Bool);
    fill(all, Scalar(true));
    out[0] = all;
    return;
  }
  out[0] = eq(self, conj(self));
}
// Values are stored as they are: there is no lazy conjugate.
SL_OP(aten_resolve_conj) { out[0] = args.tensor(0); }
SL_OP(aten_resolve_neg) { out[0] = args.tensor(0); }
SL_OP(aten_conj) {
  const Tensor& self = args.tensor(0);
  out[0] = is_complex(self.dtype()) ? conj(self) : self;
}
SL_OP(aten__conj) { op_aten_conj(ctx, args, out); }
SL_OP(aten_conj_physical) { op_aten_conj(ctx, args, out); }
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
SL_OP(aten_angle) {
  Tensor angles = unary_result(args.tensor(0), Unary::k_angle, "angle", Rule::kFloat);
  out[0] = is_complex(args.tensor(0).dtype()) ? to_contiguous(angles) : angles;
}
SL_OP(aten_complex) { out[0] = from_parts(args.tensor(0), args.tensor(1)); }
SL_OP(aten_polar) {
  const Tensor& size = args.tensor(0);
  const Tensor& angle = args.tensor(1);
  SL_CHECK(size.dtype() == angle.dtype() && is_floating(size.dtype()),
           "Expected both inputs to be Half, Float or Double tensors but got ",
           dtype_display_name(size.dtype()), " and ", dtype_display_name(angle.dtype()));
  out[0] = from_parts(mul(size, cos(angle)), mul(size, sin(angle)));
}

SL_OP(aten_fill_diagonal_) {
  const Tensor& self = args.tensor(0);
  SL_CHECK(self.dim() >= 2, "dimensions must larger than 1");
  int64_t step = 0, size = self.size(0), height = self.size(0), width = self.size(1);
  for (int64_t d = 0; d < self.dim(); ++d) {
    SL_CHECK(self.dim() == 2 || self.size(d) == height,
             "all dimensions of input must be of equal length");
    step += self.stride(d);
    size = std::min(size, self.size(d));
  }
  Scalar value = args.scalar(1);
  check_fits(value, self.dtype());
  int64_t start = self.storage_offset();
  if (size > 0) fill(self.as_strided({size}, {step}, start), value);
  if (args.boolean(2) && self.dim() == 2 && height > width + 1) {  // starts again below
    int64_t count = (self.numel() + width) / (width + 1) - size;
    fill(self.as_strided({count}, {step}, start + self.stride(0) * (width + 1)), value);
  }
  out[0] = self;
}
SL_OP(aten_select_scatter) {
  Tensor copy = clone_as_it_lies(args.tensor(0));
  out[0] = scattered(args.tensor(0), view_select(copy, args.integer(2), args.integer(3)), copy,
                     args.tensor(1));
}
SL_OP(aten_slice_scatter) {
  Tensor copy = clone_as_it_lies(args.tensor(0));
  Tensor view = view_slice(copy, args.integer(2), args.integer(3, 0),
                           args.integer(4, std::numeric_limits<int64_t>::max()), args.integer(5));
  out[0] = scattered(args.tensor(0), view, copy, args.tensor(1));
}
SL_OP(aten_diagonal_scatter) {
  Tensor copy = clone_as_it_lies(args.tensor(0));
  Tensor view = diagonal_view(copy, args.integer(2), args.integer(3), args.integer(4));
  out[0] = scattered(args.tensor(0), view, copy, args.tensor(1));
}
SL_OP(aten_diag) { out[0] = diag(args.tensor(0), args.integer(1)); }
SL_OP(aten_diagflat) { out[0] = diag_embed(reshape(args.tensor(0), {-1}), args.integer(1), 0, 1); }
SL_OP(aten_diag_embed) {
  out[0] = diag_embed(args.tensor(0), args.integer(1), args.integer(2), args.integer(3));
}
SL_OP(aten_linalg_diagonal) {
  out[0] = diagonal_view(args.tensor(0), args.integer(1), args.integer(2), args.integer(3));
}
SL_OP(aten_expand_copy) { out[0] = copy_of(view_expand(args.tensor(0), args.ints(1))); }
SL_OP(aten_view_copy) { out[0] = copy_of(reshape(args.tensor(0), args.ints(1))); }
SL_OP(aten_pixel_shuffle) { out[0] = pixel_shuffle(args.tensor(0), args.integer(1)); }
SL_OP(aten_pixel_unshuffle) { out[0] = pixel_unshuffle(args.tensor(0), args.integer(1)); }
SL_OP(aten_channel_shuffle) { out[0] = channel_shuffle(args.tensor(0), args.integer(1)); }
SL_OP(aten_native_channel_shuffle) { op_aten_channel_shuffle(ctx, args, out); }
SL_OP(aten_glu) { out[0] = glu(args.tensor(0), args.integer(1)); }
SL_OP(aten_hsplit_int) {
  bool vector = args.tensor(0).dim() == 1;
  out[0] = tensor_list(split_named(args, "hsplit", 1, vector ? 0 : 1));
}
SL_OP(aten_hsplit_array) { op_aten_hsplit_int(ctx, args, out); }
SL_OP(aten_vsplit_int) { out[0] = tensor_list(split_named(args, "vsplit", 2, 0)); }
SL_OP(aten_vsplit_array) { out[0] = tensor_list(split_named(args, "vsplit", 2, 0)); }
SL_OP(aten_dsplit_int) { out[0] = tensor_list(split_named(args, "dsplit", 3, 2)); }
SL_OP(aten_dsplit_array) { out[0] = tensor_list(split_named(args, "dsplit", 3, 2)); }
SL_OP(aten_column_stack) {
  std::vector<Tensor> tensors = args.tensors(0);
  for (Tensor& t : tensors) {
    if (t.dim() <= 1) t = reshape(t, {t.numel(), 1});
  }
  out[0] = cat(tensors, 1);
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
SL_OP(aten_tril_indices) { out[0] = triangle_indices(args, true); }
SL_OP(aten_triu_indices) { out[0] = triangle_indices(args, false); }
SL_OP(aten_empty_strided) {
  Ints sizes = args.ints(0), strides = args.ints(1);
  want_strided_on_cpu(args, 3);
  SL_CHECK(sizes.size() == strides.size(), "dimensionality of sizes (", sizes.size(),
           ") must match dimensionality of strides (", strides.size(), ")");
  int64_t extent = 1;
  for (int64_t i = 0; i < sizes.size(); ++i) {
    int64_t reach;
    SL_CHECK(strides[i] >= 0 && sizes[i] >= 0,
             "empty_strided: sizes and strides must not be negative");
    SL_CHECK(!__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) &&
                 !__builtin_add_overflow(extent, std::max<int64_t>(reach, 0), &extent),
             "empty_strided: sizes and strides are too large");
  }
  Tensor t =
      Tensor::empty({checked_numel(sizes) == 0 ? 0 : extent}, args.dtype(2, ScalarType::Float32));
  out[0] = unwritten(t).as_strided(sizes, strides, 0);
}
SL_OP(aten_new_empty_strided) {
  Value dtype = args.none(3) ? Value(int64_t(args.tensor(0).dtype())) : args[3];
  Value values[6] = {args[1], args[2], dtype, args[4], args[5], args[6]};
  op_aten_empty_strided(ctx, Args(values, 6), out);
}
SL_OP(aten_resize_) {
  const Tensor& self = args.tensor(0);
  resize(self, args.ints(1));
  if (!args.none(2)) relay(self, self, args.integer(2));
  out[0] = self;
}
SL_OP(aten_resize_as_) {
  const Tensor &self = args.tensor(0), &model = args.tensor(1);
  resize(self, model.sizes());
  if (!args.none(2)) relay(self, model, args.integer(2));
  out[0] = self;
}
SL_OP(aten_kron) {
  const Tensor& a = args.tensor(0);
  const Tensor& b = args.tensor(1);
  int64_t n = std::max(a.dim(), b.dim());
  std::vector<int64_t> left, right, result;
  for (int64_t d = 0; d < n; ++d) {
    int64_t x = d < n - a.dim() ? 1 : a.size(d - (n - a.dim()));
    int64_t y = d < n - b.dim() ? 1 : b.size(d - (n - b.dim()));
    left.insert(left.end(), {x, 1});
    right.insert(right.end(), {1, y});
    result.push_back(x * y);
  }
  SL_CHECK(2 * n <= kMaxDims, "kron: too many dimensions");
  out[0] = reshape(mul(reshape(a, left), reshape(b, right)), result);
}
SL_OP(aten_diff) {
  Tensor t = args.tensor(0);
  int64_t n = args.integer(1), dim = wrap_dim(args.integer(2), t.dim());
  SL_CHECK(t.dim() >= 1, "diff expects input to be at least one-dimensional");
  SL_CHECK(n >= 0, "order must be non-negative but got ", n);
  if (n == 0) {
    out[0] = clone(t);
    return;
  }
  std::vector<Tensor> parts;
  if (args.opt_tensor(3).defined()) parts.push_back(args.tensor(3));
  parts.push_back(t);
  if (args.opt_tensor(4).defined()) parts.push_back(args.tensor(4));
  if (parts.size() > 1) t = cat(parts, dim);
  for (int64_t i = 0; i < n && t.size(dim) > 0; ++i) {
    int64_t size = t.size(dim);
    Tensor next = view_slice(t, dim, 1, size), here = view_slice(t, dim, 0, size - 1);
    t = t.dtype() == ScalarType::Bool ? ne(next, here) : sub(next, here);
  }
  out[0] = t;
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
