// Loops that compute in double, used by isa/pointwise.cpp and isa/plain_loops.cpp.
#pragma once
#include "../loops.h"

namespace scriptlang::kernels::SL_ISA {

// clang-format off
#define SL_DOUBLE_UNARY_NAMES(X)                                                          \
  X(atan) X(asin) X(acos) X(tan) X(sinh) X(cosh) X(asinh) X(acosh) X(atanh) X(erfc) X(erfinv) \
  X(lgamma)
#define SL_DOUBLE_BINARY_NAMES(X)                                                         \
  X(atan2) X(pow) X(hypot) X(fmod) X(remainder) X(div_floor) X(div_trunc) X(logaddexp)    \
  X(logaddexp2) X(xlogy) X(copysign)
// clang-format on

// clang-format off
#define X(name)                                                                           \
  void double_##name(int64_t n, void* out, const void* const* in, const int64_t* step,    \
                     const double* params);
SL_DOUBLE_UNARY_NAMES(X)
SL_DOUBLE_BINARY_NAMES(X)
#undef X
// clang-format on

// Loops of float64 (isa/double_loops.cpp).
#define SL_FULL_UNARY_NAMES(X) X(exp) X(sigmoid) X(tanh) X(sin) X(cos)
// clang-format off
#define X(name)                                                                           \
  void full_##name(int64_t n, void* out, const void* const* in, const int64_t* step,      \
                   const double* params);
SL_FULL_UNARY_NAMES(X)
#undef X
// clang-format on

// Loops of float32 and float64 (isa/special_loops.cpp).
// clang-format off
#define SL_BLOCK_UNARY_NAMES(X)                                                           \
  X(i0) X(i0e) X(i1) X(i1e) X(modified_bessel_k0) X(modified_bessel_k1)                   \
  X(scaled_modified_bessel_k0) X(scaled_modified_bessel_k1) X(bessel_j0) X(bessel_j1)     \
  X(bessel_y0) X(bessel_y1) X(spherical_bessel_j0) X(airy_ai) X(ndtri) X(entr) X(polygamma)   \
  X(multigammaln)
#define SL_BLOCK_BINARY_NAMES(X)                                                          \
  X(chebyshev_polynomial_t) X(chebyshev_polynomial_u) X(chebyshev_polynomial_v)           \
  X(chebyshev_polynomial_w) X(shifted_chebyshev_polynomial_t)                             \
  X(shifted_chebyshev_polynomial_u) X(shifted_chebyshev_polynomial_v)                     \
  X(shifted_chebyshev_polynomial_w) X(hermite_polynomial_h) X(hermite_polynomial_he)      \
  X(laguerre_polynomial_l) X(legendre_polynomial_p)
// clang-format on
// clang-format off
#define X(name)                                                                           \
  void special_##name##_float(int64_t n, void* out, const void* const* in,                \
                              const int64_t* step, const double* params);                 \
  void special_##name##_double(int64_t n, void* out, const void* const* in,               \
                               const int64_t* step, const double* params);
SL_BLOCK_UNARY_NAMES(X)
SL_BLOCK_BINARY_NAMES(X)
#undef X
// clang-format on
void special_erfinv_double(int64_t n, void* out, const void* const* in, const int64_t* step,
                           const double* params);
void special_lgamma_double(int64_t n, void* out, const void* const* in, const int64_t* step,
                           const double* params);

}  // namespace scriptlang::kernels::SL_ISA
