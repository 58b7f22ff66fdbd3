// Special functions that the C library lacks or has with other conventions; double precision.
#pragma once

namespace scriptlang::kernels {

// special.cpp
double inverse_erf(double x);
double log_gamma(double x);
double digamma(double x);
double bessel_i0(double x);
double scaled_erfc(double x);  // exp(x^2) erfc(x)
double log_ndtr(double x);     // logarithm of the normal distribution function
double inverse_ndtr(double p);
double entropy(double x);      // -x log x

// bessel.cpp; order is 0 or 1, and may be a fraction for K
double bessel_j(double x, int order);
double bessel_y(double x, int order);
double modified_bessel_i(double x, int order, bool scaled);
double modified_bessel_k(double x, double order, bool scaled);
double spherical_bessel_j0(double x);
double airy_ai(double x);

// gamma.cpp
double zeta(double x, double q);
double polygamma(double x, double order);
double lower_gamma(double a, double x);  // regularised
double upper_gamma(double a, double x);
double multivariate_log_gamma(double x, double p);

// polynomial.cpp: the polynomial of degree n, truncated to an integer, at x
double chebyshev(double x, double n, double first);  // first: the value of degree 1
double hermite_h(double x, double n);
double hermite_he(double x, double n);
double laguerre_l(double x, double n);
double legendre_p(double x, double n);

}  // namespace scriptlang::kernels
