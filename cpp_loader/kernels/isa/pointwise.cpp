// Pointwise loops of float32 that profit from wide vectors.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__AVX512F__)
// Mixes the steps of neighbouring vectors: GCC leaves that to the processor on x86, which looks
// ahead no further than two of them.
#pragma GCC optimize("schedule-insns,sched-pressure")
#endif
#include "../loops.h"
#include "entry.h"
#include "math_avx512.h"
#include "math_f32.h"
#include "wide_loops.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

// `f` takes floats, and vectors if it is `OfVectors`.
template <bool OfVectors, class F>
SL_INLINE void unary_loop(int64_t n, void* out, const void* const* in, const int64_t* step, F f) {
  const float* a = static_cast<const float*>(in[0]);
  float* o = static_cast<float*>(out);
  if (step[0] == 0) {
    float value = n > 0 ? f(a[0]) : 0.0f;
    for (int64_t i = 0; i < n; ++i) o[i] = value;
    return;
  }
  if constexpr (OfVectors) map_vectors(n, a, o, f);
  else map_f32(n, a, o, f);
}

template <class T, class F>
SL_INLINE void binary_loop(int64_t n, void* out, const void* const* in, const int64_t* step, F f) {
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  T* o = static_cast<T*>(out);
  if (n <= 0) return;
  if (step[0] == 0) {
    T x = a[0];
    if (step[1] == 0) {
      T value = f(x, b[0]);
      for (int64_t i = 0; i < n; ++i) o[i] = value;
      return;
    }
    SL_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) o[i] = f(x, b[i]);
  } else if (step[1] == 0) {
    T y = b[0];
    SL_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) o[i] = f(a[i], y);
  } else {
    SL_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) o[i] = f(a[i], b[i]);
  }
}

// X(name, formula of x and the constants p, q, r), for a float or a vector of floats
// clang-format off
#define SL_VECTOR_UNARY(X)                                                        \
  X(exp, exp_f32(x))                                                              \
  X(exp2, exp2_f32(x))                                                            \
  X(log, log_f32(x))                                                              \
  X(log2, log2_f32(x))                                                            \
  X(log10, log10_f32(x))                                                          \
  X(tanh, tanh_of_quotient(x))                                                    \
  X(erf, erf_f32(x))                                                              \
  X(sigmoid, sigmoid_f32(x))                                                      \
  X(silu, silu_f32(x))                                                            \
  X(gelu, gelu_f32(x))                                                            \
  X(gelu_tanh, gelu_tanh_f32(x))                                                  \
  X(hardsigmoid, hardsigmoid_f32(x))                                              \
  X(hardswish, hardswish_f32(x))                                                  \
  X(elu, x > all_lanes<V>(0.0f) ? x * q : expm1_f32(x * r) * p * q)               \
  X(expm1, expm1_f32(x))                                                          \
  X(log1p, log1p_f32(x))                                                          \
  X(softplus, x* p > all_lanes<V>(q) ? x : log1p_f32(exp_f32(x* p)) / p)          \
  X(log_sigmoid, at_most(x, all_lanes<V>(0.0f)) - log1p_f32(exp_f32(-absolute(x)))) \
  X(mish, mish_f32(x))                                                            \
  X(logit, log_f32(odds(x, p)))
// The same of formulas that compilers vectorise well, for a float
#define SL_SCALAR_UNARY(X)                                                     \
  X(sqrt, __builtin_sqrtf(x))                                                  \
  X(rsqrt, 1.0f / __builtin_sqrtf(x))                                          \
  X(reciprocal, 1.0f / x)                                                      \
  X(abs, absolute(x))                                                          \
  X(neg, -x)                                                                   \
  X(square, x* x)                                                              \
  X(relu, x < 0.0f ? 0.0f : x)                                                 \
  X(leaky_relu, x > 0.0f ? x : x * p)                                          \
  X(clamp, clamp(x, p, q))                                                     \
  X(clamp_min, x < p ? p : x)                                                  \
  X(clamp_max, x > p ? p : x)                                                  \
  X(scale_shift, x* p + q)
#define SL_FAST_UNARY(X) SL_VECTOR_UNARY(X) SL_SCALAR_UNARY(X)
// clang-format on

SL_INLINE float clamp(float x, float low, float high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}
// x / (1 - x), with x limited to [eps, 1 - eps] unless eps is negative. If these cross, eps counts.
template <class V>
SL_INLINE V odds(V x, float eps) {
  const V least = all_lanes<V>(eps);
  const V inside = x < least ? least : at_most(x, all_lanes<V>(1.0f - eps));
  if (eps >= 0.0f) x = inside;
  return x / (1.0f - x);
}

// clang-format off
#define SL_LOOP(of_vectors, name, formula)                                                     \
  void loop_##name(int64_t n, void* out, const void* const* in, const int64_t* step,           \
                   const double* params) {                                                     \
    [[maybe_unused]] const float p = params ? static_cast<float>(params[0]) : 0.0f;            \
    [[maybe_unused]] const float q = params ? static_cast<float>(params[1]) : 0.0f;            \
    [[maybe_unused]] const float r = params ? static_cast<float>(params[2]) : 0.0f;            \
    unary_loop<of_vectors>(n, out, in, step, [=](auto x) SL_ALWAYS {                           \
      [[maybe_unused]] typedef decltype(x) V;                                                  \
      return formula;                                                                          \
    });                                                                                        \
  }
#define X(name, formula) SL_LOOP(true, name, formula)
SL_VECTOR_UNARY(X)
#undef X
#define X(name, formula) SL_LOOP(false, name, formula)
SL_SCALAR_UNARY(X)
#undef X
#undef SL_LOOP
// clang-format on

template <int Quarter>
void loop_sine(int64_t n, void* out, const void* const* in, const int64_t* step, const double*) {
  reduced(
      n, out, in, step,
      [](int64_t count, const float* x, float* o) SL_ALWAYS {
        for (int64_t i = 0; i < count; ++i) o[i] = sine_shifted(x[i], Quarter);
      },
      [](float v) { return Quarter ? __builtin_cosf(v) : __builtin_sinf(v); });
}

template <class T>
SL_INLINE T rounded_corner(T difference, T edge, T inner) {
  T distance = difference < T(0) ? -difference : difference;
  T near = distance > edge ? edge : distance;
  return near * (distance + distance - near) * inner;
}

// X(name, formula of x, y and the constants p and q)
// clang-format off
#define SL_FAST_BINARY(X)                                  \
  X(add, x + y)                                            \
  X(sub, x - y)                                            \
  X(mul, x* y)                                             \
  X(div, x / y)                                            \
  X(add_scaled, x + y * p)                                 \
  X(maximum, x != x ? x : y != y ? y : x > y ? x : y)      \
  X(minimum, x != x ? x : y != y ? y : x < y ? x : y)      \
  X(prelu, x > T(0) ? x : x * y)                           \
  X(squared_difference, (x - y) * (x - y))                 \
  X(rounded_corner, rounded_corner(x - y, p, q))
// clang-format on

// clang-format off
#define X(name, formula)                                                                       \
  template <class T>                                                                           \
  void loop_##name##_pair(int64_t n, void* out, const void* const* in, const int64_t* step,    \
                          const double* params) {                                              \
    [[maybe_unused]] const T p = params ? static_cast<T>(params[0]) : T(0);                    \
    [[maybe_unused]] const T q = params ? static_cast<T>(params[1]) : T(0);                    \
    binary_loop<T>(n, out, in, step, [=](T x, T y) { return formula; });                       \
  }
SL_FAST_BINARY(X)
#undef X
// clang-format on

// Gradients of activations: the gradient of the result, times the slope.
template <class F>
SL_INLINE void slope_loop(int64_t n, void* out, const void* const* in, const int64_t* step, F f) {
  const float *g = static_cast<const float*>(in[0]), *x = static_cast<const float*>(in[1]);
  float* o = static_cast<float*>(out);
  if (step[0] == 1 && step[1] == 1) {
    typedef Vector<float> V;
    map_vector_pairs(n, g, x, o, [=](V grad, V at) SL_ALWAYS { return grad * f(at); });
    return;
  }
  for (int64_t i = 0; i < n; ++i) o[i] = g[i * step[0]] * f(x[i * step[1]]);
}
// clang-format off
#define SL_SLOPES(X) X(gelu) X(gelu_tanh)
#define X(name)                                                                                \
  void loop_##name##_back(int64_t n, void* out, const void* const* in, const int64_t* step,    \
                          const double*) {                                                     \
    slope_loop(n, out, in, step, [](auto x) SL_ALWAYS { return name##_slope_f32(x); });        \
  }
SL_SLOPES(X)
#undef X
// clang-format on

template <class F>
SL_INLINE void compare_loop(int64_t n, void* out, const void* const* in, const int64_t* step, F f) {
  const float *a = static_cast<const float*>(in[0]), *b = static_cast<const float*>(in[1]);
  uint8_t* o = static_cast<uint8_t*>(out);
  if (n <= 0) return;
  if (step[0] == 0) {
    const float x = a[0];
    SL_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) o[i] = f(x, b[i * step[1]]);
  } else if (step[1] == 0) {
    const float y = b[0];
    SL_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) o[i] = f(a[i], y);
  } else {
    SL_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) o[i] = f(a[i], b[i]);
  }
}
// clang-format off
#define SL_FAST_COMPARE(X) \
  X(eq, x == y) X(ne, x != y) X(lt, x < y) X(le, x <= y) X(gt, x > y) X(ge, x >= y)
// clang-format on
// clang-format off
#define X(name, formula)                                                                        \
  void compare_##name(int64_t n, void* out, const void* const* in, const int64_t* step,         \
                      const double*) {                                                          \
    compare_loop(n, out, in, step, [](float x, float y) -> uint8_t { return formula; });        \
  }
SL_FAST_COMPARE(X)
#undef X
// clang-format on

// Selects the bits of y where the condition is true, of z elsewhere.
template <class T>
void where_loop(int64_t n, void* out, const void* const* in, const int64_t* step, const double*) {
  const uint8_t* c = static_cast<const uint8_t*>(in[0]);
  const T *y = static_cast<const T*>(in[1]), *z = static_cast<const T*>(in[2]);
  T* o = static_cast<T*>(out);
  if (n <= 0) return;
  auto chosen = [](uint8_t c, T y, T z) SL_ALWAYS {
    T mask = static_cast<T>(0) - static_cast<T>(c != 0);
    return static_cast<T>((y & mask) | (z & ~mask));
  };
  if (step[0] == 0) {
    const T* from = c[0] ? y : z;
    int64_t by = step[c[0] ? 1 : 2];
    for (int64_t i = 0; i < n; ++i) o[i] = from[i * by];
  } else if (step[1] == 0) {
    const T one = y[0];
    if (step[2] == 0) {
      const T other = z[0];
      SL_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) o[i] = chosen(c[i], one, other);
    } else {
      SL_INDEPENDENT
      for (int64_t i = 0; i < n; ++i) o[i] = chosen(c[i], one, z[i]);
    }
  } else if (step[2] == 0) {
    const T other = z[0];
    SL_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) o[i] = chosen(c[i], y[i], other);
  } else {
    SL_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) o[i] = chosen(c[i], y[i], z[i]);
  }
}

#if defined(__F16C__)
void from_half(int64_t n, float* to, const uint16_t* from) {
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16) {
    __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    _mm512_storeu_ps(to + i, _mm512_maskz_cvtph_ps(0xffff, v));
  }
#endif
  for (; i + 8 <= n; i += 8) {
    __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(v));
  }
  for (; i < n; ++i) to[i] = _cvtsh_ss(from[i]);
}
void to_half(int64_t n, uint16_t* to, const float* from) {
  constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
  int64_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= n; i += 16) {
    __m256i v = _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(from + i), kNearest);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), v);
  }
#endif
  for (; i + 8 <= n; i += 8) {
    __m128i v = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), kNearest);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), v);
  }
  for (; i < n; ++i) to[i] = _cvtss_sh(from[i], kNearest);
}
#elif defined(__aarch64__)
void from_half(int64_t n, float* to, const uint16_t* from) {
  const __fp16* halves = reinterpret_cast<const __fp16*>(from);
  for (int64_t i = 0; i < n; ++i) to[i] = halves[i];
}
void to_half(int64_t n, uint16_t* to, const float* from) {
  __fp16* halves = reinterpret_cast<__fp16*>(to);
  for (int64_t i = 0; i < n; ++i) halves[i] = from[i];
}
#endif
void from_bfloat(int64_t n, float* to, const uint16_t* from) {
  for (int64_t i = 0; i < n; ++i) { to[i] = float_of(static_cast<uint32_t>(from[i]) << 16); }
}
void to_bfloat(int64_t n, uint16_t* to, const float* from) {
  for (int64_t i = 0; i < n; ++i) {
    uint32_t u = bits_of(from[i]);
    uint32_t nan = (u >> 16) | 0x40, near = (u + 0x7fff + ((u >> 16) & 1)) >> 16;
    to[i] = static_cast<uint16_t>((u & 0x7fffffff) > 0x7f800000 ? nan : near);
  }
}

#if defined(__AVX512F__)
// X(name, formula of x and the constants p, q, r). These replace the loops above.
// clang-format off
#define SL_WIDE_UNARY(X)                        \
  X(exp, exp_512(x))                            \
  X(exp2, exp2_512(x))                          \
  X(expm1, expm1_512(x))                        \
  X(log, log_512(x))                            \
  X(log1p, log1p_512(x))                        \
  X(tanh, tanh_512(x))                          \
  X(erf, erf_512(x))                            \
  X(erfc, erfc_512(x))                          \
  X(atanh, atanh_512(x))                        \
  X(sigmoid, sigmoid_512(x))                    \
  X(silu, silu_512(x))                          \
  X(gelu, gelu_512(x))                          \
  X(gelu_tanh, gelu_tanh_512(x))                \
  X(mish, mish_512(x))                          \
  X(logit, log_512(odds_512(x, p)))             \
  X(atan, atan_512(x))                          \
  X(softplus, softplus_512(x, p, q))            \
  X(log_sigmoid, log_sigmoid_512(x))            \
  X(elu, elu_512(x, p, q, r))
// clang-format on

SL_INLINE F16 odds_512(F16 x, F16 eps) {
  __mmask16 limited = _mm512_cmp_ps_mask(eps, all(0.0f), _CMP_GE_OQ);
  F16 top = _mm512_sub_ps(all(1.0f), eps);
  __mmask16 low = _mm512_mask_cmp_ps_mask(limited, x, eps, _CMP_LT_OQ);
  x = _mm512_mask_mov_ps(_mm512_mask_min_ps(x, limited, top, x), low, eps);
  return _mm512_div_ps(x, _mm512_sub_ps(all(1.0f), x));
}

// clang-format off
#define X(name, formula)                                                                       \
  void wide_##name(int64_t n, void* out, const void* const* in, const int64_t* step,           \
                   const double* params) {                                                     \
    [[maybe_unused]] const F16 p = all(params ? static_cast<float>(params[0]) : 0.0f);         \
    [[maybe_unused]] const F16 q = all(params ? static_cast<float>(params[1]) : 0.0f);         \
    [[maybe_unused]] const F16 r = all(params ? static_cast<float>(params[2]) : 0.0f);         \
    wide_loop(n, out, in, step, [=](F16 x) __attribute__((always_inline)) { return formula; }); \
  }
template <class F>
SL_INLINE void wide_loop(int64_t n, void* out, const void* const* in, const int64_t* step, F f) {
  const float* a = static_cast<const float*>(in[0]);
  float* o = static_cast<float*>(out);
  if (step[0] != 0) {
    map_512(n, a, o, f);
    return;
  }
  F16 value = f(all(a[0]));
  float lanes[16];
  _mm512_storeu_ps(lanes, value);
  for (int64_t i = 0; i < n; ++i) o[i] = lanes[0];
}
SL_WIDE_UNARY(X)
#undef X
// clang-format on

// Computes periodic functions with a short reduction; vectors with larger arguments go through
// double.
template <class F>
SL_INLINE void wide_turns(int64_t n, void* out, const void* const* in, const int64_t* step,
                          float short_below, Loop by_double, F f) {
  if (step[0] == 0) {
    by_double(n, out, in, step, nullptr);
    return;
  }
  const float* a = static_cast<const float*>(in[0]);
  float* o = static_cast<float*>(out);
  for (int64_t i = 0; i < n; i += 16) {
    __mmask16 lanes = first_lanes(0.f, static_cast<int>(min_of(n - i, 16)));
    F16 x = _mm512_maskz_loadu_ps(lanes, a + i);
    __mmask16 is_short = _mm512_cmp_ps_mask(magnitude(x), all(short_below), _CMP_LT_OQ);
    if (__builtin_expect(is_short == 0xffff, 1)) {
      _mm512_mask_storeu_ps(o + i, lanes, f(x));
      continue;
    }
    const void* at[1] = {a + i};
    by_double(min_of(n - i, 16), o + i, at, step, nullptr);
  }
}
template <int Quarter>
void wide_sine(int64_t n, void* out, const void* const* in, const int64_t* step, const double*) {
  wide_turns(n, out, in, step, kShortSine, &loop_sine<Quarter>,
             [](F16 x) SL_ALWAYS { return sine_512(x, Quarter); });
}
void wide_tan(int64_t n, void* out, const void* const* in, const int64_t* step, const double*) {
  wide_turns(n, out, in, step, kShortTangent, &double_tan,
             [](F16 x) SL_ALWAYS { return tan_512(x); });
}
#endif

// Activations of a tile, which load the constants of a formula once for all rows.
// clang-format off
#define SL_FINISH(X)                                                                            \
  X(sigmoid) X(silu) X(gelu) X(gelu_tanh) X(hardswish) X(hardsigmoid) X(tanh)
// clang-format on
#if defined(__AVX512F__)
// Whole vectors are loaded without a mask: after a masked store, a masked load of the same address
// would stall.
template <class F>
SL_INLINE void finish_rows(const float* from, int64_t from_row, float* to, int64_t to_row,
                           int64_t rows, int64_t columns, Loop, F f) {
  if (rows == 1) return map_512(columns, from, to, f);
  int64_t j = 0;
  for (; j + 16 <= columns; j += 16) {
    const float* x = from + j;
    float* y = to + j;
    int64_t r = 0;
    for (; r + 2 <= rows; r += 2, x += 2 * from_row, y += 2 * to_row) {
      F16 a = f(_mm512_loadu_ps(x)), b = f(_mm512_loadu_ps(x + from_row));
      _mm512_storeu_ps(y, a);
      _mm512_storeu_ps(y + to_row, b);
    }
    if (r < rows) _mm512_storeu_ps(y, f(_mm512_loadu_ps(x)));
  }
  if (j == columns) return;
  __mmask16 lanes = first_lanes(0.f, static_cast<int>(columns - j));
  for (int64_t r = 0; r < rows; ++r) {
    F16 x = _mm512_maskz_loadu_ps(lanes, from + r * from_row + j);
    _mm512_mask_storeu_ps(to + r * to_row + j, lanes, f(x));
  }
}
SL_INLINE F16 hardsigmoid_512(F16 x) {
  F16 low = at_most(at_least(_mm512_add_ps(x, all(3.0f)), 0.0f), 6.0f);
  return _mm512_mul_ps(low, all(1.0f / 6.0f));
}
SL_INLINE F16 hardswish_512(F16 x) {
  F16 low = at_most(at_least(_mm512_add_ps(x, all(3.0f)), 0.0f), 6.0f);
  return _mm512_mul_ps(_mm512_mul_ps(x, low), all(1.0f / 6.0f));
}
#define SL_FINISH_FUNCTION(name) [](F16 x) SL_ALWAYS { return name##_512(x); }
#else
// Rows of whole vectors are computed four vectors at a time, like those of map_vectors; the others
// by `loop`.
template <class F>
SL_INLINE void finish_rows(const float* from, int64_t from_row, float* to, int64_t to_row,
                           int64_t rows, int64_t columns, Loop loop, F f) {
  constexpr int W = kLanes<float>;
  if (rows == 1 || columns % W != 0) {
    const int64_t step[1] = {1};
    for (int64_t r = 0; r < rows; ++r) {
      const void* in[1] = {from + r * from_row};
      loop(columns, to + r * to_row, in, step, nullptr);
    }
    return;
  }
  int64_t left = rows * (columns / W), column = 0;
  while (left > 0) {
    Vector<float> v[4];
    float* at[4];
    SL_UNROLL for (int j = 0; j < 4; ++j) {
      v[j] = load(from + column);
      at[j] = to + column;
      if (--left <= 0) continue;  // the last vector fills the places of those that are missing
      column += W;
      if (column == columns) {
        column = 0;
        from += from_row;
        to += to_row;
      }
    }
    SL_UNROLL for (int j = 0; j < 4; ++j) v[j] = f(v[j]);
    SL_UNROLL for (int j = 0; j < 4; ++j) store(at[j], v[j]);
  }
}
#define SL_FINISH_FUNCTION(name) [](Vector<float> x) SL_ALWAYS { return name##_f32(x); }
#endif
// clang-format off
#define X(name)                                                                                \
  void finish_##name(const float* from, int64_t from_row, float* to, int64_t to_row,           \
                     int64_t rows, int64_t columns) {                                          \
    finish_rows(from, from_row, to, to_row, rows, columns, &loop_##name,                       \
                SL_FINISH_FUNCTION(name));                                                     \
  }
SL_FINISH(X)
#undef X
#undef SL_FINISH_FUNCTION
// clang-format on

constexpr FastLoops make_loops() {
  FastLoops loops{};
  // clang-format off
#define X(name) loops.unary_f32[static_cast<int>(Unary::k_##name)] = &double_##name;
  SL_DOUBLE_UNARY_NAMES(X)
#undef X
#define X(name) loops.binary_f32[static_cast<int>(Binary::k_##name)] = &double_##name;
  SL_DOUBLE_BINARY_NAMES(X)
#undef X
#define X(name, formula) loops.unary_f32[static_cast<int>(Unary::k_##name)] = &loop_##name;
  SL_FAST_UNARY(X)
#undef X
  // clang-format on
  loops.unary_f32[static_cast<int>(Unary::k_sin)] = &loop_sine<0>;
  loops.unary_f32[static_cast<int>(Unary::k_cos)] = &loop_sine<1>;
#if defined(__AVX512F__)
  // clang-format off
#define X(name, formula) loops.unary_f32[static_cast<int>(Unary::k_##name)] = &wide_##name;
  SL_WIDE_UNARY(X)
#undef X
  // clang-format on
  loops.unary_f32[static_cast<int>(Unary::k_sin)] = &wide_sine<0>;
  loops.unary_f32[static_cast<int>(Unary::k_cos)] = &wide_sine<1>;
  loops.unary_f32[static_cast<int>(Unary::k_tan)] = &wide_tan;
#endif
  // clang-format off
#define X(name, formula)                                                                       \
  loops.binary_f32[static_cast<int>(Binary::k_##name)] = &loop_##name##_pair<float>;           \
  loops.binary_f64[static_cast<int>(Binary::k_##name)] = &loop_##name##_pair<double>;
  SL_FAST_BINARY(X)
#undef X
#define X(name, formula) loops.binary_f32[static_cast<int>(Binary::k_##name)] = &compare_##name;
  SL_FAST_COMPARE(X)
#undef X
#define X(name) \
  loops.binary_f32[static_cast<int>(Binary::k_##name##_back)] = &loop_##name##_back;
  SL_SLOPES(X)
#undef X
  // clang-format on
  loops.where_4 = &where_loop<uint32_t>;
  loops.where_8 = &where_loop<uint64_t>;
  return loops;
}

constexpr FinishLoops make_finish() {
  FinishLoops loops{};
  // clang-format off
#define X(name) loops.at[static_cast<int>(Unary::k_##name)] = &finish_##name;
  SL_FINISH(X)
#undef X
  // clang-format on
  return loops;
}

constexpr FastLoops fast_loops_value = make_loops();
constexpr FinishLoops finish_loops_value = make_finish();

}  // namespace

#if defined(__F16C__) || defined(__aarch64__)
const HalfLoops half_loops{&from_half, &to_half, &from_bfloat, &to_bfloat};
#else
const HalfLoops half_loops{nullptr, nullptr, &from_bfloat, &to_bfloat};
#endif
const FinishLoops finish_loops = finish_loops_value;
#if !defined(SL_ONE_ISA)
const FastLoops fast_loops = fast_loops_value;
#else
constexpr LoopRow row_of(Loop f32, Loop f64) {
  LoopRow row;
  if (is_kept(ScalarType::Float32)) row.at[static_cast<int>(ScalarType::Float32)] = f32;
  if (is_kept(ScalarType::Float64)) row.at[static_cast<int>(ScalarType::Float64)] = f64;
  return row;
}
constexpr LoopRow row_of_where() {
  LoopRow row = row_of(fast_loops_value.where_4, fast_loops_value.where_8);
  for (ScalarType type : {ScalarType::Int64, ScalarType::Complex64, ScalarType::Int32}) {
    if (!is_kept(type)) continue;
    row.at[static_cast<int>(type)] =
        type == ScalarType::Int32 ? fast_loops_value.where_4 : fast_loops_value.where_8;
  }
  return row;
}
// clang-format off
#define X(name)                     \
  const LoopRow unary_##name##_fast = \
      row_of(fast_loops_value.unary_f32[static_cast<int>(Unary::k_##name)], nullptr);
SL_UNARY_NAMES(X)
#undef X
#define X(name)                                                                        \
  const LoopRow binary_##name##_fast =                                                 \
      row_of(fast_loops_value.binary_f32[static_cast<int>(Binary::k_##name)],          \
             fast_loops_value.binary_f64[static_cast<int>(Binary::k_##name)]);
SL_BINARY_NAMES(X)
#undef X
#define X(name)                         \
  const LoopRow ternary_##name##_fast = \
      Ternary::k_##name == Ternary::k_where ? row_of_where() : LoopRow{};
SL_TERNARY_NAMES(X)
#undef X
// clang-format on
#endif

}  // namespace scriptlang::kernels::SL_ISA
