// Operators that join tensors or repeat them: cat, stack, repeat, flip, roll, ...
#include <algorithm>
#include <cstring>

#include "join.h"
#include "layout.h"
#include "loose.h"
#include "pointwise.h"
#include "values/raw_view.h"
#include "view.h"

namespace scriptlang {

namespace {

// Tensors of shape [0] are skipped whatever the others' shapes, for compatibility with PyTorch.
bool is_skipped(const Tensor& t) { return t.dim() == 1 && t.size(0) == 0; }

constexpr int64_t kFewElements = 32768;

// Interleaves elements of several tensors: tensor k's element i goes to position i * count + k.
template <class E>
void interleave(Tensors tensors, int64_t n, char* to) {
  const int64_t count = int64_t(tensors.size());
  Loose<E>* o = reinterpret_cast<Loose<E>*>(to);
  if (count == 2) {
    const Loose<E>* a = static_cast<const Loose<E>*>(tensors[0].raw());
    const Loose<E>* b = static_cast<const Loose<E>*>(tensors[1].raw());
    for (int64_t i = 0; i < n; ++i) {
      o[2 * i] = a[i];
      o[2 * i + 1] = b[i];
    }
    return;
  }
  for (int64_t k = 0; k < count; ++k) {
    const Loose<E>* x = static_cast<const Loose<E>*>(tensors[size_t(k)].raw());
    for (int64_t i = 0; i < n; ++i) o[i * count + k] = x[i];
  }
}
bool try_interleave(Tensors tensors, int64_t n, int64_t bytes, char* to) {
  switch (bytes) {
    case 1: return interleave<uint8_t>(tensors, n, to), true;
    case 2: return interleave<uint16_t>(tensors, n, to), true;
    case 4: return interleave<uint32_t>(tensors, n, to), true;
    case 8: return interleave<uint64_t>(tensors, n, to), true;
    default: return false;
  }
}

// The fast path for few elements, if all tensors are contiguous and of the result's type.
bool cat_directly(const Tensor& out, Tensors tensors, int64_t dim) {
  if (out.numel() > kFewElements || !out.is_contiguous()) return false;
  for (const Tensor& t : tensors) {
    if (!t.is_contiguous() || t.dtype() != out.dtype()) return false;
  }
  int64_t outer = 1, inner = out.itemsize();
  for (int64_t d = 0; d < dim; ++d) outer *= out.size(d);
  for (int64_t d = dim + 1; d < out.dim(); ++d) inner *= out.size(d);
  char* to = static_cast<char*>(out.raw());
  bool single = outer > 1;
  for (const Tensor& t : tensors) single = single && !is_skipped(t) && t.size(dim) == 1;
  if (single && try_interleave(tensors, outer, inner, to)) return true;
  for (int64_t o = 0; o < outer; ++o) {
    for (const Tensor& t : tensors) {
      int64_t bytes = is_skipped(t) ? 0 : t.size(dim) * inner;
      if (bytes > 0) std::memcpy(to, static_cast<char*>(t.raw()) + o * bytes, size_t(bytes));
      to += bytes;
    }
  }
  return true;
}

// Joins the tensors of a list. If the operator is the list's only owner, they are moved out of it.
Tensor cat_list(Args args) {
  constexpr size_t kFew = 8;
  List& list = args.list(0);
  int64_t dim = args.integer(1);
  if (list.kind() != List::Kind::Values || !list.is_alone() || list.size() > kFew) {
    return cat(tensors_of(args, 0), dim);
  }
  Tensor taken[kFew];
  for (size_t k = 0; k < list.size(); ++k) taken[k] = list.values()[k].take_tensor();
  return cat(Tensors(taken, list.size()), dim);
}

}  // namespace

Tensor cat(Tensors tensors, int64_t dim) {
  SL_CHECK(tensors.size() > 0, "torch.cat(): expected a non-empty list of Tensors");
  const Tensor* model = nullptr;
  ResultType type;
  for (size_t i = 0; i < tensors.size(); ++i) {
    SL_CHECK(tensors[i].dim() > 0, "zero-dimensional tensor (at position ", i,
             ") cannot be concatenated");
    type.add(tensors[i]);
    if (!model && !is_skipped(tensors[i])) model = &tensors[i];
  }
  if (!model) return Tensor::empty({0}, type.get());
  dim = wrap_dim(dim, model->dim());
  int64_t sizes[kMaxDims];
  std::copy_n(model->sizes().data, model->dim(), sizes);
  sizes[dim] = 0;
  int64_t format = suggested_format(*model);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& t = tensors[i];
    if (is_skipped(t)) continue;
    if (format != kContiguous && suggested_format(t) != format) format = kContiguous;
    SL_CHECK(t.dim() == model->dim(), "Tensors must have same number of dimensions: got ",
             model->dim(), " and ", t.dim());
    for (int64_t d = 0; d < t.dim(); ++d) {
      SL_CHECK(d == dim || t.size(d) == model->size(d),
               "Sizes of tensors must match except in dimension ", dim, ". Expected size ",
               model->size(d), " but got size ", t.size(d), " for tensor number ", i,
               " in the list.");
    }
    SL_CHECK(!__builtin_add_overflow(sizes[dim], t.size(dim), &sizes[dim]),
             "torch.cat(): the result is too large");
  }
  Tensor out = empty_in_format({sizes, model->dim()}, type.get(), format);
  if (format == kContiguous && cat_directly(out, tensors, dim)) return out;
  int64_t start = 0;
  for (const Tensor& t : tensors) {
    if (is_skipped(t)) continue;
    if (t.numel() > 0) copy_into(view_slice(out, dim, start, start + t.size(dim)), t);
    start += t.size(dim);
  }
  return out;
}

Pooled<Tensor> tensors_of(const Args& args, int i) {
  const List& items = args.list(i);
  Pooled<Tensor> all;
  all.reserve(items.size());
  if (items.kind() == List::Kind::Values) {
    for (size_t k = 0; k < items.size(); ++k) all.push_back(items.values()[k].as_tensor());
  } else {
    for (const Value& item : items) item.as_tensor();  // raises, naming the item's type
  }
  return all;
}

Tensor stack(Tensors tensors, int64_t dim) {
  SL_CHECK(tensors.size() > 0, "stack expects a non-empty TensorList");
  dim = wrap_dim(dim, tensors[0].dim() + 1);
  Pooled<Tensor> parts;
  parts.reserve(tensors.size());
  // Channels-last images are joined as they are in memory, and the result is viewed as a stack.
  const bool images = suggested_format(tensors[0]) != kContiguous && dim < tensors[0].dim();
  for (size_t i = 0; i < tensors.size(); ++i) {
    SL_CHECK(tensors[i].sizes() == tensors[0].sizes(),
             "stack expects each tensor to be equal size, but got ", to_string(tensors[0].sizes()),
             " at entry 0 and ", to_string(tensors[i].sizes()), " at entry ", i);
    parts.push_back(images ? tensors[i] : view_unsqueeze(tensors[i], dim));
  }
  Tensor joined = cat(parts, dim);
  if (!images) return joined;
  std::vector<int64_t> sizes(tensors[0].sizes().begin(), tensors[0].sizes().end());
  sizes.insert(sizes.begin() + dim, int64_t(tensors.size()));
  return view_as_shape(joined, sizes);
}

namespace {

// Adds dimensions so that there are at least n, as hstack, vstack and dstack do.
Tensor at_least(const Tensor& t, int64_t n) {
  if (t.dim() >= n) return t;
  if (n == 1) return reshape(t, {1});
  if (n == 2) return t.dim() == 0 ? reshape(t, {1, 1}) : view_unsqueeze(t, 0);
  return view_unsqueeze(at_least(t, 2), 2);
}

std::vector<Tensor> all_at_least(std::vector<Tensor> tensors, int64_t n) {
  for (Tensor& t : tensors) t = at_least(t, n);
  return tensors;
}

Tensor repeat(const Tensor& self, IntSpan repeats) {
  SL_CHECK(repeats.size >= self.dim(),
           "Number of dimensions of repeat dims can not be smaller "
           "than number of dimensions of tensor");
  int64_t extra = repeats.size - self.dim();
  std::vector<int64_t> sizes, strides, target, grouped, inner_strides;
  for (int64_t i = 0; i < repeats.size; ++i) {
    int64_t size = i < extra ? 1 : self.size(i - extra), total;
    SL_CHECK(!__builtin_mul_overflow(size, repeats[i], &total), "repeat: the result is too large");
    SL_CHECK(total >= 0, "Trying to create tensor with negative dimension ", total);
    target.push_back(total);
    sizes.push_back(repeats[i]);
    strides.push_back(0);
    sizes.push_back(size);
    strides.push_back(i < extra ? 0 : self.stride(i - extra));
  }
  SL_CHECK(sizes.size() <= kMaxDims, "repeat: too many dimensions");
  Tensor out = Tensor::empty(target, self.dtype());
  if (out.numel() == 0) return out;
  Tensor from = self.as_strided(sizes, strides, self.storage_offset());
  copy_into(view_as_shape(out, sizes), from);
  return out;
}

}  // namespace

Tensor flip(const Tensor& self, IntSpan dims) {
  std::vector<int64_t> strides(self.strides().begin(), self.strides().end());
  int64_t offset = self.storage_offset();
  bool seen[kMaxDims] = {};
  for (int64_t given : dims) {
    int64_t d = wrap_dim(given, self.dim());
    SL_CHECK(!seen[d], "dim ", d, " appears multiple times in the list of dims");
    seen[d] = true;
    if (self.dim() == 0 || self.numel() == 0) continue;
    offset += (self.size(d) - 1) * strides[size_t(d)];
    strides[size_t(d)] = -strides[size_t(d)];
  }
  Tensor out = Tensor::empty_like(self, self.dtype());
  // The elements of `self` in reverse, with negative strides.
  if (self.numel() > 0) copy_into(out, unchecked_view(self, self.sizes(), strides, offset));
  return out;
}

namespace {

Tensor roll_one(const Tensor& self, int64_t shift, int64_t dim) {
  if (self.dim() == 0) {
    raise(ErrorKind::IndexError, "Dimension specified as ", dim, " but tensor has no dimensions");
  }
  dim = wrap_dim(dim, self.dim());
  int64_t size = self.size(dim);
  if (size == 0) return self;
  int64_t start = ((-(shift % size)) % size + size) % size;
  return cat({view_slice(self, dim, start, size), view_slice(self, dim, 0, start)}, dim);
}

Tensor roll(const Tensor& self, const Ints& shifts, const Ints& dims) {
  SL_CHECK(dims.empty() || shifts.size() == dims.size(),
           "shifts and dimensions must align. "
           "shifts: ",
           shifts.size(), ", dims:", dims.size());
  SL_CHECK(!shifts.empty(), "`shifts` required");
  if (self.numel() == 0 && (!dims.empty() || shifts.size() == 1)) return to_contiguous(self);
  if (dims.empty()) {
    SL_CHECK(shifts.size() == 1, "shifts and dimensions must align. shifts: ", shifts.size(),
             ", dims:0");
    Tensor flat = reshape(self, {self.numel()});
    return view_as_shape(roll_one(flat, shifts[0], 0), self.sizes());
  }
  Tensor result = self;
  for (int64_t i = 0; i < dims.size(); ++i) result = roll_one(result, shifts[i], dims[i]);
  if (result.is(self)) {
    result = Tensor::empty(self.sizes(), self.dtype());
    copy_into(result, self);
  }
  return result;
}

}  // namespace

SL_OP(aten_cat) { out[0] = cat_list(args); }
SL_OP(aten_concat) { out[0] = cat_list(args); }
SL_OP(aten_concatenate) { out[0] = cat_list(args); }
SL_OP(aten_stack) { out[0] = stack(tensors_of(args, 0), args.integer(1)); }
SL_OP(aten_hstack) {
  std::vector<Tensor> tensors = all_at_least(args.tensors(0), 1);
  SL_CHECK(!tensors.empty(), "hstack expects a non-empty TensorList");
  out[0] = cat(tensors, tensors[0].dim() == 1 ? 0 : 1);
}
SL_OP(aten_vstack) { out[0] = cat(all_at_least(args.tensors(0), 2), 0); }
SL_OP(aten_row_stack) { out[0] = cat(all_at_least(args.tensors(0), 2), 0); }
SL_OP(aten_dstack) { out[0] = cat(all_at_least(args.tensors(0), 3), 2); }
SL_OP(aten_atleast_1d) { out[0] = at_least(args.tensor(0), 1); }
SL_OP(aten_atleast_2d) { out[0] = at_least(args.tensor(0), 2); }
SL_OP(aten_atleast_3d) { out[0] = at_least(args.tensor(0), 3); }
SL_OP(aten_repeat) { out[0] = repeat(args.tensor(0), args.ints(1)); }
SL_OP(aten_tile) {
  Ints dims = args.ints(1);
  std::vector<int64_t> repeats(dims.begin(), dims.end());
  int64_t missing = args.tensor(0).dim() - dims.size();
  if (missing > 0) repeats.insert(repeats.begin(), size_t(missing), 1);
  out[0] = repeat(args.tensor(0), repeats);
}
SL_OP(aten_flip) { out[0] = flip(args.tensor(0), args.ints(1)); }
SL_OP(aten_fliplr) {
  SL_CHECK(args.tensor(0).dim() >= 2, "Input must be >= 2-d.");
  out[0] = flip(args.tensor(0), {1});
}
SL_OP(aten_flipud) {
  SL_CHECK(args.tensor(0).dim() >= 1, "Input must be >= 1-d.");
  out[0] = flip(args.tensor(0), {0});
}
SL_OP(aten_roll) { out[0] = roll(args.tensor(0), args.ints(1), args.ints(2)); }
SL_OP(aten_rot90) {
  const Tensor& self = args.tensor(0);
  Ints dims = args.ints(2);
  SL_CHECK(dims.size() == 2, "expected total rotation dims == 2, but got dims = ", dims.size());
  SL_CHECK(self.dim() >= 2, "expected total dims >= 2, but got total dims = ", self.dim());
  int64_t a = wrap_dim(dims[0], self.dim()), b = wrap_dim(dims[1], self.dim());
  SL_CHECK(a != b, "expected rotation dims to be different, but got dim0 = ", dims[0],
           " and dim1 = ", dims[1]);
  switch ((args.integer(1) % 4 + 4) % 4) {
    case 1: out[0] = view_transpose(flip(self, {b}), a, b); break;
    case 2: out[0] = flip(self, {a, b}); break;
    case 3: out[0] = view_transpose(flip(self, {a}), a, b); break;
    default: {
      Tensor copy = Tensor::empty(self.sizes(), self.dtype());
      copy_into(copy, self);
      out[0] = copy;
    }
  }
}
}  // namespace scriptlang
