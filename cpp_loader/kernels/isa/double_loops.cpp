// Loops that need the full precision of double: elementary functions of float64, and log gamma of
// float32, whose terms cancel near its zeros.
#include "../special.h"
#include "math_full.h"
#include "wide_loops.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

// log |gamma(x)|. Below 3 it is (t - 1) (t - 2) times a polynomial, so that the zeros are exact;
// below 8 a polynomial, then Stirling's series. Negative numbers down to -8 use the reflection
// formula.
constexpr double kLeastGamma = -8.0;
SL_INLINE float lgamma_f32(float given) {
  constexpr double kNear[] = {
      0.4227843350983158,      -0.10031730167354368,    0.03296500065102747,
      -0.012384192251990628,   0.004998640194297918,    -0.0021081295883179346,
      0.0009153891046743219,   -0.00040571948860638525, 0.00018247537805569445,
      -8.303096076784879e-05,  3.844816422914457e-05,   -1.7864737860877795e-05,
      7.615042500241459e-06,   -3.449574424050886e-06,  2.608112058613762e-06,
      -1.3343431614982257e-06, -2.0729269820756327e-07, 1.5042898610408175e-07,
      3.231381190548732e-07,   -1.6512104898997024e-07};
  constexpr double kMiddle[] = {
      3.9578139676186757,      4.027732871454571,      0.622944959350618,
      -0.10314830085074275,    0.025538073755011787,   -0.00756396946142224,
      0.0024817540372813383,   -0.0008698769289831786, 0.0003192134338324523,
      -0.00012114581246407114, 4.725029260423115e-05,  -1.8785995013986895e-05,
      7.393420097064919e-06,   -2.993126934841501e-06, 1.5005346823702594e-06,
      -6.520612165122659e-07,  4.9486079833967424e-08, -7.695741392777926e-09,
      1.0888375194009807e-07,  -4.92693073230658e-08};
  constexpr double kSine[] = {3.1415926535897927,   -5.167712780049786,     2.550164039861898,
                              -0.5992645288259484,  0.08214587882458883,    -0.007370364375097538,
                              0.000465987157091607, -2.1133788824272347e-05};
  constexpr double kStirling[] = {0.08333333333333333, -0.002777777777777778, 0.0007936507936507937,
                                  -0.0005952380952380953};
  double x = given, y = absolute(x);
  bool negative = x < 0.0, tiny = y < 1.0, low = y < 3.0;
  double t = tiny ? y + 1.0 : y;
  double near = (t - 1.0) * (t - 2.0) * polynomial(kNear, (low ? t : 2.0) - 2.0);
  double short_of = y < 8.0 ? y : 8.0;
  double middle = polynomial(kMiddle, (short_of - 5.5) * 0.4);
  double rest = y - ((y + kShift) - kShift), square = rest * rest;
  double sine = absolute(rest) * polynomial(kSine, square);
  double logarithm = log_full(negative ? sine * (tiny ? 1.0 : y) : y);
  double inverse = 1.0 / (y < 8.0 ? 8.0 : y);
  double far = (y - 0.5) * logarithm - y + 0.9189385332046728 +
               inverse * polynomial(kStirling, inverse * inverse);
  double value = low ? near : middle;
  double positive = y < 8.0 ? (tiny ? value - logarithm : value) : far;
  double reflected = 1.1447298858494002 - logarithm - value;
  double result = negative ? reflected : positive;
  result = y == __builtin_inf() ? y : result + 0.0;  // avoids -0.0
  return given != given ? given : static_cast<float>(result);
}

// Applies f in whole vectors; the rest is computed in a padded copy.
template <class T, class F>
SL_INLINE void map(int64_t n, const T* a, T* o, F f) {
  constexpr int W = 16;
  int64_t whole = n / W * W;
  SL_INDEPENDENT
  for (int64_t i = 0; i < whole; ++i) o[i] = f(a[i]);
  if (whole == n) return;
  T rest[W] = {};
  for (int64_t i = whole; i < n; ++i) rest[i - whole] = a[i];
  SL_INDEPENDENT
  for (int i = 0; i < W; ++i) rest[i] = f(rest[i]);
  __builtin_memcpy(o + whole, rest, static_cast<size_t>(n - whole) * sizeof(T));
}

// Applies f to elements for which `inside` holds, and `exact` to the others one by one.
template <class T, class F, class Inside, class Exact>
SL_INLINE void mapped(int64_t n, void* out, const void* const* in, const int64_t* step, F f,
                      Inside inside, Exact exact) {
  guarded<T>(
      n, out, in, step, [f](int64_t count, const T* x, T* o) SL_ALWAYS { map(count, x, o, f); },
      inside, exact);
}

template <class F>
SL_INLINE void everywhere(int64_t n, void* out, const void* const* in, const int64_t* step, F f) {
  mapped<double>(
      n, out, in, step, f, [](double) SL_ALWAYS { return true; }, [](double x) { return x; });
}

}  // namespace

#if defined(__AVX512F__)
// With instructions that compilers do not find: rounding, and scaling by a power of two.
SL_INLINE __m512d exp_wide(__m512d x) {
  // With this order of operands a NaN stays a NaN.
  x = _mm512_max_pd(_mm512_set1_pd(-746.0), _mm512_min_pd(_mm512_set1_pd(710.0), x));
  __m512d whole = _mm512_roundscale_pd(_mm512_mul_pd(x, _mm512_set1_pd(1.4426950408889634)), 0);
  __m512d r = _mm512_fnmadd_pd(whole, _mm512_set1_pd(kLogTwoHigh), x);
  r = _mm512_fnmadd_pd(whole, _mm512_set1_pd(kLogTwoLow), r);
  constexpr int kLast = sizeof kPower / sizeof kPower[0] - 1;
  __m512d p = _mm512_set1_pd(kPower[kLast]);
  SL_UNROLL for (int i = kLast - 1; i >= 0; --i) {
    p = _mm512_fmadd_pd(p, r, _mm512_set1_pd(kPower[i]));
  }
  const __m512d one = _mm512_set1_pd(1.0);
  return _mm512_scalef_pd(_mm512_fmadd_pd(_mm512_fmadd_pd(p, r, one), r, one), whole);
}
template <class F>
SL_INLINE void wide_loop(int64_t n, void* out, const void* const* in, const int64_t* step, F f) {
  const double* a = static_cast<const double*>(in[0]);
  double* o = static_cast<double*>(out);
  const __m512d one = _mm512_set1_pd(n > 0 ? a[0] : 0.0);
  for (int64_t i = 0; i < n; i += 8) {
    __mmask8 lanes = first_lanes(0., static_cast<int>(min_of(n - i, 8)));
    __m512d x = step[0] ? _mm512_maskz_loadu_pd(lanes, a + i) : one;
    _mm512_mask_storeu_pd(o + i, lanes, f(x));
  }
}
void full_exp(int64_t n, void* out, const void* const* in, const int64_t* step, const double*) {
  wide_loop(n, out, in, step, [](__m512d x) SL_ALWAYS { return exp_wide(x); });
}
void full_sigmoid(int64_t n, void* out, const void* const* in, const int64_t* step, const double*) {
  wide_loop(n, out, in, step, [](__m512d x) SL_ALWAYS {
    __m512d one = _mm512_set1_pd(1.0), power = exp_wide(_mm512_sub_pd(_mm512_setzero_pd(), x));
    return _mm512_div_pd(one, _mm512_add_pd(one, power));
  });
}
#endif

#define LOOP(name, formula)                                                          \
  void full_##name(int64_t n, void* out, const void* const* in, const int64_t* step, \
                   const double*) {                                                  \
    everywhere(n, out, in, step, [](double x) SL_ALWAYS { return formula; });        \
  }
#if !defined(__AVX512F__)
LOOP(exp, exp_full(x))
LOOP(sigmoid, sigmoid_full(x))
#endif
LOOP(tanh, tanh_full(x))

template <int Quarter>
SL_INLINE void full_sine(int64_t n, void* out, const void* const* in, const int64_t* step) {
  mapped<double>(
      n, out, in, step, [](double x) SL_ALWAYS { return sine_full<Quarter>(x); },
      [](double x) SL_ALWAYS { return absolute(x) < kExactTurns; },
      [](double x) { return Quarter ? __builtin_cos(x) : __builtin_sin(x); });
}
void full_sin(int64_t n, void* out, const void* const* in, const int64_t* step, const double*) {
  full_sine<0>(n, out, in, step);
}
void full_cos(int64_t n, void* out, const void* const* in, const int64_t* step, const double*) {
  full_sine<1>(n, out, in, step);
}

void double_lgamma(int64_t n, void* out, const void* const* in, const int64_t* step,
                   const double*) {
  mapped<float>(
      n, out, in, step, [](float x) SL_ALWAYS { return lgamma_f32(x); },
      [](float x) SL_ALWAYS { return !(x < static_cast<float>(kLeastGamma)); },
      [](float x) { return static_cast<float>(log_gamma(static_cast<double>(x))); });
}

}  // namespace scriptlang::kernels::SL_ISA
