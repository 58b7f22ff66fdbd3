// Elementary functions of float32, each for a float or a vector of floats (V), without branches.
// Errors are below 3 units in the last place; NaN, infinities and signed zeros behave as in C.
//
// Loops call them with vectors. From a loop over floats GCC would make longer code: it turns each
// limit of an argument into a choice between two results, and computes both.
//
// The polynomials are minimax fits (Lawson's weighted least squares on Chebyshev nodes).
#pragma once
#include <cstdint>

#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

template <class V>
struct IntegersOf;
template <>
struct IntegersOf<float> {
  typedef uint32_t bits;
  typedef int32_t with_sign;
};
template <>
struct IntegersOf<Vector<float>> {
  typedef uint32_t bits __attribute__((vector_size(SL_VECTOR_BYTES)));
  typedef int32_t with_sign __attribute__((vector_size(SL_VECTOR_BYTES)));
};
// Unsigned integers of the lanes of V: their sums wrap, as the bits of a NaN may need.
template <class V>
using Bits = typename IntegersOf<V>::bits;
template <class V>
using Integers = typename IntegersOf<V>::with_sign;

SL_INLINE uint32_t bits_of(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, 4);
  return bits;
}
SL_INLINE float float_of(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, 4);
  return x;
}
SL_INLINE Bits<Vector<float>> bits_of(Vector<float> x) { return (Bits<Vector<float>>)x; }
SL_INLINE Vector<float> float_of(Bits<Vector<float>> bits) { return (Vector<float>)bits; }

SL_INLINE float to_floats(int32_t n) { return static_cast<float>(n); }
SL_INLINE Vector<float> to_floats(Integers<Vector<float>> n) {
  return __builtin_convertvector(n, Vector<float>);
}

// The number in every lane.
template <class V>
SL_INLINE V all_lanes(float x) {
  if constexpr (sizeof(V) == sizeof(float)) return x;
  else return splat(x);
}
SL_INLINE float at_least(float x, float low) { return x < low ? low : x; }
SL_INLINE float at_most(float x, float high) { return x > high ? high : x; }
// Limits x; a NaN stays.
template <class V>
SL_INLINE V limited(V x, float low, float high) {
  return at_least(at_most(x, all_lanes<V>(high)), all_lanes<V>(low));
}

constexpr uint32_t kSignBit = 0x80000000;
constexpr uint32_t kOneBits = 127u << 23;  // bits of 1
template <class V>
SL_INLINE V absolute(V x) {
  return float_of(bits_of(x) & ~kSignBit);
}
template <class V>
SL_INLINE V with_sign(V magnitude, V sign) {
  return float_of(bits_of(magnitude) | (bits_of(sign) & kSignBit));
}

// (e^r - 1 - r) / r^2 for |r| <= log(2) / 2; `square` is r^2. Polynomials are summed in pairs:
// where each step waits for the one before, processors wait most of the time.
template <class V>
SL_INLINE V exp_tail(V r, V square) {
  const V low = r * 1.66666658e-1f + 5.00000007e-1f, high = r * 8.33349856e-3f + 4.16662788e-2f;
  return ((r * 1.97926764e-4f + 1.3945858e-3f) * square + high) * square + low;
}
template <class V>
SL_INLINE V exp_reduced(V r) {
  return (exp_tail(r, r * r) * r + 1.0f) * r + 1.0f;
}
// e^r - 1
template <class V>
SL_INLINE V expm1_reduced(V r) {
  const V square = r * r;
  return exp_tail(r, square) * square + r;
}

// x = n log(2) + r with an integer n, for |x| < 2^21. Adding 1.5 * 2^23 shifts the fraction out of
// the significand, so the lowest bits of `marked` are those of n.
constexpr float kShifter = 12582912.0f;
template <class V>
struct ReducedPower {
  V marked, r;
  SL_INLINE explicit ReducedPower(V x) : marked(x * 1.44269504f + kShifter) {
    V n = marked - kShifter;
    r = x - n * 0.693359375f;
    r = r - n * -2.12194440e-4f;
  }
  // 2^n, for -127 < n < 128. For n = -127 it is zero.
  SL_INLINE V power() const { return float_of((bits_of(marked) << 23) + kOneBits); }
};

// y * 2^n in two factors: n reaches 128 and -150, where one factor has no normal float.
template <class V>
SL_INLINE V scaled(V y, V marked) {
  Bits<V> n = bits_of(marked);
  y = y * float_of((n >> 1 << 23) + kOneBits);
  return y * float_of(((n + 1) >> 1 << 23) + kOneBits);
}

template <class V>
SL_INLINE V exp_f32(V x) {
  ReducedPower<V> e(limited(x, -104.0f, 89.0f));  // beyond these it is zero or infinite
  return scaled(exp_reduced(e.r), e.marked);
}

// e^x for x <= 0; zero if that is less than half of the least normal number. For rows of
// exponentials, which do not wait for each other: it has the fewest steps. Its error is below 4e-7
// of the result, and below 2.2e-7 from -20 on; e^0 is 1.
template <class V>
SL_INLINE V exp_of_negative(V x) {
#if defined(__FMA__) || defined(__aarch64__)
  // Rounded once, the product with one constant is exact enough.
  x = at_least(x, all_lanes<V>(-88.0f));
  const V marked = x * 1.44269504f + kShifter;
  const V r = x - (marked - kShifter) * 0.693147181f;
  const V power = float_of((bits_of(marked) << 23) + kOneBits);
#else
  const ReducedPower<V> e(at_least(x, all_lanes<V>(-88.0f)));
  const V r = e.r, power = e.power();
#endif
  V y = r * 8.290272206e-3f + 4.189816117e-2f;
  y = y * r + 1.666763872e-1f;
  y = y * r + 4.999914765e-1f;
  y = y * r + 9.999997020e-1f;
  return (y * r + 1.0f) * power;
}

template <class V>
SL_INLINE V exp2_f32(V x) {
  x = limited(x, -151.0f, 129.0f);
  V marked = x + kShifter;
  V r = (x - (marked - kShifter)) * 0.693147181f;
  return scaled(exp_reduced(r), marked);
}

// x = f * 2^e with f in [sqrt(1/2), sqrt(2)); returns log(f) and sets the exponent e.
template <class V>
SL_INLINE V log_reduced(V x, V* exponent) {
  constexpr uint32_t kHalfRoot = 0x3f3504f3;  // bits of sqrt(1/2)
  auto tiny = x < all_lanes<V>(1.17549435e-38f);
  Bits<V> bits = bits_of(tiny ? x * 8388608.0f : x);
  Integers<V> e = (Integers<V>)(bits - kHalfRoot) >> 23;
  V f = float_of(bits - ((Bits<V>)e << 23)) - 1.0f;
  *exponent = to_floats(e) - (tiny ? all_lanes<V>(23.0f) : all_lanes<V>(0.0f));
  V p = f * -0.076444257f + 0.127784362f;
  p = p * f - 0.131645043f;
  p = p * f + 0.141998097f;
  p = p * f - 0.166227433f;
  p = p * f + 0.200012874f;
  p = p * f - 0.250008385f;
  p = p * f + 0.333333312f;
  V square = f * f;
  return f + (f * square * p - square * 0.5f);
}

template <class V>
SL_INLINE V log_special(V x, V y) {
  y = x == all_lanes<V>(0.0f) ? all_lanes<V>(-__builtin_inff()) : y;
  y = x < all_lanes<V>(0.0f) ? all_lanes<V>(__builtin_nanf("")) : y;
  // Infinity and NaN are their own logarithms.
  return x < all_lanes<V>(__builtin_inff()) ? y : x;
}

template <class V>
SL_INLINE V log_f32(V x) {
  V e;
  V y = log_reduced(x, &e);
  return log_special(x, e * 0.693359375f + (y + e * -2.12194440e-4f));
}
template <class V>
SL_INLINE V log2_f32(V x) {
  V e;
  V y = log_reduced(x, &e);
  return log_special(x, y * 1.44269504f + (y * 1.92596299e-8f + e));
}
template <class V>
SL_INLINE V log10_f32(V x) {
  V e;
  V y = log_reduced(x, &e);
  return log_special(x, e * 0.30102539f + (e * 4.6050390e-6f + y * 0.434294482f));
}

// e^x - 1 for |x| <= 87, without cancellation near 0.
template <class V>
SL_INLINE V expm1_within(V x) {
  ReducedPower<V> e(x);
  V power = e.power();
  return power * expm1_reduced(e.r) + (power - 1.0f);
}

// tanh(t) = (e^2t - 1) / (e^2t + 1); beyond 10 it is 1 in float.
template <class V>
SL_INLINE V tanh_f32(V x) {
  V y = expm1_within(at_most(absolute(x), all_lanes<V>(10.0f)) * 2.0f);
  return with_sign(y / (y + 2.0f), x);
}

// The same in two thirds of the time, with an error of 5 units in the last place, which is too much
// where 1 is subtracted from it: x times a quotient of polynomials of x^2, fitted for the least
// relative error (2e-8) from 0 to 9, beyond which it is 1 in float.
template <class V>
SL_INLINE V tanh_of_quotient(V x) {
  const V t = limited(x, -9.0f, 9.0f), square = t * t;
  V p = square * 1.3354684e-08f + 2.06090990e-05f;
  p = p * square + 3.49558913e-03f;
  p = p * square + 1.33810267e-01f;
  p = p * square + 1.0f;
  V q = square * 7.7765679e-07f + 3.28563649e-04f;
  q = q * square + 2.58769859e-02f;
  q = q * square + 4.67143416e-01f;
  q = q * square + 1.0f;
  return limited(t * p / q, -1.0f, 1.0f);
}

// erf(t) = 1 - e^q with q = log(erfc(t)), a polynomial; beyond 3.93 it is 1 in float.
template <class V>
SL_INLINE V erf_f32(V x) {
  V t = at_most(absolute(x), all_lanes<V>(3.93f));
  V square = t * t, fourth = square * square;
  V a = t * -0.6366193890571594f - 1.128379225730896f;
  V b = t * 0.019153019413352013f - 0.10277781635522842f;
  V c = t * -0.0016670972108840942f + 0.00016047057579271495f;
  V d = t * -0.00011765094677684829f + 0.0006328730378299952f;
  V q = fourth * (fourth * 9.257303645426873e-06f + (d * square + c)) + (b * square + a);
  ReducedPower<V> e(q * t);
  V power = e.power();
  return with_sign((1.0f - power) - power * expm1_reduced(e.r), x);
}

// log(1 + x), corrected for the rounding error of the sum.
template <class V>
SL_INLINE V log1p_f32(V x) {
  V u = x + 1.0f, y = log_f32(u);
  V more = y + (x - (u - 1.0f)) / u;
  y = absolute(y) < all_lanes<V>(__builtin_inff()) ? more : y;
  return x == all_lanes<V>(0.0f) ? x : y;
}

template <class V>
SL_INLINE V expm1_f32(V x) {
  V y = expm1_within(limited(x, -87.0f, 87.0f));
  y = x > all_lanes<V>(87.0f) ? exp_f32(x) : y;
  return x == all_lanes<V>(0.0f) ? x : y;
}

// x tanh(log(1 + e^x)) = x n / (n + 2) with n = e^x (e^x + 2)
template <class V>
SL_INLINE V mish_f32(V x) {
  V e = exp_f32(at_most(x, all_lanes<V>(20.0f)));
  V n = e * (e + 2.0f);
  return x > all_lanes<V>(20.0f) ? x : x * n / (n + 2.0f);
}

// 1 + e^-x. It is infinite where e^-x is, so e^-x is computed as twice 2^(n-1) e^r.
template <class V>
SL_INLINE V over_sigmoid(V x) {
  ReducedPower<V> e(-limited(x, -89.0f, 80.0f));
  constexpr uint32_t kHalfBits = kOneBits - (1u << 23);
  V half = exp_reduced(e.r) * float_of((bits_of(e.marked) << 23) + kHalfBits);
  return half * 2.0f + 1.0f;
}
template <class V>
SL_INLINE V sigmoid_f32(V x) {
  return 1.0f / over_sigmoid(x);
}
template <class V>
SL_INLINE V silu_f32(V x) {
  return x / over_sigmoid(x);
}
template <class V>
SL_INLINE V gelu_f32(V x) {
  return x * 0.5f * (erf_f32(x * 0.70710678f) + 1.0f);
}
template <class V>
SL_INLINE V gelu_tanh_f32(V x) {
  return x * 0.5f * (tanh_f32((x * x * x * 0.044715f + x) * 0.79788456f) + 1.0f);
}

// The derivative of gelu, c + x d with the normal distribution c and its density d. For x < 0 that
// is e^(-x^2/2) (p(-x) + x / sqrt(2 pi)), where p(u) = erfc(u / sqrt(2)) e^(u^2/2) / 2 is a
// polynomial; beyond 4.5 its share is less than a float can tell.
template <class V>
SL_INLINE V gelu_slope_f32(V x) {
  V u = absolute(x), t = at_most(u, all_lanes<V>(4.5f));
  V square = t * t, fourth = square * square;
  V a = t * -0.39893704652786255f + 0.4999999403953552f;
  V b = t * -0.13254593312740326f + 0.2499234676361084f;
  V c = t * -0.024416828528046608f + 0.061231646686792374f;
  V d = t * -0.0020141922868788242f + 0.008021427318453789f;
  V g = t * -3.694968472700566e-05f + 0.0003510161186568439f;
  V p = fourth * (fourth * (square * 1.7436919961255626e-06f + g) + (square * d + c)) +
        (square * b + a);
  V low = exp_of_negative(x * x * -0.5f) * (p - u * 0.39894228f);
  return x < all_lanes<V>(0.0f) ? low : 1.0f - low;
}
template <class V>
SL_INLINE V gelu_tanh_slope_f32(V x) {
  V square = x * x;
  V inner = tanh_f32((square * x * 0.044715f + x) * 0.79788456f);
  V steep = square * (3.0f * 0.044715f * 0.79788456f) + 0.79788456f;
  return (1.0f - inner * inner) * x * 0.5f * steep + (inner * 0.5f + 0.5f);
}

template <class V>
SL_INLINE V hardsigmoid_f32(V x) {
  return limited(x + 3.0f, 0.0f, 6.0f) * (1.0f / 6.0f);
}
template <class V>
SL_INLINE V hardswish_f32(V x) {
  return x * limited(x + 3.0f, 0.0f, 6.0f) * (1.0f / 6.0f);
}

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

// y[i] = f(x[i]) for a function of vectors. y may be x. Four vectors at a time, as steps of one
// vector wait for each other.
template <class F>
SL_INLINE void map_vectors(int64_t n, const float* x, float* y, F f) {
  constexpr int W = kLanes<float>;
  float few[W] = {}, *result = y;
  const int64_t count = n;
  if (n < W) {
    for (int64_t i = 0; i < n; ++i) few[i] = x[i];
    x = y = few;
    n = W;
  }
  // The last vector overlaps the one before, so it is read before y is written.
  const Vector<float> last = load(x + n - W);
  int64_t i = 0;
  for (; i + 4 * W <= n; i += 4 * W) {
    Vector<float> v[4];
    SL_UNROLL for (int j = 0; j < 4; ++j) v[j] = f(load(x + i + j * W));
    SL_UNROLL for (int j = 0; j < 4; ++j) store(y + i + j * W, v[j]);
  }
  for (; i < n; i += W) {
    const bool whole = i + W <= n;
    store(y + (whole ? i : n - W), f(whole ? load(x + i) : last));
  }
  for (i = 0; y == few && i < count; ++i) result[i] = few[i];
}

// y[i] = f(a[i], b[i]) for a function of vectors; y may be a or b.
template <class F>
SL_INLINE void map_vector_pairs(int64_t n, const float* a, const float* b, float* y, F f) {
  constexpr int W = kLanes<float>;
  int64_t i = 0;
  for (; i + 4 * W <= n; i += 4 * W) {
    Vector<float> v[4];
    SL_UNROLL for (int j = 0; j < 4; ++j) v[j] = f(load(a + i + j * W), load(b + i + j * W));
    SL_UNROLL for (int j = 0; j < 4; ++j) store(y + i + j * W, v[j]);
  }
  for (; i + W <= n; i += W) store(y + i, f(load(a + i), load(b + i)));
  if (i == n) return;
  const int rest = static_cast<int>(n - i);
  store_first(y + i, f(load_first(a + i, rest), load_first(b + i, rest)), rest);
}

// y[i] = f(x[i]) for a function of floats, in whole vectors and half a vector. The remaining
// elements are computed in a padded copy, because compilers would compute them one by one. y may
// be x.
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
