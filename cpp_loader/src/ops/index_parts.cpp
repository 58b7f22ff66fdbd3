// Slices at positions along one dimension, read and written: index_select, take, embedding,
// index_fill, index_add, index_copy.
#include <algorithm>

#include "../../kernels/parallel.h"
#include "index.h"
#include "pointwise.h"
#include "reduce.h"
#include "view.h"

namespace scriptlang {

// The difference to a bound has its highest bit set where an index is outside. Several indices are
// tested at a time, which compilers do not do by themselves here. Indices are prefetched a page
// ahead, since the processor's own prefetching ends with every page.
bool all_within(const int64_t* at, int64_t n, int64_t least, int64_t size) {
  typedef uint64_t Pair __attribute__((vector_size(16)));
  const uint64_t low = uint64_t(least), high = uint64_t(size - 1);
  const Pair lows = {low, low}, highs = {high, high};
  constexpr int64_t kAhead = 512;  // indices, 4 KB
  Pair pairs[2] = {};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    Pair first, second;
    __builtin_prefetch(at + i + kAhead);
    std::memcpy(&first, at + i, sizeof(first));
    std::memcpy(&second, at + i + 2, sizeof(second));
    pairs[0] |= (first - lows) | (highs - first);
    pairs[1] |= (second - lows) | (highs - second);
  }
  pairs[0] |= pairs[1];
  uint64_t outside = pairs[0][0] | pairs[0][1];
  for (; i < n; ++i) outside |= (uint64_t(at[i]) - low) | (high - uint64_t(at[i]));
  return outside >> 63 == 0;
}

namespace {

// Copies the parts, of N bytes or of `bytes` where N is 0, at n positions.
template <size_t N>
void take_parts(char* to, const char* from, const int64_t* at, int64_t n, int64_t bytes) {
  const size_t each = N ? N : size_t(bytes);
  for (int64_t i = 0; i < n; ++i) {
    std::memcpy(to + size_t(i) * each, from + size_t(at[i]) * each, each);
  }
}

void take_parts(char* to, const char* from, const int64_t* at, int64_t n, int64_t bytes) {
  switch (bytes) {
    case 1: return take_parts<1>(to, from, at, n, bytes);
    case 2: return take_parts<2>(to, from, at, n, bytes);
    case 4: return take_parts<4>(to, from, at, n, bytes);
    case 8: return take_parts<8>(to, from, at, n, bytes);
    default: return take_parts<0>(to, from, at, n, bytes);
  }
}

// Indices as contiguous int64; raises unless all are in [0, size).
Tensor places_below(const Tensor& index, int64_t size) {
  Tensor places = contiguous_as(index, ScalarType::Int64);
  if (!all_within(places.data<int64_t>(), places.numel(), 0, size)) {
    raise(ErrorKind::IndexError, "index out of range in self");
  }
  return places;
}

// Gathers slices of a contiguous tensor along one dimension, at contiguous positions in its range.
// In the result, the dimensions of `places` replace that dimension.
Tensor parts_at(const Tensor& self, int64_t dim, const Tensor& places) {
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
  Tensor out = Tensor::empty(sizes, self.dtype());
  if (out.numel() == 0) return out;
  char* to = static_cast<char*>(out.raw());
  const char* from = static_cast<const char*>(self.raw());
  const int64_t* at = places.data<int64_t>();
  constexpr int64_t kParallelBytes = 1 << 18;
  kernels::parallel_for(outer * n, kParallelBytes / inner + 1, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end;) {
      const int64_t first = k % n, count = std::min(end - k, n - first);
      take_parts(to + k * inner, from + k / n * size * inner, at + first, count, inner);
      k += count;
    }
  });
  return out;
}

}  // namespace

Tensor parts_along(const Tensor& self, int64_t dim, const Tensor& places) {
  const int64_t *at = places.data<int64_t>(), n = places.numel(), size = self.size(dim);
  if (all_within(at, n, 0, size)) return parts_at(self, dim, places);
  Tensor from_start = Tensor::empty(places.sizes(), ScalarType::Int64);
  int64_t* to = from_start.data<int64_t>();
  for (int64_t i = 0; i < n; ++i) {
    if (at[i] < -size || at[i] >= size) {
      raise(ErrorKind::IndexError, "index ", at[i], " is out of bounds for dimension ", dim,
            " with size ", size);
    }
    to[i] = at[i] < 0 ? at[i] + size : at[i];
  }
  return parts_at(self, dim, from_start);
}

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  dim = wrap_dim(dim, self.dim());
  if (index.dim() > 1) {
    raise(ErrorKind::IndexError,
          "index_select(): Index is supposed to be a vector, but got dim: ", index.dim());
  }
  SL_CHECK(index.dtype() == ScalarType::Int64 || index.dtype() == ScalarType::Int32,
           "index_select(): Expected dtype int32 or int64 for index");
  Tensor flat = index.dim() == 1 ? index : reshape(index, {index.numel()});
  Tensor places = places_below(flat, self.dim() ? self.size(dim) : 1);
  if (self.dim() == 0) {
    SL_CHECK(flat.numel() == 1, "index_select(): Index to scalar can have only 1 value, got ",
             flat.numel(), " value(s)");
    Tensor copy = Tensor::empty(IntSpan(), self.dtype());
    copy_into(copy, self);
    return copy;
  }
  if (self.is_contiguous()) return parts_at(self, dim, places);
  std::vector<Tensor> indices(as_size(dim) + 1);
  indices[size_t(dim)] = places;
  return index_tensor(self, indices);
}

void check_elements(const Tensor& index, int64_t count) {
  Tensor places = to_contiguous(index);
  const int64_t *at = places.data<int64_t>(), n = places.numel();
  if (all_within(at, n, -count, count)) return;
  const int64_t wrong =
      *std::find_if(at, at + n, [&](int64_t k) { return k < -count || k >= count; });
  raise(ErrorKind::IndexError, "out of range: tried to access index ", wrong, " on a tensor of ",
        count, " elements.");
}

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
    if (place < -size || place >= size) return false;  // the general path raises
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

namespace {

std::vector<Tensor> with_index(const Tensor& self, int64_t dim, const Tensor& index) {
  SL_CHECK(index.dim() <= 1, "Index is supposed to be a vector, but got dim: ", index.dim());
  std::vector<Tensor> indices(as_size(wrap_dim(dim, self.dim())) + 1);
  indices.back() = reshape(index, {index.numel()});
  return indices;
}

void index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  SL_CHECK(index.dtype() == ScalarType::Int64,
           "index_fill_(): Expected dtype int64 for index, but got ",
           dtype_display_name(index.dtype()));
  check_apart(self, index, false);
  Tensor one = Tensor::empty(IntSpan(), self.dtype());
  fill(one, value);
  Tensor target = self.dim() == 0 ? view_unsqueeze(self, 0) : self;
  index_put(target, with_index(target, dim, index), one, false);
}

// Indices as contiguous int64. Raises as PyTorch does if one is negative or too large; it scatters
// along the first and the last of several dimensions what it need not multiply.
Tensor rows_of(const Tensor& self, int64_t dim, const Tensor& index, bool adds, bool scatters) {
  Tensor places = contiguous_as(index, ScalarType::Int64);
  const int64_t *at = places.data<int64_t>(), n = places.numel(), size = self.size(dim);
  if (all_within(at, n, 0, size)) return places;
  const int64_t wrong = *std::find_if(at, at + n, [&](int64_t k) { return k < 0 || k >= size; });
  if (adds && !(scatters && self.dim() > 1 && (dim == 0 || dim == self.dim() - 1))) {
    raise(ErrorKind::IndexError, "index out of range in self");
  }
  raise(adds ? ErrorKind::RuntimeError : ErrorKind::IndexError,
        adds ? "" : "index_copy_(): ", "index ", wrong, " is out of bounds for dimension ", dim,
        " with size ", size);
}

void index_write(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                 bool accumulate, const Scalar& factor) {
  check_apart(self, index, false);
  check_apart(self, source, false);
  SL_CHECK(accumulate || index.dtype() == ScalarType::Int64,
           "index_copy_(): Expected a long "
           "tensor for index, but got ",
           dtype_display_name(index.dtype()));
  SL_CHECK(index.dtype() == ScalarType::Int64 || index.dtype() == ScalarType::Int32,
           "index_add_(): Expected dtype int32/int64 for index but got: ",
           dtype_display_name(index.dtype()));
  SL_CHECK(source.dtype() == self.dtype(),
           "index_add_(): self and source expected to have the "
           "same dtype, but got (self) ",
           dtype_display_name(self.dtype()), " and (source) ", dtype_display_name(source.dtype()));
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
             "Got self.shape = ",
             to_string(self.sizes()), " source.shape = ", to_string(source.sizes()));
  }
  const bool is_one = factor.is_integral() && factor.i == 1;
  if (!is_one) {
    values = to_dtype(binary_result(values, factor, kernels::Binary::k_mul, "mul", Rule::kSame),
                      self.dtype());
  }
  check_writable(target);
  if (accumulate && self.dim() > 1 && self.numel() == 0) return;
  const bool scatters = is_one && index.dtype() == ScalarType::Int64;
  const std::vector<Tensor> indices = with_index(target, dim, index);
  Tensor places = rows_of(target, dim, index, accumulate, scatters);
  if (try_write_parts(target, dim, places, values, accumulate)) return;
  index_put(target, indices, values, accumulate);
}

}  // namespace

SL_OP(aten_index_select) { out[0] = index_select(args.tensor(0), args.integer(1), args.tensor(2)); }
SL_OP(aten_take) {
  const Tensor &self = args.tensor(0), &index = args.tensor(1);
  SL_CHECK(index.dtype() == ScalarType::Int64, "take(): Expected a long tensor for index, but got ",
           dtype_display_name(index.dtype()));
  if (index.numel() > 0 && self.numel() == 0) {
    raise(ErrorKind::IndexError, "take(): tried to take from an empty tensor");
  }
  check_elements(index, self.numel());
  out[0] = index_tensor(reshape(self, {self.numel()}), {index});
}
SL_OP(aten_index_fill__int_Scalar) {
  index_fill(args.tensor(0), args.integer(1), args.tensor(2), args.scalar(3));
  out[0] = args.tensor(0);
}
SL_OP(aten_index_fill__int_Tensor) {
  SL_CHECK(args.tensor(3).dim() == 0,
           "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
           args.tensor(3).dim(), " dimension(s).");
  op_aten_index_fill__int_Scalar(ctx, args, out);
}
SL_OP(aten_index_add_) {
  index_write(args.tensor(0), args.integer(1), args.tensor(2), args.tensor(3), true,
              args.scalar(4));
  out[0] = args.tensor(0);
}
SL_OP(aten_index_copy_) {
  index_write(args.tensor(0), args.integer(1), args.tensor(2), args.tensor(3), false, int64_t{1});
  out[0] = args.tensor(0);
}

void check_row_indices(const char* name, int position, ScalarType type) {
  if (type == ScalarType::Int64 || type == ScalarType::Int32) return;
  constexpr ScalarType kLegacy[] = {ScalarType::UInt8,   ScalarType::Int8,    ScalarType::Int16,
                                    ScalarType::Float16, ScalarType::Float32, ScalarType::Float64};
  const bool is_legacy =
      std::find(std::begin(kLegacy), std::end(kLegacy), type) != std::end(kLegacy);
  raise(ErrorKind::RuntimeError, "Expected tensor for argument #", position,
        " 'indices' to have one of the following scalar types: Long, Int; but got ",
        is_legacy ? "torch." : "CPU", dtype_display_name(type), is_legacy ? "Tensor" : "Type",
        " instead (while checking arguments for ", name, ")");
}

SL_OP(aten_embedding) {
  const Tensor& weight = args.tensor(0);
  const Tensor& indices = args.tensor(1);
  SL_CHECK(weight.dim() == 2, "'weight' must be 2-D");
  check_row_indices("embedding", 1, indices.dtype());
  if (weight.is_contiguous()) {
    out[0] = parts_at(weight, 0, places_below(indices, weight.size(0)));
    return;
  }
  std::vector<int64_t> sizes(indices.sizes().begin(), indices.sizes().end());
  sizes.push_back(weight.size(1));
  out[0] = view_as_shape(index_select(weight, 0, reshape(indices, {indices.numel()})), sizes);
}

}  // namespace scriptlang
