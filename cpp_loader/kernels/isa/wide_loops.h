// Loops of float32 that compute in double, for isa/pointwise.cpp.
#pragma once
#include "../loops.h"

namespace scriptlang::kernels::SL_ISA {

#define SL_DOUBLE_UNARY_NAMES(X)                                                          \
  X(atan) X(asin) X(acos) X(tan) X(sinh) X(cosh) X(asinh) X(acosh) X(atanh) X(erfc) X(erfinv) \
  X(lgamma) X(ndtr)
#define SL_DOUBLE_BINARY_NAMES(X)                                                         \
  X(atan2) X(pow) X(hypot) X(fmod) X(remainder) X(div_floor) X(div_trunc) X(logaddexp)    \
  X(logaddexp2) X(xlogy) X(copysign)

#define X(name)                                                                           \
  void double_##name(int64_t n, void* out, const void* const* in, const int64_t* step,    \
                     const double* params);
SL_DOUBLE_UNARY_NAMES(X)
SL_DOUBLE_BINARY_NAMES(X)
#undef X

// Of float64.
#define SL_FULL_UNARY_NAMES(X) X(exp) X(sigmoid) X(tanh) X(sin) X(cos)
#define X(name)                                                                           \
  void full_##name(int64_t n, void* out, const void* const* in, const int64_t* step,      \
                   const double* params);
SL_FULL_UNARY_NAMES(X)
#undef X

}  // namespace scriptlang::kernels::SL_ISA
