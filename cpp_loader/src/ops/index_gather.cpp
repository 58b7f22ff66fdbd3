// gather and scatter: every element of an index tensor is a position along one dimension.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "index.h"
#include "pointwise.h"
#include "reduce.h"
#include "view.h"

namespace scriptlang {

namespace {

// Iterates over an index tensor. `self` is the tensor that the indices point into.
struct IndexWalk {
  Tensor index;        // int64, contiguous, at least one dimension
  Tensor self, other;  // other: accessed at the index's own position; may be undefined
  int64_t dim, size, self_step;

  // The elements of `self` that a row of indices selects: index j selects first[j * column +
  // index[j] * step].
  template <class T>
  struct Row {
    const int64_t* index;
    int64_t n;
    T* first;
    int64_t column, step;

    // Calls f(selected element, j) in order.
    template <class F>
    void each(F f) const {
      if (column == 0 && step == 1) {
        for (int64_t j = 0; j < n; ++j) f(first[index[j]], j);
      } else {
        T* at = first;
        for (int64_t j = 0; j < n; ++j, at += column) f(at[index[j] * step], j);
      }
    }

    // Copies the elements; false if an index is not below `size`. Some indices at a time are
    // checked and then read again from the first-level cache: one by one takes twice as long.
    bool copy(int64_t size, std::remove_const_t<T>* to) const {
      constexpr int64_t kChecked = 128;
      for (int64_t from = 0; from < n; from += kChecked) {
        const int64_t end = std::min(n, from + kChecked);
        if (!all_within(index + from, end - from, 0, size)) return false;
        if (column == 0 && step == 1) {
          const T* const row = first;
#pragma GCC unroll 4
          for (int64_t j = from; j < end; ++j) to[j] = row[index[j]];
        } else {
          for (int64_t j = from; j < end; ++j) to[j] = first[j * column + index[j] * step];
        }
      }
      return true;
    }
  };

  // Calls f(row, offset of the row in index, offset of its first element in other) for every row,
  // whose indices have been checked.
  template <class T, class F>
  void run(T* data, F f) const {
    run_unchecked(data, [&](const Row<T>& row, int64_t at, int64_t other_at) {
      check(row.index, row.n);
      f(row, at, other_at);
    });
  }
  template <class T, class F>
  void run_unchecked(T* data, F f) const {
    if (index.numel() == 0) return;
    int64_t last = index.dim() - 1, inner = index.size(last), other_at = 0;
    Row<T> row{index.data<int64_t>(), inner, data, last == dim ? 0 : self.stride(last), self_step};
    int64_t place[kMaxDims] = {};
    for (int64_t i = 0; i < index.numel(); i += inner, row.index += inner) {
      f(row, i, other_at);
      for (int64_t d = last - 1; d >= 0; --d) {
        if (d != dim) row.first += self.stride(d);
        if (other.defined()) other_at += other.stride(d);
        if (++place[d] < index.size(d)) break;
        place[d] = 0;
        if (d != dim) row.first -= index.size(d) * self.stride(d);
        if (other.defined()) other_at -= index.size(d) * other.stride(d);
      }
    }
  }

  // The stride in `other` between elements of a row.
  int64_t other_step() const { return other.stride(index.dim() - 1); }

  void check(const int64_t* at, int64_t n) const {
    if (all_within(at, n, 0, size)) return;
    out_of_bounds(*std::find_if(at, at + n, [&](int64_t k) { return k < 0 || k >= size; }));
  }
  [[noreturn]] __attribute__((noinline, cold)) void out_of_bounds(int64_t k) const {
    raise(ErrorKind::RuntimeError, "index ", k, " is out of bounds for dimension ", dim,
          " with size ", size);
  }
};

Tensor at_least_1d(const Tensor& t) { return t.dim() == 0 ? view_unsqueeze(t, 0) : t; }

IndexWalk walk(const char* name, const Tensor& self, int64_t dim, const Tensor& index,
               const Tensor& other) {
  SL_CHECK(index.dtype() == ScalarType::Int64 || index.dtype() == ScalarType::Int32 ||
               index.numel() == 0,
           name, "(): Expected dtype int32/int64 for index");
  IndexWalk w;
  w.dim = wrap_dim(dim, self.dim());
  w.self = at_least_1d(self);
  w.index = contiguous_as(at_least_1d(index), ScalarType::Int64);
  w.size = w.self.size(w.dim);
  w.self_step = w.self.stride(w.dim);
  if (index.numel() == 0) return w;
  SL_CHECK(w.index.dim() == w.self.dim(),
           "Index tensor must have the same number of dimensions as ",
           std::strcmp(name, "gather") == 0 ? "input" : "self", " tensor");
  for (int64_t d = 0; d < w.index.dim(); ++d) {
    SL_CHECK(d == w.dim || w.index.size(d) <= w.self.size(d), "Size does not match at dimension ",
             d, " expected index ", to_string(index.sizes()), " to be no larger than self ",
             to_string(self.sizes()), " apart from dimension ", w.dim);
  }
  if (other.defined()) {
    w.other = at_least_1d(other);
    SL_CHECK(w.other.dim() == w.index.dim(),
             "Index tensor must have the same number of dimensions as src tensor");
    for (int64_t d = 0; d < w.index.dim(); ++d) {
      SL_CHECK(w.index.size(d) <= w.other.size(d), "Expected index ", to_string(index.sizes()),
               " to be no larger than self ", to_string(self.sizes()), " apart from dimension ",
               w.dim, " and to be no larger size than src ", to_string(other.sizes()));
    }
  }
  return w;
}

// Graph networks expand an index over whole slices of a tensor. Its places, for which there are
// faster ways, or an undefined tensor: for other indices, and for wrong ones.
Tensor places_of_slices(const Tensor& self, int64_t dim, const Tensor& index) {
  if (self.dim() < 2 || index.dim() != self.dim() || index.numel() == 0) return {};
  if (index.dtype() != ScalarType::Int64) return {};
  int64_t expanded = 1;
  for (int64_t d = 0; d < index.dim(); ++d) {
    if (d == dim) continue;
    if (index.size(d) != self.size(d) || (index.size(d) > 1 && index.stride(d) != 0)) return {};
    expanded *= index.size(d);
  }
  if (expanded == 1) return {};
  Tensor places = to_contiguous(
      index.as_strided({index.size(dim)}, {index.stride(dim)}, index.storage_offset()));
  if (!all_within(places.data<int64_t>(), places.numel(), 0, self.size(dim))) return {};
  return places;
}

// Calls f(T()) with an unsigned type of the element's size, for moving elements.
template <class F>
void for_size(int64_t itemsize, F f) {
  struct Sixteen {
    uint64_t parts[2];
  };
  switch (itemsize) {
    case 1: return f(uint8_t());
    case 2: return f(uint16_t());
    case 4: return f(uint32_t());
    case 8: return f(uint64_t());
    default: return f(Sixteen());
  }
}

Tensor gather(const Tensor& self, int64_t dim, const Tensor& index) {
  IndexWalk w = walk("gather", self, dim, index, Tensor());
  if (const Tensor places = places_of_slices(self, w.dim, index); places.defined()) {
    return to_contiguous(index_select(self, w.dim, places));
  }
  Tensor out = Tensor::empty(index.sizes(), self.dtype());
  for_size(self.itemsize(), [&](auto zero) {
    using T = decltype(zero);
    T* out_data = out.data<T>();
    w.run_unchecked(w.self.data<T>(), [&](const auto& row, int64_t i, int64_t) {
      if (!row.copy(w.size, out_data + i)) w.check(row.index, row.n);
    });
  });
  return out;
}

enum class Combine { kReplace, kAdd, kMultiply, kLeast, kGreatest };

template <class T>
T combine(Combine how, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (how == Combine::kLeast || how == Combine::kGreatest) {
      if (std::isnan(a)) return a;
      if (std::isnan(b)) return b;
    }
  }
  switch (how) {
    case Combine::kAdd:
      if constexpr (std::is_same_v<T, bool>) return a || b;
      else if constexpr (std::is_integral_v<T>) return T(uint64_t(a) + uint64_t(b));
      else return a + b;
    case Combine::kMultiply:
      if constexpr (std::is_same_v<T, bool>) return a && b;
      else if constexpr (std::is_integral_v<T>) return T(uint64_t(a) * uint64_t(b));
      else return a * b;
    case Combine::kLeast:
      if constexpr (std::is_arithmetic_v<T>) return std::min(a, b);
      return b;
    case Combine::kGreatest:
      if constexpr (std::is_arithmetic_v<T>) return std::max(a, b);
      return b;
    default: return b;
  }
}

void scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
             Combine how) {
  wrap_dim(dim, self.dim());
  check_writable(self);
  SL_CHECK(self.dtype() == source.dtype(),
           "scatter(): Expected self.dtype to be equal to src.dtype");
  Tensor src = source;
  if (src.storage() == self.storage()) {
    src = Tensor::empty(source.sizes(), source.dtype());
    copy_into(src, source);
  }
  IndexWalk w = walk("scatter", self, dim, index, src);
  if (index.numel() == 0) return;
  if ((how == Combine::kReplace || how == Combine::kAdd) && src.sizes() == index.sizes()) {
    const Tensor places = places_of_slices(self, w.dim, index);
    const bool adds = how == Combine::kAdd;
    if (places.defined() && try_write_parts(self, w.dim, places, src, adds)) return;
  }
  const int64_t by = w.other_step();
  if (how == Combine::kReplace) {
    for_size(self.itemsize(), [&](auto zero) {
      using T = decltype(zero);
      w.run(w.self.data<T>(), [&](const auto& row, int64_t, int64_t other) {
        const T* from = src.data<T>() + other;
        row.each([from, by](T& named, int64_t j) { named = from[j * by]; });
      });
    });
    return;
  }
  ScalarType type = self.dtype();
  if (is_half(type)) {
    Tensor wide = to_dtype(self, ScalarType::Float32);
    scatter(wide, dim, index, to_dtype(src, ScalarType::Float32), how);
    return copy_into(self, wide);
  }
  SL_CHECK(!is_complex(type) || how == Combine::kAdd || how == Combine::kMultiply,
           "scatter: complex numbers have no order");
  for_type_or_complex(type, "scatter", [&](auto zero) {
    using T = decltype(zero);
    w.run(w.self.data<T>(), [&](const auto& row, int64_t, int64_t other) {
      const T* from = src.data<T>() + other;
      if (how == Combine::kAdd) {
        row.each([from, by](T& named, int64_t j) {
          named = combine(Combine::kAdd, named, from[j * by]);
        });
      } else {
        row.each(
            [from, by, how](T& named, int64_t j) { named = combine(how, named, from[j * by]); });
      }
    });
  });
}

void scatter_value(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value,
                   Combine how) {
  if (index.numel() == 0) return scatter(self, dim, index, Tensor::empty({0}, self.dtype()), how);
  Tensor one = Tensor::empty(IntSpan(), self.dtype());
  fill(one, value);
  scatter(self, dim, index, view_expand(one, index.sizes()), how);
}

Combine reduction_named(std::string_view name) {
  if (name == "add") return Combine::kAdd;
  SL_CHECK(name == "multiply", "reduce argument must be either add or multiply.");
  return Combine::kMultiply;
}

// scatter_reduce. With include_self false, the old values of written elements do not count.
void scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                    std::string_view reduce, bool include_self) {
  using kernels::Binary;
  static const struct {
    const char* name;
    Combine how;
  } kReductions[] = {{"sum", Combine::kAdd},
                     {"prod", Combine::kMultiply},
                     {"mean", Combine::kAdd},
                     {"amin", Combine::kLeast},
                     {"amax", Combine::kGreatest}};
  wrap_dim(dim, self.dim());
  const Combine* how = nullptr;
  for (const auto& r : kReductions) {
    if (reduce == r.name) how = &r.how;
  }
  SL_CHECK(how, "reduce argument must be either sum, prod, mean, amax or amin, got ", reduce, ".");
  SL_CHECK(src.dtype() == self.dtype(), "scatter(): Expected self.dtype to be equal to src.dtype");
  if (index.numel() == 0) return;
  if (!include_self) {
    // Written elements are first set to the neutral element of sums or products, or else to one of
    // their sources.
    bool neutral_one = *how == Combine::kMultiply;
    if (*how == Combine::kAdd || neutral_one) {
      scatter_value(self, dim, index, Scalar(int64_t{neutral_one}), Combine::kReplace);
    } else {
      scatter(self, dim, index, src, Combine::kReplace);
    }
  }
  scatter(self, dim, index, src, *how);
  if (reduce != "mean") return;
  Tensor count = Tensor::empty(self.sizes(), ScalarType::Int64);
  fill(count, Scalar(int64_t{include_self}));
  Tensor ones = Tensor::empty(IntSpan(), ScalarType::Int64);
  fill(ones, Scalar(int64_t{1}));
  scatter(count, dim, index, view_expand(ones, index.sizes()), Combine::kAdd);
  double params[kernels::kParams] = {1};
  count = unary_result(count, kernels::Unary::k_clamp_min, "clamp", Rule::kSame, params);
  Binary divide = is_integral(self.dtype(), true) ? Binary::k_div_floor : Binary::k_div;
  binary_result(self, to_dtype(count, self.dtype()), divide, "mean", Rule::kSame, nullptr, self);
}

Tensor scattered(const Tensor& self, Args args, Combine how) {
  for (int i : {2, 3}) {
    if (args[i].is_tensor()) check_apart(self, args.tensor(i), false);
  }
  if (args[3].is_tensor()) scatter(self, args.integer(1), args.tensor(2), args.tensor(3), how);
  else scatter_value(self, args.integer(1), args.tensor(2), args.scalar(3), how);
  return self;
}

// Wraps negative indices, which count from the end of `length` elements.
Tensor from_the_end(const Tensor& index, int64_t length) {
  Tensor wrapped = binary_result(index, Scalar(length), kernels::Binary::k_add, "add", Rule::kSame);
  Tensor below =
      binary_result(index, Scalar(int64_t{0}), kernels::Binary::k_lt, "lt", Rule::kToBool);
  return where_result(below, wrapped, index, index.dtype());
}

}  // namespace

SL_OP(aten_gather) { out[0] = gather(args.tensor(0), args.integer(1), args.tensor(2)); }
SL_OP(aten_take_along_dim) {
  const Tensor& self = args.tensor(0);
  SL_CHECK(args.tensor(1).dtype() == ScalarType::Int64,
           "torch.take_along_dim(): dtype of indices should be Long but got ",
           dtype_display_name(args.tensor(1).dtype()));
  int64_t length = args.none(2)      ? self.numel()
                   : self.dim() == 0 ? 1
                                     : self.size(wrap_dim(args.integer(2), self.dim()));
  Tensor index = from_the_end(args.tensor(1), length);
  if (args.none(2)) {
    out[0] = gather(reshape(self, {self.numel()}), 0, reshape(index, {index.numel()}));
    return;
  }
  int64_t dim = wrap_dim(args.integer(2), self.dim());
  SL_CHECK(self.dim() > 0 && self.dim() == index.dim(),
           "torch.take_along_dim(): input and indices should have the same number of dimensions, "
           "but got ",
           self.dim(), " dimensions for input, and ", index.dim(), " dimensions for indices");
  std::vector<int64_t> a(self.sizes().begin(), self.sizes().end());
  std::vector<int64_t> b(index.sizes().begin(), index.sizes().end());
  a[size_t(dim)] = b[size_t(dim)] = 1;
  std::vector<int64_t> shape = broadcast_shapes(a, b);
  b = shape;
  b[size_t(dim)] = index.size(dim);
  a = shape;
  a[size_t(dim)] = self.size(dim);
  out[0] = gather(view_expand(self, a), dim, view_expand(index, b));
}
SL_OP(aten_scatter__src) { out[0] = scattered(args.tensor(0), args, Combine::kReplace); }
SL_OP(aten_scatter__value) { op_aten_scatter__src(ctx, args, out); }
SL_OP(aten_scatter__reduce) {
  wrap_dim(args.integer(1), args.tensor(0).dim());
  out[0] = scattered(args.tensor(0), args, reduction_named(args.string(4)));
}
SL_OP(aten_scatter__value_reduce) { op_aten_scatter__reduce(ctx, args, out); }
SL_OP(aten_scatter_add_) { out[0] = scattered(args.tensor(0), args, Combine::kAdd); }
SL_OP(aten_scatter_reduce__two) {
  scatter_reduce(args.tensor(0), args.integer(1), args.tensor(2), args.tensor(3), args.string(4),
                 args.boolean(5));
  out[0] = args.tensor(0);
}

}  // namespace scriptlang
