// Element types of tensors, and the types of C++ that have them.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "scriptlang.h"

namespace scriptlang {
inline namespace api {

// The bits of a 16-bit float.
struct Half {
  uint16_t bits = 0;
};
struct BFloat16 {
  uint16_t bits = 0;
};

namespace detail {

template <class T>
struct dtype_of;
template <>
struct dtype_of<float> {
  static constexpr sl_dtype value = SL_FLOAT32;
};
template <>
struct dtype_of<double> {
  static constexpr sl_dtype value = SL_FLOAT64;
};
template <>
struct dtype_of<Half> {
  static constexpr sl_dtype value = SL_FLOAT16;
};
template <>
struct dtype_of<BFloat16> {
  static constexpr sl_dtype value = SL_BFLOAT16;
};
template <>
struct dtype_of<bool> {
  static constexpr sl_dtype value = SL_BOOL8;
};
template <>
struct dtype_of<std::complex<float>> {
  static constexpr sl_dtype value = SL_COMPLEX64;
};
template <>
struct dtype_of<std::complex<double>> {
  static constexpr sl_dtype value = SL_COMPLEX128;
};

// Integers except bool, which is a kind of value of its own.
template <class T>
constexpr bool is_integer = std::is_integral<T>::value && !std::is_same<T, bool>::value;
template <class T>
using if_integer = std::enable_if_t<is_integer<T>, int>;

// By size and sign, since for example long and long long may both have 8 bytes.
template <class T>
constexpr sl_dtype integer_type() {
  constexpr bool is_signed = std::is_signed<T>::value;
  switch (sizeof(T)) {
    case 1: return is_signed ? SL_INT8 : SL_UINT8;
    case 2: return is_signed ? SL_INT16 : SL_UINT16;
    case 4: return is_signed ? SL_INT32 : SL_UINT32;
    default: return is_signed ? SL_INT64 : SL_UINT64;
  }
}

template <class T>
constexpr sl_dtype type_of() {
  if constexpr (is_integer<T>) return integer_type<T>();
  else return dtype_of<T>::value;
}

inline size_t size_of(sl_dtype type) {
  switch (type) {
    case SL_UINT8:
    case SL_INT8:
    case SL_BOOL8:
    case SL_QINT8:
    case SL_QUINT8: return 1;
    case SL_INT16:
    case SL_FLOAT16:
    case SL_BFLOAT16:
    case SL_UINT16: return 2;
    case SL_INT32:
    case SL_FLOAT32:
    case SL_COMPLEX32:
    case SL_QINT32:
    case SL_UINT32: return 4;
    case SL_COMPLEX128: return 16;
    default: return 8;
  }
}

}  // namespace detail

template <class T>
constexpr sl_dtype dtype_of() {
  return detail::type_of<T>();
}

}  // namespace api
}  // namespace scriptlang
