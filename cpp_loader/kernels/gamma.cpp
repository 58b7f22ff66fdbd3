// The gamma family: zeta, polygamma, incomplete gamma functions. Formula numbers are those of
// Abramowitz and Stegun.
#include <algorithm>
#include <cmath>
#include <limits>

#include "special.h"

namespace scriptlang::kernels {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 3.14159265358979323846;
constexpr int kMostTerms = 100000;

// B_2k / (2k)!, coefficients of the Euler-Maclaurin formula.
constexpr double kBernoulli[] = {1.0 / 12,          -1.0 / 720,
                                 1.0 / 30240,       -1.0 / 1209600,
                                 1.0 / 47900160,    -691.0 / 1307674368000,
                                 1.0 / 74724249600, -3617.0 / 10670622842880000};

double zeta_outside(double x, double q, bool pole) {
  if (x == 1) return kInfinity;
  if (x < 1) return kNan;
  if (pole) return kInfinity;
  if (std::isnan(x) || std::isnan(q) || std::isinf(q)) return kNan;
  if (x == kInfinity) return q < 1 ? kInfinity : q == 1 ? 1 : kNan;
  return kNan;
}

// Gamma(a, x) / (exp(-x) x^a) as a continued fraction (6.5.31), by Lentz's method.
double continued_fraction(double a, double x) {
  constexpr double kTiny = 1e-300;
  auto kept = [](double v) { return v == 0 ? kTiny : v; };
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / kept(b), h = d;
  for (int i = 1; i < kMostTerms; ++i) {
    double step = -double(i) * (i - a);
    b += 2;
    d = 1 / kept(step * d + b);
    c = kept(b + step / c);
    h *= d * c;
    if (std::abs(d * c - 1) < 3e-16) break;
  }
  return std::max(h, 0.0);
}

struct Halves {
  double lower, upper;
};

// The first term of Temme's uniform expansion, for large a and x near a.
Halves uniform_expansion(double a, double x) {
  double mu = (x - a) / a, gap = std::max(mu - std::log1p(mu), 0.0);
  double eta = std::copysign(std::sqrt(2 * gap), mu);
  double first = std::abs(mu) < 1e-4 ? -1.0 / 3 : 1 / mu - 1 / eta;
  double rest = std::exp(-a * gap) / std::sqrt(2 * kPi * a) * first;
  double side = eta * std::sqrt(a / 2);
  return {0.5 * std::erfc(-side) - rest, 0.5 * std::erfc(side) + rest};
}

Halves incomplete_gamma(double a, double x) {
  constexpr double kLarge = 1e7;  // above it the series would need many thousand terms
  if (a > kLarge && std::abs(x - a) < 0.3 * a) return uniform_expansion(a, x);
  double scale = std::exp(a * std::log(x) - x - log_gamma(a));
  if (x > std::max(a, 1.0)) {
    double upper = continued_fraction(a, x) * scale;
    return {1 - upper, upper};
  }
  double term = 1 / a, total = term;
  for (int k = 1; k < kMostTerms && term >= total * 1e-17; ++k) {
    term *= x / (a + k);
    total += term;
  }
  return {scale * total, 1 - scale * total};
}

// The lower incomplete gamma function outside the domain of the formulas.
double lower_at_edge(double a, double x) {
  if (x < 0 || a < 0) return kNan;
  if (a == 0) return x > 0 ? 1 : kNan;
  if (x == 0) return 0;
  if (std::isinf(a)) return std::isinf(x) ? kNan : 0;
  return std::isinf(x) ? 1 : kNan;
}

bool is_inside(double a, double x) {
  return a > 0 && x > 0 && std::isfinite(a) && std::isfinite(x);
}

}  // namespace

// The Hurwitz zeta function: the sum of (q + k)^-x over k >= 0, with the tail by the
// Euler-Maclaurin formula (23.2).
double zeta(double x, double q) {
  bool pole = q <= 0 && q == std::floor(q);
  if (!(x > 1) || !std::isfinite(x) || !std::isfinite(q) || pole || (q < 0 && x != std::floor(x))) {
    return zeta_outside(x, q, pole);
  }
  double total = 0, at = q;
  if (at < -12) {  // sums the terms far below zero from the other side
    double skipped = std::ceil(-12 - at);
    double between = zeta(x, -at - skipped + 1) - zeta(x, -at + 1);
    total = std::fmod(x, 2) == 0 ? between : -between;
    at += skipped;
  }
  // If all terms underflow, PyTorch's tail multiplies zeros by 23 factors of about x, which gives
  // NaN if their product overflows.
  if (q > 1 && std::pow(q, -x) == 0 && std::isinf(std::pow(x, 23))) return kNan;
  for (; at < 12; at += 1) total += std::pow(at, -x);
  total += std::pow(at, 1 - x) / (x - 1) + std::pow(at, -x) / 2;
  double factor = x * std::pow(at, -x - 1);
  for (int k = 0; k < 8; ++k) {
    total += kBernoulli[k] * factor;
    factor *= (x + 2 * k + 1) * (x + 2 * k + 2) / (at * at);
  }
  return total;
}

double polygamma(double x, double order) {
  if (order == 0) return digamma(x);
  if (order > 1) {
    double value = std::tgamma(order + 1) * zeta(order + 1, x);
    return std::fmod(order, 2) == 0 ? -value : value;
  }
  if (!(x < 0.5)) return zeta(2, x);
  double ratio = kPi / std::sin(kPi * x);
  return ratio * ratio - zeta(2, 1 - x);
}

double lower_gamma(double a, double x) {
  return is_inside(a, x) ? incomplete_gamma(a, x).lower : lower_at_edge(a, x);
}

double upper_gamma(double a, double x) {
  return is_inside(a, x) ? incomplete_gamma(a, x).upper : 1 - lower_at_edge(a, x);
}

}  // namespace scriptlang::kernels
