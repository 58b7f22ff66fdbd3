// Special functions that the C library lacks or has with other conventions; double precision.
#pragma once

namespace scriptlang::kernels {

double inverse_erf(double x);
double log_gamma(double x);
double digamma(double x);
double bessel_i0(double x);

}  // namespace scriptlang::kernels
