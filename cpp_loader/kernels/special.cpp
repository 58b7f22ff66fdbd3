// Special functions in float64: log gamma, digamma, Bessel i0, scaled erfc, log_ndtr.
#include "special.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace scriptlang::kernels {

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 3.14159265358979323846;
}  // namespace

// Unlike the C library's lgamma, this writes no global variable (signgam).
double log_gamma(double x) {
#if defined(__GLIBC__)
  int sign;
  return ::lgamma_r(x, &sign);
#else
  return std::lgamma(x);
#endif
}

// Reflection for negative arguments, recurrence up to 10, then the asymptotic series.
double digamma(double x) {
  if (x == 0) return std::copysign(kInfinity, -x);
  if (std::isinf(x)) return x > 0 ? x : kNan;
  if (x < 0) {
    if (x == std::trunc(x)) return kNan;
    double whole;
    return digamma(1 - x) - kPi / std::tan(kPi * std::modf(x, &whole));
  }
  double result = 0;
  for (; x < 10; x += 1) result -= 1 / x;
  double t = 1 / (x * x);
  double series =
      t *
      (1.0 / 12 -
       t * (1.0 / 120 - t * (1.0 / 252 - t * (1.0 / 240 - t * (1.0 / 132 - t * (691.0 / 32760))))));
  return result + std::log(x) - 0.5 / x - series;
}

// Power series up to 20; beyond, the asymptotic expansion, whose terms fall well below rounding
// errors.
double bessel_i0(double x) {
  x = std::abs(x);
  if (std::isinf(x)) return kNan;  // as in PyTorch
  if (x <= 20) {
    double square = x * x / 4, term = 1, sum = 1;
    for (int k = 1; k < 200 && term > sum * 1e-18; ++k) {
      term *= square / (double(k) * k);
      sum += term;
    }
    return sum;
  }
  double term = 1, sum = 1;
  for (int k = 1; k < 40; ++k) {
    double next = term * (2.0 * k - 1) * (2.0 * k - 1) / (8.0 * k * x);
    if (next >= term || next < 1e-18) break;
    term = next;
    sum += term;
  }
  if (std::isnan(x)) return x;
  return std::exp(x / 2) / std::sqrt(2 * kPi * x) * sum * std::exp(x / 2);
}

double scaled_erfc(double x) {
  if (std::isnan(x)) return x;
  if (x <= 2) return std::exp(x * x) * std::erfc(x);
  double fraction = 0;
  for (int n = 60; n > 0; --n) fraction = n / 2.0 / (x + fraction);
  return 1 / (std::sqrt(kPi) * (x + fraction));
}

double log_ndtr(double x) {
  double z = x / std::sqrt(2.0);
  if (x < -1) return std::log(scaled_erfc(-z) / 2) - z * z;
  return std::log1p(-std::erfc(z) / 2);
}

}  // namespace scriptlang::kernels
