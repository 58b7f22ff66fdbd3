// Elementary functions of sixteen floats in AVX-512. They are shorter than those of math_f32.h,
// because AVX-512 has instructions for exponents and for table lookup in registers. Errors are
// below 3 units in the last place (mish: 4.3); NaN, infinities and signed zeros behave as in C.
#pragma once
#if defined(__AVX512F__)

#include "math_f32.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 12's own headers

namespace scriptlang::kernels::SL_ISA {
namespace {

using F16 = __m512;

SL_INLINE F16 all(float x) { return _mm512_set1_ps(x); }
// fma: a * b + c; from_product: c - a * b
SL_INLINE F16 fma(F16 a, F16 b, F16 c) { return _mm512_fmadd_ps(a, b, c); }
SL_INLINE F16 from_product(F16 c, F16 a, F16 b) { return _mm512_fnmadd_ps(a, b, c); }
// Minimum and maximum with a constant; a NaN in x stays.
SL_INLINE F16 at_most(F16 x, float c) { return _mm512_min_ps(all(c), x); }
SL_INLINE F16 at_least(F16 x, float c) { return _mm512_max_ps(all(c), x); }
SL_INLINE F16 magnitude(F16 x) { return _mm512_abs_ps(x); }
SL_INLINE F16 rounded(F16 x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
SL_INLINE F16 signed_as(F16 size, F16 x) {
  __m512i sign = _mm512_set1_epi32(static_cast<int>(0x80000000u));
  // size must not be negative; gets the sign bit of x
  return _mm512_castsi512_ps(
      _mm512_or_si512(_mm512_castps_si512(size), _mm512_and_si512(_mm512_castps_si512(x), sign)));
}
constexpr float kMagic = 12582912.0f;  // 1.5 * 2^23: a sum with it is rounded to an integer
// x * by, rounded to the nearest integer, for results below 2^22: two additions cost less than a
// rounding instruction.
SL_INLINE F16 nearest_product(F16 x, float by) {
  return _mm512_sub_ps(fma(x, all(by), all(kMagic)), all(kMagic));
}

// x = n ln2 + r; rest is (e^r - 1 - r) / r^2.
struct Reduced {
  F16 n, r, rest;
};
SL_INLINE Reduced reduce_exp(F16 x) {
  Reduced e;
  e.n = nearest_product(x, 1.44269504f);
  e.r = from_product(x, e.n, all(0.693359375f));
  e.r = from_product(e.r, e.n, all(-2.12194440e-4f));
  F16 p = all(0.0013882511f);
  p = fma(p, e.r, all(0.0083665475f));
  p = fma(p, e.r, all(0.0416672f));
  p = fma(p, e.r, all(0.16666543f));
  e.rest = fma(p, e.r, all(0.49999997f));
  return e;
}
// 2^(j/16), and the rounding errors of these.
alignas(64) constexpr float kPowers[16] = {1.0f,        1.04427373f, 1.09050775f, 1.13878858f,
                                           1.18920708f, 1.24185777f, 1.29683959f, 1.35425556f,
                                           1.41421354f, 1.47682619f, 1.54221082f, 1.61049032f,
                                           1.68179286f, 1.75625217f, 1.8340081f,  1.91520655f};
alignas(64) constexpr float kPowersRest[16] = {0.0f,
                                               4.83347016e-08f,
                                               -1.30775399e-08f,
                                               5.38622231e-08f,
                                               3.79763527e-08f,
                                               4.4968381e-08f,
                                               -4.01899953e-08f,
                                               -1.01233493e-08f,
                                               2.4203235e-08f,
                                               -4.50089885e-08f,
                                               8.07090483e-09f,
                                               9.83621717e-09f,
                                               -2.47553267e-08f,
                                               -9.23577037e-09f,
                                               -1.1239278e-08f,
                                               9.84532811e-09f};
constexpr float kMagicSixteenth = kMagic / 16;  // a sum with it is rounded to sixteenths
// Looks up entries by the last four bits of `marked`.
SL_INLINE F16 looked_up(const float* table, F16 marked) {
  return _mm512_permutexvar_ps(_mm512_castps_si512(marked), _mm512_load_ps(table));
}

// e^(x - less) as 2^n, n in sixteenths, times a polynomial of the remainder, which is below ln2 /
// 32. With Sign -1 it is e^(-x - less), without an extra step.
template <int Sign>
SL_INLINE F16 exp_signed(F16 x, F16 less) {
  F16 marked = fma(x, all(Sign * 1.44269504f), all(kMagicSixteenth));
  F16 n = _mm512_sub_ps(marked, all(kMagicSixteenth)), power = looked_up(kPowers, marked);
  F16 r = fma(n, all(Sign * -0.693359375f), x);
  r = _mm512_sub_ps(fma(n, all(Sign * 2.12194440e-4f), r), less);
  F16 p = fma(r, all(Sign * 0.166666672f), all(0.500016153f));
  p = fma(p, r, all(Sign * 1.0f));
  F16 rest = looked_up(kPowersRest, marked);
  F16 small = Sign > 0 ? fma(power, r, rest) : _mm512_fmsub_ps(power, r, rest);
  return _mm512_scalef_ps(fma(p, small, power), n);
}
SL_INLINE F16 exp_512(F16 x) {
  return exp_signed<1>(at_least(at_most(x, 89.0f), -104.0f), all(0.0f));
}
// e^x for x that is not above zero, in the fewest steps. The error is below 3.2e-7 of the result
// down to -87, where numbers get subnormal, and below 1.4e-7 from -20 on; e^0 is 1.
SL_INLINE F16 exp_falling_512(F16 x) {
  x = at_least(x, -104.0f);
  F16 marked = fma(x, all(1.44269504f), all(kMagicSixteenth));
  F16 n = _mm512_sub_ps(marked, all(kMagicSixteenth)), power = looked_up(kPowers, marked);
  F16 r = fma(n, all(-0.693147181f), x);
  F16 p = fma(fma(r, all(0.166666672f), all(0.500016153f)), r, all(1.0f));
  return _mm512_scalef_ps(fma(p, _mm512_mul_ps(power, r), power), n);
}
// 1 + e^-x
SL_INLINE F16 over_sigmoid(F16 x) {
  F16 e = exp_signed<-1>(at_least(at_most(x, 104.0f), -89.0f), all(0.0f));
  return _mm512_add_ps(e, all(1.0f));
}
SL_INLINE F16 exp2_512(F16 x) {
  x = at_least(at_most(x, 129.0f), -151.0f);
  F16 marked = _mm512_add_ps(x, all(kMagicSixteenth)), power = looked_up(kPowers, marked);
  // Multiplied by p below.
  F16 rest = _mm512_mul_ps(looked_up(kPowersRest, marked), all(1.44269504f));
  F16 n = _mm512_sub_ps(marked, all(kMagicSixteenth)), r = _mm512_sub_ps(x, n);
  F16 p = fma(r, all(5.55041087e-2f), all(0.240234271f));
  p = fma(p, r, all(0.693147181f));
  return _mm512_scalef_ps(fma(p, fma(power, r, rest), power), n);
}
// e^x - 1; already infinite from 88 on.
SL_INLINE F16 expm1_below_88(F16 x) {
  Reduced e = reduce_exp(x);
  F16 small = fma(_mm512_mul_ps(e.rest, e.r), e.r, e.r);
  F16 power = _mm512_scalef_ps(all(1.0f), e.n);
  return fma(power, small, _mm512_sub_ps(power, all(1.0f)));
}
SL_INLINE F16 expm1_512(F16 x) {
  F16 y = expm1_below_88(at_least(at_most(x, 87.0f), -104.0f));
  __mmask16 large = _mm512_cmp_ps_mask(x, all(87.0f), _CMP_GT_OQ);
  if (__builtin_expect(large, 0)) y = _mm512_mask_mov_ps(y, large, exp_512(x));
  __mmask16 zero = _mm512_cmp_ps_mask(x, all(0.0f), _CMP_EQ_OQ);
  return _mm512_mask_mov_ps(y, zero, x);
}

// tanh(t) = g / (2 - g) with g = 1 - e^-2t. An error of n units in the last place of 2t causes one
// of n / 2^n units in tanh. The tables hold 2^(-j/16), and minus half of their rounding errors.
alignas(64) constexpr float kFallingPowers[16] = {
    1.0f,         0.957603276f, 0.917004049f, 0.878126085f, 0.840896428f, 0.805245161f,
    0.771105409f, 0.738413095f, 0.707106769f, 0.677127779f, 0.648419797f, 0.620928884f,
    0.594603539f, 0.56939429f,  0.545253873f, 0.522136867f};
alignas(64) constexpr float kFallingRest[16] = {0.0f,
                                                -2.46133203e-09f,
                                                2.80981949e-09f,
                                                2.30894259e-09f,
                                                6.18883167e-09f,
                                                -2.45905429e-09f,
                                                -2.01772621e-09f,
                                                1.12522471e-08f,
                                                -6.05080874e-09f,
                                                2.53083732e-09f,
                                                1.00474988e-08f,
                                                -1.12420953e-08f,
                                                -9.49408818e-09f,
                                                -1.34655558e-08f,
                                                3.26938498e-09f,
                                                -1.20836754e-08f};
SL_INLINE F16 tanh_512(F16 x) {
  F16 t = at_most(magnitude(x), 10.0f), marked = fma(t, all(2.88539008f), all(kMagicSixteenth));
  F16 n = _mm512_sub_ps(marked, all(kMagicSixteenth)), r = from_product(t, n, all(0.346573590f));
  F16 power = looked_up(kFallingPowers, marked), rest = looked_up(kFallingRest, marked);
  __m512i wholes = _mm512_slli_epi32(_mm512_srli_epi32(_mm512_castps_si512(marked), 4), 23);
  F16 whole = _mm512_castsi512_ps(_mm512_sub_epi32(_mm512_castps_si512(all(1.0f)), wholes));
  F16 p = fma(r, all(-0.66666669f), all(1.33333337f));
  p = fma(p, r, all(-2.0f));
  p = fma(p, r, all(2.0f));
  F16 g = fma(p, fma(power, r, rest), _mm512_sub_ps(all(1.0f), power));
  g = fma(whole, g, _mm512_sub_ps(all(1.0f), whole));
  return signed_as(_mm512_div_ps(g, _mm512_sub_ps(all(2.0f), g)), x);
}

// Zero if exp(-x) is infinite, as 1 / (1 + exp(-x)) is.
SL_INLINE F16 sigmoid_512(F16 x) { return _mm512_div_ps(all(1.0f), over_sigmoid(x)); }
SL_INLINE F16 silu_512(F16 x) { return _mm512_div_ps(x, over_sigmoid(x)); }

// erf(t) / t on 16 intervals of [0, 4]: polynomials of the distance from the middle, in quarters.
alignas(64) constexpr float kErf[6][16] = {
    {1.12252963f, 1.07764506f, 0.997185409f, 0.896085799f, 0.789678454f, 0.689578235f, 0.602119207f,
     0.529061377f, 0.469339281f, 0.420722961f, 0.380874157f, 0.347809434f, 0.319996834f,
     0.296295762f, 0.275861979f, 0.258064508f},
    {-0.0232887361f, -0.0648615211f, -0.0934743509f, -0.106097355f, -0.104756549f, -0.0944033563f,
     -0.0802533776f, -0.0660687387f, -0.0537645258f, -0.0438648947f, -0.0361644067f, -0.0302190613f,
     -0.025594566f, -0.0219468903f, -0.0190248117f, -0.0166493002f},
    {-0.0228526443f, -0.0180309545f, -0.0103290537f, -0.00248318422f, 0.00338698807f,
     0.00651671318f, 0.0073171705f, 0.00671258708f, 0.00555396779f, 0.00436696969f, 0.00337249343f,
     0.00260960613f, 0.00204351684f, 0.00162489736f, 0.00131191663f, 0.00107412657f},
    {0.000865269336f, 0.00223413901f, 0.00273975031f, 0.00236876309f, 0.00150359201f,
     0.00060989667f, -2.14651263e-05f, -0.000332991011f, -0.000410482025f, -0.000369348796f,
     -0.000292081328f, -0.000218757137f, -0.000161481643f, -0.000119934281f, -9.03965556e-05f,
     -6.92852409e-05f},
    {0.000414275128f, 0.000244915456f, 7.73571264e-06f, -0.000173438064f, -0.000235693355f,
     -0.000197027199f, -0.000116354313f, -4.40289004e-05f, -4.97504288e-07f, 1.70938456e-05f,
     1.96926085e-05f, 1.64567591e-05f, 1.22321171e-05f, 8.73242425e-06f, 6.21044455e-06f,
     4.47074581e-06f},
    {-1.89885104e-05f, -4.51193264e-05f, -4.53324064e-05f, -2.49066707e-05f, -6.34883122e-07f,
     1.40476095e-05f, 1.65033889e-05f, 1.17618056e-05f, 5.77435412e-06f, 1.63862057e-06f,
     -2.98456456e-07f, -8.43473231e-07f, -7.95665983e-07f, -5.98529823e-07f, -4.17373116e-07f,
     -2.86302281e-07f},
};
SL_INLINE F16 erf_512(F16 x) {
  F16 t = at_most(magnitude(x), 3.9999998f);
  F16 quarters = fma(t, all(4.0f), all(-0.5f)), marked = _mm512_add_ps(quarters, all(kMagic));
  F16 u = _mm512_sub_ps(quarters, _mm512_sub_ps(marked, all(kMagic)));
  __m512i index = _mm512_castps_si512(marked);  // only its last four bits are used
  auto row = [&](int k) { return _mm512_permutexvar_ps(index, _mm512_load_ps(kErf[k])); };
  F16 q = row(5);
  for (int k = 4; k >= 0; --k) q = fma(q, u, row(k));
  __mmask16 one = _mm512_cmp_ps_mask(t, all(3.92f), _CMP_GE_OQ);
  return signed_as(_mm512_mask_mov_ps(_mm512_mul_ps(t, q), one, all(1.0f)), x);
}

// erfc(t) exp(t^2) on intervals of length 1/2, as polynomials of 2 t minus the middle; the last
// interval extends to 10.25.
alignas(64) constexpr float kErfc[9][16] = {
    {0.770346522f, 0.506937623f, 0.367822915f, 0.284972221f, 0.231087252f, 0.193662092f,
     0.166335344f, 0.145589724f, 0.129345268f, 0.116302706f, 0.105612732f, 0.0966987759f,
     0.0891566351f, 0.0826950595f, 0.0770991817f, 0.0722071677f},
    {-0.371602952f, -0.183986351f, -0.104410939f, -0.0654881746f, -0.04424325f, -0.0316188186f,
     -0.023599701f, -0.0182281286f, -0.0144721661f, -0.0117517244f, -0.00972272269f,
     -0.00817160867f, -0.00696063507f, -0.00599795021f, -0.0052205259f, -0.00458400976f},
    {0.146136269f, 0.0577395335f, 0.0266988929f, 0.0139409071f, 0.00799815729f, 0.00493964832f,
     0.00323432265f, 0.00221968885f, 0.00158296654f, 0.00116533157f, 0.000881037733f,
     0.000681318459f, 0.000537173939f, 0.000430681888f, 0.00035038832f, 0.000288755138f},
    {-0.0497558974f, -0.0162295215f, -0.00627728645f, -0.00278249988f, -0.00137525774f,
     -0.000741792261f, -0.000429433916f, -0.000263410358f, -0.000169491643f, -0.00011351236f,
     -7.86376841e-05f, -5.60744629e-05f, -4.09934073e-05f, -3.06241636e-05f, -2.33158607e-05f,
     -1.80511688e-05f},
    {0.0151573289f, 0.00417441316f, 0.00137571094f, 0.000525270065f, 0.000226187243f,
     0.000107473876f, 5.5375287e-05f, 3.05139001e-05f, 1.77859474e-05f, 1.0870519e-05f,
     6.91775358e-06f, 4.55776808e-06f, 3.09454754e-06f, 2.156959e-06f, 1.53854489e-06f,
     1.11960867e-06f},
    {-0.00421632407f, -0.000996592804f, -0.000283766829f, -9.43984269e-05f, -3.57398203e-05f,
     -1.50681299e-05f, -6.94931123e-06f, -3.45556259e-06f, -1.83109103e-06f, -1.02423576e-06f,
     -6.00124281e-07f, -3.66011534e-07f, -2.31155582e-07f, -1.50521316e-07f, -1.00695701e-07f,
     -6.85056492e-08f},
    {0.00108699792f, 0.00022322165f, 5.55100269e-05f, 1.62362085e-05f, 5.44556906e-06f,
     2.04964135e-06f, 8.50297965e-07f, 3.83061035e-07f, 1.85124208e-07f, 9.50165813e-08f,
     5.13676e-08f, 2.90514368e-08f, 1.70911143e-08f, 1.04096856e-08f, 6.53787424e-09f,
     3.97832167e-09f},
    {-0.000269812415f, -4.83217373e-05f, -1.05385461e-05f, -2.72124817e-06f, -8.11523876e-07f,
     -2.73565888e-07f, -1.02366144e-07f, -4.18767065e-08f, -1.84929352e-08f, -8.72334294e-09f,
     -4.35713554e-09f, -2.28764874e-09f, -1.25485378e-09f, -7.15449033e-10f, -4.22140156e-10f,
     -1.90545774e-10f},
    {6.14513701e-05f, 9.73635269e-06f, 1.88478077e-06f, 4.33963862e-07f, 1.16015194e-07f,
     3.52613583e-08f, 1.19660477e-08f, 4.46481474e-09f, 1.80817017e-09f, 7.86212262e-10f,
     3.63700098e-10f, 1.77631021e-10f, 9.10030939e-11f, 4.86380311e-11f, 2.69931889e-11f,
     5.20377057e-12f},
};
SL_INLINE F16 erfc_512(F16 x) {
  F16 t = _mm512_min_ps(all(10.25f), magnitude(x));  // a NaN stays with this order of operands
  F16 halves = _mm512_add_ps(t, t);
  F16 floored = at_most(_mm512_roundscale_ps(halves, _MM_FROUND_TO_NEG_INF), 15.0f);
  F16 u = _mm512_sub_ps(_mm512_sub_ps(halves, floored), all(0.5f));
  __m512i index = _mm512_cvttps_epi32(floored);
  auto row = [&](int k) { return _mm512_permutexvar_ps(index, _mm512_load_ps(kErfc[k])); };
  F16 q = row(8);
  SL_UNROLL for (int k = 7; k >= 0; --k) q = fma(q, u, row(k));
  // exp(-t^2), corrected for the rounding error of t^2.
  F16 square = _mm512_mul_ps(t, t), gained = from_product(square, t, t);
  F16 y = _mm512_mul_ps(exp_signed<-1>(square, gained), q);
  __mmask16 below = _mm512_cmp_ps_mask(x, all(0.0f), _CMP_LT_OQ);
  return _mm512_mask_sub_ps(y, below, all(2.0f), y);
}

SL_INLINE F16 gelu_512(F16 x) {
  F16 half = _mm512_mul_ps(x, all(0.5f));
  return _mm512_mul_ps(half, _mm512_add_ps(all(1.0f), erf_512(_mm512_mul_ps(x, all(0.70710678f)))));
}
SL_INLINE F16 gelu_tanh_512(F16 x) {
  F16 cube = _mm512_mul_ps(_mm512_mul_ps(x, x), x);
  F16 inner = _mm512_mul_ps(all(0.79788456f), fma(cube, all(0.044715f), x));
  return _mm512_mul_ps(_mm512_mul_ps(x, all(0.5f)), _mm512_add_ps(all(1.0f), tanh_512(inner)));
}

// Above 1, computed as pi/2 - atan(1 / x).
SL_INLINE F16 atan_512(F16 x) {
  F16 t = magnitude(x);
  __mmask16 far = _mm512_cmp_ps_mask(t, all(1.0f), _CMP_GT_OQ);
  F16 inner = _mm512_mask_div_ps(t, far, all(1.0f), t);
  F16 square = _mm512_mul_ps(inner, inner);
  F16 p = all(0.00285012813f);
  p = fma(p, square, all(-0.0160696446f));
  p = fma(p, square, all(0.0426933007f));
  p = fma(p, square, all(-0.0750446033f));
  p = fma(p, square, all(0.106410219f));
  p = fma(p, square, all(-0.142036709f));
  p = fma(p, square, all(0.199926236f));
  p = fma(p, square, all(-0.333330736f));
  F16 y = fma(_mm512_mul_ps(p, square), inner, inner);
  y = _mm512_mask_sub_ps(y, far, all(1.57079637f), y);
  return signed_as(y, x);
}

// x = m 2^e with m in [3/4, 3/2); log(m) by a polynomial.
SL_INLINE F16 log_512(F16 x) {
  F16 m = _mm512_getmant_ps(x, _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_nan);
  F16 e = _mm512_sub_ps(_mm512_getexp_ps(x), _mm512_getexp_ps(m));
  F16 f = _mm512_sub_ps(m, all(1.0f)), square = _mm512_mul_ps(f, f);
  F16 p = all(-0.0450746119f);
  p = fma(p, f, all(0.104630068f));
  p = fma(p, f, all(-0.131611943f));
  p = fma(p, f, all(0.144783974f));
  p = fma(p, f, all(-0.16647312f));
  p = fma(p, f, all(0.199908614f));
  p = fma(p, f, all(-0.250000954f));
  p = fma(p, f, all(0.333334506f));
  F16 y = _mm512_add_ps(f, fma(_mm512_mul_ps(square, f), p, _mm512_mul_ps(square, all(-0.5f))));
  y = fma(e, all(0.693147181f), y);
  __mmask16 zero = _mm512_cmp_ps_mask(x, all(0.0f), _CMP_EQ_OQ);
  return _mm512_mask_mov_ps(y, zero, all(-__builtin_inff()));
}
// log(1 + x), corrected for the rounding error of the sum.
SL_INLINE F16 log1p_512(F16 x) {
  F16 u = _mm512_add_ps(x, all(1.0f)), y = log_512(u);
  F16 lost = _mm512_sub_ps(x, _mm512_sub_ps(u, all(1.0f)));
  __mmask16 finite = _mm512_cmp_ps_mask(magnitude(y), all(__builtin_inff()), _CMP_LT_OQ);
  y = _mm512_mask_add_ps(y, finite, y, _mm512_div_ps(lost, u));
  __mmask16 zero = _mm512_cmp_ps_mask(x, all(0.0f), _CMP_EQ_OQ);
  return _mm512_mask_mov_ps(y, zero, x);
}
SL_INLINE F16 softplus_512(F16 x, F16 beta, F16 threshold) {
  F16 scaled = _mm512_mul_ps(x, beta);
  F16 y = _mm512_div_ps(log1p_512(exp_512(scaled)), beta);
  return _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(scaled, threshold, _CMP_GT_OQ), x);
}
SL_INLINE F16 log_sigmoid_512(F16 x) {
  F16 least = at_most(x, 0.0f);
  return _mm512_sub_ps(least, log1p_512(exp_512(_mm512_sub_ps(all(0.0f), magnitude(x)))));
}
SL_INLINE F16 elu_512(F16 x, F16 negative, F16 scale, F16 inner) {
  F16 low = _mm512_mul_ps(_mm512_mul_ps(expm1_512(_mm512_mul_ps(x, inner)), negative), scale);
  __mmask16 above = _mm512_cmp_ps_mask(x, all(0.0f), _CMP_GT_OQ);
  return _mm512_mask_mov_ps(low, above, _mm512_mul_ps(x, scale));
}

// x tanh(log(1 + e^x)) = x n / (n + 2) with n = e^x (e^x + 2)
SL_INLINE F16 mish_512(F16 x) {
  F16 e = exp_512(at_most(x, 20.0f));
  F16 n = _mm512_mul_ps(e, _mm512_add_ps(e, all(2.0f)));
  F16 y = _mm512_div_ps(_mm512_mul_ps(x, n), _mm512_add_ps(n, all(2.0f)));
  return _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(x, all(20.0f), _CMP_GT_OQ), x);
}

// Sine (quarter 0) or cosine (1) of |x| < kShortSine; the reduction is exact enough there.
constexpr float kShortSine = 8192.0f;
SL_INLINE F16 reduced_sine(F16 x, F16 n) {
  F16 r = from_product(x, n, all(1.5703125f));
  r = from_product(r, n, all(0.0004837512969970703f));
  r = from_product(r, n, all(7.549533620476723e-8f));
  return from_product(r, n, all(2.5633440682570896e-12f));
}
SL_INLINE F16 sine_512(F16 x, int quarter) {
  F16 n = nearest_product(x, 0.636619772f), r = reduced_sine(x, n);
  F16 t = _mm512_mul_ps(r, r);
  F16 s = fma(all(2.71823728e-6f), t, all(-0.000198393274f));
  s = fma(s, t, all(0.00833332911f));
  s = fma(s, t, all(-0.166666672f));
  s = fma(_mm512_mul_ps(s, t), r, r);
  F16 c = fma(all(2.44377279e-5f), t, all(-0.00138873619f));
  c = fma(c, t, all(0.0416666456f));
  c = fma(_mm512_mul_ps(c, t), t, from_product(all(1.0f), t, all(0.5f)));
  __m512i q = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(quarter));
  __mmask16 odd = _mm512_test_epi32_mask(q, _mm512_set1_epi32(1));
  __m512i flip = _mm512_slli_epi32(_mm512_and_si512(q, _mm512_set1_epi32(2)), 30);
  F16 y = _mm512_mask_mov_ps(s, odd, c);
  y = _mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(y), flip));
  if (quarter != 0) return y;
  // The sine of zero keeps its sign, which the reduction loses.
  return _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(x, all(0.0f), _CMP_EQ_OQ), x);
}

// atanh(t) = log1p(2 t / (1 - t)) / 2.
SL_INLINE F16 atanh_512(F16 x) {
  F16 t = magnitude(x), one = all(1.0f);
  F16 y = log1p_512(_mm512_div_ps(_mm512_add_ps(t, t), _mm512_sub_ps(one, t)));
  return signed_as(_mm512_mul_ps(y, all(0.5f)), x);
}

// The tangent of |x| < kShortTangent, where errors stay below 3 units; in odd quarters it is -1 /
// tan(r).
constexpr float kShortTangent = 256.0f;
SL_INLINE F16 tan_512(F16 x) {
  F16 n = nearest_product(x, 0.636619772f), r = reduced_sine(x, n);
  F16 t = _mm512_mul_ps(r, r);
  F16 p = fma(all(0.00392613327f), t, all(0.00103774702f));
  p = fma(p, t, all(0.0100603374f));
  p = fma(p, t, all(0.0215910822f));
  p = fma(p, t, all(0.0539986119f));
  p = fma(p, t, all(0.133332103f));
  p = fma(p, t, all(0.333333343f));
  p = fma(_mm512_mul_ps(p, t), r, r);
  __mmask16 odd = _mm512_test_epi32_mask(_mm512_cvtps_epi32(n), _mm512_set1_epi32(1));
  F16 y = _mm512_mask_div_ps(p, odd, all(-1.0f), p);
  return _mm512_mask_mov_ps(y, _mm512_cmp_ps_mask(x, all(0.0f), _CMP_EQ_OQ), x);
}

// y[i] = f(x[i]) in whole vectors, two at a time.
template <class F>
SL_INLINE void map_512(int64_t n, const float* x, float* y, F f) {
  int64_t i = 0;
  for (; i + 32 <= n; i += 32) {
    F16 a = _mm512_loadu_ps(x + i), b = _mm512_loadu_ps(x + i + 16);
    a = f(a);
    b = f(b);
    _mm512_storeu_ps(y + i, a);
    _mm512_storeu_ps(y + i + 16, b);
  }
  for (; i < n; i += 16) {
    __mmask16 lanes = first_lanes(0.f, static_cast<int>(n - i < 16 ? n - i : 16));
    _mm512_mask_storeu_ps(y + i, lanes, f(_mm512_maskz_loadu_ps(lanes, x + i)));
  }
}

}  // namespace
}  // namespace scriptlang::kernels::SL_ISA
#pragma GCC diagnostic pop
#endif
