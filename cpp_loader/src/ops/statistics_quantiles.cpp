// Quantiles, and the most frequent value.
#include <algorithm>
#include <cmath>
#include <limits>

#include "express.h"
#include "index.h"
#include "pieces.h"
#include "radix.h"
#include "reduce.h"
#include "scratch.h"

namespace scriptlang {

using namespace express;

namespace {

double interpolated(const double* sorted, int64_t n, double q, std::string_view how) {
  double rank = q * double(n - 1);
  double low = std::floor(rank), high = std::ceil(rank);
  double a = sorted[int64_t(low)], b = sorted[int64_t(high)];
  if (how == "lower") return a;
  if (how == "higher") return b;
  if (how == "nearest") return sorted[int64_t(std::nearbyint(rank))];
  if (how == "midpoint") return (a + b) / 2;
  return a + (b - a) * (rank - low);
}

Tensor quantile(const Tensor& self, const Tensor& q, const Value& dim_value, bool keepdim,
                std::string_view how, bool skip_nan) {
  SL_CHECK(self.numel() > 0, "quantile() input tensor must be non-empty");
  SL_CHECK(q.dim() <= 1, "quantile() q must be a scalar or 1D tensor");
  SL_CHECK(self.dtype() == ScalarType::Float32 || self.dtype() == ScalarType::Float64,
           "quantile() input tensor must be either float or double dtype");
  SL_CHECK(self.dtype() == q.dtype(), "quantile() q tensor must be same dtype as the input tensor");
  SL_CHECK(
      how == "linear" || how == "lower" || how == "higher" || how == "midpoint" || how == "nearest",
      "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, "
      "but got ",
      how);
  Dims dims = reduced_dims(Value(), self.dim());
  if (!dim_value.is_none()) {
    int64_t d = wrap_dim(dim_value.as_int(), self.dim());
    dims = self.dim() ? Dims{d} : Dims();
  }
  Reduction r = reduction(self, dims, keepdim, ScalarType::Float64);
  Tensor points = contiguous_as(q, ScalarType::Float64);
  std::vector<int64_t> sizes(r.sizes.begin(), r.sizes.end());
  if (q.dim() == 1) sizes.push_back(q.size(0));  // all quantiles of a row are adjacent
  Tensor out = Tensor::empty(sizes, ScalarType::Float64);
  Working<double> sorted;
  sorted.reserve(as_size(r.n));
  for (int64_t row = 0; row < r.outer; ++row) {
    const double* from = r.rows.data<double>() + row * r.n;
    sorted.clear();
    bool has_nan = false;
    in_pieces(r.n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (std::isnan(from[i])) has_nan = true;
        else sorted.push_back(from[i]);
      }
    });
    if (r.n <= kShortSort) std::sort(sorted.begin(), sorted.end());
    else std::sort(sorted.begin(), sorted.end(), WorkedLess());
    kernels::worked(16 * std::min(r.n, kShortSort));
    for (int64_t i = 0; i < points.numel(); ++i) {
      double at = points.data<double>()[i];
      SL_CHECK(at >= 0 && at <= 1, "quantile() q values must be in the range [0, 1]");
      bool undefined = sorted.empty() || (has_nan && !skip_nan);
      out.data<double>()[row * points.numel() + i] =
          undefined ? std::numeric_limits<double>::quiet_NaN()
                    : interpolated(sorted.data(), int64_t(sorted.size()), at, how);
    }
  }
  out = to_dtype(out, self.dtype());
  if (q.dim() == 0) return out;
  std::vector<int64_t> order{out.dim() - 1};
  for (int64_t d = 0; d + 1 < out.dim(); ++d) order.push_back(d);
  return view_permute(out, order);
}

Tensor point(const Tensor& self, double q) {
  return to_dtype(Tensor::scalar(q, ScalarType::Float64), self.dtype());
}

constexpr int64_t kInserted = 16;  // up to here PyTorch sorts by insertion: NaN changes the order

void most_frequent(const Tensor& self, int64_t dim, bool keepdim, Value* out) {
  dim = wrap_dim(dim, self.dim());
  Dims dims = self.dim() ? Dims{dim} : Dims();
  ScalarType computed = comparable(self.dtype());
  Reduction r = reduction(self, dims, keepdim, computed);
  Tensor values = r.result(computed), places = r.result(ScalarType::Int64);
  if (r.n == 0 && r.outer > 0) {
    raise(ErrorKind::IndexError, "mode(): Expected reduction dim ", dim, " to have non-zero size.");
  }
  SL_CHECK(r.n < int64_t{1} << 32, "mode(): dimension ", dim, " is too long");
  for_type(computed, "mode", [&](auto zero) {
    using T = decltype(zero);
    radix::Order<T> order(r.n);
    for (int64_t row = 0; row < r.outer; ++row) {
      const T* from = r.rows.data<T>() + row * r.n;
      order.sort(from, false);
      const T last = from[order[r.n - 1]];
      if (last != last && r.n <= kInserted) order.insert(from);
      // Equal elements keep their order, and the last one of a run is reported.
      int64_t best = 0, best_count = 0, count = 0;
      in_pieces(r.n, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          bool same = i > 0 && from[order[i]] == from[order[i - 1]];
          count = same ? count + 1 : 1;
          if (count > best_count) {
            best_count = count;
            best = order[i];
          }
        }
      });
      values.data<T>()[row] = from[best];
      places.data<int64_t>()[row] = best;
    }
  });
  out[0] = to_dtype(values, self.dtype());
  out[1] = places;
}

}  // namespace

SL_OP(aten_quantile) {
  out[0] =
      quantile(args.tensor(0), args.tensor(1), args[2], args.boolean(3), args.string(4), false);
}
SL_OP(aten_quantile_scalar) {
  out[0] = quantile(args.tensor(0), point(args.tensor(0), args.number(1)), args[2], args.boolean(3),
                    args.string(4), false);
}
SL_OP(aten_nanquantile) {
  out[0] = quantile(args.tensor(0), args.tensor(1), args[2], args.boolean(3), args.string(4), true);
}
SL_OP(aten_nanquantile_scalar) {
  out[0] = quantile(args.tensor(0), point(args.tensor(0), args.number(1)), args[2], args.boolean(3),
                    args.string(4), true);
}
SL_OP(aten_mode) { most_frequent(args.tensor(0), args.integer(1), args.boolean(2), out); }

}  // namespace scriptlang
