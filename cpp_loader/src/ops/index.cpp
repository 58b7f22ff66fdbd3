// Indexing expressions with any mixture of indices, masks and whole dimensions.
#include "index.h"

#include <algorithm>

#include "forms.h"
#include "pointwise.h"
#include "reduce.h"
#include "scratch.h"
#include "values/raw_view.h"
#include "view.h"

namespace scriptlang {

namespace {

bool is_mask(const Tensor& t) {
  return t.dtype() == ScalarType::Bool || t.dtype() == ScalarType::UInt8;
}

// The byte offsets of all elements over some dimensions, in row-major order.
Working<int64_t> offsets_of(IntSpan sizes, IntSpan strides, int64_t itemsize) {
  Working<int64_t> offsets{0};
  for (int64_t d = 0; d < sizes.size; ++d) {
    Working<int64_t> next;
    next.reserve(offsets.size() * as_size(sizes[d]));
    for (int64_t base : offsets) {
      for (int64_t i = 0; i < sizes[d]; ++i) next.push_back(base + i * strides[d] * itemsize);
    }
    offsets = std::move(next);
  }
  return offsets;
}

// A resolved indexing expression. The element (b, p, a) of the contiguous result is at byte offset
// before[b] + chosen[p] + after[a] in `self`.
struct Places {
  std::vector<int64_t> sizes;  // of the result
  Working<int64_t> before, chosen, after;
  bool after_contiguous = false;  // `after` is one contiguous run; only its length is used
};

// Drops masks without dimensions, which index no dimension.
void drop_whole_masks(std::vector<Tensor>& indices) {
  auto whole = [](const Tensor& t) { return t.defined() && is_mask(t) && t.dim() == 0; };
  auto end = std::remove_if(indices.begin(), indices.end(), whole);
  if (end == indices.end()) return;
  indices.erase(end, indices.end());
  SL_CHECK(!indices.empty(), "there is nothing to index with but masks without dimensions");
}

std::vector<Tensor> without_masks(const Tensor& self, const std::vector<Tensor>& indices) {
  std::vector<Tensor> plain;
  for (const Tensor& index : indices) {
    if (!index.defined() || !is_mask(index)) {
      SL_CHECK(!index.defined() || index.dtype() == ScalarType::Int64 ||
                   index.dtype() == ScalarType::Int32,
               "tensors used as indices must be long, int, byte or bool tensors");
      plain.push_back(index.defined() ? to_dtype(index, ScalarType::Int64) : index);
      continue;
    }
    for (int64_t d = 0; d < index.dim(); ++d) {
      int64_t at = int64_t(plain.size()) + d;
      if (at >= self.dim() || index.size(d) != self.size(at)) {
        raise(ErrorKind::IndexError, "The shape of the mask ", to_string(index.sizes()),
              " at index ", d, " does not match the shape of the indexed tensor ",
              to_string(self.sizes()), " at index ", at);
      }
    }
    Tensor found = nonzero(index);
    for (int64_t d = 0; d < index.dim(); ++d) plain.push_back(view_select(found, 1, d));
  }
  if (int64_t(plain.size()) > self.dim()) {
    raise(ErrorKind::IndexError, "too many indices for tensor of dimension ", self.dim(), " (got ",
          plain.size(), ")");
  }
  return plain;
}

// Adds the offsets along a dimension of the positions in `index`, which is expanded to the result's
// shape.
void add_offsets(Working<int64_t>& offsets, const Tensor& index, int64_t dim, int64_t size,
                 int64_t step) {
  auto offset_of = [&](int64_t place) {
    if (place < -size || place >= size) {
      raise(ErrorKind::IndexError, "index ", place, " is out of bounds for dimension ", dim,
            " with size ", size);
    }
    return (place < 0 ? place + size : place) * step;
  };
  // Row by row: an index that is the same for a whole row is checked only once.
  const int64_t last = index.dim() - 1, width = last < 0 ? 1 : index.size(last);
  const int64_t by = last < 0 ? 0 : index.stride(last);
  int64_t* to = offsets.data();
  const int64_t* at = index.data<int64_t>();
  int64_t counter[kMaxDims] = {};
  for (size_t done = 0; done < offsets.size(); done += size_t(width), to += width) {
    if (by == 0) {
      const int64_t offset = offset_of(at[0]);
      for (int64_t i = 0; i < width; ++i) to[i] += offset;
    } else {
      for (int64_t i = 0; i < width; ++i) to[i] += offset_of(at[i * by]);
    }
    for (int64_t d = last - 1; d >= 0; --d) {
      at += index.stride(d);
      if (++counter[d] < index.size(d)) break;
      at -= index.stride(d) * index.size(d);
      counter[d] = 0;
    }
  }
}

Places resolve(const Tensor& self, const std::vector<Tensor>& given) {
  std::vector<Tensor> indices = without_masks(self, given);
  std::vector<int64_t> shape;
  int64_t first = -1, last = -1, count = 0;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!indices[d].defined()) continue;
    try {
      shape = count == 0
                  ? std::vector<int64_t>(indices[d].sizes().begin(), indices[d].sizes().end())
                  : broadcast_shapes(shape, indices[d].sizes());
    } catch (const Error&) {
      raise(ErrorKind::IndexError,
            "shape mismatch: indexing tensors could not be broadcast "
            "together with shapes ",
            to_string(shape), ", ", to_string(indices[d].sizes()));
    }
    if (first < 0) first = int64_t(d);
    last = int64_t(d);
    ++count;
  }
  Places places;
  bool adjacent = count > 0 && last - first + 1 == count;
  std::vector<int64_t> sizes[2], strides[2];  // of the dimensions before and after the indexed ones
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d < int64_t(indices.size()) && indices[size_t(d)].defined()) continue;
    int part = adjacent && d < first ? 0 : 1;
    sizes[part].push_back(self.size(d));
    strides[part].push_back(self.stride(d));
  }
  int64_t itemsize = self.itemsize();
  places.sizes = sizes[0];
  places.sizes.insert(places.sizes.end(), shape.begin(), shape.end());
  places.sizes.insert(places.sizes.end(), sizes[1].begin(), sizes[1].end());
  places.before = offsets_of(sizes[0], strides[0], itemsize);
  int64_t run = 1;
  bool contiguous = true;
  for (size_t d = sizes[1].size(); d-- > 0;) {
    contiguous = contiguous && (sizes[1][d] == 1 || strides[1][d] == run);
    run *= sizes[1][d];
  }
  places.after_contiguous = contiguous;
  if (contiguous) places.after.assign(1, run);
  else places.after = offsets_of(sizes[1], strides[1], itemsize);
  places.chosen.assign(as_size(checked_numel(shape)), 0);
  const bool none = checked_numel(places.sizes) == 0;  // then no index is checked
  for (int64_t d = 0; d < int64_t(indices.size()); ++d) {
    const Tensor& index = indices[size_t(d)];
    if (!index.defined()) continue;
    if (none && self.size(d) == 0 && checked_numel(shape) > 0) {
      raise(ErrorKind::IndexError, "index is out of bounds for dimension with size 0");
    }
    if (none) continue;
    add_offsets(places.chosen, view_expand(index, shape), d, self.size(d),
                self.size(d) > 1 ? self.stride(d) * itemsize : 0);
  }
  return places;
}

// Calls f(byte offset in self, byte offset in the contiguous result, bytes) for every run.
template <class F>
void for_runs(const Places& p, int64_t itemsize, F f) {
  int64_t chosen = int64_t(p.chosen.size());
  int64_t runs = p.after_contiguous ? 1 : int64_t(p.after.size());
  int64_t bytes = p.after_contiguous ? p.after[0] * itemsize : itemsize;
  for (size_t b = 0; b < p.before.size(); ++b) {
    for (int64_t i = 0; i < chosen; ++i) {
      int64_t base = p.before[b] + p.chosen[size_t(i)];
      int64_t to = (int64_t(b) * chosen + i) * runs * bytes;
      for (int64_t a = 0; a < runs; ++a, to += bytes) {
        f(base + (p.after_contiguous ? 0 : p.after[size_t(a)]), to, bytes);
      }
    }
  }
}

// Gathers single elements at the chosen offsets.
void gather_elements(const Places& p, const char* from, char* to, int64_t itemsize) {
  const int64_t n = int64_t(p.chosen.size());
  const int64_t* at = p.chosen.data();
  from += p.before[0];
  auto all = [&](auto zero) {
    using E = decltype(zero);
    for (int64_t i = 0; i < n; ++i) std::memcpy(to + i * sizeof(E), from + at[i], sizeof(E));
  };
  switch (itemsize) {
    case 1: return all(uint8_t());
    case 2: return all(uint16_t());
    case 4: return all(uint32_t());
    default: return all(uint64_t());
  }
}

// Whether there is just one index, of integers, and `self` is contiguous: the fast path.
bool is_one_index(const Tensor& self, const std::vector<Tensor>& indices, int64_t* dim) {
  if (!self.is_contiguous() || self.numel() == 0) return false;
  if (int64_t(indices.size()) > self.dim()) return false;
  *dim = -1;
  for (size_t d = 0; d < indices.size(); ++d) {
    if (!indices[d].defined()) continue;
    if (*dim >= 0) return false;
    *dim = int64_t(d);
  }
  if (*dim < 0) return false;
  const Tensor& index = indices[size_t(*dim)];
  return index.dtype() == ScalarType::Int64 && index.is_contiguous();
}

}  // namespace

Tensor nonzero(const Tensor& self) {
  Tensor flags = contiguous_as(self, ScalarType::Bool);
  const uint8_t* on = static_cast<const uint8_t*>(flags.raw());
  int64_t count = 0, n = flags.numel(), dims = self.dim();
  for (int64_t i = 0; i < n; ++i) count += on[i] != 0;
  Tensor out = Tensor::empty({count, dims}, ScalarType::Int64);
  // PyTorch's result is column-major.
  lay(out, {1, std::max<int64_t>(count, 1)});
  int64_t* to = out.data<int64_t>();
  int64_t index[kMaxDims] = {};
  for (int64_t i = 0, row = 0; i < n; ++i) {
    if (on[i]) {
      for (int64_t d = 0; d < dims; ++d) to[d * count + row] = index[d];
      ++row;
    }
    for (int64_t d = dims - 1; d >= 0; --d) {
      if (++index[d] < self.size(d)) break;
      index[d] = 0;
    }
  }
  return out;
}

Tensor index_tensor(const Tensor& self, const std::vector<Tensor>& given_indices) {
  int64_t dim;
  if (is_one_index(self, given_indices, &dim)) {
    return parts_along(self, dim, given_indices[size_t(dim)]);
  }
  std::vector<Tensor> indices = given_indices;
  drop_whole_masks(indices);
  Places places = resolve(self, indices);
  Tensor out = Tensor::empty(places.sizes, self.dtype());
  if (out.numel() == 0) return out;
  char* to = static_cast<char*>(out.raw());
  const char* from = static_cast<const char*>(self.raw());
  const bool single = places.before.size() == 1 && places.after_contiguous;
  if (single && places.after[0] == 1 && self.itemsize() <= 8) {
    gather_elements(places, from, to, self.itemsize());
    return out;
  }
  for_runs(places, self.itemsize(), [&](int64_t at, int64_t result, int64_t bytes) {
    move_bytes(to + result, from + at, bytes);
  });
  return out;
}

void index_put(const Tensor& self, const std::vector<Tensor>& given, const Tensor& values,
               bool accumulate) {
  check_not_read_only(self);
  std::vector<Tensor> indices = given;
  drop_whole_masks(indices);
  if (!accumulate && values.numel() == 1 && values.dim() <= 1 && indices.size() == 1 &&
      indices[0].defined() && is_mask(indices[0]) && indices[0].dtype() == ScalarType::Bool &&
      indices[0].dim() > 0 && indices[0].sizes() == self.sizes() && !overlaps_itself(self)) {
    // A single number is assigned where the mask is true.
    Tensor one = Tensor::empty(IntSpan(), self.dtype());  // a copy: it may be in self
    copy_into(one, view_as_shape(values, IntSpan()));
    where_result(indices[0], one, self, self.dtype(), self);
    return;
  }
  Places places = resolve(self, indices);
  Tensor spread;
  try {
    spread = contiguous_as(view_expand(values, places.sizes), self.dtype());
  } catch (const Error&) {
    raise(ErrorKind::RuntimeError, "shape mismatch: value tensor of shape ",
          to_string(values.sizes()), " cannot be broadcast to indexing result of shape ",
          to_string(places.sizes));
  }
  if (spread.storage() == self.storage()) {
    Tensor apart = Tensor::empty(spread.sizes(), spread.dtype());
    copy_into(apart, spread);
    spread = apart;
  }
  if (spread.numel() == 0) return;
  char* to = static_cast<char*>(self.raw());
  const char* from = static_cast<const char*>(spread.raw());
  if (!accumulate) {
    for_runs(places, self.itemsize(), [&](int64_t at, int64_t value, int64_t bytes) {
      move_bytes(to + at, from + value, bytes);
    });
    return;
  }
  ScalarType type = self.dtype();
  int64_t item = self.itemsize();
  kernels::Convert wide = kernels::converter(ScalarType::Float32, type);
  kernels::Convert narrow = kernels::converter(type, ScalarType::Float32);
  if (is_half(type)) {
    for_runs(places, item, [&](int64_t at, int64_t value, int64_t bytes) {
      for (int64_t i = 0; i < bytes; i += item) {
        float a, b;
        wide(1, &a, 0, to + at + i, 0);
        wide(1, &b, 0, from + value + i, 0);
        a += b;
        narrow(1, to + at + i, 0, &a, 0);
      }
    });
    return;
  }
  for_type_or_complex(type, "index_put", [&](auto zero) {
    using T = decltype(zero);
    for_runs(places, item, [&](int64_t at, int64_t value, int64_t bytes) {
      T* o = reinterpret_cast<T*>(to + at);
      const T* v = reinterpret_cast<const T*>(from + value);
      for (int64_t i = 0; i < bytes / item; ++i) {
        if constexpr (std::is_same_v<T, bool>) o[i] = o[i] || v[i];
        else if constexpr (std::is_integral_v<T>) o[i] = T(uint64_t(o[i]) + uint64_t(v[i]));
        else o[i] += v[i];
      }
    });
  });
}

namespace {

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  SL_CHECK(mask.dtype() == ScalarType::Bool, "masked_select: expected BoolTensor for mask");
  std::vector<int64_t> shape = broadcast_shapes(self.sizes(), mask.sizes());
  if (shape.empty()) shape = {1};
  Tensor wide = to_contiguous(view_expand(self, shape));
  return index_tensor(wide, {to_contiguous(view_expand(mask, shape))});
}

// Checks that there are at most as many indices as dimensions, though a mask may index none or
// several.
void check_count(const Tensor& self, const std::vector<Tensor>& indices) {
  if (indices.empty()) raise(ErrorKind::IndexError, "at least one index must be provided");
  if (int64_t(indices.size()) <= self.dim()) return;
  raise(ErrorKind::IndexError, "too many indices for tensor of dimension ", self.dim(), " (got ",
        indices.size(), ")");
}

// The mask, if the only index besides whole dimensions is one; else null.
const Tensor* only_mask(const std::vector<Tensor>& indices) {
  const Tensor* mask = nullptr;
  for (const Tensor& index : indices) {
    if (!index.defined()) continue;
    if (!is_mask(index) || mask != nullptr) return nullptr;
    mask = &index;
  }
  return mask;
}

}  // namespace

void index_put_checked(const Tensor& self, const std::vector<Tensor>& indices, const Tensor& values,
                       bool accumulate) {
  check_count(self, indices);
  const Tensor* mask = accumulate || values.numel() != 1 ? nullptr : only_mask(indices);
  if (mask != nullptr) {
    SL_CHECK(mask->dtype() == ScalarType::Bool,
             "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char");
    Tensor one = view_as_shape(to_dtype(values, self.dtype()), IntSpan());
    if (mask->dim() > 0) index_put(self, indices, one, false);
    else if (*mask->data<bool>()) copy_into(self, one);
    return;
  }
  SL_CHECK(values.dtype() == self.dtype(),
           "Index put requires the source and destination dtypes match, got ",
           dtype_display_name(self.dtype()), " for the destination and ",
           dtype_display_name(values.dtype()), " for the source.");
  for (const Tensor& index : indices) {
    if (index.defined()) check_apart(self, index, false);
  }
  check_apart(self, values, false);
  index_put(self, indices, values, accumulate);
}

SL_OP(aten_index_Tensor) {
  const std::vector<Tensor> indices = args.opt_tensors(1);
  check_count(args.tensor(0), indices);
  out[0] = index_tensor(args.tensor(0), indices);
}
SL_OP(aten_index_Tensor_hacked_twin) { op_aten_index_Tensor(ctx, args, out); }
SL_OP(aten__unsafe_index_Tensor) { op_aten_index_Tensor(ctx, args, out); }
SL_OP(aten_index_put_) {
  index_put_checked(args.tensor(0), args.opt_tensors(1), args.tensor(2), args.boolean(3));
  out[0] = args.tensor(0);
}
SL_OP(aten_index_put__hacked_twin) { op_aten_index_put_(ctx, args, out); }
SL_OP(aten__unsafe_index_put) { forms::on_copy(op_aten_index_put_, 0, ctx, args, out); }
SL_OP(aten__unsafe_index_put_hacked_twin) { op_aten__unsafe_index_put(ctx, args, out); }
SL_OP(aten__unsafe_index_Tensor_hacked_twin) { op_aten_index_Tensor(ctx, args, out); }
SL_OP(aten_nonzero) { out[0] = nonzero(args.tensor(0)); }
SL_OP(aten_argwhere) { out[0] = nonzero(args.tensor(0)); }
SL_OP(aten_nonzero_numpy) {
  const Tensor& self = args.tensor(0);
  Tensor found = nonzero(self.dim() == 0 ? view_unsqueeze(self, 0) : self);
  std::vector<Tensor> columns;
  for (int64_t d = 0; d < found.size(1); ++d) columns.push_back(view_select(found, 1, d));
  out[0] = tensor_list(std::move(columns));
}
SL_OP(aten_where) { op_aten_nonzero_numpy(ctx, args, out); }
SL_OP(aten_masked_select) { out[0] = masked_select(args.tensor(0), args.tensor(1)); }

}  // namespace scriptlang
