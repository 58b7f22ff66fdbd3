// Elementary functions of float32 as branch-free scalar code: compilers vectorise loops over them
// for any vector width. Errors are below 3 units in the last place; NaN, infinities and signed
// zeros behave as in C.
//
// The polynomials are minimax fits (Lawson's weighted least squares on Chebyshev nodes).
#pragma once
#include <cstdint>

#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

SL_INLINE int32_t bits_of(float x) {
  int32_t bits;
  __builtin_memcpy(&bits, &x, 4);
  return bits;
}
SL_INLINE float float_of(int32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, 4);
  return x;
}

// Wraps: the bits of a NaN may make it overflow.
SL_INLINE int32_t difference(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) - static_cast<uint32_t>(b));
}

// Nearest integer of |x| < 2^22, as a float and as an int: adding 1.5 * 2^23 shifts the fraction
// out of the significand.
constexpr float kShifter = 12582912.0f;
SL_INLINE float nearest(float x, int32_t* as_int) {
  float shifted = x + kShifter;
  *as_int = difference(bits_of(shifted), bits_of(kShifter));
  return shifted - kShifter;
}

SL_INLINE float power_of_two(int32_t n) {
  return float_of(static_cast<int32_t>((static_cast<uint32_t>(n) + 127) << 23));
}

// (e^r - 1 - r) / r^2 for |r| <= log(2) / 2; for scalars and vectors
template <class V>
SL_INLINE V exp_tail(V r) {
  V p = r * 1.97926764e-4f + 1.3945858e-3f;
  p = p * r + 8.33349856e-3f;
  p = p * r + 4.16662788e-2f;
  p = p * r + 1.66666658e-1f;
  return p * r + 5.00000007e-1f;
}
template <class V>
SL_INLINE V exp_reduced(V r) {
  return (exp_tail(r) * r + 1.0f) * r + 1.0f;
}

// Returns r and sets n with x = r + n log(2).
SL_INLINE float reduced_power(float x, int32_t* n) {
  float whole = nearest(x * 1.44269504f, n);
  float r = x - whole * 0.693359375f;
  return r - whole * -2.12194440e-4f;
}

SL_INLINE float exp_f32(float x) {
  // Beyond these the result is infinite or zero; a NaN passes both comparisons.
  x = x > 89.0f ? 89.0f : x;
  x = x < -104.0f ? -104.0f : x;
  int32_t n;
  float r = reduced_power(x, &n);
  // 2^n in two factors: n reaches 128 and -150, where one factor has no normal float.
  int32_t half = n >> 1;
  return exp_reduced(r) * power_of_two(half) * power_of_two(difference(n, half));
}

// e^x for x <= 0; zero if that is less than half of the least normal number.
SL_INLINE float exp_of_negative(float x) {
  x = x < -88.0f ? -88.0f : x;
  int32_t n;
  float r = reduced_power(x, &n);
  return exp_reduced(r) * power_of_two(n);
}

SL_INLINE float exp2_f32(float x) {
  x = x > 129.0f ? 129.0f : x;
  x = x < -151.0f ? -151.0f : x;
  int32_t n;
  float whole = nearest(x, &n);
  int32_t half = n >> 1;
  float reduced = exp_reduced((x - whole) * 0.693147181f);
  return reduced * power_of_two(half) * power_of_two(difference(n, half));
}

// x = f * 2^e with f in [sqrt(1/2), sqrt(2)); returns log(f) and sets the exponent e.
SL_INLINE float log_reduced(float x, float* exponent) {
  bool tiny = x < 1.17549435e-38f;
  float scaled = tiny ? x * 8388608.0f : x;
  int32_t bits = bits_of(scaled);
  int32_t e = difference(bits, 0x3f3504f3) >> 23;  // 0x3f3504f3: sqrt(1/2)
  int32_t scale = static_cast<int32_t>(static_cast<uint32_t>(e) << 23);
  float f = float_of(difference(bits, scale)) - 1.0f;
  *exponent = static_cast<float>(e) - (tiny ? 23.0f : 0.0f);
  float p = -0.076444257f;
  p = p * f + 0.127784362f;
  p = p * f - 0.131645043f;
  p = p * f + 0.141998097f;
  p = p * f - 0.166227433f;
  p = p * f + 0.200012874f;
  p = p * f - 0.250008385f;
  p = p * f + 0.333333312f;
  float square = f * f;
  return f + (f * square * p - 0.5f * square);
}

SL_INLINE float log_special(float x, float y) {
  y = x == 0.0f ? -__builtin_inff() : y;
  y = x < 0.0f ? __builtin_nanf("") : y;
  y = x == __builtin_inff() ? x : y;
  return x != x ? x : y;
}

SL_INLINE float log_f32(float x) {
  float e;
  float y = log_reduced(x, &e);
  return log_special(x, e * 0.693359375f + (y + e * -2.12194440e-4f));
}
SL_INLINE float log2_f32(float x) {
  float e;
  float y = log_reduced(x, &e);
  return log_special(x, y * 1.44269504f + (y * 1.92596299e-8f + e));
}
SL_INLINE float log10_f32(float x) {
  float e;
  float y = log_reduced(x, &e);
  return log_special(x, e * 0.30102539f + (e * 4.6050390e-6f + y * 0.434294482f));
}

SL_INLINE float absolute(float x) { return float_of(bits_of(x) & 0x7fffffff); }
SL_INLINE float with_sign(float magnitude, float sign) {
  return float_of(bits_of(magnitude) | (bits_of(sign) & static_cast<int32_t>(0x80000000)));
}

// e^x - 1 for |x| <= 87, without cancellation near 0.
SL_INLINE float expm1_within(float x) {
  int32_t n;
  float r = reduced_power(x, &n), power = power_of_two(n);
  return power * (exp_tail(r) * r * r + r) + (power - 1.0f);
}

// tanh(t) = (e^2t - 1) / (e^2t + 1); beyond 10 it is 1 in float.
SL_INLINE float tanh_f32(float x) {
  float t = absolute(x);
  float y = expm1_within(2.0f * (t > 10.0f ? 10.0f : t));
  return with_sign(y / (y + 2.0f), x);
}

SL_INLINE float erf_f32(float x) {
  float t = absolute(x);
  float square = x * x;
  float p = 8.40985654e-5f;
  p = p * square - 0.000815261172f;
  p = p * square + 0.00520195869f;
  p = p * square - 0.0268597979f;
  p = p * square + 0.112837033f;
  p = p * square - 0.376126343f;
  p = p * square + 0.128379167f;
  float small = x * p + x;
  // erf = 1 - exp(log(erfc)); beyond 4 it is 1 in float.
  t = t > 4.0f ? 4.0f : t;
  float q = -6.616774899e-7f;
  q = q * t - 1.234526089e-5f;
  q = q * t + 0.0003848731896f;
  q = q * t - 0.004013677076f;
  q = q * t + 0.02481334285f;
  q = q * t - 0.1079063741f;
  q = q * t - 0.6336268148f;
  q = q * t - 1.129397272f;
  q = q * t + 0.0001534196079f;
  return t < 0.92f ? small : with_sign(1.0f - exp_of_negative(q), x);
}

// log(1 + x), corrected for the rounding error of the sum.
SL_INLINE float log1p_f32(float x) {
  float u = x + 1.0f, y = log_f32(u);
  float more = y + (x - (u - 1.0f)) / u;
  y = absolute(y) < __builtin_inff() ? more : y;
  return x == 0.0f ? x : y;
}

SL_INLINE float expm1_f32(float x) {
  float low = x > 87.0f ? 87.0f : x;
  low = low < -87.0f ? -87.0f : low;
  float y = expm1_within(low);
  y = x > 87.0f ? exp_f32(x) : y;
  return x == 0.0f ? x : y;
}

// x tanh(log(1 + e^x)) = x n / (n + 2) with n = e^x (e^x + 2)
SL_INLINE float mish_f32(float x) {
  float e = exp_f32(x > 20.0f ? 20.0f : x);
  float n = e * (e + 2.0f);
  return x > 20.0f ? x : x * n / (n + 2.0f);
}

SL_INLINE float sigmoid_f32(float x) { return 1.0f / (1.0f + exp_f32(-x)); }

// Sine or cosine through double: the reduction is exact for |x| < kExactSine.
constexpr float kExactSine = 1e6f;
SL_INLINE float sine_shifted(float x, int32_t quarter) {
  constexpr double kBig = 6755399441055744.0;  // 1.5 * 2^52
  double wide = x;
  double shifted = wide * 0.63661977236758134 + kBig;
  double whole = shifted - kBig;
  int64_t wide_bits;
  __builtin_memcpy(&wide_bits, &shifted, 8);
  int64_t n = wide_bits + quarter;
  double r = wide - whole * 1.5707963267341256;  // pi/2 to 33 bits: exact times n < 2^20
  r = r - whole * 6.0771005065061922e-11;
  double t = r * r;
  double s = -2.4761105205830701e-8;
  s = s * t + 2.7555350331377795e-6;
  s = s * t - 0.00019841263788638363;
  s = s * t + 0.0083333333252100336;
  s = s * t - 0.16666666666631253;
  s = r * (t * s + 1.0);
  double c = 2.0647262735906631e-9;
  c = c * t - 2.7555559800891503e-7;
  c = c * t + 2.4801580931587719e-5;
  c = c * t - 0.0013888888878183695;
  c = c * t + 0.041666666666601559;
  c = t * t * c + (1.0 - 0.5 * t);
  double y = (n & 1) ? c : s;
  return static_cast<float>((n & 2) ? -y : y);
}

// y[i] = f(x[i]), in whole vectors and half a vector. The remaining elements are computed in a
// padded copy, because compilers would compute them one by one. y may be x.
template <class F>
SL_INLINE void map_f32(int64_t n, const float* x, float* y, F f) {
  constexpr int W = kLanes<float>;
  int64_t whole = n / W * W;
  SL_INDEPENDENT
  for (int64_t i = 0; i < whole; ++i) y[i] = f(x[i]);
  if (n - whole >= W / 2) {  // avoids a load that spans several smaller stores
    for (int i = 0; i < W / 2; ++i) y[whole + i] = f(x[whole + i]);
    whole += W / 2;
  }
  if (whole == n) return;
  float rest[W] = {};
  size_t bytes = static_cast<size_t>(n - whole) * sizeof(float);
  __builtin_memcpy(rest, x + whole, bytes);
  for (int i = 0; i < W; ++i) rest[i] = f(rest[i]);
  __builtin_memcpy(y + whole, rest, bytes);
}

SL_INLINE float silu_f32(float x) { return x / (1.0f + exp_f32(-x)); }
SL_INLINE float gelu_f32(float x) { return 0.5f * x * (1.0f + erf_f32(x * 0.70710678f)); }
SL_INLINE float gelu_tanh_f32(float x) {
  return 0.5f * x * (1.0f + tanh_f32(0.79788456f * (x + 0.044715f * x * x * x)));
}

// Computes contiguous blocks with `block`; elements that are not `inside` are computed again, one
// by one, with `exact`.
template <class T, class Block, class Inside, class Exact>
SL_INLINE void guarded(int64_t n, void* out, const void* const* in, const int64_t* step,
                       Block block, Inside inside, Exact exact) {
  constexpr int64_t kBlock = 256;
  const T* a = static_cast<const T*>(in[0]);
  T* o = static_cast<T*>(out);
  for (int64_t first = 0; first < n; first += kBlock) {
    int64_t count = min_of(kBlock, n - first);
    T x[kBlock];  // a copy, as the result may be written in place
    for (int64_t i = 0; i < count; ++i) x[i] = a[(first + i) * step[0]];
    block(count, x, o + first);
    int beyond = 0;
    for (int64_t i = 0; i < count; ++i) beyond |= !inside(x[i]);
    if (!beyond) continue;
    for (int64_t i = 0; i < count; ++i) {
      if (!inside(x[i])) o[first + i] = exact(x[i]);
    }
  }
}

// A loop of a periodic function; `one` is for elements whose reduction is not exact.
template <class Block, class One>
SL_INLINE void reduced(int64_t n, void* out, const void* const* in, const int64_t* step,
                       Block block, One one) {
  guarded<float>(
      n, out, in, step, block, [](float x) SL_ALWAYS { return absolute(x) < kExactSine; }, one);
}

}  // namespace
}  // namespace scriptlang::kernels::SL_ISA
