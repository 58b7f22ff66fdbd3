// Which dimensions a reduction goes over, and how its rows lie in memory.
#include "reduce.h"
#include "row_functions.h"

namespace scriptlang {

Dims reduced_dims(const Value& dims, int64_t ndim) {
  Dims result;
  if (!dims.is_none()) {
    bool seen[kMaxDims] = {};
    for (int64_t given : Ints(dims)) {
      int64_t d = wrap_dim(given, ndim);
      SL_CHECK(!seen[d], "dim ", d, " appears multiple times in the list of dims");
      seen[d] = true;
      if (ndim > 0) result.push_back(d);
    }
    if (!result.empty() || (ndim == 0 && seen[0])) {
      std::sort(result.begin(), result.end());
      return result;
    }
  }
  for (int64_t d = 0; d < ndim; ++d) result.push_back(d);
  return result;
}

Reduction reduction(const Tensor& self, const Dims& dims, bool keepdim, ScalarType computed) {
  Reduction r;
  Dims order;
  bool reduced[kMaxDims] = {};
  for (int64_t d : dims) reduced[d] = true;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (!reduced[d]) {
      order.push_back(d);
      r.outer *= self.size(d);
      r.sizes.push_back(self.size(d));
    } else if (keepdim) {
      r.sizes.push_back(1);
    }
  }
  for (int64_t d : dims) {
    order.push_back(d);
    r.n *= self.size(d);
  }
  bool in_order = std::is_sorted(order.begin(), order.end());
  r.rows = contiguous_as(in_order ? self : view_permute(self, order), computed);
  return r;
}

Dims reduced_sizes(const Tensor& self, const Dims& dims, bool keepdim) {
  Dims sizes;
  size_t next = 0;
  for (int64_t d = 0; d < self.dim(); ++d) {
    bool reduced = next < dims.size() && dims[next] == d;
    if (reduced) ++next;
    if (!reduced || keepdim) sizes.push_back(reduced ? 1 : self.size(d));
  }
  return sizes;
}

Dims last_run(const Dims& dims) {
  size_t first = dims.size() - 1;
  while (first > 0 && dims[first - 1] + 1 == dims[first]) --first;
  Dims run;
  for (size_t i = first; i < dims.size(); ++i) run.push_back(dims[i]);
  return run;
}
Dims before_last_run(const Dims& dims) {
  Dims rest;
  for (size_t i = 0; i + last_run(dims).size() < dims.size(); ++i) rest.push_back(dims[i]);
  return rest;
}

Tensor in_memory_order(const Tensor& self, Dims* dims) {
  const int64_t n = self.dim();
  if (n < 2 || self.is_contiguous() || self.numel() == 0) return Tensor();
  Dims order;
  for (int64_t d = 0; d < n; ++d) order.push_back(d);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return self.stride(a) > self.stride(b); });
  bool reduced[kMaxDims] = {};
  for (int64_t d : *dims) reduced[d] = true;
  Dims places;
  int64_t last = -1;
  for (int64_t i = 0; i < n; ++i) {
    if (reduced[order[size_t(i)]]) {
      places.push_back(i);
    } else {
      if (order[size_t(i)] < last) return Tensor();
      last = order[size_t(i)];
    }
  }
  Tensor moved = view_permute(self, order);
  if (!moved.is_contiguous()) return Tensor();
  *dims = places;
  return moved;
}

bool Columns::find(const Tensor& self, const Dims& dims) {
  if (dims.empty() || !self.is_contiguous() || self.numel() == 0) return false;
  if (dims.back() - dims.front() + 1 != int64_t(dims.size())) return false;
  for (int64_t d = 0; d < self.dim(); ++d) {
    (d < dims.front() ? outer : d > dims.back() ? inner : n) *= self.size(d);
  }
  return inner >= kLeast;
}

Tensor record_reduction(const Tensor& self, const Dims& dims, bool keepdim, ScalarType computed,
                        ScalarType result, const RowFunction* function, std::vector<double> params,
                        Whole whole) {
  Dims sizes = reduced_sizes(self, dims, keepdim);
  bool trailing = !dims.empty() && dims.front() + int64_t(dims.size()) == self.dim();
  Recording::Rows rows;
  rows.function = trailing && self.numel() > 0 ? function : nullptr;
  rows.dims = int(dims.size());
  rows.computed = computed;
  rows.params = std::move(params);
  rows.inputs = {self};
  return Recording::current().add_rows(rows, std::move(whole), sizes, result);
}

// Few long rows are cut into pieces for several threads; the order of additions stays the same.
void reduce_rows(const Reduction& r, const Tensor& to, const RowFunction& function,
                 const double* params, kernels::Convert convert) {
  if (r.outer == 0) return;  // without rows, n may be any number
  int64_t n = r.n, from_size = r.rows.itemsize(), size = to.itemsize(), count = row::pieces(n);
  const char* from = static_cast<const char*>(r.rows.raw());
  char* out = static_cast<char*>(to.raw());
  bool whole = function.piece == nullptr || count < 16 || r.outer >= 16;
  if (convert == nullptr && r.rows.dtype() != to.dtype()) {
    convert = kernels::converter(to.dtype(), r.rows.dtype());
  }
  auto row_of = [&](int64_t first, int64_t length, std::vector<char>& converted) {
    const char* at = from + first * from_size;
    if (convert == nullptr) return at;
    converted.resize(as_size(length * size));
    if (length > 0) convert(length, converted.data(), size, at, from_size);
    return static_cast<const char*>(converted.data());
  };
  if (whole) {
    const kernels::Ahead ahead(r.outer, n * from_size);
    // Several short rows are converted at a time.
    const int64_t together = convert ? std::max<int64_t>(1, 2048 / std::max<int64_t>(1, n)) : 1;
    kernels::parallel_for(r.outer, 32768 / std::max<int64_t>(1, n) + 1,
                          [&](int64_t begin, int64_t end) {
                            std::vector<char> converted;
                            for (int64_t first = begin; first < end; first += together) {
                              int64_t rows = std::min(together, end - first);
                              const char* at = row_of(first * n, rows * n, converted);
                              const int64_t step = n * (convert ? size : from_size);
                              const void* in[kMaxInputs] = {};
                              for (int64_t i = first; i < first + rows; ++i, at += step) {
                                in[0] = at;
                                ahead.fetch(from + i * n * from_size);
                                function.run(n, out + i * size, in, params);
                              }
                            }
                          });
    return;
  }
  Tensor partials = Tensor::empty({r.outer, count}, to.dtype());
  char* parts = static_cast<char*>(partials.raw());
  kernels::parallel_for(r.outer * count, 8, [&](int64_t begin, int64_t end) {
    std::vector<char> converted;
    for (int64_t i = begin; i < end; ++i) {
      int64_t first = i % count * kRowPiece, length = std::min(kRowPiece, n - first);
      const void* in[kMaxInputs] = {row_of(i / count * n + first, length, converted)};
      function.piece(length, parts + i * size, in, params);
    }
  });
  for (int64_t i = 0; i < r.outer; ++i) {
    function.join(n, out + i * size, parts + i * count * size, params);
  }
}

}  // namespace scriptlang
