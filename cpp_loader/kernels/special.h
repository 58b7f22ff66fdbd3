// Special functions that the C library lacks or defines differently, in double precision.
#pragma once

namespace scriptlang::kernels {

// special.cpp
double log_gamma(double x);
double digamma(double x);
double bessel_i0(double x);
double scaled_erfc(double x);  // exp(x^2) erfc(x)
double log_ndtr(double x);     // logarithm of the normal cumulative distribution function

// gamma.cpp
double zeta(double x, double q);
double polygamma(double x, double order);
double lower_gamma(double a, double x);  // regularised
double upper_gamma(double a, double x);

}  // namespace scriptlang::kernels
