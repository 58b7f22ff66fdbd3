// Sizes and strides of views (see view.h). Programs take views very often, so these functions use
// unchecked_view; a comment at each call says why all elements of the view are elements of the
// tensor.
#include <algorithm>
#include <cstring>

#include "pointwise.h"
#include "values/exact.h"
#include "values/pooled.h"
#include "values/raw_view.h"
#include "view.h"

namespace scriptlang {

void check_dims(int64_t ndim) {
  SL_CHECK(ndim <= kMaxDims, "tensors with more than ", kMaxDims, " dimensions are not supported");
}

// The offset of a view that begins `index` strides into `t`. In tensors without elements it has no
// meaning, and huge sizes could make it overflow later arithmetic; then it is left as it is, or 0.
static inline int64_t offset_behind(const Tensor& t, int64_t index, int64_t stride) {
  int64_t moved;
  bool leaves = __builtin_mul_overflow(index, stride, &moved) || moved > kMaxReach;
  int64_t offset = t.storage_offset() + (leaves ? 0 : moved);
  return __builtin_expect(offset > kMaxReach, 0) ? 0 : offset;
}

template <class T>
static Tensor select_of(T&& t, int64_t dim, int64_t index) {
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
  int64_t offset = offset_behind(t, index, t.stride(dim));
  // Elements of `t` at one index, which is in range.
  return unchecked_view(std::forward<T>(t), {sizes, n}, {strides, n}, offset);
}
Tensor view_select(const Tensor& t, int64_t dim, int64_t index) { return select_of(t, dim, index); }
Tensor view_select(Tensor&& t, int64_t dim, int64_t index) {
  return select_of(std::move(t), dim, index);
}

namespace {

// Copies sizes and strides for a change. With few dimensions, all inline places are copied at once,
// which compiles without a call.
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

// A view of the whole tensor; an rvalue without other owners is returned itself.
static Tensor whole(const Tensor& t) {
  return unchecked_view(t, t.sizes(), t.strides(), t.storage_offset());  // its own geometry
}
static Tensor whole(Tensor&& t) {
  if (t.impl()->refs.load(std::memory_order_acquire) != 1) return whole(t);
  t.impl()->requires_grad = false;
  return std::move(t);
}

template <class T>
static Tensor slice_of(T&& t, int64_t dim, int64_t start, int64_t end, int64_t step) {
  SL_CHECK(t.dim() > 0, "slice() cannot be applied to a 0-dim tensor.");
  dim = wrap_dim(dim, t.dim());
  SL_CHECK(step > 0, "slice step must be positive");
  int64_t size = t.size(dim);
  if (start < 0) start += size;
  if (end < 0) end += size;
  start = std::clamp<int64_t>(start, 0, size);
  end = std::clamp<int64_t>(end, start, size);
  if (end - start == size && step == 1) return whole(std::forward<T>(t));
  int64_t sizes[kMaxDims], strides[kMaxDims];
  copy_geometry(t, sizes, strides);
  int64_t length = end - start;
  sizes[dim] = length / step + (length % step != 0);
  // With at most one element, huge sizes or steps could overflow: the offset and the stride are
  // then not used, and the helpers return any valid value.
  int64_t offset = offset_behind(t, start, strides[dim]);
  strides[dim] = outer_stride(strides[dim], step);
  // Elements start, start + step, ... below end; both are clamped to the size of `t`.
  return unchecked_view(std::forward<T>(t), {sizes, t.dim()}, {strides, t.dim()}, offset);
}
Tensor view_slice(const Tensor& t, int64_t dim, int64_t start, int64_t end, int64_t step) {
  return slice_of(t, dim, start, end, step);
}
Tensor view_slice(Tensor&& t, int64_t dim, int64_t start, int64_t end, int64_t step) {
  return slice_of(std::move(t), dim, start, end, step);
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

template <class T>
static Tensor transpose_of(T&& t, int64_t dim0, int64_t dim1) {
  dim0 = wrap_dim(dim0, t.dim());
  dim1 = wrap_dim(dim1, t.dim());
  int64_t sizes[kMaxDims], strides[kMaxDims];
  copy_geometry(t, sizes, strides);
  if (t.dim() > 0) {
    std::swap(sizes[dim0], sizes[dim1]);
    std::swap(strides[dim0], strides[dim1]);
  }
  int64_t n = t.dim();
  // All elements of `t`, in another order.
  return unchecked_view(std::forward<T>(t), {sizes, n}, {strides, n}, t.storage_offset());
}
Tensor view_transpose(const Tensor& t, int64_t dim0, int64_t dim1) {
  return transpose_of(t, dim0, dim1);
}
Tensor view_transpose(Tensor&& t, int64_t dim0, int64_t dim1) {
  return transpose_of(std::move(t), dim0, dim1);
}

template <class T>
static Tensor permute_of(T&& t, IntSpan dims) {
  SL_CHECK(dims.size == t.dim(),
           "permute(sparse_coo): number of dimensions in the tensor input "
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
  int64_t n = dims.size;
  // All elements of `t`, in another order: each dimension was seen once.
  return unchecked_view(std::forward<T>(t), {sizes, n}, {strides, n}, t.storage_offset());
}
Tensor view_permute(const Tensor& t, IntSpan dims) { return permute_of(t, dims); }
Tensor view_permute(Tensor&& t, IntSpan dims) { return permute_of(std::move(t), dims); }

template <class T>
static Tensor unsqueeze_of(T&& t, int64_t dim) {
  dim = wrap_dim(dim, t.dim() + 1);
  check_dims(t.dim() + 1);
  int64_t sizes[kMaxDims], strides[kMaxDims];
  for (int64_t i = 0, from = 0; i <= t.dim(); ++i) {
    if (i == dim) {
      sizes[i] = 1;
      strides[i] = i < t.dim() ? outer_stride(t.stride(i), t.size(i)) : 1;
    } else {
      sizes[i] = t.size(from);
      strides[i] = t.stride(from++);
    }
  }
  int64_t n = t.dim() + 1;
  // All elements of `t`: the stride of a dimension of size 1 is never used.
  return unchecked_view(std::forward<T>(t), {sizes, n}, {strides, n}, t.storage_offset());
}
Tensor view_unsqueeze(const Tensor& t, int64_t dim) { return unsqueeze_of(t, dim); }
Tensor view_unsqueeze(Tensor&& t, int64_t dim) { return unsqueeze_of(std::move(t), dim); }

namespace {

template <class T, class Drop>
Tensor squeeze_where(T&& t, Drop drop) {
  int64_t sizes[kMaxDims], strides[kMaxDims];
  int64_t n = 0;
  for (int64_t i = 0; i < t.dim(); ++i) {
    if (t.size(i) == 1 && drop(i)) continue;
    sizes[n] = t.size(i);
    strides[n++] = t.stride(i);
  }
  // All elements of `t`: the dimensions left out have size 1.
  return unchecked_view(std::forward<T>(t), {sizes, n}, {strides, n}, t.storage_offset());
}

}  // namespace

template <class T>
static Tensor squeeze_of(T&& t, IntSpan dims) {
  bool wanted[kMaxDims] = {};
  for (int64_t d : dims) {
    d = wrap_dim(d, t.dim());
    SL_CHECK(!wanted[d], "dim ", d, " appears multiple times in the list of dims");
    wanted[d] = true;
  }
  return squeeze_where(std::forward<T>(t), [&](int64_t i) { return wanted[i]; });
}
Tensor view_squeeze(const Tensor& t) {
  return squeeze_where(t, [](int64_t) { return true; });
}
Tensor view_squeeze(Tensor&& t) {
  return squeeze_where(std::move(t), [](int64_t) { return true; });
}
Tensor view_squeeze(const Tensor& t, IntSpan dims) { return squeeze_of(t, dims); }
Tensor view_squeeze(Tensor&& t, IntSpan dims) { return squeeze_of(std::move(t), dims); }

template <class T>
static Tensor expand_of(T&& t, IntSpan wanted) {
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
    strides[i] = has                    ? t.stride(i - shift)
                 : i == wanted.size - 1 ? 1
                                        : outer_stride(strides[i + 1], sizes[i + 1]);
    if (size != target) {
      SL_CHECK(size == 1, "The expanded size of the tensor (", target,
               ") must match the existing size (", size, ") at non-singleton dimension ", i,
               ".  Target sizes: ", to_string(wanted), ".  Tensor sizes: ", to_string(t.sizes()));
      strides[i] = 0;
    }
    sizes[i] = target;
  }
  checked_numel({sizes, wanted.size});
  int64_t n = wanted.size;
  // Elements of `t`: where sizes differ, `t` has size 1 and the stride is 0.
  return unchecked_view(std::forward<T>(t), {sizes, n}, {strides, n}, t.storage_offset());
}
Tensor view_expand(const Tensor& t, IntSpan wanted) { return expand_of(t, wanted); }
Tensor view_expand(Tensor&& t, IntSpan wanted) { return expand_of(std::move(t), wanted); }

namespace {

Sizes inferred(IntSpan sizes, int64_t numel) {
  Sizes result(sizes);
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

}  // namespace

std::vector<int64_t> infer_sizes(IntSpan sizes, int64_t numel) {
  const Sizes found = inferred(sizes, numel);
  return {found.begin(), found.end()};
}

// Splits groups of evenly spaced old dimensions into new ones, from the last.
bool view_strides(const Tensor& t, IntSpan sizes, int64_t* strides) {
  if (t.is_contiguous() || t.numel() == 0) {
    int64_t next = 1;
    for (int64_t i = sizes.size - 1; i >= 0; --i) {
      strides[i] = next;
      next = outer_stride(next, sizes[i]);
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

template <class T>
static Tensor shape_of(T&& t, IntSpan wanted) {
  check_dims(wanted.size);
  Sizes sizes = inferred(wanted, t.numel());
  int64_t strides[kMaxDims];
  if (t.numel() == 0) checked_numel(sizes);  // otherwise the product is that of `t`
  SL_CHECK(view_strides(t, sizes, strides),
           "view size is not compatible with input tensor's size and stride (at least one "
           "dimension spans across two contiguous subspaces). Use .reshape(...) instead.");
  // All elements of `t`: view_strides found strides that reach the same places.
  return unchecked_view(std::forward<T>(t), sizes, {strides, wanted.size}, t.storage_offset());
}
Tensor view_as_shape(const Tensor& t, IntSpan wanted) { return shape_of(t, wanted); }
Tensor view_as_shape(Tensor&& t, IntSpan wanted) { return shape_of(std::move(t), wanted); }

template <class T>
static Tensor reshape_of(T&& t, IntSpan wanted) {
  check_dims(wanted.size);
  Sizes sizes = inferred(wanted, t.numel());
  int64_t strides[kMaxDims];
  if (t.numel() == 0) checked_numel(sizes);
  if (view_strides(t, sizes, strides)) {
    // All elements of `t`, as above.
    return unchecked_view(std::forward<T>(t), sizes, {strides, wanted.size}, t.storage_offset());
  }
  Tensor copy = Tensor::empty(t.sizes(), t.dtype());
  copy_into(copy, t);
  return view_as_shape(copy, sizes);
}
Tensor reshape(const Tensor& t, IntSpan wanted) { return reshape_of(t, wanted); }
Tensor reshape(Tensor&& t, IntSpan wanted) { return reshape_of(std::move(t), wanted); }

Tensor flatten(const Tensor& t, int64_t start, int64_t end) {
  start = wrap_dim(start, t.dim());
  end = wrap_dim(end, t.dim());
  SL_CHECK(start <= end, "flatten() has invalid args: start_dim cannot come after end_dim");
  if (t.dim() == 0) return reshape(t, {1});
  if (start == end) return t;
  Sizes sizes;
  int64_t together = 1;
  for (int64_t i = 0; i < t.dim(); ++i) {
    if (i < start || i > end) {
      sizes.push_back(t.size(i));
    } else {
      together = Exact(together) * t.size(i);  // without elements, the product may overflow
      if (i == end) sizes.push_back(together);
    }
  }
  return reshape(t, sizes);
}

Tensor alias_of(const Tensor& t) {
  return unchecked_view(t, t.sizes(), t.strides(), t.storage_offset());  // its own geometry
}

void become(const Tensor& t, const Tensor& view) {
  SL_CHECK(t.storage() == view.storage(), "a tensor becomes a view of its own memory only");
  // The view of the same memory has been checked.
  t.impl()->set_geometry(view.sizes(), view.strides());
  t.impl()->offset = view.storage_offset();
}

void resize(const Tensor& self, IntSpan sizes) {
  if (self.sizes() == sizes) return;
  int64_t bytes;
  SL_CHECK(!__builtin_mul_overflow(checked_numel(sizes), self.itemsize(), &bytes) &&
               !__builtin_add_overflow(bytes, self.storage_offset() * self.itemsize(), &bytes),
           "resize_: the sizes ", to_string(sizes), " are too large");
  int64_t written = self.storage()->nbytes();
  if (bytes > written) {
    self.storage()->resize(bytes);
    if (self.dtype() == ScalarType::Bool) {  // new bools must be 0 or 1
      std::memset(static_cast<char*>(self.storage()->data()) + written, 0, size_t(bytes - written));
    }
  }
  self.impl()->set_contiguous(sizes);  // the storage is large enough now
}

}  // namespace scriptlang
