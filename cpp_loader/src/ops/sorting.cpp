// Sorting, the k largest elements, and searching in sorted rows.
#include <algorithm>
#include <functional>
#include <vector>

#include "../../kernels/kernel_set.h"
#include "index.h"
#include "layout.h"
#include "radix.h"
#include "reduce.h"

namespace scriptlang {

namespace {

// The unsigned key has the wanted order whatever the element type, so that one sort serves all
// types.
struct Item {
  uint64_t key;
  int64_t place;
  bool operator<(const Item& other) const { return key < other.key; }
};
using Items = Working<Item>;

struct Sorted {
  Tensor values, places;
};

// Replaces the top of a heap by `item`.
void replace_top(Items& heap, Item item) {
  const size_t n = heap.size();
  size_t hole = 0;
  for (size_t child; (child = 2 * hole + 2) <= n; hole = child) {  // move the hole down to a leaf
    if (child == n || heap[child] < heap[child - 1]) --child;
    heap[hole] = heap[child];
  }
  for (; hole > 0 && heap[(hole - 1) / 2] < item; hole = (hole - 1) / 2) {  // and `item` up
    heap[hole] = heap[(hole - 1) / 2];
  }
  heap[hole] = item;
}

// The order of items for standard library sorts, which may take long: checks whether to stop.
bool is_before(const Item& a, const Item& b) {
  kernels::worked(4);
  return a < b;
}

// The key of the element of a row that is first in sorted order, for types with a kernel that finds
// it. The kernel finds a NaN wherever that belongs, so a row with a NaN has the first key of all.
template <class T>
uint64_t first_key(const T* row, int64_t n, bool descending) {
  const auto& lines = kernels::kernels().lines->of(T());
  T first;
  (descending ? lines.maximum : lines.minimum)(n, row, &first);
  return first == first ? radix::key_of(first, descending) : 0;
}

// Fills `items` with the first elements of a row in sorted order, as many as `items` has, as a heap
// with the last one on top. Few elements come before that one, so most blocks are only looked at.
template <class T>
void take_first(const T* row, int64_t n, bool descending, Items& items) {
  constexpr int64_t kBlock = 64;
  constexpr bool kLooks = std::is_floating_point_v<T> || std::is_same_v<T, int64_t>;
  const int64_t count = int64_t(items.size());
  for (int64_t i = 0; i < count; ++i) items[size_t(i)] = {radix::key_of(row[i], descending), i};
  std::make_heap(items.begin(), items.end());
  for (int64_t first = count; first < n; first += kBlock) {
    const int64_t end = std::min(n, first + kBlock);
    kernels::worked(end - first);
    if constexpr (kLooks) {
      if (first_key(row + first, end - first, descending) >= items[0].key) continue;
    }
    for (int64_t i = first; i < end; ++i) {
      const uint64_t key = radix::key_of(row[i], descending);
      if (key < items[0].key) replace_top(items, {key, i});
    }
  }
}

// Orders every row along `dim` by `arrange(items)` and keeps the first `keep` items. `few`: the
// items are a heap of `keep` elements, else the whole row.
Sorted arrange_rows(const Tensor& self, int64_t dim, int64_t keep, bool few, bool descending,
                    const char* name, const std::function<void(Items&)>& arrange) {
  ScalarType computed = sortable(self.dtype());
  Tensor from = self.dim() == 0 ? view_unsqueeze(self, 0) : view_transpose(self, dim, -1);
  Tensor rows = ordered(contiguous_as(from, computed), self.dtype());
  int64_t n = rows.size(rows.dim() - 1);
  std::vector<int64_t> sizes(rows.sizes().begin(), rows.sizes().end());
  sizes.back() = keep;
  Tensor values = Tensor::empty(sizes, computed), places = Tensor::empty(sizes, ScalarType::Int64);
  int64_t count = n ? rows.numel() / n : 0;
  for_type(computed, name, [&](auto zero) {
    using T = decltype(zero);
    kernels::parallel_for(count, 4096 / std::max<int64_t>(1, n) + 1,
                          [&](int64_t begin, int64_t end) {
                            Items items(size_t(few ? keep : 0));
                            items.reserve(as_size(few ? keep : n));
                            for (int64_t r = begin; r < end; ++r) {
                              const T* row = rows.data<T>() + r * n;
                              if (few) {
                                take_first(row, n, descending, items);
                              } else {
                                in_pieces(n, [&](int64_t from, int64_t to) {
                                  if (int64_t(items.size()) < to) items.resize(as_size(to));
                                  Item* item = items.data();
                                  for (int64_t i = from; i < to; ++i)
                                    item[i] = {radix::key_of(row[i], descending), i};
                                });
                              }
                              arrange(items);
                              T* value = values.data<T>() + r * keep;
                              int64_t* place = places.data<int64_t>() + r * keep;
                              in_pieces(keep, [&](int64_t from, int64_t to) {
                                for (int64_t i = from; i < to; ++i) {
                                  place[i] = items[size_t(i)].place;
                                  value[i] = row[place[i]];
                                }
                              });
                            }
                          });
  });
  values = to_dtype(ordered(values, self.dtype()), self.dtype());
  if (self.dim() == 0) return {view_squeeze(values, {0}), view_squeeze(places, {0})};
  if (dim == self.dim() - 1) return {values, places};
  return {view_transpose(values, dim, -1), view_transpose(places, dim, -1)};
}

// Sorts a row that is long enough for a radix sort.
template <class T>
void sort_row(radix::Order<T>& order, int64_t n, const T* row, bool descending, T* values,
              int64_t* places) {
  order.sort(row, descending);
  in_pieces(n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t place = order[i];
      values[i] = row[place];
      places[i] = place;
    }
  });
}

Sorted sort_by_digits(const Tensor& self, bool descending) {
  ScalarType computed = sortable(self.dtype());
  Tensor rows = ordered(contiguous_as(self, computed), self.dtype());
  Tensor values = Tensor::empty(self.sizes(), computed);
  Tensor places = Tensor::empty(self.sizes(), ScalarType::Int64);
  int64_t n = self.size(self.dim() - 1);
  for_type(computed, "sort", [&](auto zero) {
    using T = decltype(zero);
    kernels::parallel_for(rows.numel() / n, 4096 / n + 1, [&](int64_t begin, int64_t end) {
      radix::Order<T> order(n);
      for (int64_t at = begin * n; at < end * n; at += n) {
        sort_row(order, n, rows.data<T>() + at, descending, values.data<T>() + at,
                 places.data<int64_t>() + at);
      }
    });
  });
  return {to_dtype(ordered(values, self.dtype()), self.dtype()), places};
}

Sorted sort_rows(const Tensor& self, int64_t dim, bool descending) {
  constexpr int64_t kLongest = int64_t{1} << 31;
  const int64_t shortest = self.itemsize() == 8 ? 256 : 64;  // a radix sort pays from here
  dim = wrap_dim(dim, self.dim());
  int64_t n = self.dim() ? self.size(dim) : 1;
  if (n >= shortest && n <= kLongest && self.numel() > 0) {
    if (dim == self.dim() - 1) return sort_by_digits(self, descending);
    Sorted last = sort_by_digits(to_contiguous(view_transpose(self, dim, -1)), descending);
    return {view_transpose(last.values, dim, -1), view_transpose(last.places, dim, -1)};
  }
  return arrange_rows(
      self, dim, self.dim() ? self.size(dim) : 1, false, descending, "sort",
      [](Items& items) { std::stable_sort(items.begin(), items.end(), is_before); });
}

// The results have the input's memory layout.
Sorted sort(const Tensor& self, int64_t dim, bool descending) {
  Sorted s = sort_rows(self, dim, descending);
  return {laid_like(s.values, self), laid_like(s.places, self)};
}

Sorted topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool sorted) {
  dim = wrap_dim(dim, self.dim());
  int64_t n = self.dim() ? self.size(dim) : 1;
  SL_CHECK(self.dtype() != ScalarType::Bool, "topk does not support bool dtypes on CPU");
  SL_CHECK(k >= 0 && k <= n, "selected index k out of range");
  if (self.dim() == 0) k = 1;
  const bool few = k > 0 && k * 64 <= n;
  Sorted s = arrange_rows(self, dim, k, few, largest, "topk", [&](Items& items) {
    if (few) {
      std::sort_heap(items.begin(), items.end());
    } else if (k > 0) {
      std::nth_element(items.begin(), items.begin() + (k - 1), items.end(), is_before);
      if (sorted) std::sort(items.begin(), items.begin() + (k - 1), is_before);
    }
  });
  return {to_contiguous(s.values), to_contiguous(s.places)};
}

// The first index where row[i] >= x, or with `right` where row[i] > x, in an ascending row; x is no
// NaN. It is branch-free.
template <class T>
int64_t place_in(const T* row, int64_t n, T x, bool right) {
  const T* base = row;
  for (int64_t half; n > 1; n -= half) {
    half = n / 2;
    bool beyond = right ? base[half - 1] <= x : base[half - 1] < x;
    base += half * int64_t(beyond);
  }
  bool beyond = n > 0 && (right ? *base <= x : *base < x);
  return base - row + int64_t(beyond);
}

template <class T>
bool is_ascending(const T* row, int64_t n) {
  bool ascending = n > 0 && row[0] == row[0];
  for (int64_t i = 1; i < n; ++i) ascending &= row[i] >= row[i - 1];
  return ascending;
}

// The same for any row: in unsorted rows it gives the index that PyTorch's bisection finds. No
// element is after a NaN.
template <class T>
int64_t bisect(const T* row, const int64_t* order, int64_t n, T x, bool right) {
  int64_t low = 0, high = n;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    T at = row[order ? order[middle] : middle];
    bool after = right ? at > x : at >= x;
    if (after) high = middle;
    else low = middle + 1;
  }
  return low;
}

// For every value, the first index in its sorted row whose element is not less (with `right`: is
// greater).
Tensor search(const Tensor& sorted, const Tensor& values, bool right, bool out_int32,
              const Tensor& sorter, const char* name) {
  SL_CHECK(sorted.dim() > 0, name, "(): boundaries tensor should have at least one dimension");
  bool one_row = sorted.dim() == 1;
  bool fits = one_row || sorted.dim() == values.dim();
  for (int64_t d = 0; fits && !one_row && d + 1 < sorted.dim(); ++d) {
    fits = sorted.size(d) == values.size(d);
  }
  SL_CHECK(fits, name,
           "(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
           "boundaries tensor and input value tensor must match, but we got boundaries tensor ",
           to_string(sorted.sizes()), " and input value tensor ", to_string(values.sizes()));
  if (sorted.dtype() == ScalarType::Bool)
    raise(ErrorKind::NotImplementedError,
          "\"searchsorted_out_cpu\" not implemented for "
          "'Bool'");
  const ScalarType type = comparable(result_type(sorted, values));
  Tensor rows = contiguous_as(sorted, type), wanted = contiguous_as(values, type);
  Tensor order = sorter.defined() ? contiguous_as(sorter, ScalarType::Int64) : Tensor();
  SL_CHECK(!sorter.defined() || sorter.sizes() == sorted.sizes(), name,
           "(): boundary and sorter must have the same size");
  SL_CHECK(!sorter.defined() || sorter.dtype() == ScalarType::Int64, name,
           "(): sorter must be a tensor of long dtype");
  int64_t n = rows.size(rows.dim() - 1);
  for (int64_t i = 0; order.defined() && i < order.numel(); ++i) {
    int64_t at = order.data<int64_t>()[i];
    SL_CHECK(at >= 0 && at < n, name, "(): sorter index out of range");
  }
  Tensor out = Tensor::empty(values.sizes(), ScalarType::Int64);
  int64_t each = one_row ? wanted.numel() : wanted.size(wanted.dim() - 1);
  for_type(type, name, [&](auto zero) {
    using T = decltype(zero);
    const T* known = nullptr;
    bool plain = false;
    for (int64_t i = 0; i < wanted.numel(); ++i) {
      kernels::worked_at(i + 1);
      int64_t base = one_row ? 0 : i / each * n;
      const T* row = rows.data<T>() + base;
      const int64_t* place = order.defined() ? order.data<int64_t>() + base : nullptr;
      if (row != known) plain = !place && each > n / 8 && is_ascending(row, n);
      known = row;
      T x = wanted.data<T>()[i];
      out.data<int64_t>()[i] =
          plain && x == x ? place_in(row, n, x, right) : bisect(row, place, n, x, right);
    }
  });
  return out_int32 ? to_dtype(out, ScalarType::Int32) : out;
}

bool side_is_right(Args args, int right, int side) {
  if (args.none(side)) return args.boolean(right);
  std::string_view text = args.string(side);
  SL_CHECK(text == "left" || text == "right",
           "torch.searchsorted(): side can only be 'left' or 'right' but got ", text);
  SL_CHECK(text == "right" || !args.boolean(right),
           "torch.searchsorted(): side and right can't be "
           "set to opposites, got side of left while right was True");
  return text == "right";
}

Tensor number_tensor(const Scalar& s) {
  if (s.kind == Scalar::Complex) {
    raise(ErrorKind::NotImplementedError, "\"searchsorted\" not implemented for 'ComplexFloat'");
  }
  return s.is_integral() ? Tensor::scalar(s.i) : Tensor::scalar(s.d);
}

}  // namespace

SL_OP(aten_sort) {
  Sorted s = sort(args.tensor(0), args.integer(1), args.boolean(2));
  out[0] = s.values;
  out[1] = s.places;
}
SL_OP(aten_sort_stable) {
  Sorted s = sort(args.tensor(0), args.integer(2), args.boolean(3));
  out[0] = s.values;
  out[1] = s.places;
}
SL_OP(aten_msort) { out[0] = sort(args.tensor(0), 0, false).values; }
SL_OP(aten_argsort) { out[0] = sort(args.tensor(0), args.integer(1), args.boolean(2)).places; }
SL_OP(aten_argsort_stable) {
  out[0] = sort(args.tensor(0), args.integer(2), args.boolean(3)).places;
}
SL_OP(aten_topk) {
  Sorted s =
      topk(args.tensor(0), args.integer(1), args.integer(2), args.boolean(3), args.boolean(4));
  out[0] = s.values;
  out[1] = s.places;
}
SL_OP(aten_searchsorted_Tensor) {
  out[0] = search(args.tensor(0), args.tensor(1), side_is_right(args, 3, 4), args.boolean(2),
                  args.opt_tensor(5), "torch.searchsorted");
}
SL_OP(aten_searchsorted_Scalar) {
  out[0] = search(args.tensor(0), number_tensor(args.scalar(1)), side_is_right(args, 3, 4),
                  args.boolean(2), args.opt_tensor(5), "torch.searchsorted");
}
static void check_boundaries(const Tensor& t) {
  SL_CHECK(t.dim() == 1, "boundaries tensor must be 1 dimension, but got dim(", t.dim(), ")");
}
SL_OP(aten_bucketize_Tensor) {
  check_boundaries(args.tensor(1));
  out[0] = search(args.tensor(1), args.tensor(0), args.boolean(3), args.boolean(2), Tensor(),
                  "torch.bucketize");
}
SL_OP(aten_bucketize_Scalar) {
  check_boundaries(args.tensor(1));
  out[0] = search(args.tensor(1), number_tensor(args.scalar(0)), args.boolean(3), args.boolean(2),
                  Tensor(), "torch.bucketize");
}

}  // namespace scriptlang
