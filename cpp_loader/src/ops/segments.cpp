// Reductions over segments of a dimension.
#include <algorithm>
#include <cmath>
#include <limits>

#include "express.h"
#include "row_kernels.h"

namespace scriptlang {

using namespace express;

namespace {

enum class Fold { kSum, kMean, kGreatest, kLeast, kProduct };

Fold fold_of(std::string_view name) {
  if (name == "sum") return Fold::kSum;
  if (name == "mean") return Fold::kMean;
  if (name == "max") return Fold::kGreatest;
  if (name == "min") return Fold::kLeast;
  SL_CHECK(name == "prod", "unsupported reduction ", name, ", one of sum, mean, max, min, prod");
  return Fold::kProduct;
}

template <class T>
T folded(Fold fold, T a, T b) {
  switch (fold) {
    case Fold::kGreatest: return std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b);
    case Fold::kLeast: return std::isnan(a) ? a : std::isnan(b) ? b : std::min(a, b);
    case Fold::kProduct: return a * b;
    default: return a + b;
  }
}

// The initial value of a segment, which is also the value of an empty one (but for means: NaN).
double start_of(Fold fold) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (fold) {
    case Fold::kGreatest: return -kInfinity;
    case Fold::kLeast: return kInfinity;
    default: return fold == Fold::kProduct;
  }
}

// Reduces the segments of one row. x: [n][inner]; y: [segments][inner]; segment s is bounds[s] to
// bounds[s + 1].
template <class T>
void fold_row(Fold fold, const T* x, int64_t inner, const int64_t* bounds, int64_t segments,
              const Value& initial, T* y) {
  T start = T(initial.is_none() ? start_of(fold) : Scalar::of(initial).to_double());
  for (int64_t s = 0; s < segments; ++s, y += inner) {
    std::fill_n(y, inner, start);
    for (int64_t i = bounds[s]; i < bounds[s + 1]; ++i)
      for (int64_t j = 0; j < inner; ++j) y[j] = folded(fold, y[j], x[i * inner + j]);
    int64_t length = bounds[s + 1] - bounds[s];
    for (int64_t j = 0; fold == Fold::kMean && j < inner; ++j) {
      if (length > 0) y[j] /= T(length);
      else if (initial.is_none()) y[j] = std::numeric_limits<T>::quiet_NaN();
    }
  }
}

// The bounds of segments of given lengths, [rows][segments + 1]. Unless `unsafe`, each row must end
// at n.
Tensor bounds_of(const Tensor& given, int64_t n, bool unsafe) {
  Tensor lengths = contiguous_as(given, ScalarType::Int64);
  SL_CHECK(lengths.dim() > 0, "segment_reduce(): lengths must have dimensions");
  std::vector<int64_t> sizes(lengths.sizes().begin(), lengths.sizes().end());
  int64_t segments = sizes.back()++;
  Tensor bounds = Tensor::empty(sizes, ScalarType::Int64);
  const int64_t* length = lengths.data<int64_t>();
  int64_t* bound = bounds.data<int64_t>();
  sizes.pop_back();
  for (int64_t r = checked_numel(sizes); r > 0; --r, ++bound) {
    *bound = 0;
    for (int64_t s = 0; s < segments; ++s, ++length, ++bound) {
      SL_CHECK(*length >= 0, "lengths contains negative value!");
      bool over = __builtin_add_overflow(bound[0], *length, &bound[1]);
      SL_CHECK(!over, "segment_reduce(): lengths are too large");
    }
    SL_CHECK(unsafe || *bound == n,
             "segment_reduce(): Expected all rows of lengths along axis to "
             "sum to data.size(axis) = ",
             n, " when !unsafe.");
  }
  return bounds;
}

Tensor offsets_of(const Tensor& offsets) {
  SL_CHECK(offsets.defined(), "segment_reduce(): Either lengths or offsets must be defined");
  SL_CHECK(offsets.dim() > 0 && offsets.size(offsets.dim() - 1) > 0,
           "segment_reduce(): offsets must have at least one element along their last dimension");
  return contiguous_as(offsets, ScalarType::Int64);
}

Tensor segment_reduce(Args args) {
  const Tensor& data = args.tensor(0);
  Fold fold = fold_of(args.string(1));
  SL_CHECK(args.none(3), "segment_reduce(): indices based reduction is not supported yet.");
  SL_CHECK(data.dim() > 0, "segment_reduce(): Expected data with dimensions");
  int64_t axis = wrap_dim(args.integer(5), data.dim()), inner = 1, n = data.size(axis);
  Tensor bounds =
      args.none(2) ? offsets_of(args.opt_tensor(4)) : bounds_of(args.tensor(2), n, args.boolean(6));
  IntSpan head(data.sizes().data, axis);
  SL_CHECK(bounds.dim() == axis + 1 && IntSpan(bounds.sizes().data, axis) == head,
           "segment_reduce(): Expected axis to be the last dimension of lengths or offsets, got ",
           to_string(bounds.sizes()), " bounds for data of size ", to_string(data.sizes()));
  int64_t segments = bounds.size(axis) - 1, rows = checked_numel(head);
  for (int64_t d = axis + 1; d < data.dim(); ++d) inner *= data.size(d);
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t* bound = bounds.data<int64_t>() + r * (segments + 1);
    bool good =
        bound[0] >= 0 && bound[segments] <= n && std::is_sorted(bound, bound + segments + 1);
    SL_CHECK(good, "segment_reduce(): the segments are not one after the other within the ", n,
             " elements of the axis");
  }
  ScalarType type = computed_type(data.dtype(), "segment_reduce");
  std::vector<int64_t> sizes(data.sizes().begin(), data.sizes().end());
  sizes[size_t(axis)] = segments;
  Tensor x = contiguous_as(data, type), y = Tensor::empty(sizes, type);
  for_float_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t r = 0; r < rows; ++r) {
      fold_row(fold, x.data<T>() + r * n * inner, inner,
               bounds.data<int64_t>() + r * (segments + 1), segments, args[7],
               y.data<T>() + r * segments * inner);
    }
  });
  return to_dtype(y, data.dtype());
}

}  // namespace

SL_OP(aten_segment_reduce) { out[0] = segment_reduce(args); }

SL_OP(aten__convert_indices_from_coo_to_csr) {
  const Tensor& given = args.tensor(0);
  int64_t size = args.integer(1);
  SL_CHECK(given.dim() == 1 && is_integral(given.dtype(), false),
           "coo indices are one dimension of int32 or int64, not a tensor of size ",
           to_string(given.sizes()));
  SL_CHECK(size >= 0 && size < INT64_MAX, "a tensor of ", size, " rows cannot be made");
  Tensor indices = to_contiguous(to_dtype(given, ScalarType::Int64));
  Tensor starts = Tensor::zeros({size + 1}, ScalarType::Int64);
  const int64_t* at = indices.data<int64_t>();
  int64_t* start = starts.data<int64_t>();
  for (int64_t i = 0; i < indices.numel(); ++i) {
    SL_CHECK(at[i] >= 0 && at[i] < size, "index ", at[i], " is out of range for ", size, " rows");
    ++start[at[i] + 1];
  }
  for (int64_t i = 0; i < size; ++i) start[i + 1] += start[i];
  out[0] = args.boolean(2) ? to_dtype(starts, ScalarType::Int32) : starts;
}

}  // namespace scriptlang
