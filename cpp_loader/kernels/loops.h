// Inner loops of pointwise operators: one loop per operator and element type.
#pragma once
#include <cstdint>

#include "../src/values/dtype.h"
#include "gemm.h"
#include "kept_types.h"

namespace scriptlang::kernels {

// out[i] = f(in[0][i * step[0]], in[1][i * step[1]], ...) for i < n. Each step is 0 or 1; out is
// contiguous and may be equal to an input. `params` holds kParams constants of the operator, or is
// null.
using Loop = void (*)(int64_t n, void* out, const void* const* in, const int64_t* step,
                      const double* params);

constexpr int kParams = 4;
constexpr int kLoopTypes = 16;

// Loops by element type; null if the operator does not support the type. float16 and bfloat16 have
// few loops, as their elements are converted to float32. uint16, uint32 and uint64 use the loop of
// the signed type of their size if the bits of the result do not depend on the sign (sign_free).
struct LoopRow {
  Loop at[kLoopTypes] = {};
  bool sign_free = false;
  Loop operator[](ScalarType t) const {
    int i = static_cast<int>(t);
    if (i >= 0 && i < kLoopTypes) return at[i];
    return sign_free ? at[static_cast<int>(signed_type(t))] : nullptr;
  }
  // The signed type of the same size; for other types one without loops.
  static constexpr ScalarType signed_type(ScalarType t) {
    return t == ScalarType::UInt16   ? ScalarType::Int16
           : t == ScalarType::UInt32 ? ScalarType::Int32
           : t == ScalarType::UInt64 ? ScalarType::Int64
                                     : ScalarType::Complex32;  // has no loops
  }
};

// clang-format off
#define SL_UNARY_NAMES(X)                                                                       \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sqrt) X(rsqrt) X(sin) X(cos)        \
  X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf)       \
  X(erfc) X(erfinv) X(sigmoid) X(lgamma) X(digamma) X(reciprocal) X(log_sigmoid) X(silu)         \
  X(mish) X(softplus) X(elu) X(gelu) X(gelu_tanh) X(hardswish) X(hardsigmoid) X(hardshrink)      \
  X(softshrink) X(leaky_relu) X(logit) X(nan_to_num) X(frac) X(sinc) X(i0)                      \
  X(abs) X(neg) X(sign) X(square) X(ceil) X(floor) X(round) X(trunc) X(bitwise_not) X(relu)      \
  X(clamp) X(clamp_min) X(clamp_max) X(threshold) X(round_decimals) X(isnan) X(isinf)            \
  X(isfinite) X(isposinf) X(isneginf) X(signbit) X(logical_not) X(copy) X(conj) X(angle)         \
  X(scale_shift) SL_SPECIAL_UNARY_NAMES(X)
// clang-format on

// clang-format off
#define SL_SPECIAL_UNARY_NAMES(X)                                                               \
  X(bessel_j0) X(bessel_j1) X(bessel_y0) X(bessel_y1) X(i0e) X(i1) X(i1e) X(modified_bessel_k0)  \
  X(modified_bessel_k1) X(scaled_modified_bessel_k0) X(scaled_modified_bessel_k1)                \
  X(spherical_bessel_j0) X(airy_ai) X(erfcx) X(log_ndtr) X(ndtri) X(entr) X(polygamma)           \
  X(multigammaln)
// clang-format on

// clang-format off
#define SL_BINARY_NAMES(X)                                                                      \
  X(add) X(sub) X(mul) X(div) X(add_scaled) X(div_floor) X(div_trunc) X(remainder) X(fmod)       \
  X(pow) X(atan2) X(maximum) X(minimum) X(fmax) X(fmin) X(hypot) X(copysign) X(logaddexp)        \
  X(logaddexp2) X(xlogy) X(nextafter) X(heaviside) X(gcd) X(lcm) X(bitwise_and) X(bitwise_or)    \
  X(bitwise_xor) X(lshift) X(rshift) X(eq) X(ne) X(lt) X(le) X(gt) X(ge) X(logical_and)          \
  X(logical_or) X(logical_xor) X(prelu) X(squared_difference) X(rounded_corner)                  \
  X(gelu_back) X(gelu_tanh_back)                                                                 \
  SL_SPECIAL_BINARY_NAMES(X)
// clang-format on

// clang-format off
#define SL_SPECIAL_BINARY_NAMES(X)                                                              \
  X(zeta) X(igamma) X(igammac) X(chebyshev_polynomial_t) X(chebyshev_polynomial_u)               \
  X(chebyshev_polynomial_v) X(chebyshev_polynomial_w) X(shifted_chebyshev_polynomial_t)          \
  X(shifted_chebyshev_polynomial_u) X(shifted_chebyshev_polynomial_v)                            \
  X(shifted_chebyshev_polynomial_w) X(hermite_polynomial_h) X(hermite_polynomial_he)             \
  X(laguerre_polynomial_l) X(legendre_polynomial_p)
// clang-format on

#define SL_TERNARY_NAMES(X) X(where) X(lerp) X(addcmul) X(addcdiv) X(clamp_tensor)

#if defined(SL_ONE_ISA)
}  // namespace scriptlang::kernels
#include "one_loops.h"
namespace scriptlang::kernels {
#else
enum class Unary : int {
// clang-format off
#define X(name) k_##name,
  SL_UNARY_NAMES(X)
#undef X
  // clang-format on
  kCount
};
enum class Binary : int {
// clang-format off
#define X(name) k_##name,
  SL_BINARY_NAMES(X)
#undef X
  // clang-format on
  kCount
};
enum class Ternary : int {
// clang-format off
#define X(name) k_##name,
  SL_TERNARY_NAMES(X)
#undef X
  // clang-format on
  kCount
};

using LoopTable = LoopRow;
const LoopTable& loops(Unary op);
const LoopTable& loops(Binary op);
// The first operand of `where` is bool, whatever the type of the others is.
const LoopTable& loops(Ternary op);
#endif

// Loops of one instruction set for float32 and float64. If one is null, unary.cpp or binary.cpp has
// a portable one.
struct FastLoops {
  Loop unary_f32[static_cast<int>(Unary::kCount)];
  Loop binary_f32[static_cast<int>(Binary::kCount)];
  Loop binary_f64[static_cast<int>(Binary::kCount)];
  Loop where_4, where_8;  // elements of 4 and 8 bytes of any type
};
// Activations without constants, indexed by Unary.
struct FinishLoops {
  Finish<float> at[static_cast<int>(Unary::kCount)];
};
// Conversions of contiguous elements; null if there is none.
struct HalfLoops {
  void (*from_half)(int64_t n, float* to, const uint16_t* from);
  void (*to_half)(int64_t n, uint16_t* to, const float* from);
  void (*from_bfloat)(int64_t n, float* to, const uint16_t* from);
  void (*to_bfloat)(int64_t n, uint16_t* to, const float* from);
};

// A loop for an operator (the number of a Unary, Binary or Ternary) and element type.
struct FastLoop {
  int op;
  ScalarType type;
  Loop loop;
};
// A conversion of contiguous elements.
struct FastConvert {
  ScalarType to, from;
  void (*convert)(int64_t n, void* to, const void* from);
};
template <class T>
struct Listed {
  const T* first;
  int count;
  const T* begin() const { return first; }
  const T* end() const { return first + count; }
};
// Loops and conversions of one instruction set for any element types.
struct PlainLoops {
  Listed<FastLoop> unary, binary, ternary;
  Listed<FastConvert> converts;
};

// Converts n elements; strides are in bytes. converter returns null if there is no conversion:
// types without arithmetic (complex32 and quantized types) can only be copied to their own type.
using Convert = void (*)(int64_t n, void* to, int64_t to_stride, const void* from,
                         int64_t from_stride);
Convert converter(ScalarType to, ScalarType from);

}  // namespace scriptlang::kernels
