// Repeating elements, and combining them with each other.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "express.h"
#include "loose.h"
#include "index.h"
#include "join.h"
#include "scratch.h"

namespace scriptlang {

using namespace express;

namespace {

Tensor places_of(const Tensor& repeats) {
  SL_CHECK(repeats.dim() == 1, "repeat_interleave only accept 1D vector as repeat");
  SL_CHECK(repeats.dtype() == ScalarType::Int64 || repeats.dtype() == ScalarType::Int32,
           "repeats has to be Long or Int tensor");
  Tensor times = contiguous_as(repeats, ScalarType::Int64);
  int64_t total = 0;
  for (int64_t i = 0; i < times.numel(); ++i) {
    int64_t n = times.data<int64_t>()[i];
    SL_CHECK(n >= 0, "repeats can not be negative");
    SL_CHECK(!__builtin_add_overflow(total, n, &total), "repeat_interleave: too many elements");
  }
  Tensor out = Tensor::empty({total}, ScalarType::Int64);
  int64_t* to = out.data<int64_t>();
  for (int64_t i = 0; i < times.numel(); ++i) to = std::fill_n(to, times.data<int64_t>()[i], i);
  return out;
}

Tensor repeat_interleave(const Tensor& self, const Tensor& repeats, const Value& dim_value) {
  Tensor t = dim_value.is_none() ? reshape(to_contiguous(self), {self.numel()}) : self;
  if (t.dim() == 0) t = view_unsqueeze(t, 0);
  int64_t dim = dim_value.is_none() ? 0 : wrap_dim(dim_value.as_int(), t.dim());
  Tensor times = repeats;
  if (times.dim() == 0 || (times.dim() == 1 && times.size(0) == 1)) {
    times = view_expand(reshape(times, {1}), {t.size(dim)});
  }
  SL_CHECK(times.dim() == 1 && times.size(0) == t.size(dim),
           "repeats must have the same size as input along dim, but got repeats.size(0) = ",
           times.dim() ? times.size(0) : 1, " and input.size(", dim, ") = ", t.size(dim));
  return index_select(t, dim, places_of(times));
}

// Repeats each slice `times` times in a row.
Tensor repeat_each(const Tensor& self, int64_t times, const Value& dim_value) {
  SL_CHECK(times >= 0, "repeats can not be negative");
  Tensor t = to_contiguous(dim_value.is_none() ? reshape(self, {self.numel()}) : self);
  if (t.dim() == 0) t = view_unsqueeze(t, 0);
  int64_t dim = dim_value.is_none() ? 0 : wrap_dim(dim_value.as_int(), t.dim());
  std::vector<int64_t> sizes(t.sizes().begin(), t.sizes().end());
  int64_t part = t.itemsize();
  for (int64_t d = dim + 1; d < t.dim(); ++d) part *= t.size(d);
  SL_CHECK(!__builtin_mul_overflow(sizes[size_t(dim)], times, &sizes[size_t(dim)]),
           "repeat_interleave: too many elements");
  Tensor out = Tensor::empty(sizes, t.dtype());
  if (out.numel() == 0) return out;
  const char* from = static_cast<const char*>(t.raw());
  char* to = static_cast<char*>(out.raw());
  const int64_t parts = t.numel() * t.itemsize() / part;
  auto each = [&](auto zero) {
    using E = Loose<decltype(zero)>;
    const E* x = reinterpret_cast<const E*>(from);
    E* y = reinterpret_cast<E*>(to);
    for (int64_t i = 0; i < parts; ++i, y += times) {
      for (int64_t k = 0; k < times; ++k) y[k] = x[i];
    }
  };
  switch (part) {
    case 1: return each(uint8_t()), out;
    case 2: return each(uint16_t()), out;
    case 4: return each(uint32_t()), out;
    case 8: return each(uint64_t()), out;
  }
  for (int64_t i = 0; i < parts; ++i, from += part) {
    for (int64_t k = 0; k < times; ++k, to += part) std::memcpy(to, from, size_t(part));
  }
  return out;
}

}  // namespace

SL_OP(aten_repeat_interleave_Tensor) {
  out[0] = to_dtype(places_of(args.tensor(0)), args.tensor(0).dtype());
}
SL_OP(aten_repeat_interleave_self_Tensor) {
  out[0] = repeat_interleave(args.tensor(0), args.tensor(1), args[2]);
}
SL_OP(aten_repeat_interleave_self_int) {
  out[0] = repeat_each(args.tensor(0), args.integer(1), args[2]);
}
SL_OP(aten_cartesian_prod) {
  std::vector<Tensor> tensors = args.tensors(0);
  SL_CHECK(!tensors.empty(), "meshgrid expects a non-empty TensorList");
  std::vector<int64_t> sizes;
  for (const Tensor& t : tensors) {
    SL_CHECK(t.dim() == 1, "Expect a 1D vector, but got shape ", to_string(t.sizes()));
    sizes.push_back(t.size(0));
  }
  if (tensors.size() == 1) {
    out[0] = tensors[0];
    return;
  }
  std::vector<Tensor> columns;
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::vector<int64_t> shape(tensors.size(), 1);
    shape[i] = sizes[i];
    columns.push_back(reshape(view_expand(view_as_shape(tensors[i], shape), sizes), {-1}));
  }
  out[0] = stack(columns, 1);
}
SL_OP(aten_combinations) {
  const Tensor& self = args.tensor(0);
  int64_t r = args.integer(1), n = self.numel();
  bool again = args.boolean(2);
  SL_CHECK(self.dim() == 1, "Expect a 1D vector, but got shape ", to_string(self.sizes()));
  SL_CHECK(r >= 0, "Expect a non-negative number, but got ", r);
  SL_CHECK(r <= 1 << 16, "combinations of ", r, " elements are too large");
  if (r == 0) {
    out[0] = Tensor::empty({0}, self.dtype());
    return;
  }
  // The number of combinations: n (or n + r - 1) choose r.
  int64_t total = again || r <= n ? 1 : 0;
  const int64_t of = again ? n + r - 1 : n;
  for (int64_t k = 1, most = std::min(r, of - r); total > 0 && k <= most; ++k) {
    // k divides total * (of - most + k): cancel the common factor with the total first, the rest of
    // k divides the second factor.
    const int64_t shared = std::gcd(total, k), factor = (of - most + k) / (k / shared);
    const bool beyond = __builtin_mul_overflow(total / shared, factor, &total);
    SL_CHECK(!beyond && total < int64_t{1} << 62, "there are too many combinations of ", r, " of ",
             n);
  }
  if (n == 0) total = 0;
  Tensor index = Tensor::empty({checked_numel({total, r})}, ScalarType::Int64);
  int64_t* places = index.data<int64_t>();
  Working<int64_t> at(as_size(std::min<int64_t>(r, n + 1)), 0);
  if (total > 0) {
    at.assign(as_size(r), 0);
    for (int64_t i = 0; !again && i < r; ++i) at[size_t(i)] = i;
    for (bool more = n > 0; more;) {
      kernels::worked(r);
      places = std::copy(at.begin(), at.end(), places);
      int64_t i = r - 1;
      while (i >= 0 && at[size_t(i)] == (again ? n - 1 : n - r + i)) --i;
      more = i >= 0;
      if (!more) break;
      int64_t next = at[size_t(i)] + 1;
      for (int64_t j = i; j < r; ++j) at[size_t(j)] = again ? next : next + (j - i);
    }
  }
  out[0] = view_as_shape(index_select(self, 0, index), {total, r});
}

}  // namespace scriptlang
