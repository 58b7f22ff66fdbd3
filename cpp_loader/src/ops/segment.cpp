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

// What a segment starts from; the value of an empty one, except a mean's, which is no number.
double start_of(Fold fold) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (fold) {
    case Fold::kGreatest: return -kInfinity;
    case Fold::kLeast: return kInfinity;
    default: return fold == Fold::kProduct;
  }
}

// x: [n][inner] of one row; y: [segments][inner].
template <class T>
void fold_row(Fold fold, const T* x, int64_t n, int64_t inner, const int64_t* lengths,
              int64_t segments, const Value& initial, T* y) {
  T start = T(initial.is_none() ? start_of(fold) : Scalar::of(initial).to_double());
  int64_t at = 0;
  for (int64_t s = 0; s < segments; ++s, y += inner) {
    std::fill_n(y, inner, start);
    int64_t length = std::clamp<int64_t>(lengths[s], 0, n - at);
    for (int64_t i = at; i < at + length; ++i)
      for (int64_t j = 0; j < inner; ++j) y[j] = folded(fold, y[j], x[i * inner + j]);
    at += length;
    for (int64_t j = 0; fold == Fold::kMean && j < inner; ++j) {
      if (length > 0) y[j] /= T(length);
      else if (initial.is_none()) y[j] = std::numeric_limits<T>::quiet_NaN();
    }
  }
}

// Lengths of the segments, [rows][segments].
Tensor lengths_of(const Tensor& lengths, const Tensor& offsets) {
  if (lengths.defined()) return contiguous_as(lengths, ScalarType::Int64);
  SL_CHECK(offsets.defined(), "segment_reduce(): Either lengths or offsets must be defined");
  int64_t last = offsets.dim() - 1;
  SL_CHECK(offsets.dim() > 0 && offsets.size(last) > 0,
           "segment_reduce(): offsets must have at least one element along their last dimension");
  int64_t n = offsets.size(last);
  return contiguous_as(sub(view_slice(offsets, last, 1, n), view_slice(offsets, last, 0, n - 1)),
                       ScalarType::Int64);
}

Tensor segment_reduce(Args args) {
  const Tensor& data = args.tensor(0);
  Fold fold = fold_of(args.string(1));
  SL_CHECK(args.none(3), "segment_reduce(): indices based reduction is not supported yet.");
  Tensor lengths = lengths_of(args.opt_tensor(2), args.opt_tensor(4));
  SL_CHECK(data.dim() > 0, "segment_reduce(): Expected data with dimensions");
  int64_t axis = wrap_dim(args.integer(5), data.dim()), inner = 1;
  IntSpan head(data.sizes().data, axis);
  SL_CHECK(lengths.dim() == axis + 1 && IntSpan(lengths.sizes().data, axis) == head,
           "segment_reduce(): Expected axis to be the last dimension of lengths, got lengths of "
           "size ", to_string(lengths.sizes()), " for data of size ", to_string(data.sizes()));
  int64_t n = data.size(axis), segments = lengths.size(axis), rows = checked_numel(head);
  for (int64_t d = axis + 1; d < data.dim(); ++d) inner *= data.size(d);
  for (int64_t r = 0; !args.boolean(6) && r < rows; ++r) {
    int64_t total = 0;
    for (int64_t s = 0; s < segments; ++s) {
      int64_t length = lengths.data<int64_t>()[r * segments + s];
      SL_CHECK(length >= 0, "lengths contains negative value!");
      bool over = __builtin_add_overflow(total, length, &total);
      SL_CHECK(!over, "segment_reduce(): lengths are too large");
    }
    SL_CHECK(total == n, "segment_reduce(): Expected all rows of lengths along axis to sum to "
             "data.size(axis) = ", n, " when !unsafe.");
  }
  ScalarType type = computed_type(data.dtype(), "segment_reduce");
  std::vector<int64_t> sizes(data.sizes().begin(), data.sizes().end());
  sizes[size_t(axis)] = segments;
  Tensor x = contiguous_as(data, type), y = Tensor::empty(sizes, type);
  for_float_type(type, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t r = 0; r < rows; ++r) {
      fold_row(fold, x.data<T>() + r * n * inner, n, inner,
               lengths.data<int64_t>() + r * segments, segments, args[7],
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
  SL_CHECK(size >= 0, "a tensor of ", size, " rows cannot be made");
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
