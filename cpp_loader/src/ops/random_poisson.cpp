// Numbers of events of a Poisson distribution.
#include <algorithm>
#include <cmath>
#include <limits>

#include "../../kernels/special.h"
#include "express.h"
#include "layout.h"
#include "random_parts.h"

namespace scriptlang {

namespace {

using drawing::Lock;

// A small rate: uniform numbers are multiplied until the product is small.
int64_t count_by_product(double rate, Draw& draw) {
  const double end = std::exp(-rate);
  double product = draw.uniform();
  int64_t count = 0;
  for (; product > end; ++count) {
    kernels::worked(16);
    product *= draw.uniform();
  }
  return count;
}

// A large rate: Hoermann's transformed rejection (1993).
int64_t count_by_rejection(double rate, Draw& draw) {
  const double b = 0.931 + 2.53 * std::sqrt(rate);
  const double a = -0.059 + 0.02483 * b;
  const double scale = 1.1239 + 1.1328 / (b - 3.4);
  const double most = 0.9277 - 3.6224 / (b - 2);
  double k;
  while (true) {
    kernels::worked(64);
    const double u = draw.uniform() - 0.5, v = draw.uniform();
    const double inner = 0.5 - std::abs(u);
    k = std::floor((2 * a / inner + b) * u + rate + 0.43);
    if (inner >= 0.07 && v <= most) break;
    if (k < 0 || (inner < 0.013 && v > inner)) continue;
    const double bound = -rate + k * std::log(rate) - kernels::log_gamma(k + 1);
    if (std::log(v) + std::log(scale) - std::log(a / (inner * inner) + b) <= bound) break;
  }
  return std::abs(k) < 0x1p63 ? int64_t(k) : std::numeric_limits<int64_t>::min();
}

int64_t count_of(double rate, Draw& draw) {
  if (rate == 0) return 0;
  return rate < 10 ? count_by_product(rate, draw) : count_by_rejection(rate, draw);
}

Tensor poisson(const Tensor& self, Generator& generator) {
  if (!is_floating(self.dtype())) {
    raise(ErrorKind::NotImplementedError, "\"poisson_cpu\" not implemented for '",
          dtype_display_name(self.dtype()), "'");
  }
  const Tensor rates = contiguous_as(self, ScalarType::Float64);
  const double* rate = rates.data<double>();
  kernels::worked(rates.numel());
  SL_CHECK(std::all_of(rate, rate + rates.numel(), [](double r) { return r >= 0; }),
           "invalid Poisson rate, expected rate to be non-negative");
  Tensor counts = Tensor::empty(self.sizes(), ScalarType::Int64);
  {
    Lock lock(generator.mutex);
    Draw draw(generator);
    std::transform(rate, rate + rates.numel(), counts.data<int64_t>(), [&](double r) {
      kernels::worked(16);
      return count_of(r, draw);
    });
  }
  return to_dtype(counts, self.dtype());
}

}  // namespace

SL_OP(aten_poisson) { out[0] = poisson(args.tensor(0), args.generator(1, ctx)); }

}  // namespace scriptlang
