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

// A start within a few per cent (Winitzki's formula), then Halley's iteration on erf.
double inverse_erf(double x) {
  if (std::isnan(x) || x < -1 || x > 1) return kNan;
  if (x == 1) return kInfinity;
  if (x == -1) return -kInfinity;
  if (x == 0) return x;
  constexpr double a = 0.147;
  double size = std::abs(x);
  double log_rest = std::log1p(-size * size);
  double b = 2 / (kPi * a) + log_rest / 2;
  double y = std::sqrt(std::sqrt(b * b - log_rest / a) - b);
  for (int i = 0; i < 4; ++i) {
    // Near 1 the complement keeps the digits that erf loses.
    double error = size > 0.5 ? (1 - size) - std::erfc(y) : std::erf(y) - size;
    double slope = 2 / std::sqrt(kPi) * std::exp(-y * y);
    if (slope == 0) break;
    double step = error / slope;
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}

// Unlike the C library's function this one writes no global variable (signgam).
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
      t * (1.0 / 12 -
           t * (1.0 / 120 -
                t * (1.0 / 252 - t * (1.0 / 240 - t * (1.0 / 132 - t * (691.0 / 32760))))));
  return result + std::log(x) - 0.5 / x - series;
}

// Power series; beyond 20 the asymptotic expansion, whose terms shrink well below rounding.
double bessel_i0(double x) {
  x = std::abs(x);
  if (std::isinf(x)) return kNan;  // as PyTorch has it
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

// From the inverse of erf, with Newton's steps on the logarithm.
double inverse_ndtr(double p) {
  if (p == 0) return -kInfinity;
  if (p == 1) return kInfinity;
  if (!(p > 0 && p < 1)) return kNan;
  p = std::min(std::max(p, 1e-300), 1 - 1e-16);
  constexpr double kEdge = 1 - 1e-15;
  double y = std::sqrt(2.0) * inverse_erf(std::min(std::max(2 * p - 1, -kEdge), kEdge));
  double wanted = std::log(p);
  for (int i = 0; i < 8; ++i) {
    double log_p = log_ndtr(y);
    double slope = std::exp(-y * y / 2 - log_p) / std::sqrt(2 * kPi);
    y -= (log_p - wanted) / slope;
  }
  return y;
}

double entropy(double x) {
  if (x > 0) return -x * std::log(x);
  return x == 0 ? 0 : std::isnan(x) ? x : -kInfinity;
}

}  // namespace scriptlang::kernels
