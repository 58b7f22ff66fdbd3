// Pointwise loops of float32 that profit from wide vectors.
#include "../loops.h"
#include "entry.h"
#include "math_f32.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

template <class F>
SL_INLINE void unary_loop(int64_t n, void* out, const void* const* in, const int64_t* step, F f) {
  const float* a = static_cast<const float*>(in[0]);
  float* o = static_cast<float*>(out);
  if (step[0] == 0) {
    float value = n > 0 ? f(a[0]) : 0.0f;
    for (int64_t i = 0; i < n; ++i) o[i] = value;
    return;
  }
  map_f32(n, a, o, f);
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
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) o[i] = f(x, b[i]);
  } else if (step[1] == 0) {
    T y = b[0];
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) o[i] = f(a[i], y);
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) o[i] = f(a[i], b[i]);
  }
}

// X(name, formula of x and the constants p, q, r)
#define SL_FAST_UNARY(X)                                                       \
  X(exp, exp_f32(x))                                                           \
  X(exp2, exp2_f32(x))                                                         \
  X(log, log_f32(x))                                                           \
  X(log2, log2_f32(x))                                                         \
  X(log10, log10_f32(x))                                                       \
  X(sqrt, __builtin_sqrtf(x))                                                  \
  X(rsqrt, 1.0f / __builtin_sqrtf(x))                                          \
  X(tanh, tanh_f32(x))                                                         \
  X(erf, erf_f32(x))                                                           \
  X(sigmoid, sigmoid_f32(x))                                                   \
  X(silu, silu_f32(x))                                                         \
  X(gelu, gelu_f32(x))                                                         \
  X(gelu_tanh, gelu_tanh_f32(x))                                               \
  X(reciprocal, 1.0f / x)                                                      \
  X(abs, absolute(x))                                                          \
  X(neg, -x)                                                                   \
  X(square, x* x)                                                              \
  X(relu, x < 0.0f ? 0.0f : x)                                                 \
  X(leaky_relu, x > 0.0f ? x : x * p)                                          \
  X(hardsigmoid, clamp(x + 3.0f, 0.0f, 6.0f) * (1.0f / 6.0f))                  \
  X(hardswish, x* clamp(x + 3.0f, 0.0f, 6.0f) * (1.0f / 6.0f))                 \
  X(clamp, clamp(x, p, q))                                                     \
  X(clamp_min, x < p ? p : x)                                                  \
  X(clamp_max, x > p ? p : x)                                                  \
  X(elu, x > 0.0f ? x * q : (exp_f32(x * r) - 1.0f) * p * q)                   \
  X(scale_shift, x* p + q)

SL_INLINE float clamp(float x, float low, float high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

#define X(name, formula)                                                                       \
  void loop_##name(int64_t n, void* out, const void* const* in, const int64_t* step,           \
                   const double* params) {                                                     \
    [[maybe_unused]] const float p = params ? static_cast<float>(params[0]) : 0.0f;            \
    [[maybe_unused]] const float q = params ? static_cast<float>(params[1]) : 0.0f;            \
    [[maybe_unused]] const float r = params ? static_cast<float>(params[2]) : 0.0f;            \
    unary_loop(n, out, in, step, [=](float x) { return formula; });                            \
  }
SL_FAST_UNARY(X)
#undef X

// Large arguments lose the exact reduction: they are redone one by one.
template <int Quarter>
void loop_sine(int64_t n, void* out, const void* const* in, const int64_t* step, const double*) {
  constexpr int64_t kBlock = 256;
  const float* a = static_cast<const float*>(in[0]);
  float* o = static_cast<float*>(out);
  for (int64_t first = 0; first < n; first += kBlock) {
    int64_t count = min_of(kBlock, n - first);
    float x[kBlock];
    for (int64_t i = 0; i < count; ++i) x[i] = a[(first + i) * step[0]];
    bool large = false;
    for (int64_t i = 0; i < count; ++i) o[first + i] = sine_shifted(x[i], Quarter);
    for (int64_t i = 0; i < count; ++i) large |= !(absolute(x[i]) < kExactSine);
    if (!large) continue;
    for (int64_t i = 0; i < count; ++i) {
      if (absolute(x[i]) < kExactSine) continue;
      o[first + i] = Quarter ? __builtin_cosf(x[i]) : __builtin_sinf(x[i]);
    }
  }
}

// X(name, formula of x, y and the constant p)
#define SL_FAST_BINARY(X)                                  \
  X(add, x + y)                                            \
  X(sub, x - y)                                            \
  X(mul, x* y)                                             \
  X(div, x / y)                                            \
  X(add_scaled, x + y * p)                                 \
  X(maximum, x != x ? x : y != y ? y : x > y ? x : y)      \
  X(minimum, x != x ? x : y != y ? y : x < y ? x : y)      \
  X(prelu, x > T(0) ? x : x * y)                           \
  X(squared_difference, (x - y) * (x - y))

#define X(name, formula)                                                                       \
  template <class T>                                                                           \
  void loop_##name##_pair(int64_t n, void* out, const void* const* in, const int64_t* step,    \
                          const double* params) {                                              \
    [[maybe_unused]] const T p = params ? static_cast<T>(params[0]) : T(0);                    \
    binary_loop<T>(n, out, in, step, [=](T x, T y) { return formula; });                       \
  }
SL_FAST_BINARY(X)
#undef X

constexpr FastLoops make_loops() {
  FastLoops loops{};
#define X(name, formula) loops.unary_f32[static_cast<int>(Unary::k_##name)] = &loop_##name;
  SL_FAST_UNARY(X)
#undef X
  loops.unary_f32[static_cast<int>(Unary::k_sin)] = &loop_sine<0>;
  loops.unary_f32[static_cast<int>(Unary::k_cos)] = &loop_sine<1>;
#define X(name, formula)                                                                       \
  loops.binary_f32[static_cast<int>(Binary::k_##name)] = &loop_##name##_pair<float>;           \
  loops.binary_f64[static_cast<int>(Binary::k_##name)] = &loop_##name##_pair<double>;
  SL_FAST_BINARY(X)
#undef X
  return loops;
}

}  // namespace

constexpr FastLoops fast_loops_value = make_loops();
const FastLoops fast_loops = fast_loops_value;

}  // namespace scriptlang::kernels::SL_ISA
