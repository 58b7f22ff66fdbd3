// Histograms with given or equal bins, in one or more dimensions.
#include <algorithm>
#include <cmath>

#include "express.h"
#include "scratch.h"

namespace scriptlang {

using namespace express;

namespace {

constexpr int64_t kMostBins = int64_t{1} << 31;

using Edges = Working<double>;

Edges equal_edges(int64_t bins, double low, double high) {
  SL_CHECK(bins > 0 && bins < kMostBins, "torch.histogram(): bins must be > 0, but got ", bins);
  SL_CHECK(std::isfinite(low) && std::isfinite(high), "torch.histogram(): range of [", low, ", ",
           high, "] is not finite");
  SL_CHECK(low <= high, "torch.histogram(): max must be larger than min");
  if (low == high) {
    low -= 0.5;
    high += 0.5;
  }
  Edges edges(size_t(bins) + 1);
  double step = (high - low) / double(bins);
  for (int64_t i = 0; i <= bins; ++i) {
    kernels::worked(1);
    edges[size_t(i)] = i < bins / 2 + 1 ? low + step * double(i) : high - step * double(bins - i);
  }
  return edges;
}

Edges edges_of(const Tensor& t) {
  SL_CHECK(t.dim() == 1 && t.numel() > 0,
           "torch.histogram(): bins tensor should have one dimension, got size ",
           to_string(t.sizes()));
  Tensor wide = contiguous_as(t, ScalarType::Float64);
  const double* at = wide.data<double>();
  return Edges(at, at + wide.numel());
}

// The bin edges for one column of x [n][columns]; where no range is given, from the column's
// extremes.
Edges edges_along(const Tensor& x, int64_t column, int64_t bins, const std::vector<double>& range) {
  double low = 0, high = 1;
  if (!range.empty()) {
    SL_CHECK(int64_t(range.size()) == 2 * x.size(1), "torch.histogramdd(): for a ", x.size(1),
             "-dimensional histogram range should have ", 2 * x.size(1), " elements, but got ",
             range.size());
    low = range[size_t(2 * column)];
    high = range[size_t(2 * column + 1)];
  } else if (x.size(0) > 0) {
    low = INFINITY;
    high = -INFINITY;
    for (int64_t i = 0; i < x.size(0); ++i) {
      double v = x.data<double>()[i * x.size(1) + column];
      low = std::min(low, v);
      high = std::max(high, v);
    }
  }
  return equal_edges(bins, low, high);
}

// The bin of a value, or -1. The last bin includes its upper edge.
int64_t bin_of(const Edges& edges, double v) {
  if (!(v >= edges.front() && v <= edges.back())) return -1;
  int64_t at = std::upper_bound(edges.begin(), edges.end(), v) - edges.begin() - 1;
  return std::min<int64_t>(at, int64_t(edges.size()) - 2);
}

// The histogram of x [n][columns], in the given type.
Tensor counts(const Tensor& x, const std::vector<Edges>& edges, const Tensor& weight, bool density,
              ScalarType type) {
  std::vector<int64_t> sizes;
  for (const Edges& e : edges) sizes.push_back(int64_t(e.size()) - 1);
  Tensor hist = Tensor::zeros(sizes, ScalarType::Float64);
  Tensor weights = weight.defined() ? contiguous_as(weight, ScalarType::Float64) : Tensor();
  SL_CHECK(!weight.defined() || weight.numel() == x.size(0),
           "torch.histogram(): if weight tensor "
           "is provided it should have the same shape as the input, got ",
           weight.defined() ? weight.numel() : 0, " weights for ", x.size(0), " values");
  double total = 0;
  const int64_t rows = edges.empty() ? 0 : x.size(0);  // points without coordinates have no bin
  for (int64_t i = 0; i < rows; ++i) {
    kernels::worked(64);
    int64_t place = 0;
    for (size_t d = 0; d < edges.size() && place >= 0; ++d) {
      int64_t bin = bin_of(edges[d], x.data<double>()[i * x.size(1) + int64_t(d)]);
      place = bin < 0 || sizes[d] == 0 ? -1 : place * sizes[d] + bin;
    }
    if (place < 0) continue;
    double w = weights.defined() ? weights.data<double>()[i] : 1;
    hist.data<double>()[place] += w;
    total += w;
  }
  if (density) {
    for (int64_t i = 0; i < hist.numel(); ++i) {
      kernels::worked(16);
      double volume = total;
      int64_t rest = i;
      for (size_t d = edges.size(); d-- > 0;) {
        size_t bin = size_t(rest % sizes[d]);
        volume *= edges[d][bin + 1] - edges[d][bin];
        rest /= sizes[d];
      }
      hist.data<double>()[i] /= volume;
    }
  }
  return to_dtype(hist, type);
}

void check_type(const Tensor& self) {
  if (!is_floating(self.dtype())) {
    raise(ErrorKind::NotImplementedError, "\"histogramdd\" not implemented for '",
          dtype_display_name(self.dtype()), "'");
  }
}

Tensor as_tensor(const Edges& edges, ScalarType type) {
  Tensor t = Tensor::empty({int64_t(edges.size())}, ScalarType::Float64);
  std::copy(edges.begin(), edges.end(), t.data<double>());
  return to_dtype(t, type);
}

// The edges are first rounded to the type in which they are returned.
void histogram(const Tensor& self, Edges edges, const Tensor& weight, bool density, Value* out) {
  Tensor rounded = as_tensor(edges, self.dtype());
  Tensor x = contiguous_as(reshape(self, {self.numel(), 1}), ScalarType::Float64);
  out[0] = counts(x, {edges_of(rounded)}, weight, density, self.dtype());
  out[1] = rounded;
}

// The elements as rows of points.
Tensor points(const Tensor& self) {
  check_type(self);
  SL_CHECK(self.dim() >= 2,
           "torch.histogramdd(): input tensor should have at least 2 dimensions, "
           "but got ",
           self.dim());
  int64_t columns = self.size(self.dim() - 1), rows = 1;
  for (int64_t d = 0; d + 1 < self.dim(); ++d) rows *= self.size(d);
  return contiguous_as(reshape(self, {rows, columns}), ScalarType::Float64);
}

void histogramdd(const Tensor& self, std::vector<Edges> edges, const Tensor& weight, bool density,
                 Value* out) {
  Tensor x = points(self);
  SL_CHECK(int64_t(edges.size()) == x.size(1), "torch.histogramdd(): expected ", x.size(1),
           " sequences of bins, but got ", edges.size());
  std::vector<Tensor> given;
  for (Edges& e : edges) {
    given.push_back(as_tensor(e, self.dtype()));
    e = edges_of(given.back());
  }
  out[0] = counts(x, edges, weight, density, self.dtype());
  out[1] = tensor_list(std::move(given));
}

std::vector<Edges> equal_edges_of(const Tensor& self, const Ints& bins, Args args, int range) {
  Tensor x = points(self);
  std::vector<double> limits = args.doubles(range);
  std::vector<Edges> edges;
  for (int64_t d = 0; d < x.size(1) && d < bins.size(); ++d) {
    edges.push_back(edges_along(x, d, bins[d], limits));
  }
  return edges;
}

}  // namespace

SL_OP(aten_histogram_bins_tensor) {
  check_type(args.tensor(0));
  histogram(args.tensor(0), edges_of(args.tensor(1)), args.opt_tensor(2), args.boolean(3), out);
}
SL_OP(aten_histogram_bin_ct) {
  const Tensor& self = args.tensor(0);
  check_type(self);
  Tensor x = contiguous_as(reshape(self, {self.numel(), 1}), ScalarType::Float64);
  SL_CHECK(args.none(2) || args.doubles(2).size() == 2,
           "torch.histogramdd: a range has a least and a greatest number, but got ",
           args.doubles(2).size());
  histogram(self, edges_along(x, 0, args.integer(1), args.doubles(2)), args.opt_tensor(3),
            args.boolean(4), out);
}
SL_OP(aten_histogramdd) {
  const Tensor& self = args.tensor(0);
  histogramdd(self, equal_edges_of(self, args.ints(1), args, 2), args.opt_tensor(3),
              args.boolean(4), out);
}
SL_OP(aten_histogramdd_int_bins) {
  const Tensor& self = args.tensor(0);
  Ints bins(args[1], self.dim() ? self.size(self.dim() - 1) : 0);
  histogramdd(self, equal_edges_of(self, bins, args, 2), args.opt_tensor(3), args.boolean(4), out);
}
SL_OP(aten_histogramdd_TensorList_bins) {
  std::vector<Edges> edges;
  for (const Tensor& t : args.tensors(1)) edges.push_back(edges_of(t));
  histogramdd(args.tensor(0), std::move(edges), args.opt_tensor(3), args.boolean(4), out);
  bool same = true;
  for (const Tensor& t : args.tensors(1)) same = same && t.dtype() == args.tensor(0).dtype();
  if (same) out[1] = tensor_list(args.tensors(1));
}

}  // namespace scriptlang
