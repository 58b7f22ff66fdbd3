// Multiply-adds of single numbers, in loops that the compiler makes vectors of.
#pragma once

#include <cmath>

#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {

// a * b + c, rounded once where there is an instruction for it.
template <class T>
SL_INLINE T fused(T a, T b, T c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

}  // namespace scriptlang::kernels::SL_ISA
