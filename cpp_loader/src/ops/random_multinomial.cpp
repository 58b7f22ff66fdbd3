// Draws of indices with given probabilities.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <vector>

#include "pointwise.h"
#include "random.h"
#include "scratch.h"
#include "view.h"

namespace scriptlang {

namespace {

using Lock = std::lock_guard<std::mutex>;

void check_weights(const Tensor& rows) {
  int64_t n = rows.size(1);
  for (int64_t r = 0; r < rows.size(0); ++r) {
    double total = 0;
    for (int64_t j = 0; j < n; ++j) {
      kernels::worked(1);
      double p = rows.data<double>()[r * n + j];
      SL_CHECK(p >= 0 && std::isfinite(p),
               "probability tensor contains either `inf`, `nan` or element < 0");
      total += p;
    }
    SL_CHECK(total > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
  }
}

// Draws without replacement: the indices of the largest quotients of weights and exponential noise.
// The noise is computed in the type of the given weights and drawn in their memory order.
void draw_by_noise(const Tensor& rows, const Tensor& given, Generator& generator,
                   const Tensor& out) {
  int64_t n = rows.size(1), count = out.size(1);
  const bool wide = given.dtype() == ScalarType::Float64;
  Tensor noise = Tensor::empty_like(given, ScalarType::Float64);
  const int64_t step = noise.stride(1);
  Lock lock(generator.mutex);
  Draw draw(generator);
  Working<double> score(as_size(n), 0.0);
  Working<int64_t> order(as_size(n), 0);
  kernels::worked(8 * noise.numel());
  draw.uniform(noise.numel(), noise.data<double>());
  for (int64_t r = 0; r < rows.size(0); ++r) {
    const double* drawn = noise.data<double>() + r * noise.stride(0);
    for (int64_t j = 0; j < n; ++j) {
      kernels::worked(16);
      double e = -std::log1p(-drawn[j * step]);
      double q = rows.data<double>()[r * n + j] / (wide ? e : double(float(e)));
      score[size_t(j)] = wide ? q : double(float(q));
      order[size_t(j)] = j;
    }
    std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](int64_t a, int64_t b) {
      kernels::worked(8);
      double x = score[size_t(a)], y = score[size_t(b)];
      return x > y || (x == y && a < b);
    });
    std::copy_n(order.begin(), count, out.data<int64_t>() + r * count);
  }
}

void draw_by_cumulation(const Tensor& rows, Generator& generator, const Tensor& out) {
  int64_t n = rows.size(1), count = out.size(1);
  Working<double> below(as_size(n), 0.0);
  Lock lock(generator.mutex);
  Draw draw(generator);
  for (int64_t r = 0; r < rows.size(0); ++r) {
    double total = 0;
    for (int64_t j = 0; j < n; ++j) below[size_t(j)] = total += rows.data<double>()[r * n + j];
    for (double& b : below) b /= total;
    kernels::worked(4 * n);
    for (int64_t i = 0; i < count; ++i) {
      kernels::worked(256);
      auto at = std::lower_bound(below.begin(), below.end(), draw.uniform());
      out.data<int64_t>()[r * count + i] = std::min<int64_t>(at - below.begin(), n - 1);
    }
  }
}

Tensor multinomial(const Tensor& self, int64_t count, bool replacement, Generator& generator) {
  SL_CHECK(self.dim() == 1 || self.dim() == 2, "prob_dist must be 1 or 2 dim");
  SL_CHECK(is_floating(self.dtype()),
           "multinomial only supports floating-point dtypes for input, "
           "got: ",
           dtype_display_name(self.dtype()));
  const Tensor given = self.dim() == 1 ? view_unsqueeze(self, 0) : self;
  Tensor rows = contiguous_as(given, ScalarType::Float64);
  int64_t n = rows.size(1);
  SL_CHECK(count > 0, "cannot sample n_sample <= 0 samples");
  SL_CHECK(replacement || count <= n,
           "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  check_weights(rows);
  Tensor out = Tensor::empty({rows.size(0), count}, ScalarType::Int64);
  if (!replacement || count == 1) {
    draw_by_noise(rows, given, generator, out);
  } else {
    draw_by_cumulation(rows, generator, out);
  }
  return self.dim() == 1 ? view_squeeze(out, {0}) : out;
}

}  // namespace

SL_OP(aten_multinomial) {
  out[0] = multinomial(args.tensor(0), args.integer(1), args.boolean(2), args.generator(3, ctx));
}

}  // namespace scriptlang
