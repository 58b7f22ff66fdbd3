// Largest and smallest elements, their indices, and medians.
#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <memory>

#include "pointwise_binary.h"
#include "layers.h"
#include "pieces.h"
#include "reduce.h"
#include "scratch.h"

namespace scriptlang {

namespace {

// Element types for which row and column kernels exist.
bool has_lines(ScalarType t) {
  return t == ScalarType::Float32 || t == ScalarType::Float64 || t == ScalarType::Int64;
}

template <class T>
constexpr bool kHasLines =
    std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int64_t>;

// The index of the first largest (or smallest) element, by a sequential loop; NaN beats all others.
template <class T>
int64_t first_extreme(const T* x, int64_t n, bool greatest) {
  int64_t best = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (is_nan(x[i])) return i;
    if (greatest ? x[i] > x[best] : x[i] < x[best]) best = i;
  }
  return best;
}

// The largest (or smallest) element, computed in independent lanes.
template <class T>
T extreme_of(const T* x, int64_t n, bool greatest) {
  constexpr int kLanes = 32;
  [[maybe_unused]] const auto& lines = *kernels::kernels().lines;
  [[maybe_unused]] T result;
  if constexpr (std::is_same_v<T, int32_t>) {
    return (greatest ? lines.maximum_i32 : lines.minimum_i32)(n, x, &result), result;
  } else if constexpr (std::is_same_v<T, uint8_t>) {
    return (greatest ? lines.maximum_u8 : lines.minimum_u8)(n, x, &result), result;
  }
  if (n < kLanes) return x[first_extreme(x, n, greatest)];
  T best[kLanes];
  for (int j = 0; j < kLanes; ++j) best[j] = x[j];
  int nan = 0;
  auto look = [&](int64_t i, auto beyond) {
    for (int j = 0; j < kLanes; ++j) {
      T v = x[i + j];
      nan |= is_nan(v);
      best[j] = beyond(v, best[j]) ? v : best[j];
    }
  };
  auto all = [&](auto beyond) {
    for (int64_t i = 0; i + kLanes <= n; i += kLanes) look(i, beyond);
    look(n - kLanes, beyond);
  };
  if (greatest) all([](T a, T b) { return a > b; });
  else all([](T a, T b) { return a < b; });
  return nan ? x[first_extreme(x, n, greatest)] : best[first_extreme(best, kLanes, greatest)];
}

// As first_extreme. Where it is faster, the extreme is computed first, and then searched for.
template <class T>
int64_t place_of_extreme(const T* x, int64_t n, bool greatest) {
  constexpr int64_t kFew = 32;
  if constexpr (kHasLines<T>) {
    const auto& lines = kernels::kernels().lines->of(T());
    T value = greatest ? Rows<T>::maximum(n, x) : Rows<T>::minimum(n, x);
    return lines.place(n, x, value);
  } else if constexpr (std::is_integral_v<T>) {
    if (n > kFew) return std::find(x, x + n, extreme_of(x, n, greatest)) - x;
  }
  return first_extreme(x, n, greatest);
}

void check_not_empty(const Tensor& self, const Dims& dims, const char* name) {
  for (int64_t d : dims) {
    if (self.size(d) == 0) {
      raise(ErrorKind::IndexError, name, "(): Expected reduction dim ", d,
            " to have non-zero size.");
    }
  }
}

// Extremes of integers, compared as unsigned after an xor with the mask, so that the largest is the
// extreme.
template <class U>
void extremes_of_integers(const Columns& c, const Tensor& self, const Tensor& to, U mask,
                          void (*fold)(int64_t, int64_t, const U*, int64_t, U, U*)) {
  const U* from = static_cast<const U*>(self.raw());
  U* out = static_cast<U*>(to.raw());
  c.for_bands([&](int64_t at, int64_t result, int64_t width) {
    std::fill_n(out + result, width, U(0));
    fold(c.n, width, from + at, c.inner, mask, out + result);
    for (int64_t j = 0; j < width; ++j) out[result + j] = U(out[result + j] ^ mask);
  });
}

bool try_extremes_of_integers(const Tensor& self, const Dims& dims, const Tensor& to,
                              bool greatest) {
  Columns c;
  if (!is_integral(self.dtype(), false) || self.itemsize() > 4 || !c.find(self, dims)) return false;
  const auto& lines = *kernels::kernels().lines;
  const uint32_t sign = self.dtype() == ScalarType::UInt8 ? 0 : 1u << (8 * self.itemsize() - 1);
  const uint32_t mask = sign ^ (greatest ? 0 : UINT32_MAX);
  if (self.itemsize() == 1) extremes_of_integers(c, self, to, uint8_t(mask), lines.greatest_8);
  else if (self.itemsize() == 2) {
    extremes_of_integers(c, self, to, uint16_t(mask), lines.greatest_16);
  } else {
    extremes_of_integers(c, self, to, mask, lines.greatest_32);
  }
  return true;
}

// Extremes of columns, in place; false where no kernel exists for them.
bool try_extreme_columns(const Tensor& self, const Dims& dims, const Tensor& to, bool greatest) {
  Columns c;
  if (try_extremes_of_integers(self, dims, to, greatest)) return true;
  if (!has_lines(to.dtype()) || !c.find(self, dims)) return false;
  const kernels::Convert convert =
      self.dtype() == to.dtype() ? nullptr : kernels::converter(to.dtype(), self.dtype());
  for_row_type(to.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto& lines = kernels::kernels().lines->of(zero);
    auto fold = greatest ? lines.maximum_of_columns : lines.minimum_of_columns;
    T* out = to.data<T>();
    c.for_bands([&](int64_t at, int64_t result, int64_t width) {
      constexpr int64_t kRows = 16;  // rows converted at a time
      if (!convert) {
        const T* from = self.data<T>() + at;
        std::copy_n(from, width, out + result);
        fold(c.n - 1, width, from + c.inner, c.inner, out + result);
        return;
      }
      std::vector<T> rows(as_size(kRows * width));
      const int64_t size = self.itemsize();
      const char* from = static_cast<const char*>(self.raw()) + at * size;
      convert(width, out + result, sizeof(T), from, size);
      for (int64_t row = 0; row < c.n; row += kRows) {
        int64_t count = std::min(kRows, c.n - row);
        for (int64_t i = 0; i < count; ++i) {
          convert(width, rows.data() + i * width, sizeof(T), from + (row + i) * c.inner * size,
                  size);
        }
        fold(count, width, rows.data(), width, out + result);
      }
    });
  });
  return true;
}

// The same, with the indices of the extremes.
bool try_places_in_columns(const Tensor& self, const Dims& dims, const Tensor& values,
                           const Tensor& places, bool greatest) {
  Columns c;
  const ScalarType computed = comparable(self.dtype());
  if (!has_lines(computed) || !c.find(self, dims) || c.n > INT32_MAX) return false;
  const kernels::Convert convert =
      self.dtype() == computed ? nullptr : kernels::converter(computed, self.dtype());
  for_row_type(computed, [&](auto zero) {
    using T = decltype(zero);
    const auto& lines = kernels::kernels().lines->of(zero);
    using Place = typename std::decay_t<decltype(lines)>::Place;
    auto find = greatest ? lines.maximum_places : lines.minimum_places;
    T* out = values.defined() ? values.data<T>() : nullptr;
    int64_t* at_rows = places.data<int64_t>();
    c.for_bands([&](int64_t at, int64_t result, int64_t width) {
      T best[Columns::kBand];
      Place place[Columns::kBand];
      std::fill_n(place, width, Place(0));
      const int64_t size = self.itemsize();
      const char* from = static_cast<const char*>(self.raw()) + at * size;
      if (!convert) {
        const T* x = reinterpret_cast<const T*>(from);
        std::copy_n(x, width, best);
        find(1, c.n - 1, width, x + c.inner, c.inner, best, place);
      } else {
        T row[Columns::kBand];
        convert(width, best, sizeof(T), from, size);
        for (int64_t i = 1; i < c.n; ++i) {
          convert(width, row, sizeof(T), from + i * c.inner * size, size);
          find(i, 1, width, row, width, best, place);
        }
      }
      if (out) std::copy_n(best, width, out + result);
      std::copy_n(place, width, at_rows + result);
    });
  });
  return true;
}

Tensor extreme(const Tensor& self, const Dims& dims, bool keepdim, bool greatest,
               const char* name) {
  check_not_empty(self, dims, name);
  ScalarType computed = comparable(self.dtype());
  const RowFunction* function = nullptr;
  if (is_floating(computed) || computed == ScalarType::Int64) {
    for_row_type(computed, [&](auto zero) {
      using T = decltype(zero);
      function = greatest ? &row::kMaximum<T> : &row::kMinimum<T>;
    });
  }
  if (is_symbolic(self)) {
    for_type(computed, name, [](auto) {});
    return record_reduction(
        self, dims, keepdim, computed, self.dtype(), function, {},
        [=](const Tensor* in) { return extreme(in[0], dims, keepdim, greatest, name); });
  }
  Dims places = dims;
  if (Tensor lies = in_memory_order(self, &places); lies.defined()) {
    return view_as_shape(extreme(lies, places, false, greatest, name),
                         reduced_sizes(self, dims, keepdim));
  }
  if (!is_run(dims)) {
    Tensor part = extreme(self, last_run(dims), true, greatest, name);
    return view_as_shape(extreme(part, before_last_run(dims), true, greatest, name),
                         reduced_sizes(self, dims, keepdim));
  }
  if (has_more_behind(self, dims)) {
    Tensor columns = Tensor::empty(reduced_sizes(self, dims, keepdim), computed);
    if (try_extreme_columns(self, dims, columns, greatest)) return to_dtype(columns, self.dtype());
  }
  Reduction r = reduction(self, dims, keepdim, function ? self.dtype() : computed);
  Tensor to = r.result(computed);
  if (function) reduce_rows(r, to, *function);
  else
    for_type(computed, name, [&](auto zero) {
      using T = decltype(zero);
      for_rows<T, T>(r, to, [&](const T* x, int64_t n) { return extreme_of(x, n, greatest); });
    });
  return to_dtype(to, self.dtype());
}

Tensor extreme_of_all(const Tensor& self, bool greatest, const char* name) {
  SL_CHECK(self.numel() > 0, name,
           "(): Expected reduction dim to be specified for input.numel() "
           "== 0. Specify the reduction dim with the 'dim' argument.");
  return extreme(self, reduced_dims(Value(), self.dim()), false, greatest, name);
}

Dims one_dim(int64_t dim, int64_t ndim) {
  dim = wrap_dim(dim, ndim);
  return ndim == 0 ? Dims() : Dims{dim};
}

Tensor place(const Tensor& self, const Value& dim, bool keepdim, bool greatest, const char* name) {
  SL_CHECK(self.dtype() != ScalarType::Bool, name, "(): does not support bool input");
  if (dim.is_none()) {
    if (self.numel() == 0) {
      raise(ErrorKind::IndexError, name,
            "(): Expected reduction dim to be specified for "
            "input.numel() == 0. Specify the reduction dim with the 'dim' argument.");
    }
  }
  Dims dims = dim.is_none() ? reduced_dims(Value(), self.dim()) : one_dim(dim.as_int(), self.dim());
  check_not_empty(self, dims, name);
  ScalarType computed = comparable(self.dtype());
  if (has_more_behind(self, dims)) {
    Tensor columns = Tensor::empty(reduced_sizes(self, dims, keepdim), ScalarType::Int64);
    if (try_places_in_columns(self, dims, Tensor(), columns, greatest)) return columns;
  }
  Reduction r = reduction(self, dims, keepdim, computed);
  Tensor to = r.result(ScalarType::Int64);
  for_type(computed, name, [&](auto zero) {
    using T = decltype(zero);
    for_rows<T, int64_t>(r, to,
                         [&](const T* x, int64_t n) { return place_of_extreme(x, n, greatest); });
  });
  return to;
}

// Values and indices along one dimension; `find` returns the index in a row.
template <class Find>
void with_place(const Tensor& self, int64_t dim, bool keepdim, const char* name, Value* out,
                Find find) {
  Dims dims = one_dim(dim, self.dim());
  check_not_empty(self, dims, name);
  ScalarType computed = comparable(self.dtype());
  Reduction r = reduction(self, dims, keepdim, computed);
  Tensor values = r.result(computed), places = r.result(ScalarType::Int64);
  for_type(computed, name, [&](auto zero) {
    using T = decltype(zero);
    for_rows<T, int64_t>(r, places, [&](const T* x, int64_t n) { return find(x, n); });
    const T* from = r.rows.data<T>();
    const int64_t* at = places.data<int64_t>();
    T* to = values.data<T>();
    for (int64_t i = 0; i < r.outer; ++i) to[i] = from[i * r.n + at[i]];
  });
  out[0] = to_dtype(values, self.dtype());
  out[1] = places;
}

// The index of the k-th smallest, counted from 0. NaN sorts last; equal elements keep their order.
template <class T>
int64_t place_of_rank(const T* x, int64_t n, int64_t k) {
  WorkingBlock<T> values(n);
  T* end = values.data();
  in_pieces(n, [&](int64_t from, int64_t to) {
    end = std::remove_copy_if(x + from, x + to, end, [](T v) { return is_nan(v); });
  });
  int64_t numbers = end - values.data(), before = numbers;
  bool found = k < numbers;
  T value = T();
  if (found) {
    T* at = values.data() + k;
    if (numbers <= kShortSort) std::nth_element(values.data(), at, end);
    else std::nth_element(values.data(), at, end, WorkedLess());
    value = *at;
    before = 0;
    in_pieces(n, [&](int64_t from, int64_t to) {
      before += std::count_if(x + from, x + to, [value](T v) { return v < value; });
    });
  }
  // Skip as many equal elements as rank before it.
  int64_t i = 0;
  for (int64_t skip = k - before; i < n; ++i) {
    if ((found ? x[i] == value : is_nan(x[i])) && skip-- == 0) break;
  }
  return i;
}

template <class T>
int64_t place_of_median(const T* x, int64_t n, bool skip_nan) {
  int64_t nans = 0, first_nan = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (is_nan(x[i]) && nans++ == 0) first_nan = i;
  }
  if (nans == n || (nans > 0 && !skip_nan)) return first_nan;
  return place_of_rank(x, n, (n - nans - 1) / 2);
}

// The rank to find in a row: the k-th smallest, counted from 0, or the median.
struct Rank {
  bool median, skip_nan;
  int64_t k = 0;

  template <class T>
  int64_t operator()(const T* x, int64_t n) const {
    return median ? place_of_median(x, n, skip_nan) : place_of_rank(x, n, k);
  }
};

void with_rank(const Tensor& self, int64_t dim, bool keepdim, const char* name, Value* out,
               Rank rank) {
  with_place(self, dim, keepdim, name, out, rank);
}

void check_median(const Tensor& self, int64_t dim) {
  wrap_dim(dim, self.dim());
  if (self.dtype() == ScalarType::Bool)
    raise(ErrorKind::NotImplementedError, "\"median_out\" not implemented for 'Bool'");
}

Tensor median_of_all(const Tensor& self, bool skip_nan) {
  if (self.dtype() == ScalarType::Bool)
    raise(ErrorKind::NotImplementedError, "\"median_cpu\" not implemented for 'Bool'");
  Tensor flat = reshape(to_contiguous(self), {self.numel()});
  if (flat.numel() == 0) {
    return to_dtype(Tensor::scalar(std::numeric_limits<double>::quiet_NaN()), self.dtype());
  }
  Value result[2];
  with_rank(flat, 0, false, "median", result, {true, skip_nan});
  return result[0].as_tensor();
}

void extreme_dim(Args args, Value* out, bool greatest, const char* name) {
  const Tensor& self = args.tensor(0);
  Dims dims = one_dim(args.integer(1), self.dim());
  const ScalarType computed = comparable(self.dtype());
  if (has_lines(computed) && has_more_behind(self, dims) && self.numel() > 0) {
    Dims sizes = reduced_sizes(self, dims, args.boolean(2));
    Tensor values = Tensor::empty(sizes, computed);
    Tensor places = Tensor::empty(sizes, ScalarType::Int64);
    if (try_places_in_columns(self, dims, values, places, greatest)) {
      out[0] = to_dtype(values, self.dtype());
      out[1] = places;
      return;
    }
  }
  with_place(args.tensor(0), args.integer(1), args.boolean(2), name, out,
             [&](auto x, int64_t n) { return place_of_extreme(x, n, greatest); });
}

}  // namespace

Tensor extreme_along(const Tensor& self, int64_t dim, bool keepdim, bool greatest) {
  return extreme(self, one_dim(dim, self.dim()), keepdim, greatest, greatest ? "amax" : "amin");
}

SL_OP(aten_max) { out[0] = extreme_of_all(args.tensor(0), true, "max"); }
SL_OP(aten_min) { out[0] = extreme_of_all(args.tensor(0), false, "min"); }
SL_OP(aten_max_dim) { extreme_dim(args, out, true, "max"); }
SL_OP(aten_min_dim) { extreme_dim(args, out, false, "min"); }
SL_OP(aten_amax) {
  const Tensor& self = args.tensor(0);
  out[0] = extreme(self, reduced_dims(args[1], self.dim()), args.boolean(2), true, "amax");
}
SL_OP(aten_amin) {
  const Tensor& self = args.tensor(0);
  out[0] = extreme(self, reduced_dims(args[1], self.dim()), args.boolean(2), false, "amin");
}
SL_OP(aten_aminmax) {
  const Tensor& self = args.tensor(0);
  Dims dims =
      args.none(1) ? reduced_dims(Value(), self.dim()) : one_dim(args.integer(1), self.dim());
  bool keepdim = args.boolean(2);
  out[0] = extreme(self, dims, keepdim, false, "aminmax");
  out[1] = extreme(self, dims, keepdim, true, "aminmax");
}
SL_OP(aten_argmax) { out[0] = place(args.tensor(0), args[1], args.boolean(2), true, "argmax"); }
SL_OP(aten_argmin) { out[0] = place(args.tensor(0), args[1], args.boolean(2), false, "argmin"); }
SL_OP(aten_median) { out[0] = median_of_all(args.tensor(0), false); }
SL_OP(aten_nanmedian) { out[0] = median_of_all(args.tensor(0), true); }
SL_OP(aten_median_dim) {
  check_median(args.tensor(0), args.integer(1));
  with_rank(args.tensor(0), args.integer(1), args.boolean(2), "median", out, {true, false});
}
SL_OP(aten_nanmedian_dim) {
  check_median(args.tensor(0), args.integer(1));
  with_rank(args.tensor(0), args.integer(1), args.boolean(2), "nanmedian", out, {true, true});
}
SL_OP(aten_kthvalue) {
  const Tensor& self = args.tensor(0);
  int64_t k = args.integer(1), dim = wrap_dim(args.integer(2), self.dim());
  if (self.dtype() == ScalarType::Bool)
    raise(ErrorKind::NotImplementedError, "\"kthvalue_cpu\" not implemented for 'Bool'");
  if (self.dim() && self.size(dim) == 0) {
    raise(ErrorKind::IndexError, "kthvalue(): Expected reduction dim ", dim,
          " to have non-zero size.");
  }
  SL_CHECK(k >= 1 && k <= (self.dim() ? self.size(dim) : 1),
           "kthvalue(): selected number k out of range for dimension ", dim);
  with_rank(self, dim, args.boolean(3), "kthvalue", out, {false, false, k - 1});
}
SL_OP(aten_max_other) {
  pointwise::binary(args, out, kernels::Binary::k_maximum, "maximum", pointwise::kCommon);
}
SL_OP(aten_min_other) {
  pointwise::binary(args, out, kernels::Binary::k_minimum, "minimum", pointwise::kCommon);
}

}  // namespace scriptlang
