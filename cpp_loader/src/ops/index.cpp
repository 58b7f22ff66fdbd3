#include "scratch.h"
#include "index.h"

#include <cstring>

#include "../../kernels/parallel.h"
#include "pointwise.h"
#include "reduce.h"
#include "view.h"

namespace scriptlang {

namespace {

bool is_mask(const Tensor& t) {
  return t.dtype() == ScalarType::Bool || t.dtype() == ScalarType::UInt8;
}

// Byte offsets of all elements of some dimensions, in order.
std::vector<int64_t> offsets_of(IntSpan sizes, IntSpan strides, int64_t itemsize) {
  std::vector<int64_t> offsets{0};
  memory::ask(checked_numel(sizes), 16);
  for (int64_t d = 0; d < sizes.size; ++d) {
    std::vector<int64_t> next;
    next.reserve(offsets.size() * size_t(sizes[d]));
    for (int64_t base : offsets) {
      for (int64_t i = 0; i < sizes[d]; ++i) next.push_back(base + i * strides[d] * itemsize);
    }
    offsets = std::move(next);
  }
  return offsets;
}

// An indexing expression, resolved: where every element of the result lies in `self`, as
// before[b] + chosen[p] + after[a], the result being contiguous in (b, p, a).
struct Places {
  std::vector<int64_t> sizes;  // of the result
  std::vector<int64_t> before, chosen, after;
  bool after_contiguous = false;  // `after` is one run: only its length counts
};

// A mask without dimensions chooses all of self or nothing: it becomes a mask of one element, and
// self gets a dimension for it.
void spread_whole_masks(Tensor& self, std::vector<Tensor>& indices) {
  int64_t dim = 0;
  for (Tensor& index : indices) {
    if (index.defined() && is_mask(index) && index.dim() == 0) {
      SL_CHECK(dim <= self.dim(), "too many indices for tensor of dimension ", self.dim());
      self = view_unsqueeze(self, dim);
      index = view_unsqueeze(index, 0);
    }
    dim += index.defined() && is_mask(index) ? index.dim() : 1;
  }
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
    raise(ErrorKind::IndexError, "too many indices for tensor of dimension ", self.dim(),
          " (got ", plain.size(), ")");
  }
  return plain;
}

// Adds what the places of `index`, expanded to the shape of the result, are worth along a dimension.
void add_offsets(std::vector<int64_t>& offsets, const Tensor& index, int64_t dim, int64_t size,
                 int64_t step) {
  auto offset_of = [&](int64_t place) {
    if (place < -size || place >= size) {
      raise(ErrorKind::IndexError, "index ", place, " is out of bounds for dimension ", dim,
            " with size ", size);
    }
    return (place < 0 ? place + size : place) * step;
  };
  // Row by row, so that what is the same for all of a row is looked at once.
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
      shape = count == 0 ? std::vector<int64_t>(indices[d].sizes().begin(),
                                                indices[d].sizes().end())
                         : broadcast_shapes(shape, indices[d].sizes());
    } catch (const Error&) {
      raise(ErrorKind::IndexError, "shape mismatch: indexing tensors could not be broadcast "
            "together with shapes ", to_string(shape), ", ", to_string(indices[d].sizes()));
    }
    if (first < 0) first = int64_t(d);
    last = int64_t(d);
    ++count;
  }
  Places places;
  bool adjacent = count > 0 && last - first + 1 == count;
  std::vector<int64_t> sizes[2], strides[2];  // of the dimensions before and after the chosen
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
  memory::ask(checked_numel(shape), 8);
  places.chosen.assign(size_t(checked_numel(shape)), 0);
  for (int64_t d = 0; d < int64_t(indices.size()); ++d) {
    const Tensor& index = indices[size_t(d)];
    if (!index.defined()) continue;
    add_offsets(places.chosen, view_expand(index, shape), d, self.size(d),
                self.stride(d) * itemsize);
  }
  return places;
}

// f(place in self, place in the contiguous result, bytes) for every run.
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

void move_bytes(void* to, const void* from, int64_t bytes) {
  switch (bytes) {
    case 1: std::memcpy(to, from, 1); break;
    case 2: std::memcpy(to, from, 2); break;
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    default: std::memcpy(to, from, size_t(bytes));
  }
}

template <class E>
void take_elements(char* to, const char* from, const int64_t* at, int64_t n, int64_t size) {
  E* o = reinterpret_cast<E*>(to);
  const E* x = reinterpret_cast<const E*>(from);
  for (int64_t i = 0; i < n; ++i) o[i] = x[at[i] < 0 ? at[i] + size : at[i]];
}
// Elements of 1, 2, 4 or 8 bytes at n places of `size`; false where they are of another size.
bool try_take(char* to, const char* from, const int64_t* at, int64_t n, int64_t size,
              int64_t bytes) {
  switch (bytes) {
    case 1: return take_elements<uint8_t>(to, from, at, n, size), true;
    case 2: return take_elements<uint16_t>(to, from, at, n, size), true;
    case 4: return take_elements<uint32_t>(to, from, at, n, size), true;
    case 8: return take_elements<uint64_t>(to, from, at, n, size), true;
    default: return false;
  }
}

// Single elements, wherever they lie.
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

// The parts of a contiguous tensor that contiguous places (int64) name along one dimension. Those
// below zero count from the end.
Tensor parts_along(const Tensor& self, int64_t dim, const Tensor& places) {
  Dims sizes;
  int64_t outer = 1, inner = self.itemsize(), size = self.size(dim), n = places.numel();
  for (int64_t d = 0; d < dim; ++d) {
    sizes.push_back(self.size(d));
    outer *= self.size(d);
  }
  for (int64_t one : places.sizes()) sizes.push_back(one);
  for (int64_t d = dim + 1; d < self.dim(); ++d) {
    sizes.push_back(self.size(d));
    inner *= self.size(d);
  }
  const int64_t* at = places.data<int64_t>();
  int64_t least = 0, most = -1;
  for (int64_t i = 0; i < n; ++i) {
    least = std::min(least, at[i]);
    most = std::max(most, at[i]);
  }
  for (int64_t i = 0; (least < -size || most >= size) && i < n; ++i) {
    if (at[i] < -size || at[i] >= size) {
      raise(ErrorKind::IndexError, "index ", at[i], " is out of bounds for dimension ", dim,
            " with size ", size);
    }
  }
  Tensor out = Tensor::empty(sizes, self.dtype());
  if (out.numel() == 0) return out;
  char* to = static_cast<char*>(out.raw());
  const char* from = static_cast<const char*>(self.raw());
  constexpr int64_t kParallelBytes = 1 << 18;
  kernels::parallel_for(outer * n, kParallelBytes / inner + 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end;) {
      const int64_t first = k % n, count = std::min(end - k, n - first);
      const char* part = from + k / n * size * inner;
      if (!try_take(to + k * inner, part, at + first, count, size, inner)) {
        for (int64_t i = 0; i < count; ++i) {
          int64_t place = at[first + i];
          move_bytes(to + (k + i) * inner, part + (place < 0 ? place + size : place) * inner,
                     inner);
        }
      }
      k += count;
    }
  });
  return out;
}

// One index, of integers, into a contiguous tensor: there is nothing to resolve.
bool is_one_index(const Tensor& self, const std::vector<Tensor>& indices, int64_t* dim) {
  if (!self.is_contiguous() || int64_t(indices.size()) > self.dim()) return false;
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
  // PyTorch's result lies column by column.
  out.impl()->set_geometry({count, dims}, {1, std::max<int64_t>(count, 1)});
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

Tensor index_tensor(const Tensor& given, const std::vector<Tensor>& given_indices) {
  int64_t dim;
  if (is_one_index(given, given_indices, &dim)) {
    return parts_along(given, dim, given_indices[size_t(dim)]);
  }
  Tensor self = given;
  std::vector<Tensor> indices = given_indices;
  spread_whole_masks(self, indices);
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

void index_put(const Tensor& given, const std::vector<Tensor>& given_indices,
               const Tensor& values, bool accumulate) {
  check_not_read_only(given);
  Tensor self = given;
  std::vector<Tensor> indices = given_indices;
  spread_whole_masks(self, indices);
  SL_CHECK(values.dtype() == self.dtype() || values.dim() == 0,
           "Index put requires the source and destination dtypes match, got ",
           dtype_display_name(self.dtype()), " for the destination and ",
           dtype_display_name(values.dtype()), " for the source.");
  if (!accumulate && values.numel() == 1 && values.dim() <= 1 && indices.size() == 1 &&
      indices[0].defined() && is_mask(indices[0]) && indices[0].dtype() == ScalarType::Bool &&
      indices[0].dim() > 0 && indices[0].sizes() == self.sizes() && !overlaps_itself(self)) {
    // One number wherever the mask is true.
    Tensor one = view_as_shape(to_dtype(values, self.dtype()), IntSpan());
    where_result(indices[0], one, self, self.dtype(), self);
    return;
  }
  Places places = resolve(self, indices);
  if (checked_numel(places.sizes) == 0) return;
  Tensor spread;
  Tensor squeezed = values;
  while (squeezed.dim() > int64_t(places.sizes.size()) && squeezed.size(0) == 1) {
    squeezed = view_select(squeezed, 0, 0);
  }
  try {
    spread = contiguous_as(view_expand(squeezed, places.sizes), self.dtype());
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
  if (type == ScalarType::Float16 || type == ScalarType::BFloat16) {
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

// Elements or blocks of them that lie side by side; `at` names places along the middle dimension.
template <class T>
void select_elements(const char* from, char* to, int64_t rows, int64_t size, const int64_t* at,
                     int64_t count) {
  const T* a = reinterpret_cast<const T*>(from);
  T* o = reinterpret_cast<T*>(to);
  for (int64_t r = 0; r < rows; ++r, a += size, o += count) {
    for (int64_t j = 0; j < count; ++j) o[j] = a[at[j]];
  }
}
void select_blocks(const char* from, char* to, int64_t rows, int64_t size, const int64_t* at,
                   int64_t count, size_t bytes) {
  for (int64_t r = 0; r < rows; ++r, from += size_t(size) * bytes) {
    for (int64_t j = 0; j < count; ++j, to += bytes) {
      std::memcpy(to, from + size_t(at[j]) * bytes, bytes);
    }
  }
}

Tensor select_contiguous(const Tensor& self, int64_t dim, const int64_t* at, int64_t count) {
  Dims sizes(self.sizes());
  int64_t outer = 1, inner = self.itemsize(), size = self.size(dim);
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d != dim) (d < dim ? outer : inner) *= self.size(d);
  }
  sizes[size_t(dim)] = count;
  Tensor out = Tensor::empty(sizes, self.dtype());
  if (out.numel() == 0) return out;
  const char* from = static_cast<const char*>(self.raw());
  char* to = static_cast<char*>(out.raw());
  int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, count * inner));
  kernels::parallel_for(outer, grain, [&](int64_t begin, int64_t end) {
    const char* a = from + begin * size * inner;
    char* o = to + begin * count * inner;
    int64_t rows = end - begin;
    switch (inner == self.itemsize() ? inner : 0) {
      case 1: return select_elements<uint8_t>(a, o, rows, size, at, count);
      case 2: return select_elements<uint16_t>(a, o, rows, size, at, count);
      case 4: return select_elements<uint32_t>(a, o, rows, size, at, count);
      case 8: return select_elements<uint64_t>(a, o, rows, size, at, count);
      default: return select_blocks(a, o, rows, size, at, count, size_t(inner));
    }
  });
  return out;
}

// Indices as int64, contiguous, each from 0 to below `size`.
Tensor places_below(const Tensor& index, int64_t size) {
  Tensor places = contiguous_as(index, ScalarType::Int64);
  const int64_t* at = places.data<int64_t>();
  for (int64_t i = 0; i < places.numel(); ++i) {
    if (at[i] < 0 || at[i] >= size) raise(ErrorKind::IndexError, "index out of range in self");
  }
  return places;
}

}  // namespace

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  dim = wrap_dim(dim, self.dim());
  if (index.dim() > 1) {
    raise(ErrorKind::IndexError, "index_select(): Index is supposed to be a vector, but got dim: ",
          index.dim());
  }
  SL_CHECK(index.dtype() == ScalarType::Int64 || index.dtype() == ScalarType::Int32,
           "index_select(): Expected dtype int32 or int64 for index");
  Tensor flat = index.dim() == 1 ? index : reshape(index, {index.numel()});
  Tensor places = places_below(flat, self.dim() ? self.size(dim) : 1);
  if (self.dim() == 0) {
    Tensor copy = Tensor::empty(IntSpan(), self.dtype());
    copy_into(copy, self);
    return copy;
  }
  if (self.is_contiguous()) {
    return select_contiguous(self, dim, places.data<int64_t>(), places.numel());
  }
  std::vector<Tensor> indices(size_t(dim) + 1);
  indices[size_t(dim)] = places;
  return index_tensor(self, indices);
}

namespace {

Tensor clone(const Tensor& t) {
  Tensor copy = Tensor::empty_like(t, t.dtype());
  copy_into(copy, t);
  return copy;
}

std::vector<Tensor> with_index(const Tensor& self, int64_t dim, const Tensor& index) {
  SL_CHECK(index.dim() <= 1, "Index is supposed to be a vector, but got dim: ", index.dim());
  std::vector<Tensor> indices(size_t(wrap_dim(dim, self.dim())) + 1);
  indices.back() = reshape(index, {index.numel()});
  return indices;
}

void index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  Tensor one = Tensor::empty(IntSpan(), self.dtype());
  fill(one, value);
  Tensor target = self.dim() == 0 ? view_unsqueeze(self, 0) : self;
  index_put(target, with_index(target, dim, index), one, false);
}

// Parts of contiguous tensors written at, or added to, places along one dimension; false where the
// tensors do not lie so.
bool try_write_parts(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& values,
                     bool accumulate) {
  const ScalarType type = self.dtype();
  bool known = !accumulate || type == ScalarType::Float32 || type == ScalarType::Float64 ||
               type == ScalarType::Int64 || type == ScalarType::Int32;
  if (!known || !self.is_contiguous() || values.dtype() != type ||
      values.storage() == self.storage() || index.storage() == self.storage()) {
    return false;
  }
  Tensor places = contiguous_as(index, ScalarType::Int64), from = to_contiguous(values);
  const int64_t n = places.numel(), size = self.size(dim);
  std::vector<int64_t> at(places.data<int64_t>(), places.data<int64_t>() + n);
  for (int64_t& place : at) {
    if (place < -size || place >= size) return false;  // raises where each is looked at
    if (place < 0) place += size;
  }
  int64_t outer = 1, inner = 1;
  for (int64_t d = 0; d < dim; ++d) outer *= self.size(d);
  for (int64_t d = dim + 1; d < self.dim(); ++d) inner *= self.size(d);
  if (from.numel() != outer * n * inner) return false;
  if (!accumulate) {
    const int64_t bytes = inner * self.itemsize();
    char* to = static_cast<char*>(self.raw());
    const char* x = static_cast<const char*>(from.raw());
    for (int64_t o = 0; o < outer; ++o, to += size * bytes, x += n * bytes) {
      for (int64_t i = 0; i < n; ++i) move_bytes(to + at[size_t(i)] * bytes, x + i * bytes, bytes);
    }
    return true;
  }
  auto add = [&](auto zero) {
    using T = decltype(zero);
    T* to = static_cast<T*>(self.raw());
    const T* x = static_cast<const T*>(from.raw());
    for (int64_t o = 0; o < outer; ++o, to += size * inner, x += n * inner) {
      for (int64_t i = 0; i < n; ++i) {
        T* row = to + at[size_t(i)] * inner;
        const T* more = x + i * inner;
        for (int64_t j = 0; j < inner; ++j) row[j] += more[j];
      }
    }
  };
  if (type == ScalarType::Float32) add(float());
  else if (type == ScalarType::Float64) add(double());
  else if (type == ScalarType::Int64) add(uint64_t());
  else add(uint32_t());
  return true;
}

void index_write(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                 bool accumulate, const Scalar& factor) {
  SL_CHECK(accumulate || index.dtype() == ScalarType::Int64, "index_copy_(): Expected a long tensor "
           "for index, but got ", dtype_display_name(index.dtype()));
  SL_CHECK(source.dtype() == self.dtype(), "index_add_(): self and source expected to have the "
           "same dtype, but got (self) ", dtype_display_name(self.dtype()), " and (source) ",
           dtype_display_name(source.dtype()));
  dim = wrap_dim(dim, self.dim());
  bool zero_dim = self.dim() == 0;
  Tensor target = zero_dim ? view_unsqueeze(self, 0) : self;
  Tensor values = source.dim() == 0 ? view_unsqueeze(source, 0) : source;
  SL_CHECK(values.dim() == target.dim() && values.size(dim) == index.numel(),
           "index_add_(): Number of indices (", index.numel(),
           ") should be equal to source.size(dim): (", dim < values.dim() ? values.size(dim) : 0,
           "), for dim: ", dim);
  for (int64_t d = 0; d < target.dim(); ++d) {
    SL_CHECK((d == dim || target.size(d) == values.size(d)) &&
                 (!accumulate || self.dim() == source.dim()),
             "source tensor shape must match self tensor shape, excluding the specified dimension. "
             "Got self.shape = ", to_string(self.sizes()), " source.shape = ",
             to_string(source.sizes()));
  }
  if (!(factor.is_integral() && factor.i == 1)) {
    values = to_dtype(binary_result(values, factor, kernels::Binary::k_mul, "mul", Rule::kSame),
                      self.dtype());
  }
  check_writable(target);
  if (index.dim() <= 1 && (index.dtype() == ScalarType::Int64 ||
                           index.dtype() == ScalarType::Int32) &&
      try_write_parts(target, dim, index, values, accumulate)) {
    return;
  }
  index_put(target, with_index(target, dim, index), values, accumulate);
}

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  SL_CHECK(mask.dtype() == ScalarType::Bool, "masked_select: expected BoolTensor for mask");
  std::vector<int64_t> shape = broadcast_shapes(self.sizes(), mask.sizes());
  if (shape.empty()) shape = {1};
  Tensor wide = to_contiguous(view_expand(self, shape));
  return index_tensor(wide, {to_contiguous(view_expand(mask, shape))});
}

Tensor take(const Tensor& self, const Tensor& index) {
  SL_CHECK(index.dtype() == ScalarType::Int64, "take(): Expected a long tensor for index, but got ",
           dtype_display_name(index.dtype()));
  if (self.itemsize() != 4 || !self.is_contiguous() || !index.is_contiguous()) {
    return index_tensor(reshape(self, {self.numel()}), {index});
  }
  int64_t n = self.numel();
  Tensor out = Tensor::empty(index.sizes(), self.dtype());
  const uint32_t* from = self.data<uint32_t>();
  kernels::parallel_for(out.numel(), 16384, [&](int64_t begin, int64_t end) {
    const int64_t* at = index.data<int64_t>();
    uint32_t* to = out.data<uint32_t>();
    for (int64_t i = begin; i < end; ++i) {
      int64_t place = at[i] < 0 ? at[i] + n : at[i];
      if (uint64_t(place) >= uint64_t(n)) {
        raise(ErrorKind::IndexError, "index ", at[i], " is out of bounds for dimension 0 with ",
              "size ", n);
      }
      to[i] = from[place];
    }
  });
  return out;
}

}  // namespace

SL_OP(aten_index_Tensor) { out[0] = index_tensor(args.tensor(0), args.opt_tensors(1)); }
SL_OP(aten_index_Tensor_hacked_twin) {
  out[0] = index_tensor(args.tensor(0), args.opt_tensors(1));
}
SL_OP(aten__unsafe_index_Tensor) { out[0] = index_tensor(args.tensor(0), args.opt_tensors(1)); }
SL_OP(aten_index_put_) {
  index_put(args.tensor(0), args.opt_tensors(1), args.tensor(2), args.boolean(3));
  out[0] = args.tensor(0);
}
SL_OP(aten_index_put__hacked_twin) { op_aten_index_put_(ctx, args, out); }
SL_OP(aten_index_put) {
  Tensor copy = clone(args.tensor(0));
  index_put(copy, args.opt_tensors(1), args.tensor(2), args.boolean(3));
  out[0] = copy;
}
SL_OP(aten_index_put_hacked_twin) { op_aten_index_put(ctx, args, out); }
SL_OP(aten__unsafe_index_put) { op_aten_index_put(ctx, args, out); }
SL_OP(aten__unsafe_index_put_hacked_twin) { op_aten_index_put(ctx, args, out); }
SL_OP(aten__unsafe_index_Tensor_hacked_twin) { op_aten_index_Tensor(ctx, args, out); }
SL_OP(aten_index_select) {
  out[0] = index_select(args.tensor(0), args.integer(1), args.tensor(2));
}
SL_OP(aten_index_fill_int_Scalar) {
  Tensor copy = clone(args.tensor(0));
  index_fill(copy, args.integer(1), args.tensor(2), args.scalar(3));
  out[0] = copy;
}
SL_OP(aten_index_fill_int_Tensor) { op_aten_index_fill_int_Scalar(ctx, args, out); }
SL_OP(aten_index_fill__int_Scalar) {
  index_fill(args.tensor(0), args.integer(1), args.tensor(2), args.scalar(3));
  out[0] = args.tensor(0);
}
SL_OP(aten_index_fill__int_Tensor) { op_aten_index_fill__int_Scalar(ctx, args, out); }
SL_OP(aten_index_add) {
  Tensor copy = clone(args.tensor(0));
  index_write(copy, args.integer(1), args.tensor(2), args.tensor(3), true, args.scalar(4));
  out[0] = copy;
}
SL_OP(aten_index_add_) {
  index_write(args.tensor(0), args.integer(1), args.tensor(2), args.tensor(3), true,
              args.scalar(4));
  out[0] = args.tensor(0);
}
SL_OP(aten_index_copy) {
  Tensor copy = clone(args.tensor(0));
  index_write(copy, args.integer(1), args.tensor(2), args.tensor(3), false, int64_t{1});
  out[0] = copy;
}
SL_OP(aten_index_copy_) {
  index_write(args.tensor(0), args.integer(1), args.tensor(2), args.tensor(3), false, int64_t{1});
  out[0] = args.tensor(0);
}
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
SL_OP(aten_take) { out[0] = take(args.tensor(0), args.tensor(1)); }
SL_OP(aten_embedding) {
  const Tensor& weight = args.tensor(0);
  const Tensor& indices = args.tensor(1);
  SL_CHECK(weight.dim() == 2, "'weight' must be 2-D");
  SL_CHECK(indices.dtype() == ScalarType::Int64 || indices.dtype() == ScalarType::Int32,
           "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
           "Long, Int; but got ", dtype_display_name(indices.dtype()), " instead");
  if (weight.is_contiguous()) {
    out[0] = parts_along(weight, 0, places_below(indices, weight.size(0)));
    return;
  }
  std::vector<int64_t> sizes(indices.sizes().begin(), indices.sizes().end());
  sizes.push_back(weight.size(1));
  out[0] = view_as_shape(index_select(weight, 0, reshape(indices, {indices.numel()})), sizes);
}

}  // namespace scriptlang
