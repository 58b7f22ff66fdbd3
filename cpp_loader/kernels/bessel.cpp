// Bessel functions of orders 0 and 1. Power series near zero, the asymptotic expansions of
// Abramowitz and Stegun (chapter 9) beyond; numbers in comments are theirs.
#include <algorithm>
#include <cmath>
#include <limits>

#include "special.h"

namespace scriptlang::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 3.14159265358979323846;
constexpr double kEuler = 0.57721566490153286061;
constexpr double kSeriesLimit = 16;        // of J and Y
constexpr double kModifiedLimit = 30;      // of I
constexpr int kSteps = 400;                // of the integral for K

struct Series {
  double plain, weighted;
};

// The sum of (sign x^2/4)^k / (k! (k+order)!); weighted: each term times H_k + H_(k+order).
Series power_series(double x, int order, double sign) {
  double z = sign * x * x / 4, term = 1, harmonic = order;
  Series s{term, term * harmonic};
  for (int k = 1; k < 90; ++k) {
    term *= z / (double(k) * (k + order));
    harmonic += 1.0 / k + 1.0 / (k + order);
    s.plain += term;
    s.weighted += term * harmonic;
  }
  return s;
}

// P and Q of the asymptotic expansions of J and Y (9.2.9, 9.2.10), cut at their least term.
struct Hankel {
  double p = 1, q = 0, angle;
  Hankel(double x, int order) : angle(x - (order / 2.0 + 0.25) * kPi) {
    double mu = 4.0 * order * order, term = 1;
    for (int k = 1; k < 30; ++k) {
      double step = (mu - (2.0 * k - 1) * (2.0 * k - 1)) / (k * 8 * x);
      term = std::abs(step) < 1 ? term * step : 0;
      if (k % 2) q += k % 4 == 1 ? term : -term;
      else p += k % 4 == 2 ? -term : term;
    }
  }
};

}  // namespace

double bessel_j(double x, int order) {
  if (std::isnan(x)) return x;
  double size = std::abs(x), value;
  if (size < kSeriesLimit) {
    value = power_series(size, order, -1).plain * (order ? size / 2 : 1);
  } else {
    Hankel h(size, order);
    value = std::sqrt(2 / (kPi * size)) * (h.p * std::cos(h.angle) - h.q * std::sin(h.angle));
  }
  return order && x < 0 ? -value : value;
}

double bessel_y(double x, int order) {
  if (std::isnan(x)) return x;
  if (x < 0) return kNan;
  if (x == 0) return -kInfinity;
  if (x >= kSeriesLimit) {
    Hankel h(x, order);
    return std::sqrt(2 / (kPi * x)) * (h.p * std::sin(h.angle) + h.q * std::cos(h.angle));
  }
  Series s = power_series(x, order, -1);
  double half = order ? x / 2 : 1;
  double value = (2 * (std::log(x / 2) + kEuler) * s.plain * half - half * s.weighted) / kPi;
  return order ? value - 2 / (kPi * x) : value;
}

double modified_bessel_i(double x, int order, bool scaled) {
  if (std::isnan(x)) return x;
  double size = std::abs(x), value;
  if (size < kModifiedLimit) {
    value = power_series(size, order, 1).plain * (order ? size / 2 : 1);
    if (scaled) value *= std::exp(-size);
  } else {
    double mu = 4.0 * order * order, term = 1, sum = 1;
    for (int k = 1; k < 30; ++k) {
      term *= -(mu - (2.0 * k - 1) * (2.0 * k - 1)) / (k * 8 * size);
      sum += term;
    }
    value = sum / std::sqrt(2 * kPi * size);
    if (!scaled) value *= std::exp(size);
  }
  return order && x < 0 ? -value : value;
}

// The integral of exp(-x cosh t) cosh(order t) (9.6.24), by the trapezoid rule.
double modified_bessel_k(double x, double order, bool scaled) {
  if (x == 0) return kInfinity;
  if (x == kInfinity) return 0;
  if (!(x > 0)) return kNan;
  double step = std::acosh(1 + 745 / x) / kSteps, sum = 0.5;
  for (int i = 1; i < kSteps; ++i) {
    double t = step * i, s = std::sinh(t / 2);
    sum += std::exp(-2 * x * s * s) * std::cosh(order * t);
  }
  return sum * step * (scaled ? 1 : std::exp(-x));
}

double spherical_bessel_j0(double x) {
  if (std::isinf(x)) return 0;
  double square = x * x;
  if (std::abs(x) < 0.5) {
    return 1 - square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72)));
  }
  return std::sin(x) / x;
}

// By its series near zero, K of order 1/3 above (10.4.14), a cosine below (10.4.60).
double airy_ai(double x) {
  if (!std::isfinite(x)) return kNan;
  if (x > 2) {
    double zeta = 2 / 3.0 * std::pow(x, 1.5);
    return std::sqrt(x / 3) / kPi * modified_bessel_k(zeta, 1 / 3.0, false);
  }
  if (x >= -8) {
    double cube = x * x * x, f = 1, g = x, term_f = 1, term_g = x;
    for (int k = 1; k < 60; ++k) {
      term_f *= cube / ((3.0 * k - 1) * (3 * k));
      term_g *= cube / (3.0 * k * (3 * k + 1));
      f += term_f;
      g += term_g;
    }
    return 0.3550280538878172 * f - 0.2588194037928068 * g;
  }
  double down = -x, zeta = 2 / 3.0 * std::pow(down, 1.5), p = 1, q = 0, term = 1;
  for (int k = 1; k < 12; ++k) {
    term *= (6.0 * k - 5) * (6.0 * k - 3) * (6.0 * k - 1) / (216.0 * k * (2 * k - 1) * zeta);
    double signed_term = (k / 2) % 2 ? -term : term;
    (k % 2 ? q : p) += signed_term;
  }
  double angle = zeta + kPi / 4;
  return (std::sin(angle) * p - std::cos(angle) * q) / (std::sqrt(kPi) * std::pow(down, 0.25));
}

}  // namespace scriptlang::kernels
