// Orthogonal polynomials by their recurrences (Abramowitz and Stegun, table 22.7).
#include <cmath>

#include "special.h"

namespace scriptlang::kernels {
namespace {

constexpr double kMostDegrees = 1 << 20;  // beyond, the value is given as zero

// following(k, value of degree k, of degree k - 1) is the value of degree k + 1.
template <class F>
double recurrence(double n, double first, F following) {
  n = std::isfinite(n) ? std::trunc(n) : -1;
  if (n < 0 || n > kMostDegrees) return 0;
  if (n == 0) return 1;
  double before = 1, value = first;
  for (double k = 1; k < n && !std::isnan(value); ++k) {
    double next = following(k, value, before);
    before = value;
    value = next;
  }
  return value;
}

}  // namespace

double chebyshev(double x, double n, double first) {
  return recurrence(n, first, [x](double, double a, double b) { return 2 * x * a - b; });
}
double hermite_h(double x, double n) {
  return recurrence(n, 2 * x, [x](double k, double a, double b) { return 2 * x * a - 2 * k * b; });
}
double hermite_he(double x, double n) {
  return recurrence(n, x, [x](double k, double a, double b) { return x * a - k * b; });
}
double laguerre_l(double x, double n) {
  return recurrence(n, 1 - x, [x](double k, double a, double b) {
    return ((2 * k + 1 - x) * a - k * b) / (k + 1);
  });
}
double legendre_p(double x, double n) {
  return recurrence(n, x, [x](double k, double a, double b) {
    return ((2 * k + 1) * x * a - k * b) / (k + 1);
  });
}

}  // namespace scriptlang::kernels
