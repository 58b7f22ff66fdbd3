// Elementary functions of float64, as branch-free scalar code: compilers vectorise loops over them.
#pragma once
#include "math_f64.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr double kShift = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
constexpr double kLogTwoHigh = 0.6931471803691238, kLogTwoLow = 1.9082149292705877e-10;

SL_INLINE double two_to(int64_t n) {
  return double_of(static_cast<int64_t>(static_cast<uint64_t>(n + 1023) << 52));
}

// (exp(r) - 1 - r) / r^2 for |r| <= log(2) / 2.
constexpr double kPower[] = {0.5000000000000006,    0.1666666666666669,     0.04166666666657305,
                             0.00833333333331311,   0.0013888888932518557,  0.000198412699051736,
                             2.480150430958506e-05, 2.7557226528574165e-06, 2.762637262150668e-07,
                             2.5114829124232928e-08};

// exp(x) = 2^n (1 + part), for -745 <= x <= 710.
struct Power {
  int64_t n;
  double part;
};
SL_INLINE Power power_of(double x) {
  double shifted = x * 1.4426950408889634 + kShift, whole = shifted - kShift;
  double r = (x - whole * kLogTwoHigh) - whole * kLogTwoLow;
  return {bits_of(shifted) - bits_of(kShift), r + r * r * polynomial(kPower, r)};
}
[[maybe_unused]] SL_INLINE double exp_full(double x) {
  double inside = x > 710.0 ? 710.0 : x < -746.0 ? -746.0 : x;
  Power p = power_of(inside);
  int64_t half = p.n >> 1;  // two factors: 2^1024 and 2^-1075 are not normal numbers
  return (1.0 + p.part) * two_to(half) * two_to(p.n - half);
}
[[maybe_unused]] SL_INLINE double sigmoid_full(double x) { return 1.0 / (1.0 + exp_full(-x)); }
SL_INLINE double tanh_full(double x) {
  double t = absolute(x);
  Power p = power_of(t > 20.0 ? 40.0 : t + t);
  double scale = two_to(p.n), less_one = scale * p.part + (scale - 1.0);
  double y = less_one / (less_one + 2.0);
  return x != x ? x : with_sign(y, x);
}

// Sine (Quarter 0) or cosine (1) of |x| < kExactTurns, where products with the parts of pi/2 are
// exact.
constexpr double kExactTurns = 1048576.0;
template <int Quarter>
SL_INLINE double sine_full(double x) {
  constexpr double kSine[] = {-0.16666666666666666,    0.008333333333330828,
                              -0.0001984126983657797,  2.755731600922743e-06,
                              -2.5051112466221122e-08, 1.5916738626507872e-10};
  constexpr double kCosine[] = {0.041666666666666664,   -0.0013888888888887322,
                                2.4801587298652542e-05, -2.755731721327346e-07,
                                2.087613413172616e-09,  -1.1381761564285979e-11};
  double shifted = x * 0.6366197723675814 + kShift, whole = shifted - kShift;
  double high = x - whole * 1.5707963267341256, low = whole * 6.077100506303966e-11;
  double r = high - low;
  double lost = ((high - r) - low) - whole * 2.0222662487959506e-21;
  int64_t turn = bits_of(shifted) + Quarter;
  double z = r * r, half = 0.5 * z;
  double s = r + (r * z * polynomial(kSine, z) + lost);
  double c = 1.0 - (half - (z * z * polynomial(kCosine, z) - r * lost));
  double y = (turn & 1) != 0 ? c : s;
  y = (turn & 2) != 0 ? -y : y;
  return Quarter == 0 && x == 0.0 ? x : y;
}

// log(x) of a positive normal number; -inf at zero.
SL_INLINE double log_full(double x) {
  constexpr double kSeries[] = {0.666666666666667,   0.39999999999897096, 0.28571428626977513,
                                0.22222210979897697, 0.1818289995629759,  0.15331373567196727,
                                0.14620628146946604};
  constexpr int64_t kHalfRoot = 0x3fe6a09e667f3bcd;  // bits of sqrt(1/2)
  int64_t over = bits_of(x) - kHalfRoot;
  double f = double_of((over & 0x000fffffffffffff) + kHalfRoot) - 1.0;
  double e = double_of(bits_of(kShift) + (over >> 52)) - kShift;
  double s = f / (2.0 + f), square = s * s, half = 0.5 * f * f;
  double tail = s * (half + square * polynomial(kSeries, square)) + e * kLogTwoLow;
  double y = e * kLogTwoHigh - ((half - tail) - f);
  return x == 0.0 ? -__builtin_inf() : y;
}

}  // namespace
}  // namespace scriptlang::kernels::SL_ISA
