// Loops whose results do not depend on the instruction set (wrapping arithmetic, comparisons,
// rounding, selection), compiled for the vectors of each.
#include "../loops.h"
#include "convert_loops.h"
#include "entry.h"
#include "vectors.h"
#include "wide_loops.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

// A constant converted to the element type; for an integer type it is truncated and saturated.
template <class T>
SL_INLINE T constant(const double* params, int i) {
  double value = params ? params[i] : 0.0;
  if constexpr (Of<T>::kInt) {
    constexpr int kBits = 8 * static_cast<int>(sizeof(T));
    constexpr bool kSigned = T(-1) < T(0);
    constexpr T kHigh = static_cast<T>((uint64_t(1) << (kBits - kSigned)) - 1);
    constexpr T kLow = kSigned ? static_cast<T>(-kHigh - 1) : T(0);
    if (!(value > static_cast<double>(kLow))) return kLow;
    if (value >= static_cast<double>(kHigh)) return kHigh;
  }
  return static_cast<T>(value);
}

// ---- one operand

// Defines a function of an element x and three constants p, q, r of its type.
// clang-format off
#define SL_UNARY(X, name, formula)                            \
  struct U_##name {                                           \
    template <class T>                                        \
    static SL_INLINE auto apply(T x, T p, T q, T r) {         \
      (void)p, (void)q, (void)r;                              \
      using W = typename Of<T>::Wide;                         \
      (void)sizeof(W);                                        \
      return formula;                                         \
    }                                                         \
  };
// clang-format on

SL_INLINE float truncated(float x) { return __builtin_truncf(x); }
SL_INLINE double truncated(double x) { return __builtin_trunc(x); }
SL_INLINE float floored(float x) { return __builtin_floorf(x); }
SL_INLINE double floored(double x) { return __builtin_floor(x); }
SL_INLINE float ceiled(float x) { return __builtin_ceilf(x); }
SL_INLINE double ceiled(double x) { return __builtin_ceil(x); }
SL_INLINE float rounded_even(float x) { return __builtin_nearbyintf(x); }
SL_INLINE double rounded_even(double x) { return __builtin_nearbyint(x); }
SL_INLINE float root(float x) { return __builtin_sqrtf(x); }
SL_INLINE double root(double x) { return __builtin_sqrt(x); }
SL_INLINE float size_of(float x) { return __builtin_fabsf(x); }
SL_INLINE double size_of(double x) { return __builtin_fabs(x); }
SL_INLINE bool is_infinite(float x) { return size_of(x) == __builtin_inff(); }
SL_INLINE bool is_infinite(double x) { return size_of(x) == __builtin_inf(); }
SL_INLINE bool has_sign(float x) {
  int32_t bits;
  __builtin_memcpy(&bits, &x, 4);
  return bits < 0;
}
SL_INLINE bool has_sign(double x) {
  int64_t bits;
  __builtin_memcpy(&bits, &x, 8);
  return bits < 0;
}
template <class T>
SL_INLINE T clamped(T x, T low, T high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}
template <class T>
SL_INLINE T replaced(T x, T nan, T above, T below) {
  T y = x == T(__builtin_inf()) ? above : x;
  y = y == T(-__builtin_inf()) ? below : y;
  return x != x ? nan : y;
}

// clang-format off
#define SL_INT_OR_FLOAT_UNARY(X)                                              \
  X(sign, static_cast<T>((T(0) < x) - (x < T(0))))                            \
  X(relu, x < T(0) ? T(0) : x)                                                \
  X(clamp, clamped(x, p, q))                                                  \
  X(clamp_min, x < p ? p : x)                                                 \
  X(clamp_max, x > p ? p : x)                                                 \
  X(threshold, x <= p ? q : x)
#define SL_INT_UNARY(X)                                                       \
  X(neg, static_cast<T>(W(0) - static_cast<W>(x)))                            \
  X(abs, x < T(0) ? static_cast<T>(W(0) - static_cast<W>(x)) : x)             \
  X(square, static_cast<T>(static_cast<W>(x) * static_cast<W>(x)))            \
  X(bitwise_not, static_cast<T>(~x))
#define SL_FLOAT_UNARY(X)                                                     \
  X(floor, floored(x))                                                        \
  X(ceil, ceiled(x))                                                          \
  X(round, rounded_even(x))                                                   \
  X(trunc, truncated(x))                                                      \
  X(frac, x - truncated(x))                                                   \
  X(hardshrink, x >= -p && x <= p ? T(0) : x)                                 \
  X(softshrink, x > p ? x - p : x < -p ? x + p : x == x ? T(0) : x)           \
  X(nan_to_num, replaced(x, p, q, r))                                         \
  X(isnan, x != x)                                                            \
  X(isinf, is_infinite(x))                                                    \
  X(isfinite, size_of(x) < T(__builtin_inf()))                                \
  X(isposinf, x == T(__builtin_inf()))                                        \
  X(isneginf, x == T(-__builtin_inf()))                                       \
  X(signbit, has_sign(x))
#define SL_DOUBLE_UNARY(X)                                                    \
  X(sqrt, root(x))                                                            \
  X(rsqrt, T(1) / root(x))                                                    \
  X(reciprocal, T(1) / x)                                                     \
  X(neg_float, -x)                                                            \
  X(abs_float, size_of(x))                                                    \
  X(square_float, x* x)                                                       \
  X(leaky_relu, x > T(0) ? x : x * p)                                         \
  X(scale_shift, x* p + q)
// clang-format on

// clang-format off
#define X(name, formula) SL_UNARY(X, name, formula)
SL_INT_OR_FLOAT_UNARY(X)
SL_INT_UNARY(X)
SL_FLOAT_UNARY(X)
SL_DOUBLE_UNARY(X)
X(logical_not, x == T(0))
#undef X
// clang-format on

template <class T, class F>
void unary(int64_t n, void* out, const void* const* in, const int64_t* step, const double* params) {
  const T p = constant<T>(params, 0), q = constant<T>(params, 1), r = constant<T>(params, 2);
  using Out = decltype(F::apply(p, p, q, r));
  const T* a = static_cast<const T*>(in[0]);
  Out* o = static_cast<Out*>(out);
  if (n <= 0) return;
  if (step[0] == 0) {
    const Out value = F::apply(read(a), p, q, r);
    for (int64_t i = 0; i < n; ++i) o[i] = value;
    return;
  }
  SL_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) o[i] = F::apply(read(a + i), p, q, r);
}

// Clamps int8 or int16 by one loop; a missing limit is one beyond the type's range.
template <class T>
SL_NOINLINE void clamp_both(int64_t n, void* out, const void* const* in, const int64_t* step,
                            const double* limits) {
  unary<T, U_clamp>(n, out, in, step, limits);
}
template <class T, bool Low, bool High>
void clamp_small(int64_t n, void* out, const void* const* in, const int64_t* step,
                 const double* params) {
  const double limits[4] = {Low ? params[0] : -65536.0, High ? params[Low ? 1 : 0] : 65536.0};
  clamp_both<T>(n, out, in, step, limits);
}

// Negation and absolute value of 16-bit floats, by changing the sign bit.
template <uint16_t Kept, uint16_t Turned>
void turn_bits(int64_t n, void* out, const void* const* in, const int64_t* step, const double*) {
  const uint16_t* a = static_cast<const uint16_t*>(in[0]);
  uint16_t* o = static_cast<uint16_t*>(out);
  const int64_t by = step[0];
  if (by == 0) {
    for (int64_t i = 0; i < n; ++i) o[i] = static_cast<uint16_t>((a[0] & Kept) ^ Turned);
    return;
  }
  SL_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) o[i] = static_cast<uint16_t>((a[i] & Kept) ^ Turned);
}

#if defined(__AVX512F__)
// Operators of float16 computed in float32 in one pass, so that their latency overlaps with the
// conversions.
constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
SL_INLINE __m512 load_half(const uint16_t* p, __mmask16 lanes) {
  return _mm512_maskz_cvtph_ps(lanes, _mm256_maskz_loadu_epi16(lanes, p));
}
template <class F>
SL_INLINE void half_loop(int64_t n, void* out, const void* const* in, const int64_t* step, F f) {
  const uint16_t* a = static_cast<const uint16_t*>(in[0]);
  const uint16_t* b = static_cast<const uint16_t*>(in[1]);
  uint16_t* o = static_cast<uint16_t*>(out);
  const __m512 first = _mm512_maskz_cvtph_ps(0xffff, _mm256_set1_epi16(static_cast<short>(a[0])));
  const __m512 second = _mm512_maskz_cvtph_ps(0xffff, _mm256_set1_epi16(static_cast<short>(b[0])));
  for (int64_t i = 0; i < n; i += 16) {
    __mmask16 lanes = n - i >= 16 ? 0xffff : static_cast<__mmask16>((1u << (n - i)) - 1);
    __m512 x = step[0] ? load_half(a + i, lanes) : first;
    __m512 y = step[1] ? load_half(b + i, lanes) : second;
    _mm256_mask_storeu_epi16(o + i, lanes, _mm512_maskz_cvtps_ph(0xffff, f(x, y), kNearest));
  }
}
void half_sqrt(int64_t n, void* out, const void* const* in, const int64_t* step, const double*) {
  const void* both[2] = {in[0], in[0]};
  const int64_t steps[2] = {step[0], 0};
  half_loop(n, out, both, steps,
            [](__m512 x, __m512) SL_ALWAYS { return _mm512_maskz_sqrt_ps(0xffff, x); });
}
void half_div(int64_t n, void* out, const void* const* in, const int64_t* step, const double*) {
  half_loop(n, out, in, step, [](__m512 x, __m512 y) SL_ALWAYS { return _mm512_div_ps(x, y); });
}
#endif

// ---- two operands

template <class T>
SL_INLINE T sum_of(T x, T y) {
  if constexpr (Of<T>::kBool) return x || y;
  else return static_cast<T>(typename Of<T>::Wide(x) + typename Of<T>::Wide(y));
}
template <class T>
SL_INLINE T product_of(T x, T y) {
  if constexpr (Of<T>::kBool) return x && y;
  else return static_cast<T>(typename Of<T>::Wide(x) * typename Of<T>::Wide(y));
}
template <class T>
SL_INLINE T squared_difference(T x, T y) {
  using W = typename Of<T>::Wide;
  W d = W(x) - W(y);
  return static_cast<T>(d * d);
}
// Shifts by a negative number or by at least the width of the type shift out all bits.
template <class T>
SL_INLINE T shifted_left(T x, T by) {
  using W = typename Of<T>::Wide;
  constexpr W kBits = 8 * sizeof(T);
  bool inside = static_cast<W>(by) < kBits;
  return static_cast<T>(inside ? static_cast<W>(x) << (static_cast<W>(by) & (kBits - 1)) : W(0));
}
template <class T>
SL_INLINE T shifted_right(T x, T by) {
  using W = typename Of<T>::Wide;
  constexpr bool kSigned = T(-1) < T(0);
  constexpr W kBits = 8 * sizeof(T);
  bool inside = static_cast<W>(by) < kBits - (kSigned ? 1 : 0);
  T least = static_cast<T>(inside ? by : T(kBits - 1));
  return !kSigned && !inside ? T(0) : static_cast<T>(x >> least);
}

// clang-format off
#define SL_INT_OR_BOOL_BINARY(X)                          \
  X(add, sum_of(x, y))                                    \
  X(mul, product_of(x, y))                                \
  X(add_scaled, sum_of(x, product_of(alpha, y)))          \
  X(bitwise_and, static_cast<T>(x & y))                   \
  X(bitwise_or, static_cast<T>(x | y))                    \
  X(bitwise_xor, static_cast<T>(x ^ y))
#define SL_INT_BINARY(X)                                  \
  X(sub, static_cast<T>(W(x) - W(y)))                     \
  X(squared_difference, squared_difference(x, y))         \
  X(lshift, shifted_left(x, y))                           \
  X(rshift, shifted_right(x, y))
#define SL_NO_NAN_BINARY(X)                               \
  X(maximum, x > y ? x : y)                               \
  X(minimum, x < y ? x : y)                               \
  X(fmax, x > y ? x : y)                                  \
  X(fmin, x < y ? x : y)
#define SL_FLOAT_BINARY(X)                                \
  X(float_fmax, x >= y || y != y ? x : y)                 \
  X(float_fmin, x <= y || y != y ? x : y)
#define SL_COMPARISONS(X)                                 \
  X(eq, x == y)                                           \
  X(ne, x != y)                                           \
  X(lt, x < y)                                            \
  X(le, x <= y)                                           \
  X(gt, x > y)                                            \
  X(ge, x >= y)
#define SL_LOGICAL(X)                                     \
  X(logical_and, (x != T(0)) & (y != T(0)))               \
  X(logical_or, (x != T(0)) | (y != T(0)))                \
  X(logical_xor, (x != T(0)) ^ (y != T(0)))
// clang-format on

// Out is the type of the result.
#define SL_BINARY(name, formula, Out)               \
  struct B_##name {                                 \
    template <class T>                              \
    static SL_INLINE Out apply(T x, T y, T alpha) { \
      (void)alpha;                                  \
      using W = typename Of<T>::Wide;               \
      (void)sizeof(W);                              \
      return formula;                               \
    }                                               \
  };
// clang-format off
#define X(name, formula) SL_BINARY(name, formula, T)
SL_INT_OR_BOOL_BINARY(X)
SL_INT_BINARY(X)
SL_NO_NAN_BINARY(X)
SL_FLOAT_BINARY(X)
#undef X
#define X(name, formula) SL_BINARY(name, formula, bool)
SL_COMPARISONS(X)
SL_LOGICAL(X)
#undef X
// clang-format on

// The factor of add_scaled and others. Integer types read it from the second slot, which holds it
// exactly as an int64.
template <class T>
SL_INLINE T factor(const double* params) {
  if (!params) return T(1);
  if constexpr (Of<T>::kInt || Of<T>::kBool) {
    int64_t exact;
    __builtin_memcpy(&exact, params + 1, sizeof exact);
    return static_cast<T>(exact);
  } else {
    return static_cast<T>(params[0]);
  }
}

template <class T, class F>
void binary(int64_t n, void* out, const void* const* in, const int64_t* step,
            const double* params) {
  const T alpha = factor<T>(params);
  using Out = decltype(F::apply(alpha, alpha, alpha));
  const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
  Out* o = static_cast<Out*>(out);
  if (n <= 0) return;
  if (step[0] == 0) {
    const T x = read(a);
    if (step[1] == 0) {
      const Out value = F::apply(x, read(b), alpha);
      for (int64_t i = 0; i < n; ++i) o[i] = value;
      return;
    }
    SL_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) o[i] = F::apply(x, read(b + i), alpha);
  } else if (step[1] == 0) {
    const T y = read(b);
    SL_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) o[i] = F::apply(read(a + i), y, alpha);
  } else {
    SL_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) o[i] = F::apply(read(a + i), read(b + i), alpha);
  }
}

// ---- three operands

template <class T>
SL_INLINE T between(T x, T y, T weight) {
  // Interpolates from the nearer end, so that it is exact at both.
  bool nearer = (weight < T(0) ? -weight : weight) < T(0.5);
  return (nearer ? x : y) + (y - x) * (nearer ? weight : -(T(1) - weight));
}
template <class T>
SL_INLINE T clamped_between(T x, T low, T high) {
  T y = clamped(x, low, high);
  if constexpr (!Of<T>::kInt) {
    y = high != high ? high : y;
    y = low != low ? low : y;
  }
  return y;
}
#define X(name, formula)                               \
  struct T_##name {                                    \
    template <class T>                                 \
    static SL_INLINE T apply(T x, T y, T z, T scale) { \
      using W = typename Of<T>::Wide;                  \
      (void)sizeof(W), (void)scale;                    \
      return formula;                                  \
    }                                                  \
  };
X(lerp, between(x, y, z))
X(addcmul, static_cast<T>(W(x) + W(scale) * W(y) * W(z)))
X(addcdiv, x + scale * (y / z))
X(clamp_tensor, clamped_between(x, y, z))
#undef X

template <class T, class F>
void ternary(int64_t n, void* out, const void* const* in, const int64_t* step,
             const double* params) {
  const T scale = factor<T>(params);
  const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
  const T* c = static_cast<const T*>(in[2]);
  T* o = static_cast<T*>(out);
  if (n <= 0) return;
  if (step[0] && step[1] && step[2]) {
    SL_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) o[i] = F::apply(a[i], b[i], c[i], scale);
  } else if (step[0] && step[1]) {
    const T z = c[0];
    SL_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) o[i] = F::apply(a[i], b[i], z, scale);
  } else if (step[0] && !step[2]) {
    const T y = b[0], z = c[0];
    SL_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) o[i] = F::apply(a[i], y, z, scale);
  } else {
    for (int64_t i = 0; i < n; ++i) {
      o[i] = F::apply(a[i * step[0]], b[i * step[1]], c[i * step[2]], scale);
    }
  }
}

// ---- the tables

template <class Op>
constexpr int number(Op op) {
  return static_cast<int>(op);
}

// int8 and int16 are rare: except for clamping, they use the portable loops, which saves code.
#define SL_EACH_INT(X, name) X(name, uint8_t) X(name, int32_t) X(name, int64_t)
#define SL_EACH_FLOAT(X, name) X(name, float) X(name, double)

constexpr FastLoop kUnaryLoops[] = {
#define ROW(name, type) {number(Unary::k_##name), scalar_type<type>(), &unary<type, U_##name>},
// clang-format off
#define X(name, formula) SL_EACH_INT(ROW, name)
    SL_INT_OR_FLOAT_UNARY(X) SL_INT_UNARY(X) X(logical_not, )
#undef X
#define X(name, formula) SL_EACH_FLOAT(ROW, name)
    SL_FLOAT_UNARY(X) X(logical_not, )
#undef X
#define X(name, formula) ROW(name, double)
    SL_INT_OR_FLOAT_UNARY(X)
#undef X
    // clang-format on
    ROW(sign, float) ROW(threshold, float) ROW(logical_not, bool) ROW(sqrt, double)
        ROW(rsqrt, double) ROW(reciprocal, double) ROW(leaky_relu, double) ROW(scale_shift, double)
#undef ROW
            {number(Unary::k_bitwise_not), ScalarType::Bool, &unary<bool, U_logical_not>},
// clang-format off
#define X(name) {number(Unary::k_##name), ScalarType::Float64, &full_##name},
    SL_FULL_UNARY_NAMES(X)
#undef X
#define X(name)                                                            \
    {number(Unary::k_##name), ScalarType::Float32, &special_##name##_float}, \
    {number(Unary::k_##name), ScalarType::Float64, &special_##name##_double},
    SL_BLOCK_UNARY_NAMES(X)
#undef X
    // clang-format on
    {number(Unary::k_erfinv), ScalarType::Float64, &special_erfinv_double},
    {number(Unary::k_lgamma), ScalarType::Float64, &special_lgamma_double},
#define ROW(type, name)                                                                \
  {number(Unary::k_clamp), ScalarType::name, &clamp_small<type, true, true>},          \
      {number(Unary::k_clamp_min), ScalarType::name, &clamp_small<type, true, false>}, \
      {number(Unary::k_clamp_max), ScalarType::name, &clamp_small<type, false, true>},
    ROW(int8_t, Int8) ROW(int16_t, Int16)
#undef ROW
        {number(Unary::k_neg), ScalarType::Float16, &turn_bits<0xffff, 0x8000>},
    {number(Unary::k_neg), ScalarType::BFloat16, &turn_bits<0xffff, 0x8000>},
    {number(Unary::k_abs), ScalarType::Float16, &turn_bits<0x7fff, 0>},
    {number(Unary::k_abs), ScalarType::BFloat16, &turn_bits<0x7fff, 0>},
#if defined(__AVX512F__)
    {number(Unary::k_sqrt), ScalarType::Float16, &half_sqrt},
#endif
    {number(Unary::k_neg), ScalarType::Float64, &unary<double, U_neg_float>},
    {number(Unary::k_abs), ScalarType::Float64, &unary<double, U_abs_float>},
    {number(Unary::k_square), ScalarType::Float64, &unary<double, U_square_float>},
};

constexpr FastLoop kBinaryLoops[] = {
#define ROW(name, type) {number(Binary::k_##name), scalar_type<type>(), &binary<type, B_##name>},
// clang-format off
#define X(name, formula) SL_EACH_INT(ROW, name)
    SL_INT_OR_BOOL_BINARY(X) SL_INT_BINARY(X) SL_NO_NAN_BINARY(X) SL_COMPARISONS(X) SL_LOGICAL(X)
#undef X
#define X(name, formula) ROW(name, bool)
    SL_INT_OR_BOOL_BINARY(X) SL_NO_NAN_BINARY(X) SL_COMPARISONS(X) SL_LOGICAL(X)
#undef X
#define X(name, formula) ROW(name, double)
    SL_COMPARISONS(X) SL_LOGICAL(X)
#undef X
#define X(name, formula) ROW(name, float)
    SL_LOGICAL(X)
#undef X
// clang-format on
#undef ROW
#if defined(__AVX512F__)
                    {number(Binary::k_div), ScalarType::Float16, &half_div},
#endif
// clang-format off
#define X(name)                                                             \
    {number(Binary::k_##name), ScalarType::Float32, &special_##name##_float}, \
    {number(Binary::k_##name), ScalarType::Float64, &special_##name##_double},
    SL_BLOCK_BINARY_NAMES(X)
#undef X
    // clang-format on
    {number(Binary::k_fmax), ScalarType::Float32, &binary<float, B_float_fmax>},
    {number(Binary::k_fmin), ScalarType::Float32, &binary<float, B_float_fmin>},
    {number(Binary::k_fmax), ScalarType::Float64, &binary<double, B_float_fmax>},
    {number(Binary::k_fmin), ScalarType::Float64, &binary<double, B_float_fmin>},
};

constexpr FastLoop kTernaryLoops[] = {
#define ROW(name, type) {number(Ternary::k_##name), scalar_type<type>(), &ternary<type, T_##name>},
    SL_EACH_FLOAT(ROW, lerp) SL_EACH_FLOAT(ROW, addcmul) SL_EACH_FLOAT(ROW, addcdiv)
        SL_EACH_FLOAT(ROW, clamp_tensor) SL_EACH_INT(ROW, addcmul) SL_EACH_INT(ROW, clamp_tensor)
#undef ROW
};

// clang-format off
#define SL_CONVERTED(X, from)                                                             \
  X(uint8_t, from) X(int8_t, from) X(int32_t, from) X(int64_t, from) X(float, from)       \
  X(double, from) X(bool, from)
// clang-format on
constexpr FastConvert kConverts[] = {
// clang-format off
#define X(to, from)                                                                   \
  {scalar_type<to>(), scalar_type<from>(),                                            \
   is_converted(scalar_type<to>()) && is_converted(scalar_type<from>()) ? &convert<to, from> \
                                                                        : nullptr},
    SL_CONVERTED(X, uint8_t) SL_CONVERTED(X, int8_t) SL_CONVERTED(X, int32_t)
    SL_CONVERTED(X, int64_t) SL_CONVERTED(X, float) SL_CONVERTED(X, double) SL_CONVERTED(X, bool)
#undef X
    // clang-format on
};

template <class T, int N>
constexpr Listed<T> listed(const T (&all)[N]) {
  return {all, N};
}

}  // namespace

#if !defined(SL_ONE_ISA)
const PlainLoops plain_loops{listed(kUnaryLoops), listed(kBinaryLoops), listed(kTernaryLoops),
                             listed(kConverts)};
#else
const PlainLoops plain_loops{{}, {}, {}, listed(kConverts)};
SL_PLAIN_ROWS
#endif

}  // namespace scriptlang::kernels::SL_ISA
