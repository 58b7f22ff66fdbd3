// Functions of float32 that are computed in double, as branch-free scalar code: compilers vectorise
// loops over them. Results are rounded once, so errors are below a unit in the last place. NaN,
// infinities and signed zeros behave as in C.
//
// The polynomials are minimax fits (Lawson's weighted least squares on Chebyshev nodes).
#pragma once
#include <cstdint>

#include "math_f32.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

SL_INLINE int64_t bits_of(double x) {
  int64_t bits;
  __builtin_memcpy(&bits, &x, 8);
  return bits;
}
SL_INLINE double double_of(int64_t bits) {
  double x;
  __builtin_memcpy(&x, &bits, 8);
  return x;
}
SL_INLINE double absolute(double x) { return double_of(bits_of(x) & INT64_MAX); }
SL_INLINE double with_sign(double magnitude, double sign) {
  return double_of(bits_of(magnitude) | (bits_of(sign) & INT64_MIN));
}
SL_INLINE bool is_negative(float x) { return (bits_of(x) & kSignBit) != 0; }

// Recursive, because a long loop would not be unrolled before its caller is vectorised.
template <int First = 0, int N>
SL_INLINE double polynomial(const double (&c)[N], double x) {
  if constexpr (First == N - 1) return c[First];
  else return polynomial<First + 1>(c, x) * x + c[First];
}

// exp(x), accurate to 4e-11, for results that are rounded to float: beyond +-200 they are infinite
// or zero.
constexpr double kExp[] = {0.9999999999616587,    1.0000000002432645,    0.5000000104583177,
                           0.16666665125321306,   0.041666225292909934,  0.008333561177673426,
                           0.0013948192262101377, 0.00019775153037013588};
SL_INLINE double exp_f64(double x) {
  x = x > 200.0 ? 200.0 : x;
  x = x < -200.0 ? -200.0 : x;
  constexpr double kBig = 6755399441055744.0;  // 1.5 * 2^52
  double shifted = x * 1.4426950408889634 + kBig;
  double whole = shifted - kBig;
  double r = x - whole * 0.6931471805599453;
  uint64_t n = static_cast<uint64_t>(bits_of(shifted)) - static_cast<uint64_t>(bits_of(kBig));
  return polynomial(kExp, r) * double_of(static_cast<int64_t>((n + 1023) << 52));
}

// log(x), accurate to 4e-12, for x that is a product or quotient of floats; -inf at zero.
constexpr double kLog[] = {2.000000000008392, 0.6666666524159935, 0.400003857672984,
                           0.2853498877752577, 0.23617449502123938};
SL_INLINE double log_f64(double x) {
  constexpr int64_t kHalfRoot = 0x3fe6a09e667f3bcd;  // bits of sqrt(1/2)
  int64_t bits = bits_of(x), over = bits - kHalfRoot;
  double m = double_of((over & 0x000fffffffffffff) + kHalfRoot);
  // Converts the exponent to double by placing it in the low bits of a large number.
  constexpr double kBig = 6755399441055744.0;
  double e = double_of(bits_of(kBig) + (over >> 52)) - kBig;
  double s = (m - 1.0) / (m + 1.0);
  double y = s * polynomial(kLog, s * s) + e * 0.6931471805599453;
  y = x == 0.0 ? -__builtin_inf() : y;
  y = x == __builtin_inf() ? x : y;
  return x >= 0.0 ? y : __builtin_nan("");
}

constexpr double kAtan[] = {0.999999997640413,     -0.33333283700827265,  0.1999826708297381,
                            -0.14261941425391758,  0.10942066634866904,   -0.0837740676510555,
                            0.057553503063294945,  -0.030805874690659416, 0.01072758123648144,
                            -0.0017540639787233937};
// atan(t) for 0 <= t <= 1.
SL_INLINE double atan_short(double t) { return t * polynomial(kAtan, t * t); }

constexpr double kHalfPi = 1.5707963267948966, kPi = 3.141592653589793;

SL_INLINE float atan_f32(float x) {
  double t = absolute(static_cast<double>(x));
  bool far = t > 1.0;
  double y = atan_short(far ? 1.0 / t : t);
  return static_cast<float>(with_sign(far ? kHalfPi - y : y, static_cast<double>(x)));
}
SL_INLINE float atan2_f32(float y, float x) {
  double a = absolute(static_cast<double>(y)), b = absolute(static_cast<double>(x));
  bool steep = a > b;
  double low = steep ? b : a, high = steep ? a : b;
  double t = low == high ? 1.0 : low / high;
  t = high == 0.0 ? 0.0 : t;
  double r = atan_short(t);
  r = steep ? kHalfPi - r : r;
  r = is_negative(x) ? kPi - r : r;
  r = x != x ? static_cast<double>(x) : r;
  return y != y ? y : static_cast<float>(with_sign(r, static_cast<double>(y)));
}

constexpr double kAsin[] = {0.99999999560277,    0.16666789960217532,  0.07494438134236012,
                            0.04554987527324746, 0.023859413690701027, 0.04263382809494173};
// asin for |x| <= 1/2; beyond, acos(x) = 2 asin(sqrt((1 - x) / 2)).
struct Arc {
  double inner;  // asin(|x|) if it is short, else acos(|x|)
  bool is_short;
};
SL_INLINE Arc arc_of(double t) {
  Arc arc;
  arc.is_short = t <= 0.5;
  double square = arc.is_short ? t * t : (1.0 - t) * 0.5;
  double root = arc.is_short ? t : __builtin_sqrt(square);
  double y = root * polynomial(kAsin, square);
  arc.inner = arc.is_short ? y : y + y;
  return arc;
}
SL_INLINE float asin_f32(float x) {
  Arc arc = arc_of(absolute(static_cast<double>(x)));
  double y = arc.is_short ? arc.inner : kHalfPi - arc.inner;
  return static_cast<float>(with_sign(y, static_cast<double>(x)));
}
SL_INLINE float acos_f32(float x) {
  Arc arc = arc_of(absolute(static_cast<double>(x)));
  double near = x < 0.0f ? kPi - arc.inner : arc.inner;
  double mild = kHalfPi - (x < 0.0f ? -arc.inner : arc.inner);
  return static_cast<float>(arc.is_short ? mild : near);
}

SL_INLINE float sinh_f32(float x) {
  constexpr double kSeries[] = {0.999999999917477, 0.16666667735063312, 0.00833311850977955,
                                0.0001997913031460919};
  double wide = x, e = exp_f64(wide), square = wide * wide;
  double large = 0.5 * e - 0.5 / e;
  double small = wide * polynomial(kSeries, square);
  return static_cast<float>(square < 0.25 ? small : large);
}
SL_INLINE float cosh_f32(float x) {
  double e = exp_f64(static_cast<double>(x));
  return static_cast<float>(0.5 * e + 0.5 / e);
}

// Below kTiny the functions equal x: the difference is below the last place.
constexpr double kTiny = 1e-4;
SL_INLINE float asinh_f32(float x) {
  double t = absolute(static_cast<double>(x));
  double y = t < kTiny ? t : log_f64(t + __builtin_sqrt(t * t + 1.0));
  return static_cast<float>(with_sign(y, static_cast<double>(x)));
}
SL_INLINE float acosh_f32(float x) {
  double t = x, y = log_f64(t + __builtin_sqrt(t * t - 1.0));
  return static_cast<float>(t >= 1.0 ? y : __builtin_nan(""));
}
SL_INLINE float atanh_f32(float x) {
  double t = absolute(static_cast<double>(x));
  double y = t < kTiny ? t : 0.5 * log_f64((1.0 + t) / (1.0 - t));
  y = t > 1.0 ? __builtin_nan("") : y;
  return static_cast<float>(with_sign(y, static_cast<double>(x)));
}

SL_INLINE double erfc_f64(double x) {
  // erfc(t) exp(t^2) as a polynomial of (t - 3) / (t + 3).
  constexpr double kScaled[] = {
      0.17900115118091497,    -0.3262335601460319,   0.24560380195519005,   -0.15011593102958895,
      0.0716658288135616,     -0.02439258388421644,  0.004269215023682714,  0.0007083272064341019,
      -0.0005972925121370514, 4.325861762941748e-05, 6.395363984440487e-05, -9.547267005448286e-06,
      -6.694635882549445e-06};
  double t = absolute(x);
  t = t > 10.2 ? 10.2 : t;
  double y = exp_f64(-t * t) * polynomial(kScaled, (t - 3.0) / (t + 3.0));
  return x < 0.0 ? 2.0 - y : y;
}
SL_INLINE float erfc_f32(float x) { return static_cast<float>(erfc_f64(static_cast<double>(x))); }

SL_INLINE float erfinv_f32(float x) {
  // erfinv(x) / x as polynomials of w = -log(1 - x^2), or of its square root in the tails.
  constexpr double kMiddle[] = {
      0.886226927451979,       0.23201355601019763,     0.011550335500339688,
      -0.002338540514753367,   -0.00012200273027053885, 4.0486852141564294e-05,
      5.8356109935728925e-06,  -2.497880613221993e-06,  3.097975593506613e-07,
      -1.7161455771089207e-08, 3.3554604044525776e-10};
  constexpr double kTail[] = {1.0422874675080709,   0.36272764203422175,  -1.2019091717312855,
                              1.6172575226525205,   -0.8792213937554738,  0.2648313949553714,
                              -0.04639923065400342, 0.004450052955378826, -0.0001814642209200207};
  double t = x, w = -log_f64((1.0 - t) * (1.0 + t));
  double y = w < 5.0 ? polynomial(kMiddle, w) : polynomial(kTail, __builtin_sqrt(w));
  y = absolute(t) == 1.0 ? __builtin_inf() : y;
  return static_cast<float>(t * y);
}

SL_INLINE float pow_f32(float x, float y) {
  double t = absolute(static_cast<double>(x)), by = y;
  double r = exp_f64(by * log_f64(t));
  float half = y * 0.5f;
  bool whole = __builtin_truncf(y) == y, odd = whole & (__builtin_truncf(half) != half);
  r = odd & is_negative(x) ? -r : r;
  bool lost = (x < 0.0f) & !whole & (x > -__builtin_inff());
  r = lost ? __builtin_nan("") : r;
  bool infinite = absolute(y) == __builtin_inff();
  bool one = (y == 0.0f) | (x == 1.0f) | ((t == 1.0) & infinite);
  return one ? 1.0f : static_cast<float>(r);
}

SL_INLINE float hypot_f32(float x, float y) {
  double a = x, b = y;
  float r = static_cast<float>(__builtin_sqrt(a * a + b * b));
  bool infinite = (absolute(x) == __builtin_inff()) | (absolute(y) == __builtin_inff());
  return infinite ? __builtin_inff() : r;
}

// C's fmod if the quotient is below kExactQuotient: then a - q b is exact.
constexpr double kExactQuotient = 268435456.0;  // 2^28
SL_INLINE bool has_exact_quotient(float a, float b) {
  double quotient = static_cast<double>(a) / static_cast<double>(b);
  return !(absolute(quotient) >= kExactQuotient) | (absolute(quotient) == __builtin_inf());
}
SL_INLINE float fmod_f32(float a, float b) {
  double x = a, y = absolute(static_cast<double>(b)), t = absolute(x);
  double q = __builtin_trunc(t / y), r = t - q * y;
  r = r < 0.0 ? r + y : r;  // the quotient was rounded up
  r = r >= y ? r - y : r;
  r = (y == __builtin_inf()) & (t < __builtin_inf()) ? t : r;
  return with_sign(static_cast<float>(r), a);
}
SL_INLINE float remainder_f32(float a, float b) {
  float r = fmod_f32(a, b);
  return (r != 0.0f) & ((r < 0.0f) != (b < 0.0f)) ? r + b : r;
}
// Python's floor division: exact if a / b is, and consistent with the remainder.
SL_INLINE float div_floor_f32(float a, float b) {
  float mod = fmod_f32(a, b), div = (a - mod) / b;
  div = (mod != 0.0f) & ((b < 0.0f) != (mod < 0.0f)) ? div - 1.0f : div;
  float floored = __builtin_floorf(div);
  floored = div - floored > 0.5f ? floored + 1.0f : floored;
  floored = div == 0.0f ? with_sign(0.0f, a / b) : floored;
  return b == 0.0f ? a / b : floored;
}

SL_INLINE float larger_f32(float x, float y) { return x != x ? x : y != y ? y : x > y ? x : y; }
SL_INLINE float logaddexp_f32(float x, float y) {
  float top = larger_f32(x, y);
  float sum = top + log1p_f32(exp_f32(-absolute(x - y)));
  return x == y ? top + 0.693147181f : sum;
}
SL_INLINE float logaddexp2_f32(float x, float y) {
  float top = larger_f32(x, y);
  float sum = top + log1p_f32(exp2_f32(-absolute(x - y))) * 1.44269504f;
  return x == y ? top + 1.0f : sum;
}
SL_INLINE float xlogy_f32(float x, float y) {
  float r = x == 0.0f ? 0.0f : x * log_f32(y);
  return y != y ? y : r;
}

// Sine over cosine, both in double; the reduction is exact for |x| < kExactSine.
SL_INLINE float tan_short(float x) {
  constexpr double kBig = 6755399441055744.0;
  double wide = x, shifted = wide * 0.63661977236758134 + kBig;
  double whole = shifted - kBig;
  int64_t n = bits_of(shifted);
  double r = wide - whole * 1.5707963267341256;
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
  bool turned = (n & 1) != 0;
  // Rounded to float before the division: dividing doubles takes twice as long.
  float y = static_cast<float>(turned ? -c : s) / static_cast<float>(turned ? s : c);
  return x == 0.0f ? x : y;
}

}  // namespace
}  // namespace scriptlang::kernels::SL_ISA
