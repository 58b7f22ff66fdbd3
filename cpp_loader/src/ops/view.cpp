#include "view.h"

#include <algorithm>
#include <limits>

#include "pointwise.h"

namespace scriptlang {

namespace {

// A copy of the geometry that a view changes.
struct Geometry {
  std::vector<int64_t> sizes, strides;
  int64_t offset;
  explicit Geometry(const Tensor& t)
      : sizes(t.sizes().begin(), t.sizes().end()),
        strides(t.strides().begin(), t.strides().end()),
        offset(t.storage_offset()) {}
  Tensor of(const Tensor& t) const { return t.as_strided(sizes, strides, offset); }
};

void check_dims(int64_t ndim) {
  SL_CHECK(ndim <= kMaxDims, "tensors with more than ", kMaxDims, " dimensions are not supported");
}

}  // namespace

Tensor view_select(const Tensor& t, int64_t dim, int64_t index) {
  if (t.dim() == 0) {
    raise(ErrorKind::IndexError, "select() cannot be applied to a 0-dim tensor.");
  }
  dim = wrap_dim(dim, t.dim());
  int64_t size = t.size(dim);
  if (index < -size || index >= size) {
    raise(ErrorKind::IndexError, "select(): index ", index, " out of range for tensor of size ",
          to_string(t.sizes()), " at dimension ", dim);
  }
  if (index < 0) index += size;
  int64_t sizes[kMaxDims], strides[kMaxDims];
  int64_t n = 0;
  for (int64_t i = 0; i < t.dim(); ++i) {
    if (i == dim) continue;
    sizes[n] = t.size(i);
    strides[n++] = t.stride(i);
  }
  return t.as_strided({sizes, n}, {strides, n}, t.storage_offset() + index * t.stride(dim));
}

namespace {

// Sizes and strides to be changed: of few dimensions all places at once, which is no call.
inline void copy_geometry(const Tensor& t, int64_t* sizes, int64_t* strides) {
  if (__builtin_expect(t.dim() <= kInlineDims, 1)) {
    std::memcpy(sizes, t.sizes().data, kInlineDims * sizeof(int64_t));
    std::memcpy(strides, t.strides().data, kInlineDims * sizeof(int64_t));
  } else {
    std::copy_n(t.sizes().data, t.dim(), sizes);
    std::copy_n(t.strides().data, t.dim(), strides);
  }
}

}  // namespace

Tensor view_slice(const Tensor& t, int64_t dim, int64_t start, int64_t end, int64_t step) {
  SL_CHECK(t.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
  dim = wrap_dim(dim, t.dim());
  SL_CHECK(step > 0, "slice step must be positive");
  int64_t size = t.size(dim);
  if (start < 0) start += size;
  if (end < 0) end += size;
  start = std::clamp<int64_t>(start, 0, size);
  end = std::clamp<int64_t>(end, start, size);
  int64_t sizes[kMaxDims], strides[kMaxDims];
  copy_geometry(t, sizes, strides);
  int64_t length = end - start;
  sizes[dim] = length / step + (length % step != 0);
  // Where there are no elements, or one, offset and stride are never used, and huge sizes or steps
  // may take them out of any range that later arithmetic could bear.
  constexpr int64_t kLimit = int64_t{1} << 55;
  int64_t moved;
  if (__builtin_mul_overflow(start, strides[dim], &moved) || moved > kLimit) moved = 0;
  int64_t offset = t.storage_offset() + moved;
  if (__builtin_mul_overflow(strides[dim], step, &strides[dim]) || strides[dim] > kLimit) {
    strides[dim] = 0;
  }
  return t.as_strided({sizes, t.dim()}, {strides, t.dim()}, offset);
}

Tensor view_narrow(const Tensor& t, int64_t dim, int64_t start, int64_t length) {
  SL_CHECK(t.dim() > 0, "narrow() cannot be applied to a 0-dim tensor.");
  SL_CHECK(length >= 0, "narrow(): length must be non-negative.");
  dim = wrap_dim(dim, t.dim());
  int64_t size = t.size(dim);
  if (start < -size || start > size) {
    raise(ErrorKind::IndexError, "start out of range (expected to be in range of [", -size, ", ",
          size, "], but got ", start, ")");
  }
  if (start < 0) start += size;
  SL_CHECK(length <= size - start, "start (", start, ") + length (", length,
           ") exceeds dimension size (", size, ").");
  return view_slice(t, dim, start, start + length);
}

Tensor view_transpose(const Tensor& t, int64_t dim0, int64_t dim1) {
  dim0 = wrap_dim(dim0, t.dim());
  dim1 = wrap_dim(dim1, t.dim());
  int64_t sizes[kMaxDims], strides[kMaxDims];
  copy_geometry(t, sizes, strides);
  if (t.dim() > 0) {
    std::swap(sizes[dim0], sizes[dim1]);
    std::swap(strides[dim0], strides[dim1]);
  }
  return t.as_strided({sizes, t.dim()}, {strides, t.dim()}, t.storage_offset());
}

Tensor view_permute(const Tensor& t, IntSpan dims) {
  SL_CHECK(dims.size == t.dim(), "permute(sparse_coo): number of dimensions in the tensor input "
           "does not match the length of the desired ordering of dimensions i.e. input.dim() = ",
           t.dim(), " is not equal to len(dims) = ", dims.size);
  int64_t sizes[kMaxDims], strides[kMaxDims];
  bool seen[kMaxDims] = {};
  for (int64_t i = 0; i < dims.size; ++i) {
    int64_t d = wrap_dim(dims[i], t.dim());
    SL_CHECK(!seen[d], "permute(): duplicate dims are not allowed.");
    seen[d] = true;
    sizes[i] = t.size(d);
    strides[i] = t.stride(d);
  }
  return t.as_strided({sizes, dims.size}, {strides, dims.size}, t.storage_offset());
}

Tensor view_unsqueeze(const Tensor& t, int64_t dim) {
  dim = wrap_dim(dim, t.dim() + 1);
  check_dims(t.dim() + 1);
  int64_t sizes[kMaxDims], strides[kMaxDims];
  for (int64_t i = 0, from = 0; i <= t.dim(); ++i) {
    if (i == dim) {
      sizes[i] = 1;
      strides[i] = i < t.dim() ? t.size(i) * t.stride(i) : 1;
    } else {
      sizes[i] = t.size(from);
      strides[i] = t.stride(from++);
    }
  }
  return t.as_strided({sizes, t.dim() + 1}, {strides, t.dim() + 1}, t.storage_offset());
}

namespace {

template <class Drop>
Tensor squeeze_where(const Tensor& t, Drop drop) {
  int64_t sizes[kMaxDims], strides[kMaxDims];
  int64_t n = 0;
  for (int64_t i = 0; i < t.dim(); ++i) {
    if (t.size(i) == 1 && drop(i)) continue;
    sizes[n] = t.size(i);
    strides[n++] = t.stride(i);
  }
  return t.as_strided({sizes, n}, {strides, n}, t.storage_offset());
}

}  // namespace

Tensor view_squeeze(const Tensor& t) {
  return squeeze_where(t, [](int64_t) { return true; });
}

Tensor view_squeeze(const Tensor& t, IntSpan dims) {
  bool wanted[kMaxDims] = {};
  for (int64_t d : dims) wanted[wrap_dim(d, t.dim())] = true;
  return squeeze_where(t, [&](int64_t i) { return wanted[i]; });
}

Tensor view_expand(const Tensor& t, IntSpan wanted) {
  SL_CHECK(wanted.size >= t.dim(), "expand(", dtype_display_name(t.dtype()), "Tensor{",
           to_string(t.sizes()), "}, size=", to_string(wanted), "): the number of sizes provided (",
           wanted.size, ") must be greater or equal to the number of dimensions in the tensor (",
           t.dim(), ")");
  check_dims(wanted.size);
  int64_t sizes[kMaxDims], strides[kMaxDims];
  int64_t shift = wanted.size - t.dim();
  for (int64_t i = wanted.size - 1; i >= 0; --i) {
    bool has = i >= shift;
    int64_t size = has ? t.size(i - shift) : 1, target = wanted[i];
    if (target == -1) {
      SL_CHECK(has, "The expanded size of the tensor (", target,
               ") isn't allowed in a leading, non-existing dimension ", i);
      target = size;
    }
    SL_CHECK(target >= 0, "The expanded size of the tensor (", target,
             ") isn't allowed in a leading, non-existing dimension ", i);
    strides[i] = has                   ? t.stride(i - shift)
                 : i == wanted.size - 1 ? 1
                                        : sizes[i + 1] * strides[i + 1];
    if (size != target) {
      SL_CHECK(size == 1, "The expanded size of the tensor (", target,
               ") must match the existing size (", size, ") at non-singleton dimension ", i,
               ".  Target sizes: ", to_string(wanted), ".  Tensor sizes: ", to_string(t.sizes()));
      strides[i] = 0;
    }
    sizes[i] = target;
  }
  checked_numel({sizes, wanted.size});
  return t.as_strided({sizes, wanted.size}, {strides, wanted.size}, t.storage_offset());
}

std::vector<int64_t> infer_sizes(IntSpan sizes, int64_t numel) {
  std::vector<int64_t> result(sizes.begin(), sizes.end());
  int64_t known = 1, unknown = -1;
  bool fits = true;
  for (int64_t i = 0; i < sizes.size; ++i) {
    if (sizes[i] == -1) {
      SL_CHECK(unknown < 0, "only one dimension can be inferred");
      unknown = i;
    } else {
      SL_CHECK(sizes[i] >= 0, "invalid shape dimension ", sizes[i], " at index ", i, " of shape ",
               to_string(sizes));
      fits = fits && !__builtin_mul_overflow(known, sizes[i], &known);
    }
  }
  if (fits && unknown >= 0 && known > 0 && numel % known == 0) {
    result[size_t(unknown)] = numel / known;
    return result;
  }
  SL_CHECK(!(fits && unknown >= 0 && known == 0 && numel == 0),
           "cannot reshape tensor of 0 elements into shape ", to_string(sizes),
           " because the unspecified dimension size -1 can be any value and is ambiguous");
  SL_CHECK(fits && unknown < 0 && known == numel, "shape '", to_string(sizes),
           "' is invalid for input of size ", numel);
  return result;
}

// Groups of old dimensions that lie evenly are cut into new ones, from the last.
bool view_strides(const Tensor& t, IntSpan sizes, int64_t* strides) {
  if (t.is_contiguous() || t.numel() == 0) {
    int64_t next = 1;
    for (int64_t i = sizes.size - 1; i >= 0; --i) {
      strides[i] = next;
      // Of a tensor without elements the sizes may be such that this overflows: it wraps.
      next = int64_t(uint64_t(next) * uint64_t(std::max<int64_t>(sizes[i], 1)));
    }
    return true;
  }
  int64_t view = sizes.size - 1;
  int64_t base = t.dim() > 0 ? t.stride(t.dim() - 1) : 1;
  int64_t in_group = 1, in_view = 1;
  for (int64_t d = t.dim() - 1; d >= 0; --d) {
    in_group *= t.size(d);
    bool group_ends = d == 0 || (t.size(d - 1) != 1 && t.stride(d - 1) != in_group * base);
    if (!group_ends) continue;
    while (view >= 0 && (in_view < in_group || sizes[view] == 1)) {
      strides[view] = in_view * base;
      in_view *= sizes[view];
      --view;
    }
    if (in_view != in_group) return false;
    if (d > 0) {
      base = t.stride(d - 1);
      in_group = 1;
      in_view = 1;
    }
  }
  return view == -1;
}

Tensor view_as_shape(const Tensor& t, IntSpan wanted) {
  check_dims(wanted.size);
  std::vector<int64_t> sizes = infer_sizes(wanted, t.numel());
  int64_t strides[kMaxDims];
  SL_CHECK(view_strides(t, sizes, strides),
           "view size is not compatible with input tensor's size and stride (at least one "
           "dimension spans across two contiguous subspaces). Use .reshape(...) instead.");
  return t.as_strided(sizes, {strides, wanted.size}, t.storage_offset());
}

Tensor reshape(const Tensor& t, IntSpan wanted) {
  check_dims(wanted.size);
  std::vector<int64_t> sizes = infer_sizes(wanted, t.numel());
  int64_t strides[kMaxDims];
  if (view_strides(t, sizes, strides)) {
    return t.as_strided(sizes, {strides, wanted.size}, t.storage_offset());
  }
  Tensor copy = Tensor::empty(t.sizes(), t.dtype());
  copy_into(copy, t);
  return view_as_shape(copy, sizes);
}

Tensor flatten(const Tensor& t, int64_t start, int64_t end) {
  start = wrap_dim(start, t.dim());
  end = wrap_dim(end, t.dim());
  SL_CHECK(start <= end, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (t.dim() == 0) return reshape(t, {1});
  if (start == end) return t;
  std::vector<int64_t> sizes;
  int64_t together = 1;
  for (int64_t i = 0; i < t.dim(); ++i) {
    if (i < start || i > end) {
      sizes.push_back(t.size(i));
    } else {
      together *= t.size(i);
      if (i == end) sizes.push_back(together);
    }
  }
  return reshape(t, sizes);
}

Tensor alias_of(const Tensor& t) {
  return t.as_strided(t.sizes(), t.strides(), t.storage_offset());
}

void become(const Tensor& t, const Tensor& view) {
  t.impl()->set_geometry(view.sizes(), view.strides());
  t.impl()->offset = view.storage_offset();
}

void resize(const Tensor& self, IntSpan sizes) {
  int64_t bytes;
  SL_CHECK(!__builtin_mul_overflow(checked_numel(sizes), self.itemsize(), &bytes) &&
               !__builtin_add_overflow(bytes, self.storage_offset() * self.itemsize(), &bytes),
           "resize_: the sizes ", to_string(sizes), " are too large");
  int64_t written = self.storage()->nbytes();
  if (bytes > written) {
    self.storage()->resize(bytes);
    if (self.dtype() == ScalarType::Bool) {  // these are 0 or 1
      std::memset(static_cast<char*>(self.storage()->data()) + written, 0, size_t(bytes - written));
    }
  }
  self.impl()->set_contiguous(sizes);
}

namespace {

Tensor move_dims(const Tensor& t, IntSpan from, IntSpan to) {
  SL_CHECK(from.size == to.size, "movedim: Invalid source or destination dims: source (",
           to_string(from), " dims) should contain the same number of dims as destination (",
           to_string(to), " dims)");
  std::vector<int64_t> order(size_t(t.dim()), -1);
  std::vector<bool> moved(size_t(t.dim()), false);
  for (int64_t i = 0; i < from.size; ++i) {
    int64_t source = wrap_dim(from[i], t.dim()), target = wrap_dim(to[i], t.dim());
    if (t.dim() == 0) return alias_of(t);
    SL_CHECK(!moved[size_t(source)], "movedim: repeated dim in `source` (", to_string(from), ")");
    SL_CHECK(order[size_t(target)] < 0, "movedim: repeated dim in `destination` (", to_string(to),
             ")");
    moved[size_t(source)] = true;
    order[size_t(target)] = source;
  }
  int64_t next = 0;
  for (int64_t& place : order) {
    if (place >= 0) continue;
    while (moved[size_t(next)]) ++next;
    place = next++;
  }
  return view_permute(t, order);
}

Tensor diagonal(const Tensor& t, int64_t offset, int64_t dim1, int64_t dim2) {
  dim1 = wrap_dim(dim1, t.dim());
  dim2 = wrap_dim(dim2, t.dim());
  SL_CHECK(t.dim() >= 2 && dim1 != dim2, "diagonal dimensions cannot be identical ", dim1, ", ",
           dim2);
  int64_t rows = t.size(dim1), columns = t.size(dim2);
  int64_t length = 0;
  if (offset >= 0 && offset <= columns) length = std::min(rows, columns - offset);
  if (offset < 0 && offset >= -rows) length = std::min(rows + offset, columns);
  Geometry g(t);
  if (length > 0) g.offset += offset >= 0 ? offset * t.stride(dim2) : -offset * t.stride(dim1);
  int64_t stride = t.stride(dim1) + t.stride(dim2);
  for (int64_t d : {std::max(dim1, dim2), std::min(dim1, dim2)}) {
    g.sizes.erase(g.sizes.begin() + d);
    g.strides.erase(g.strides.begin() + d);
  }
  g.sizes.push_back(length);
  g.strides.push_back(stride);
  return g.of(t);
}

Tensor unfold(const Tensor& t, int64_t dim, int64_t size, int64_t step) {
  dim = wrap_dim(dim, t.dim());
  int64_t length = t.dim() == 0 ? 1 : t.size(dim);
  SL_CHECK(size >= 0, "size is ", size, " but must be >= 0");
  SL_CHECK(size <= length, "maximum size for tensor at dimension ", dim, " is ", length,
           " but size is ", size);
  SL_CHECK(step > 0, "step is ", step, " but must be > 0");
  check_dims(t.dim() + 1);
  Geometry g(t);
  g.sizes.push_back(size);
  g.strides.push_back(t.dim() == 0 ? 1 : t.stride(dim));
  if (t.dim() > 0) {
    g.sizes[size_t(dim)] = (length - size) / step + 1;
    if (__builtin_mul_overflow(g.strides[size_t(dim)], step, &g.strides[size_t(dim)])) {
      g.strides[size_t(dim)] = 0;  // there is one window only
    }
  }
  return g.of(t);
}

Tensor as_strided(const Tensor& t, IntSpan sizes, IntSpan strides, int64_t offset) {
  SL_CHECK(sizes.size == strides.size, "mismatch in length of strides and shape");
  for (int64_t s : strides) {
    SL_CHECK(s >= 0, "as_strided: Negative strides are not supported at the moment, got strides: ",
             to_string(strides));
  }
  return Tensor::checked_view(t.storage(), t.dtype(), sizes, strides, offset);
}

Tensor unflatten(const Tensor& t, int64_t dim, IntSpan sizes) {
  dim = wrap_dim(dim, t.dim());
  SL_CHECK(!sizes.empty(), "unflatten: sizes must be non-empty");
  SL_CHECK(t.dim() > 0, "unflatten: the tensor has no dimension to split");
  std::vector<int64_t> parts = infer_sizes(sizes, t.size(dim));
  std::vector<int64_t> all(t.sizes().begin(), t.sizes().begin() + dim);
  all.insert(all.end(), parts.begin(), parts.end());
  all.insert(all.end(), t.sizes().begin() + dim + 1, t.sizes().end());
  return view_as_shape(t, all);
}

Tensor reversed(const Tensor& t) {
  std::vector<int64_t> order;
  for (int64_t i = t.dim() - 1; i >= 0; --i) order.push_back(i);
  return view_permute(t, order);
}

// A complex tensor as pairs of floats, and back.
Tensor complex_as_real(const Tensor& t) {
  SL_CHECK(is_complex(t.dtype()), "view_as_real is only supported for complex tensors");
  check_dims(t.dim() + 1);
  Geometry g(t);
  for (int64_t& stride : g.strides) stride *= 2;
  g.sizes.push_back(2);
  g.strides.push_back(1);
  return Tensor::on_storage(t.storage(), to_real(t.dtype()), g.sizes, g.strides, g.offset * 2);
}

Tensor real_as_complex(const Tensor& t) {
  SL_CHECK(t.dtype() == ScalarType::Float32 || t.dtype() == ScalarType::Float64,
           "view_as_complex is only supported for half, float and double tensors, but got a tensor "
           "of scalar type: ", dtype_display_name(t.dtype()));
  SL_CHECK(t.dim() > 0, "Input tensor must have one or more dimensions");
  SL_CHECK(t.size(t.dim() - 1) == 2, "Tensor must have a last dimension of size 2");
  SL_CHECK(t.stride(t.dim() - 1) == 1, "Tensor must have a last dimension with stride 1");
  Geometry g(t);
  g.sizes.pop_back();
  g.strides.pop_back();
  bool even = g.offset % 2 == 0;
  for (int64_t& stride : g.strides) {
    even = even && stride % 2 == 0;
    stride /= 2;
  }
  SL_CHECK(even, "Tensor must have a storage_offset and strides divisible by 2");
  return Tensor::on_storage(t.storage(), to_complex(t.dtype()), g.sizes, g.strides, g.offset / 2);
}

Tensor part_of_complex(const Tensor& t, int64_t part) {
  return view_select(complex_as_real(t), t.dim(), part);
}

}  // namespace

SL_OP(aten_select_int) { out[0] = view_select(args.tensor(0), args.integer(1), args.integer(2)); }
SL_OP(aten_slice_Tensor) {
  out[0] = view_slice(args.tensor(0), args.integer(1), args.integer(2, 0),
                      args.integer(3, std::numeric_limits<int64_t>::max()), args.integer(4));
}
SL_OP(aten_narrow) {
  out[0] = view_narrow(args.tensor(0), args.integer(1), args.integer(2), args.integer(3));
}
SL_OP(aten_transpose_int) {
  out[0] = view_transpose(args.tensor(0), args.integer(1), args.integer(2));
}
SL_OP(aten_transpose_) {
  become(args.tensor(0), view_transpose(args.tensor(0), args.integer(1), args.integer(2)));
  out[0] = args.tensor(0);
}
SL_OP(aten_swapaxes) { op_aten_transpose_int(ctx, args, out); }
SL_OP(aten_swapdims) { op_aten_transpose_int(ctx, args, out); }
SL_OP(aten_t) {
  const Tensor& t = args.tensor(0);
  SL_CHECK(t.dim() <= 2, "t() expects a tensor with <= 2 dimensions, but self is ", t.dim(), "D");
  out[0] = t.dim() < 2 ? alias_of(t) : view_transpose(t, 0, 1);
}
SL_OP(aten_t_) {
  op_aten_t(ctx, args, out);
  become(args.tensor(0), out[0].as_tensor());
  out[0] = args.tensor(0);
}
SL_OP(aten_numpy_T) { out[0] = reversed(args.tensor(0)); }
SL_OP(aten_numpy_T_a) { out[0] = reversed(args.tensor(0)); }
SL_OP(aten_mT) {
  const Tensor& t = args.tensor(0);
  out[0] = t.dim() == 0 ? alias_of(t) : view_transpose(t, -2, -1);
}
SL_OP(aten_mT_a) { op_aten_mT(ctx, args, out); }
SL_OP(aten_permute) { out[0] = view_permute(args.tensor(0), args.ints(1)); }
SL_OP(aten_movedim_intlist) { out[0] = move_dims(args.tensor(0), args.ints(1), args.ints(2)); }
SL_OP(aten_movedim_int) {
  out[0] = move_dims(args.tensor(0), {args.integer(1)}, {args.integer(2)});
}
SL_OP(aten_moveaxis_intlist) { op_aten_movedim_intlist(ctx, args, out); }
SL_OP(aten_moveaxis_int) { op_aten_movedim_int(ctx, args, out); }
SL_OP(aten_unsqueeze) { out[0] = view_unsqueeze(args.tensor(0), args.integer(1)); }
SL_OP(aten_unsqueeze_) {
  become(args.tensor(0), view_unsqueeze(args.tensor(0), args.integer(1)));
  out[0] = args.tensor(0);
}
SL_OP(aten_squeeze) { out[0] = view_squeeze(args.tensor(0)); }
SL_OP(aten_squeeze_dim) { out[0] = view_squeeze(args.tensor(0), {args.integer(1)}); }
SL_OP(aten_squeeze_dims) { out[0] = view_squeeze(args.tensor(0), args.ints(1)); }
SL_OP(aten_squeeze_) {
  become(args.tensor(0), view_squeeze(args.tensor(0)));
  out[0] = args.tensor(0);
}
SL_OP(aten_squeeze__dim) {
  become(args.tensor(0), view_squeeze(args.tensor(0), {args.integer(1)}));
  out[0] = args.tensor(0);
}
SL_OP(aten_squeeze__dims) {
  become(args.tensor(0), view_squeeze(args.tensor(0), args.ints(1)));
  out[0] = args.tensor(0);
}
SL_OP(aten_expand) { out[0] = view_expand(args.tensor(0), args.ints(1)); }
SL_OP(aten_expand_as) { out[0] = view_expand(args.tensor(0), args.tensor(1).sizes()); }
SL_OP(aten_broadcast_to) { out[0] = view_expand(args.tensor(0), args.ints(1)); }
SL_OP(aten_view) { out[0] = view_as_shape(args.tensor(0), args.ints(1)); }
SL_OP(aten__unsafe_view) { out[0] = view_as_shape(args.tensor(0), args.ints(1)); }
SL_OP(aten_view_as) { out[0] = view_as_shape(args.tensor(0), args.tensor(1).sizes()); }
SL_OP(aten_reshape) { out[0] = reshape(args.tensor(0), args.ints(1)); }
SL_OP(aten_reshape_as) { out[0] = reshape(args.tensor(0), args.tensor(1).sizes()); }
SL_OP(aten_flatten_using_ints) {
  out[0] = flatten(args.tensor(0), args.integer(1), args.integer(2));
}
SL_OP(aten_ravel) { out[0] = reshape(to_contiguous(args.tensor(0)), {-1}); }
SL_OP(aten_unflatten_int) {
  out[0] = unflatten(args.tensor(0), args.integer(1), args.ints(2));
}
SL_OP(aten_alias) { out[0] = alias_of(args.tensor(0)); }
SL_OP(aten_detach) { out[0] = alias_of(args.tensor(0)); }
SL_OP(aten_detach_) { out[0] = args.tensor(0); }
SL_OP(aten_diagonal) {
  out[0] = diagonal(args.tensor(0), args.integer(1), args.integer(2), args.integer(3));
}
SL_OP(aten_unfold) {
  out[0] = unfold(args.tensor(0), args.integer(1), args.integer(2), args.integer(3));
}
SL_OP(aten_as_strided) {
  const Tensor& t = args.tensor(0);
  out[0] = as_strided(t, args.ints(1), args.ints(2), args.integer(3, t.storage_offset()));
}
SL_OP(aten_view_as_real) { out[0] = complex_as_real(args.tensor(0)); }
SL_OP(aten_view_as_complex) { out[0] = real_as_complex(args.tensor(0)); }
SL_OP(aten_real) {
  const Tensor& t = args.tensor(0);
  out[0] = is_complex(t.dtype()) ? part_of_complex(t, 0) : t;
}
SL_OP(aten_imag) {
  const Tensor& t = args.tensor(0);
  SL_CHECK(is_complex(t.dtype()), "imag is not implemented for tensors with non-complex dtypes.");
  out[0] = part_of_complex(t, 1);
}

}  // namespace scriptlang
