// Templates behind the loop tables: from a formula to a loop for each element type.
#pragma once
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "loops.h"

namespace scriptlang::kernels {

// a / b. If both parts of a complex b are infinite or NaN, PyTorch returns NaN where C++ may return
// zero.
template <class T>
T divided(T a, T b) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    using R = typename T::value_type;
    if (!std::isfinite(b.real()) && !std::isfinite(b.imag())) {
      return {std::numeric_limits<R>::quiet_NaN(), std::numeric_limits<R>::quiet_NaN()};
    }
  }
  return a / b;
}

using complex64 = std::complex<float>;
using complex128 = std::complex<double>;

template <class T>
struct IsComplex : std::false_type {};
template <class T>
struct IsComplex<std::complex<T>> : std::true_type {};
template <class T>
constexpr bool kIsComplex = IsComplex<T>::value;

template <class T>
constexpr ScalarType scalar_type() {
  if constexpr (std::is_same_v<T, uint8_t>) return ScalarType::UInt8;
  else if constexpr (std::is_same_v<T, int8_t>) return ScalarType::Int8;
  else if constexpr (std::is_same_v<T, int16_t>) return ScalarType::Int16;
  else if constexpr (std::is_same_v<T, int32_t>) return ScalarType::Int32;
  else if constexpr (std::is_same_v<T, int64_t>) return ScalarType::Int64;
  else if constexpr (std::is_same_v<T, float>) return ScalarType::Float32;
  else if constexpr (std::is_same_v<T, double>) return ScalarType::Float64;
  else if constexpr (std::is_same_v<T, complex64>) return ScalarType::Complex64;
  else if constexpr (std::is_same_v<T, complex128>) return ScalarType::Complex128;
  else if constexpr (std::is_same_v<T, bool>) return ScalarType::Bool;
  else return ScalarType::Undefined;
}

// The type for arithmetic that wraps as in two's complement: unsigned for integers, otherwise T.
template <class T, class = void>
struct WrappingOf {
  using type = T;
};
template <class T>
struct WrappingOf<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
  // At least 32 bits: uint16_t * uint16_t would be computed as (signed) int.
  using type = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;
};
template <class T>
using Wrapping = typename WrappingOf<T>::type;

// A constant converted to the element type; for an integer type it is truncated and saturated.
template <class T>
T constant(const double* params, int i) {
  double value = params[i];
  if constexpr (std::is_integral_v<T>) {
    constexpr T kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
    if (!(value > static_cast<double>(kLow))) return kLow;
    if (value >= static_cast<double>(kHigh)) return kHigh;
  }
  return static_cast<T>(value);
}

// F::apply(T x, const double* params) -> Out
template <class T, class F>
void unary_loop(int64_t n, void* out, const void* const* in, const int64_t* step,
                const double* params) {
  using Out = decltype(F::apply(T(), params));
  const T* a = static_cast<const T*>(in[0]);
  Out* o = static_cast<Out*>(out);
  if (step[0] == 1) {
    for (int64_t i = 0; i < n; ++i) o[i] = F::apply(a[i], params);
  } else {
    for (int64_t i = 0; i < n; ++i) o[i] = F::apply(a[0], params);
  }
}

// F::apply(T x, T y, const double* params) -> Out
template <class T, class F>
void binary_loop(int64_t n, void* out, const void* const* in, const int64_t* step,
                 const double* params) {
  using Out = decltype(F::apply(T(), T(), params));
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  Out* o = static_cast<Out*>(out);
  if (n <= 0) return;
  if (step[0] == 1 && step[1] == 1) {
    for (int64_t i = 0; i < n; ++i) o[i] = F::apply(a[i], b[i], params);
  } else if (step[0] == 1) {
    const T y = b[0];
    for (int64_t i = 0; i < n; ++i) o[i] = F::apply(a[i], y, params);
  } else {
    const T x = a[0];
    for (int64_t i = 0; i < n; ++i) o[i] = F::apply(x, b[i * step[1]], params);
  }
}

// F::apply(A x, T y, T z, const double* params) -> T
template <class A, class T, class F>
void ternary_loop(int64_t n, void* out, const void* const* in, const int64_t* step,
                  const double* params) {
  const A* a = static_cast<const A*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  const T* c = static_cast<const T*>(in[2]);
  T* o = static_cast<T*>(out);
  if (step[0] == 1 && step[1] == 1 && step[2] == 1) {
    for (int64_t i = 0; i < n; ++i) o[i] = F::apply(a[i], b[i], c[i], params);
  } else {
    for (int64_t i = 0; i < n; ++i) {
      o[i] = F::apply(a[i * step[0]], b[i * step[1]], c[i * step[2]], params);
    }
  }
}

// Enters the loop if the build has loops for the type.
template <class T>
constexpr void set_loop(LoopRow& table, [[maybe_unused]] Loop loop) {
  if constexpr (is_kept(scalar_type<T>())) table.at[static_cast<int>(scalar_type<T>())] = loop;
}

template <class F, class... T>
constexpr void set_unary(LoopRow& table) {
  (set_loop<T>(table, &unary_loop<T, F>), ...);
}
template <class F, class... T>
constexpr void set_binary(LoopRow& table) {
  (set_loop<T>(table, &binary_loop<T, F>), ...);
}
template <class F, class... T>
constexpr void set_ternary(LoopRow& table) {
  (set_loop<T>(table, &ternary_loop<T, T, F>), ...);
}

#define SL_INT_TYPES uint8_t, int8_t, int16_t, int32_t, int64_t
#define SL_RARE_INT_TYPES int8_t, int16_t
#define SL_FLOAT_TYPES float, double
#define SL_COMPLEX_TYPES complex64, complex128

}  // namespace scriptlang::kernels
