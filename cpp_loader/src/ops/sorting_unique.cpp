// Distinct elements, and operators that count or find elements by sorting.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "scratch.h"
#include "express.h"
#include "index.h"
#include "join.h"
#include "radix.h"
#include "reduce.h"

namespace scriptlang {

using namespace express;

namespace {

struct Distinct {
  Tensor values, inverse, counts;
};

// NaN sorts last; every NaN is distinct from the others.
template <class T>
bool before(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
  }
  return a < b;
}

// The range of integer elements, if a table over it is small beside `work`.
struct Range {
  int64_t low = 0, size = 0;  // size 0: too large for a table

  template <class T>
  Range(const T* x, int64_t n, int64_t work) {
    if constexpr (std::is_integral_v<T>) {
      if (n == 0) return;
      T least = x[0], greatest = x[0];
      for (int64_t i = 1; i < n; ++i) {
        least = std::min(least, x[i]);
        greatest = std::max(greatest, x[i]);
      }
      const uint64_t between = uint64_t(greatest) - uint64_t(least);
      if (between >= uint64_t(work)) return;
      low = int64_t(least);
      size = int64_t(between) + 1;
    }
  }
};

// As group_rows, sorted, for single elements that are all in a range.
template <class T>
Distinct count_in_range(const Tensor& elements, Range range) {
  const T* x = elements.data<T>();
  const int64_t n = elements.numel();
  Working<int64_t> counts(as_size(range.size), 0);
  auto place = [&](T v) { return size_t(uint64_t(v) - uint64_t(range.low)); };
  for (int64_t i = 0; i < n; ++i) ++counts[place(x[i])];
  const int64_t groups = range.size - std::count(counts.begin(), counts.end(), 0);
  Distinct d{Tensor::empty({groups, 1}, elements.dtype()), Tensor::empty({n}, ScalarType::Int64),
             Tensor::empty({groups}, ScalarType::Int64)};
  int64_t group = 0;
  for (int64_t k = 0; k < range.size; ++k) {
    if (counts[size_t(k)] == 0) continue;
    d.values.data<T>()[group] = T(range.low + k);
    d.counts.data<int64_t>()[group] = counts[size_t(k)];
    counts[size_t(k)] = group++;
  }
  int64_t* inverse = d.inverse.data<int64_t>();
  for (int64_t i = 0; i < n; ++i) inverse[i] = counts[place(x[i])];
  return d;
}

// Groups equal rows of `width` elements. Without `sort`, only equal neighbours share a group.
template <class T>
Distinct group_rows(const Tensor& rows, int64_t count, int64_t width, bool sort) {
  const T* from = rows.data<T>();
  auto less = [&](int64_t a, int64_t b) {
    kernels::worked(8 + width);
    return std::lexicographical_compare(from + a * width, from + (a + 1) * width, from + b * width,
                                        from + (b + 1) * width,
                                        [](T x, T y) { return before(x, y); });
  };
  Working<int64_t> order(as_size(count));
  for (int64_t i = 0; i < count; ++i) order[size_t(i)] = i;
  if (sort && width == 1 && count < (int64_t{1} << 31)) {
    radix::Order<T> by_digits(count);
    by_digits.sort(from, false);
    for (int64_t i = 0; i < count; ++i) order[size_t(i)] = by_digits[i];
  } else if (sort) {
    std::stable_sort(order.begin(), order.end(), less);
  }
  Distinct d;
  d.inverse = Tensor::empty({count}, ScalarType::Int64);
  Working<int64_t> firsts, sizes;
  for (int64_t i = 0; i < count; ++i) {
    kernels::worked(8 + width);
    int64_t row = order[size_t(i)];
    bool same = i > 0 && std::equal(from + row * width, from + (row + 1) * width,
                                    from + order[size_t(i - 1)] * width);
    if (!same) {
      firsts.push_back(row);
      sizes.push_back(0);
    }
    ++sizes.back();
    d.inverse.data<int64_t>()[row] = int64_t(firsts.size()) - 1;
  }
  int64_t groups = int64_t(firsts.size());
  d.values = Tensor::empty({groups, width}, rows.dtype());
  d.counts = Tensor::empty({groups}, ScalarType::Int64);
  for (int64_t g = 0; g < groups; ++g) {
    std::copy_n(from + firsts[size_t(g)] * width, width, d.values.data<T>() + g * width);
    d.counts.data<int64_t>()[g] = sizes[size_t(g)];
  }
  return d;
}

Distinct distinct_rows(const Tensor& rows, int64_t count, int64_t width, bool sort) {
  ScalarType computed = sortable(rows.dtype());
  Tensor flat = ordered(contiguous_as(rows, computed), rows.dtype());
  Distinct d;
  for_type(computed, "unique", [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      const Range range(flat.data<T>(), sort && width == 1 ? count : 0, 4 * count);
      if (range.size) return void(d = count_in_range<T>(flat, range));
    }
    d = group_rows<T>(flat, count, width, sort);
  });
  d.values = to_dtype(ordered(d.values, rows.dtype()), rows.dtype());
  return d;
}

Distinct distinct_elements(const Tensor& self) {
  Distinct d = distinct_rows(self, self.numel(), 1, true);
  d.values = view_as_shape(d.values, {d.values.numel()});
  d.inverse = view_as_shape(d.inverse, self.sizes());
  return d;
}

// The first element of each group of equal neighbours; inverse and counts where requested.
Distinct distinct_neighbours(const Tensor& self, bool inverse, bool counts) {
  ScalarType computed = sortable(self.dtype());
  Tensor flat = contiguous_as(self, computed);
  const int64_t n = flat.numel();
  Distinct d;
  d.values = Tensor::empty({n}, computed);
  if (inverse) d.inverse = Tensor::empty(self.sizes(), ScalarType::Int64);
  if (counts) d.counts = Tensor::zeros({n}, ScalarType::Int64);
  int64_t groups = 0;
  for_type(computed, "unique", [&](auto zero) {
    using T = decltype(zero);
    const T* x = flat.data<T>();
    T* to = d.values.data<T>();
    for (int64_t i = 0; i < n; ++i) {
      groups += i == 0 || !(x[i] == x[i - 1]);
      to[groups - 1] = x[i];
      if (inverse) d.inverse.data<int64_t>()[i] = groups - 1;
      if (counts) ++d.counts.data<int64_t>()[groups - 1];
    }
  });
  d.values = express::clone(to_dtype(view_narrow(d.values, 0, 0, groups), self.dtype()));
  if (counts) d.counts = express::clone(view_narrow(d.counts, 0, 0, groups));
  return d;
}

Distinct distinct_along(const Tensor& self, int64_t dim, bool sort) {
  if (self.dim() == 0) {
    raise(ErrorKind::IndexError, "Dimension specified as ", dim, " but tensor has no dimensions");
  }
  dim = wrap_dim(dim, self.dim());
  const int64_t empty = std::count(self.sizes().begin(), self.sizes().end(), 0);
  SL_CHECK(self.size(dim) != 0 || empty == 1,
           "Number of zero sized dimensions is more than one, so unique cannot be applied ");
  SL_CHECK(self.size(dim) == 0 || empty == 0,
           "There are 0 sized dimensions, and they aren't "
           "selected, so unique cannot be applied");
  std::vector<int64_t> order{dim}, back(as_size(self.dim()), 0);
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d != dim) order.push_back(d);
  }
  for (size_t d = 0; d < order.size(); ++d) back[size_t(order[d])] = int64_t(d);
  Tensor first = to_contiguous(view_permute(self, order));
  int64_t count = first.size(0), width = count ? first.numel() / count : 0;
  Distinct d = distinct_rows(first, count, width, sort);
  std::vector<int64_t> sizes(first.sizes().begin(), first.sizes().end());
  sizes[0] = d.values.size(0);
  d.values = view_permute(view_as_shape(d.values, sizes), back);
  return d;
}

void give(Value* out, const Distinct& d, bool inverse, bool counts) {
  Tensor none = Tensor::empty({0}, ScalarType::Int64);
  out[0] = d.values;
  out[1] = inverse ? d.inverse : none;
  out[2] = counts ? d.counts : none;
}

Tensor bincount(const Tensor& self, const Tensor& weights, int64_t least) {
  SL_CHECK(least >= 0, "minlength should be >= 0");
  if (!is_integral(self.dtype(), false)) {
    raise(ErrorKind::NotImplementedError, "\"bincount_cpu\" not implemented for '",
          dtype_display_name(self.dtype()), "'");
  }
  SL_CHECK(self.dim() == 1, "bincount only supports 1-d non-negative integral inputs.");
  SL_CHECK(!weights.defined() || weights.sizes() == self.sizes(),
           "weights should be 1-d and have the same length as input");
  Tensor places = contiguous_as(self, ScalarType::Int64);
  const int64_t* at = places.data<int64_t>();
  int64_t n = places.numel(), greatest = least - 1, negative = 0;
  for (int64_t i = 0; i < n; ++i) {
    negative |= at[i];
    greatest = std::max(greatest, at[i]);
  }
  SL_CHECK(negative >= 0, "bincount only supports 1-d non-negative integral inputs.");
  SL_CHECK(greatest < INT64_MAX, "maximum value of input overflowed, it should be < ", INT64_MAX,
           " but got ", greatest);
  const int64_t length = greatest + 1;
  if (!weights.defined()) {
    Tensor out = Tensor::zeros({length}, ScalarType::Int64);
    int64_t* counts = out.data<int64_t>();
    for (int64_t i = 0; i < n; ++i) ++counts[at[i]];
    return out;
  }
  bool narrow = weights.dtype() == ScalarType::Float32;
  Tensor out = Tensor::zeros({length}, narrow ? ScalarType::Float32 : ScalarType::Float64);
  Tensor w = contiguous_as(weights, ScalarType::Float64);
  for (int64_t i = 0; i < n; ++i) {
    if (narrow) out.data<float>()[at[i]] += float(w.data<double>()[i]);
    else out.data<double>()[at[i]] += w.data<double>()[i];
  }
  return out;
}

// Rounds a number to a floating type.
double rounded(double v, ScalarType type) {
  return type == ScalarType::Float64    ? v
         : type == ScalarType::Float16  ? float(float16(float(v)))
         : type == ScalarType::BFloat16 ? float(bfloat16(float(v)))
                                        : float(v);
}

// As histc, for types whose own arithmetic rounds as needed.
template <class T>
void count_in_bins(int64_t n, const T* x, T low, T high, T count, T width, int64_t bins,
                   double* out) {
  for (int64_t i = 0; i < n; ++i) {
    kernels::worked(4);
    if (!(x[i] >= low && x[i] <= high)) continue;
    int64_t bin = scalars::truncate(double((x[i] - low) * count / width));
    out[std::clamp<int64_t>(bin, 0, bins - 1)] += 1;
  }
}

// Bins are computed in the elements' own type, as in PyTorch.
Tensor histc(const Tensor& self, int64_t bins, double low, double high) {
  if (!is_floating(self.dtype()))
    raise(ErrorKind::NotImplementedError, "\"histogram_cpu\" not implemented for '",
          dtype_display_name(self.dtype()), "'");
  SL_CHECK(bins > 0, "bins must be > 0");
  bool single = self.dtype() == ScalarType::Float32;
  Tensor x = contiguous_as(self, single ? ScalarType::Float32 : ScalarType::Float64);
  int64_t n = x.numel();
  if (low == high && n > 0) {
    for_float_type(x.dtype(), [&](auto zero) {
      using T = decltype(zero);
      low = Rows<T>::minimum(n, x.data<T>());
      high = Rows<T>::maximum(n, x.data<T>());
    });
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  SL_CHECK(std::isfinite(low) && std::isfinite(high), "range of [", low, ", ", high,
           "] is not finite");
  SL_CHECK(low < high, "max must be larger than min");
  ScalarType type = self.dtype();
  low = rounded(low, type);
  high = rounded(high, type);
  double count = rounded(double(bins), type), width = rounded(high - low, type);
  Tensor out = Tensor::zeros({bins}, ScalarType::Float64);
  double* counts = out.data<double>();
  if (!std::isfinite(width)) return to_dtype(out, type);
  if (single) {
    count_in_bins(n, x.data<float>(), float(low), float(high), float(count), float(width), bins,
                  counts);
    return to_dtype(out, type);
  }
  const double* from = x.data<double>();
  for (int64_t i = 0; i < n; ++i) {
    kernels::worked(16);
    if (!(from[i] >= low && from[i] <= high)) continue;
    double part = rounded(rounded(from[i] - low, type) * count, type) / width;
    int64_t bin = scalars::truncate(rounded(part, type));  // overflow gives the lowest
    counts[std::clamp<int64_t>(bin, 0, bins - 1)] += 1;
  }
  return to_dtype(out, type);
}

void check_searched(ScalarType type) {
  SL_CHECK(type != ScalarType::Bool && !is_complex(type),
           "Unsupported input type encountered for isin(): ", dtype_display_name(type));
}

Tensor isin(const Tensor& elements, const Tensor& wanted, bool invert) {
  for (const Tensor* t : {&elements, &wanted}) check_searched(t->dtype());
  ScalarType type = comparable(result_type(elements, wanted));
  Tensor x = contiguous_as(elements, type), set = contiguous_as(wanted, type);
  Tensor out = Tensor::empty(elements.sizes(), ScalarType::Bool);
  for_type(type, "isin", [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      const T *known = set.data<T>(), *from = x.data<T>();
      const Range range(known, set.numel(), 4 * (set.numel() + x.numel()));
      if (range.size) {
        auto place = [low = uint64_t(range.low)](T v) { return uint64_t(v) - low; };
        Working<uint8_t> has(as_size(range.size), 0);
        for (int64_t i = 0; i < set.numel(); ++i) has[place(known[i])] = 1;
        bool* to = out.data<bool>();
        for (int64_t i = 0, n = x.numel(); i < n; ++i) {
          const uint64_t k = place(from[i]);
          to[i] = (k < has.size() && has[k]) != invert;
        }
        return;
      }
    }
    Working<T> sorted(set.data<T>(), set.data<T>() + set.numel());
    std::sort(sorted.begin(), sorted.end(), [](T a, T b) {
      kernels::worked(4);
      return before(a, b);
    });
    for (int64_t i = 0; i < x.numel(); ++i) {
      kernels::worked(64);
      T v = x.data<T>()[i];
      auto place =
          std::lower_bound(sorted.begin(), sorted.end(), v, [](T a, T b) { return before(a, b); });
      out.data<bool>()[i] = (place != sorted.end() && *place == v) != invert;
    }
  });
  return out;
}

}  // namespace

SL_OP(aten__unique2) {
  give(out, distinct_elements(args.tensor(0)), args.boolean(2), args.boolean(3));
}
SL_OP(aten_unique_dim) {
  Distinct d = distinct_along(args.tensor(0), args.integer(1), true);
  give(out, d, true, true);
}
SL_OP(aten_unique_consecutive) {
  if (args.none(3)) {
    const bool inverse = args.boolean(1), counts = args.boolean(2);
    give(out, distinct_neighbours(args.tensor(0), inverse, counts), inverse, counts);
    return;
  }
  Distinct d = distinct_along(args.tensor(0), args.integer(3), false);
  // Along a dimension PyTorch returns all three, except for dimension 0 of a vector.
  bool all = !(args.integer(3) == 0 && args.tensor(0).dim() == 1);
  give(out, d, all || args.boolean(1), all || args.boolean(2));
}
SL_OP(aten_unique_dim_consecutive) {
  give(out, distinct_along(args.tensor(0), args.integer(1), false), true, true);
}
SL_OP(aten_bincount) { out[0] = bincount(args.tensor(0), args.opt_tensor(1), args.integer(2)); }
SL_OP(aten_histc) {
  out[0] = histc(args.tensor(0), args.integer(1), args.scalar(2).to_double(),
                 args.scalar(3).to_double());
}
// A number as a zero-dim tensor, converted as by pointwise operators: integers wrap.
static Tensor element(const Scalar& s, ScalarType type) {
  Tensor one = Tensor::empty(IntSpan(), type);
  store_number(s, type, one.raw());
  return one;
}

SL_OP(aten_isin_Tensor_Tensor) { out[0] = isin(args.tensor(0), args.tensor(1), args.boolean(3)); }
SL_OP(aten_isin_Tensor_Scalar) {
  check_searched(args[1].is_bool() ? ScalarType::Bool : args.tensor(0).dtype());
  ScalarType type = result_type(args.tensor(0), args.scalar(1));
  Tensor one = element(args.scalar(1), type);
  out[0] = isin(args.tensor(0), one, args.boolean(3));
}
SL_OP(aten_isin_Scalar_Tensor) {
  check_searched(args[0].is_bool() ? ScalarType::Bool : args.tensor(1).dtype());
  ScalarType type = result_type(args.tensor(1), args.scalar(0));
  Tensor one = element(args.scalar(0), type);
  out[0] = isin(one, args.tensor(1), args.boolean(3));
}

}  // namespace scriptlang
