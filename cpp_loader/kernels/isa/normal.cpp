// Normal numbers by the Box-Muller transform. The logarithm, sine and cosine are those of the
// Cephes library, with multiply-adds fused where PyTorch's AVX2 code fuses them: the last bit of
// the numbers, and so of the initial weights of a network, depends on it.
#include "../normal.h"

#include <cmath>
#include <cstring>

#include "entry.h"
#include "fused.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr int kHalf = 8;

// A polynomial by Horner's rule; the coefficient of the highest power comes first.
template <int kCount>
SL_INLINE float polynomial(float x, const float (&coefficients)[kCount]) {
  float y = coefficients[0];
  for (int k = 1; k < kCount; ++k) y = fused(y, x, coefficients[k]);
  return y;
}

template <class To, class From>
SL_INLINE To bits_of(From from) {
  To to;
  static_assert(sizeof to == sizeof from);
  std::memcpy(&to, &from, sizeof to);
  return to;
}

// Of positive normal numbers.
SL_INLINE float logarithm(float x) {
  constexpr float kLog[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                            -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                            2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
  constexpr float kLow = -2.12194440e-4f, kHigh = 0.693359375f;  // their sum is log(2)
  const int32_t bits = bits_of<int32_t>(x);
  const float mantissa = bits_of<float>((bits & 0x7fffff) | 0x3f000000);
  const bool is_low = mantissa < 0.707106781186547524f;
  const float e = float((bits >> 23) - 126 - int32_t(is_low));
  const float m = (mantissa - 1.0f) + (is_low ? mantissa : 0.0f);
  const float square = m * m;
  const float y = fused(polynomial(m, kLog) * m, square, e * kLow) - square * 0.5f;
  return fused(e, kHigh, m + y);
}

// Of a number that is not negative.
SL_INLINE void sine_and_cosine(float x, float* sine, float* cosine) {
  constexpr float kSine[] = {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f};
  constexpr float kCosine[] = {2.443315711809948e-5f, -1.388731625493765e-3f,
                               4.166664568298827e-2f};
  const int32_t octant = (int32_t(x * 1.27323954473516f) + 1) & ~1;
  const float turns = float(octant);
  float rest = fused(turns, -0.78515625f, x);  // less octants of pi/4, in three parts
  rest = fused(turns, -2.4187564849853515625e-4f, rest);
  rest = fused(turns, -3.77489497744594108e-8f, rest);
  const float square = rest * rest;
  const float c = fused(polynomial(square, kCosine) * square, square, square * -0.5f) + 1.0f;
  const float s = fused(polynomial(square, kSine) * square, rest, rest);
  const bool is_swapped = (octant & 2) != 0;
  const float first = is_swapped ? c : s, second = is_swapped ? s : c;
  *sine = (octant & 4) != 0 ? -first : first;
  *cosine = ((octant - 2) & 4) == 0 ? -second : second;
}

void blocks_f32(int64_t blocks, float mean, float std, float* data) {
  constexpr float kTwoPi = 6.283185307179586f;
  const bool is_plain = std == 1.0f && mean == 0.0f;
  for (; blocks > 0; --blocks, data += 2 * kHalf) {
    float first[kHalf], second[kHalf];
    SL_INDEPENDENT
    for (int i = 0; i < kHalf; ++i) {
      const float radius = std::sqrt(-2.0f * logarithm(1.0f - data[i]));
      float sine, cosine;
      sine_and_cosine(kTwoPi * data[kHalf + i], &sine, &cosine);
      first[i] = radius * cosine;
      second[i] = radius * sine;
    }
    SL_INDEPENDENT
    for (int i = 0; i < kHalf; ++i) {
      data[i] = is_plain ? first[i] : fused(first[i], std, mean);
      data[kHalf + i] = is_plain ? second[i] : fused(second[i], std, mean);
    }
  }
}

}  // namespace

const NormalFunctions normal{&blocks_f32};

}  // namespace scriptlang::kernels::SL_ISA
