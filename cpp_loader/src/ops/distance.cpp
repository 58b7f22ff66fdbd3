// Distances between the rows of matrices.
#include <algorithm>
#include <cmath>
#include <limits>

#include "../../kernels/kernel_set.h"
#include "../../kernels/parallel.h"
#include "express.h"
#include "join.h"
#include "layout.h"
#include "linalg.h"
#include "recording.h"

namespace scriptlang {

using namespace express;

namespace {

// The distances of one row of m elements from r others.
template <class T>
void distances_of_row(int64_t m, const T* a, const T* b, int64_t r, bool euclid, T* to) {
  const auto& lines = *kernels::kernels().lines;
  if constexpr (std::is_same_v<T, float>) lines.distances(m, a, b, r, euclid, to);
  else lines.distances_f64(m, a, b, r, euclid, to);
}

bool has_distances(const Tensor& t, double p) {
  bool known = t.dtype() == ScalarType::Float32 || t.dtype() == ScalarType::Float64;
  return known && (p == 1 || p == 2) && !is_symbolic(t);
}

// The distances of the rows of every [p, m] of one batch from those of the [r, m] of the other.
Tensor distances_of_rows(const Tensor& a, const Tensor& b, bool euclid) {
  std::vector<int64_t> sizes =
      broadcast_shapes({a.sizes().data, a.dim() - 2}, {b.sizes().data, b.dim() - 2});
  const int64_t batch = checked_numel(sizes);
  const int64_t p = a.size(a.dim() - 2), r = b.size(b.dim() - 2), m = a.size(a.dim() - 1);
  auto spread = [&](const Tensor& t, int64_t rows) {
    std::vector<int64_t> shape = sizes;
    shape.insert(shape.end(), {rows, m});
    return to_contiguous(view_expand(t, shape));
  };
  Tensor x = spread(a, p), y = spread(b, r);
  sizes.insert(sizes.end(), {p, r});
  Tensor to = Tensor::empty(sizes, x.dtype());
  int64_t grain = 32768 / std::max<int64_t>(1, r * m) + 1;
  for_float_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::parallel_for(batch * p, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t some = std::max<int64_t>(1, (1 << 22) / std::max<int64_t>(1, m));
        for (int64_t j = 0; j < r; j += some) {
          distances_of_row(m, x.data<T>() + i * m, y.data<T>() + (i / p * r + j) * m,
                           std::min(some, r - j), euclid, to.data<T>() + i * r + j);
          kernels::multiplied(std::min(some, r - j) * m);
        }
      }
    });
  });
  return euclid ? sqrt(to) : to;
}

// Euclidean distances by one matrix product: |x - y|^2 is |x|^2 - 2 x y + |y|^2.
Tensor euclidean_by_product(const Tensor& x, const Tensor& y) {
  const int64_t last = x.dim() - 1;
  Tensor a = sum_over(mul(x, x), {last}, true), b = sum_over(mul(y, y), {y.dim() - 1}, true);
  Tensor left = cat({mul(x, Scalar(-2.0)), a, full(a.sizes(), a.dtype(), Scalar(1.0))}, last);
  Tensor right = cat({y, full(b.sizes(), b.dtype(), Scalar(1.0)), b}, y.dim() - 1);
  return sqrt(clamp_min(matmul(left, view_transpose(right, -2, -1)), 0.0));
}

// How many rows of a [p, m] are compared with all rows of b [r, m] at a time. Their differences
// take m times as much memory as the distances, so the rows are done in chunks.
int64_t rows_at_once(const Tensor& a, const Tensor& b) {
  constexpr double kMost = 1 << 22;
  auto matrices = [](const Tensor& t) {
    double count = 1;
    for (int64_t d = 0; d < t.dim() - 2; ++d) count *= double(t.size(d));
    return count;
  };
  const double of_row = double(b.size(b.dim() - 2)) * double(b.size(b.dim() - 1));
  const double each = std::max(matrices(a), matrices(b)) * of_row;
  return int64_t(std::clamp(kMost / std::max(1.0, each), 1.0, 1e18));
}

// The distances between all rows of a [.., p, m] and b [.., r, m].
Tensor cdist(const Tensor& a, const Tensor& b, double p, int64_t mode = 0) {
  SL_CHECK(is_floating(a.dtype()) && is_floating(b.dtype()),
           "cdist only supports floating-point dtypes, X1 got: ", dtype_display_name(a.dtype()),
           " and X2 got: ", dtype_display_name(b.dtype()));
  SL_CHECK(a.dim() >= 2 && b.dim() >= 2,
           "cdist only supports at least 2D tensors, X1 got: ", a.dim(), "D, X2 got: ", b.dim(),
           "D");
  SL_CHECK(a.size(a.dim() - 1) == b.size(b.dim() - 1),
           "X1 and X2 must have the same number of columns. X1: ", a.size(a.dim() - 1),
           " X2: ", b.size(b.dim() - 1));
  SL_CHECK(!(p < 0), "cdist only supports non-negative p values");
  SL_CHECK(mode >= 0 && mode <= 2, "possible modes: 0, 1, 2, but was: ", mode);
  if (p == 2 && mode == 1) return euclidean_by_product(a, b);
  if (a.dtype() == ScalarType::Float32) {  // the order is read as float32
    if (p > std::numeric_limits<float>::max()) p = std::numeric_limits<double>::infinity();
    if (p < 7.1e-46) p = 0;
  }
  if (a.dtype() == b.dtype() && has_distances(a, p) && has_distances(b, p)) {
    return distances_of_rows(a, b, p == 2);
  }
  if (const int64_t rows = rows_at_once(a, b); rows < a.size(a.dim() - 2)) {
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < a.size(a.dim() - 2); i += rows) {
      const int64_t some = std::min(rows, a.size(a.dim() - 2) - i);
      parts.push_back(cdist(view_narrow(a, -2, i, some), b, p, mode));
    }
    return cat(parts, -2);
  }
  Tensor difference = abs(sub(view_unsqueeze(a, -2), view_unsqueeze(b, -3)));
  int64_t last = difference.dim() - 1;
  if (p == 0) {  // counts differences; NaN stays
    return sum_over(where(gt(difference, Scalar(0.0)), Scalar(1.0), difference), {last});
  }
  if (p == 1) return sum_over(difference, {last});
  if (p == 2) return sqrt(sum_over(mul(difference, difference), {last}));
  if (std::isinf(p)) {
    if (difference.size(last) == 0) return sum_over(difference, {last});
    return extreme_along(difference, last, false, true);
  }
  return pow(sum_over(pow(difference, Scalar(p)), {last}), Scalar(1 / p));
}

// The distances between each row of [n, m] and the rows after it.
Tensor pdist(const Tensor& self, double p) {
  SL_CHECK(is_floating(self.dtype()), "pdist only supports floating-point dtypes");
  SL_CHECK(self.dim() == 2, "pdist only supports 2D tensors, got: ", self.dim(), "D");
  SL_CHECK(p >= 0, "pdist only supports non-negative p values");
  int64_t n = self.size(0), m = self.size(1), at = 0;
  if (!has_distances(self, p)) {
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < n; ++i) {
      Tensor row = view_narrow(self, 0, i, 1), rest = view_narrow(self, 0, i + 1, n - i - 1);
      parts.push_back(view_select(cdist(row, rest, p), 0, 0));
    }
    return parts.empty() ? Tensor::empty({0}, self.dtype()) : cat(parts, 0);
  }
  Tensor x = to_contiguous(self), to = Tensor::empty({n * (n - 1) / 2}, x.dtype());
  for_float_type(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < n; at += n - ++i) {
      const T* row = x.data<T>() + i * m;
      distances_of_row(m, row, row + m, n - i - 1, p == 2, to.data<T>() + at);
      kernels::multiplied((n - i - 1) * m);
    }
  });
  return p == 2 ? sqrt(to) : to;
}

}  // namespace

SL_OP(aten_cdist) {
  const int64_t mode = args.none(3) ? 0 : args.integer(3);
  out[0] = cdist(args.tensor(0), args.tensor(1), args.number(2), mode);
}
SL_OP(aten_pdist) { out[0] = pdist(args.tensor(0), args.number(1)); }

}  // namespace scriptlang
