// Loops on float32 that compute in float64.
#include "wide_loops.h"

#include "math_f64.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

template <class F>
SL_INLINE void unary(int64_t n, void* out, const void* const* in, const int64_t* step, F f) {
  const float* a = static_cast<const float*>(in[0]);
  float* o = static_cast<float*>(out);
  if (n <= 0) return;
  if (step[0] == 0) {
    float value = f(a[0]);
    for (int64_t i = 0; i < n; ++i) o[i] = value;
    return;
  }
  map_f32(n, a, o, f);
}

// Computes in whole vectors, like map_f32; the remaining elements are computed in padded copies.
template <class F>
SL_INLINE void binary(int64_t n, void* out, const void* const* in, const int64_t* step, F f) {
  constexpr int W = kLanes<float>;
  const float *a = static_cast<const float*>(in[0]), *b = static_cast<const float*>(in[1]);
  float* o = static_cast<float*>(out);
  if (n <= 0) return;
  int64_t whole = n / W * W;
  if (step[0] != 0 && step[1] != 0) {
    SL_INDEPENDENT
    for (int64_t i = 0; i < whole; ++i) o[i] = f(a[i], b[i]);
  } else if (step[0] != 0) {
    const float y = b[0];
    SL_INDEPENDENT
    for (int64_t i = 0; i < whole; ++i) o[i] = f(a[i], y);
  } else {
    const float x = a[0];
    const int64_t by = step[1];
    SL_INDEPENDENT
    for (int64_t i = 0; i < whole; ++i) o[i] = f(x, b[i * by]);
  }
  if (whole == n) return;
  float x[W] = {}, y[W] = {};
  for (int64_t i = whole; i < n; ++i) {
    x[i - whole] = a[i * step[0]];
    y[i - whole] = b[i * step[1]];
  }
  for (int i = 0; i < W; ++i) x[i] = f(x[i], y[i]);
  __builtin_memcpy(o + whole, x, static_cast<size_t>(n - whole) * sizeof(float));
}

// Applies f to elements with has_exact_quotient, and `exact` to the others one by one.
template <class F, class G>
SL_INLINE void modular(int64_t n, void* out, const void* const* in, const int64_t* step, F f,
                       G exact) {
  constexpr int64_t kBlock = 256;
  const float *a = static_cast<const float*>(in[0]), *b = static_cast<const float*>(in[1]);
  float* o = static_cast<float*>(out);
  for (int64_t first = 0; first < n; first += kBlock) {
    int64_t count = min_of(kBlock, n - first);
    float x[kBlock], y[kBlock];  // copies, as the result may be written in place
    for (int64_t i = 0; i < count; ++i) x[i] = a[(first + i) * step[0]];
    for (int64_t i = 0; i < count; ++i) y[i] = b[(first + i) * step[1]];
    const void* here[2] = {x, y};
    const int64_t steps[2] = {1, 1};
    binary(count, o + first, here, steps, f);
    int large = 0;
    for (int64_t i = 0; i < count; ++i) large |= !has_exact_quotient(x[i], y[i]);
    if (!large) continue;
    for (int64_t i = 0; i < count; ++i) {
      if (!has_exact_quotient(x[i], y[i])) o[first + i] = exact(x[i], y[i]);
    }
  }
}

SL_INLINE float exact_remainder(float a, float b) {
  float r = __builtin_fmodf(a, b);
  return r != 0.0f && (r < 0.0f) != (b < 0.0f) ? r + b : r;
}
SL_INLINE float exact_div_floor(float a, float b) {
  float mod = __builtin_fmodf(a, b), div = (a - mod) / b;
  if (mod != 0.0f && (b < 0.0f) != (mod < 0.0f)) div -= 1.0f;
  float floored = __builtin_floorf(div);
  return div - floored > 0.5f ? floored + 1.0f : floored;
}

}  // namespace

#define UNARY(name, formula)                                                           \
  void double_##name(int64_t n, void* out, const void* const* in, const int64_t* step, \
                     const double*) {                                                  \
    unary(n, out, in, step, [](float x) SL_ALWAYS { return formula; });                \
  }
UNARY(atan, atan_f32(x))
UNARY(asin, asin_f32(x))
UNARY(acos, acos_f32(x))
UNARY(sinh, sinh_f32(x))
UNARY(cosh, cosh_f32(x))
UNARY(asinh, asinh_f32(x))
UNARY(acosh, acosh_f32(x))
UNARY(atanh, atanh_f32(x))
UNARY(erfc, erfc_f32(x))
UNARY(erfinv, erfinv_f32(x))

#define BINARY(name, formula)                                                          \
  void double_##name(int64_t n, void* out, const void* const* in, const int64_t* step, \
                     const double*) {                                                  \
    binary(n, out, in, step, [](float x, float y) SL_ALWAYS { return formula; });      \
  }
BINARY(atan2, atan2_f32(x, y))
BINARY(pow, pow_f32(x, y))
BINARY(hypot, hypot_f32(x, y))
BINARY(div_trunc, __builtin_truncf(x / y))
BINARY(logaddexp, logaddexp_f32(x, y))
BINARY(logaddexp2, logaddexp2_f32(x, y))
BINARY(xlogy, xlogy_f32(x, y))
BINARY(copysign, with_sign(absolute(x), y))

#define MODULAR(name, formula, one_by_one)                                             \
  void double_##name(int64_t n, void* out, const void* const* in, const int64_t* step, \
                     const double*) {                                                  \
    modular(                                                                           \
        n, out, in, step, [](float x, float y) SL_ALWAYS { return formula; },          \
        [](float x, float y) { return one_by_one; });                                  \
  }
MODULAR(fmod, fmod_f32(x, y), __builtin_fmodf(x, y))
MODULAR(remainder, remainder_f32(x, y), exact_remainder(x, y))
MODULAR(div_floor, div_floor_f32(x, y), exact_div_floor(x, y))

void double_tan(int64_t n, void* out, const void* const* in, const int64_t* step, const double*) {
  reduced(
      n, out, in, step,
      [](int64_t count, const float* x, float* o)
          SL_ALWAYS { map_f32(count, x, o, [](float v) SL_ALWAYS { return tan_short(v); }); },
      [](float v) { return __builtin_tanf(v); });
}

}  // namespace scriptlang::kernels::SL_ISA
