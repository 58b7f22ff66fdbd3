// Writing at indices: put, index_reduce, and the variants of index and index_put that derivatives
// use.
#include <algorithm>
#include <cmath>
#include <limits>

#include "scratch.h"
#include "express.h"
#include "index.h"
#include "reduce.h"

namespace scriptlang {

using namespace express;

namespace {

Tensor flat_view(const Tensor& t) { return reshape(t, {t.numel()}); }

void check_put(const Tensor& self, const Tensor& index, const Tensor& source) {
  if (index.dtype() != ScalarType::Int64) {
    raise(ErrorKind::IndexError, "put_(): Expected a long tensor for index, but got ",
          dtype_display_name(index.dtype()));
  }
  SL_CHECK(self.dtype() == source.dtype(),
           "put_(): self and source expected to have the same "
           "dtype, but got self.dtype = ",
           dtype_display_name(self.dtype()),
           " and source.dtype = ", dtype_display_name(source.dtype()));
  if (index.numel() != source.numel()) {
    raise(ErrorKind::IndexError,
          "put_(): Expected source and index to have the same number of "
          "elements, but got source.numel() = ",
          source.numel(), ", index.numel() = ", index.numel());
  }
  if (index.numel() > 0 && self.numel() == 0) {
    raise(ErrorKind::IndexError, "put_(): Tried to put elements into an empty tensor");
  }
}

void put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  check_put(self, index, source);
  check_writable(self);
  check_apart(self, index, false);
  check_apart(self, source, false);
  check_elements(index, self.numel());
  if (index.numel() == 0) return;
  Tensor flat = self.is_contiguous() ? flat_view(self) : clone(to_contiguous(self));
  flat = flat_view(flat);
  index_put(flat, {flat_view(to_contiguous(index))}, flat_view(to_contiguous(source)), accumulate);
  if (!self.is_contiguous()) copy_into(self, reshape(flat, self.sizes()));
}

enum class Fold { kProduct, kMean, kGreatest, kLeast };

Fold fold_of(std::string_view name) {
  if (name == "prod") return Fold::kProduct;
  if (name == "mean") return Fold::kMean;
  if (name == "amax") return Fold::kGreatest;
  if (name == "amin") return Fold::kLeast;
  raise(ErrorKind::RuntimeError,
        "index_reduce(): Expected reduce to be one of prod, mean, amax "
        "or amin but got ",
        name, ".");
}

template <class T>
T neutral(Fold fold) {
  if constexpr (std::numeric_limits<T>::has_infinity) {
    if (fold == Fold::kGreatest) return -std::numeric_limits<T>::infinity();
    if (fold == Fold::kLeast) return std::numeric_limits<T>::infinity();
  }
  if (fold == Fold::kGreatest) return std::numeric_limits<T>::lowest();
  if (fold == Fold::kLeast) return std::numeric_limits<T>::max();
  return T(fold == Fold::kProduct);
}

template <class T>
T folded(Fold fold, T a, T b) {
  if (fold == Fold::kMean || fold == Fold::kProduct) {
    if constexpr (std::is_same_v<T, bool>) return fold == Fold::kMean ? a || b : a && b;
    else if constexpr (std::is_integral_v<T>) {
      return T(fold == Fold::kMean ? uint64_t(a) + uint64_t(b) : uint64_t(a) * uint64_t(b));
    } else {
      return fold == Fold::kMean ? a + b : a * b;
    }
  }
  if (is_nan(a) || is_nan(b)) return is_nan(a) ? a : b;
  return fold == Fold::kGreatest ? std::max(a, b) : std::min(a, b);
}

template <class T>
T divided(T sum, int64_t count) {
  if constexpr (std::is_same_v<T, bool>) return sum;
  else if constexpr (std::is_integral_v<T>) {
    T q = T(sum / T(count));
    return sum % T(count) != 0 && sum < T(0) ? T(q - 1) : q;
  } else {
    return sum / T(count);
  }
}

// Reduces source rows into rows. rows: [n][outer], with n along the indexed dimension; the source
// likewise.
template <class T>
void fold_rows(Fold fold, bool include_self, T* rows, int64_t n, int64_t outer, const T* source,
               const int64_t* index, int64_t count) {
  Working<int64_t> seen(as_size(n), include_self);
  for (int64_t i = 0; i < count; ++i) {
    int64_t k = index[i];
    if (k < 0 || k >= n) { raise(ErrorKind::IndexError, "index out of range in self"); }
    if (seen[size_t(k)] == 0) std::fill_n(rows + k * outer, outer, neutral<T>(fold));
    ++seen[size_t(k)];
    for (int64_t j = 0; j < outer; ++j) {
      rows[k * outer + j] = folded(fold, rows[k * outer + j], source[i * outer + j]);
    }
  }
  for (int64_t k = 0; fold == Fold::kMean && k < n; ++k) {
    for (int64_t j = 0; seen[size_t(k)] > 1 && j < outer; ++j) {
      rows[k * outer + j] = divided(rows[k * outer + j], seen[size_t(k)]);
    }
  }
}

void index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                  std::string_view name, bool include_self) {
  wrap_dim(dim, self.dim());
  Fold fold = fold_of(name);
  check_writable(self);
  SL_CHECK(self.dtype() == source.dtype(),
           "index_reduce(): self and source expected to have the same dtype");
  SL_CHECK(index.dim() <= 1,
           "index_reduce(): Index is supposed to be a vector, but got dim: ", index.dim());
  SL_CHECK(index.dtype() == ScalarType::Int64 || index.dtype() == ScalarType::Int32,
           "index_reduce(): Expected dtype int32/int64 for index");
  dim = wrap_dim(dim, self.dim());
  Tensor to = self.dim() ? view_transpose(self, 0, dim) : view_unsqueeze(self, 0);
  Tensor from = source.dim() ? view_transpose(source, 0, wrap_dim(dim, source.dim()))
                             : view_unsqueeze(source, 0);
  SL_CHECK(from.dim() == to.dim() && from.size(0) == index.numel() &&
               IntSpan(from.sizes().data + 1, from.dim() - 1) ==
                   IntSpan(to.sizes().data + 1, to.dim() - 1),
           "index_reduce(): source of size ", to_string(source.sizes()),
           " does not fit self of "
           "size ",
           to_string(self.sizes()), " and ", index.numel(), " indices along dimension ", dim);
  ScalarType type = self.dtype();
  ScalarType computed = is_half(type) ? ScalarType::Float32 : type;
  Tensor rows = clone(contiguous_as(to, computed)), values = contiguous_as(from, computed);
  Tensor places = contiguous_as(index, ScalarType::Int64);
  int64_t n = rows.size(0), outer = n ? rows.numel() / n : 0;
  for_type(computed, "index_reduce", [&](auto zero) {
    using T = decltype(zero);
    fold_rows<T>(fold, include_self, rows.data<T>(), n, outer, values.data<T>(),
                 places.data<int64_t>(), places.numel());
  });
  copy_into(to, rows);
}

}  // namespace

SL_OP(aten_put_) {
  put(args.tensor(0), args.tensor(1), args.tensor(2), args.boolean(3));
  out[0] = args.tensor(0);
}
SL_OP(aten_index_reduce_) {
  index_reduce(args.tensor(0), args.integer(1), args.tensor(2), args.tensor(3), args.string(4),
               args.boolean(5));
  out[0] = args.tensor(0);
}
SL_OP(aten__index_put_impl_) {
  index_put_checked(args.tensor(0), args.opt_tensors(1), args.tensor(2), args.boolean(3));
  out[0] = args.tensor(0);
}
SL_OP(aten__index_put_impl__hacked_twin) { op_aten__index_put_impl_(ctx, args, out); }
SL_OP(aten__unsafe_masked_index_put_accumulate) {
  const Tensor& self = args.tensor(0);
  if (args.list(2).size() == 0) raise(ErrorKind::IndexError, "at least one index must be provided");
  SL_CHECK(self.dtype() == args.tensor(3).dtype(),
           "Index put requires the source and destination dtypes match, got ",
           dtype_display_name(self.dtype()), " for the destination and ",
           dtype_display_name(args.tensor(3).dtype()), " for the source.");
  Tensor copy = clone(self);
  Tensor values =
      where_result(args.tensor(1), args.tensor(3), Scalar(int64_t{0}), args.tensor(3).dtype());
  if (self.numel() > 0) index_put(copy, clamped_indices(self, args.opt_tensors(2)), values, true);
  out[0] = copy;
}
SL_OP(aten_fill_diagonal_) {
  const Tensor& self = args.tensor(0);
  SL_CHECK(self.dim() >= 2, "dimensions must larger than 1");
  int64_t step = 0, size = self.size(0), height = self.size(0), width = self.size(1);
  for (int64_t d = 0; d < self.dim(); ++d) {
    SL_CHECK(self.dim() == 2 || self.size(d) == height,
             "all dimensions of input must be of equal length");
    step += self.stride(d);
    size = std::min(size, self.size(d));
  }
  Scalar value = args.scalar(1);
  check_fits(value, self.dtype());
  int64_t start = self.storage_offset();
  if (size > 0) fill(self.as_strided({size}, {step}, start), value);
  if (args.boolean(2) && self.dim() == 2 && height > width + 1) {  // a new diagonal starts below
    int64_t count = (self.numel() + width) / (width + 1) - size;
    fill(self.as_strided({count}, {step}, start + self.stride(0) * (width + 1)), value);
  }
  out[0] = self;
}

}  // namespace scriptlang
