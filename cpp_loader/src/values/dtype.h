// Scalar types of tensors, numbered as PyTorch numbers them, with sizes and promotion.
#pragma once

#include <cstdint>
#include <cstring>

namespace scriptlang {

// X(name, number, bytes, category, Python name). A complex32 tensor can be loaded and moved, but
// there is no arithmetic on it. Quantized types have operators of their own.
// clang-format off
#define SL_SCALAR_TYPES(X)                      \
  X(UInt8, 0, 1, Integral, "uint8")             \
  X(Int8, 1, 1, Integral, "int8")               \
  X(Int16, 2, 2, Integral, "int16")             \
  X(Int32, 3, 4, Integral, "int32")             \
  X(Int64, 4, 8, Integral, "int64")             \
  X(Float16, 5, 2, Floating, "float16")         \
  X(Float32, 6, 4, Floating, "float32")         \
  X(Float64, 7, 8, Floating, "float64")         \
  X(Complex32, 8, 4, Complex, "complex32")      \
  X(Complex64, 9, 8, Complex, "complex64")      \
  X(Complex128, 10, 16, Complex, "complex128")  \
  X(Bool, 11, 1, Boolean, "bool")               \
  X(QInt8, 12, 1, Other, "qint8")               \
  X(QUInt8, 13, 1, Other, "quint8")             \
  X(QInt32, 14, 4, Other, "qint32")             \
  X(BFloat16, 15, 2, Floating, "bfloat16")      \
  X(UInt16, 27, 2, Integral, "uint16")          \
  X(UInt32, 28, 4, Integral, "uint32")          \
  X(UInt64, 29, 8, Integral, "uint64")
// clang-format on

enum class ScalarType : int8_t {
// clang-format off
#define X(name, number, bytes, category, text) name = number,
  SL_SCALAR_TYPES(X)
#undef X
  // clang-format on
  Undefined = -1,
};

// Ordered: promotion never goes down a category.
enum class TypeCategory : int8_t { Boolean, Integral, Floating, Complex, Other };

constexpr int64_t itemsize(ScalarType type) {
  switch (type) {
    // clang-format off
#define X(name, number, bytes, category, text) \
  case ScalarType::name:                       \
    return bytes;
    SL_SCALAR_TYPES(X)
#undef X
      // clang-format on
    default: return 0;
  }
}

constexpr TypeCategory category(ScalarType type) {
  switch (type) {
    // clang-format off
#define X(name, number, bytes, cat, text) \
  case ScalarType::name:                  \
    return TypeCategory::cat;
    SL_SCALAR_TYPES(X)
#undef X
      // clang-format on
    default: return TypeCategory::Other;
  }
}

// Unsigned types that PyTorch can store and convert, with little arithmetic and no promotion.
constexpr bool is_barebones(ScalarType t) {
  return t == ScalarType::UInt16 || t == ScalarType::UInt32 || t == ScalarType::UInt64;
}
constexpr bool is_floating(ScalarType t) { return category(t) == TypeCategory::Floating; }
// 16-bit floats; loops compute with them as float32.
constexpr bool is_half(ScalarType t) {
  return t == ScalarType::Float16 || t == ScalarType::BFloat16;
}
constexpr bool is_complex(ScalarType t) { return category(t) == TypeCategory::Complex; }
constexpr bool is_integral(ScalarType t, bool with_bool) {
  return category(t) == TypeCategory::Integral ||
         (with_bool && category(t) == TypeCategory::Boolean);
}

constexpr bool is_scalar_type(int64_t number) {
  switch (number) {
    // clang-format off
#define X(name, value, bytes, category, text) case value:
    SL_SCALAR_TYPES(X)
#undef X
    // clang-format on
    return true;
    default: return false;
  }
}

// The name that values and errors show, "torch.float32"; "undefined" for Undefined.
const char* dtype_name(ScalarType type);
// PyTorch's spelling in messages: "Float", "Half", "Long".
const char* dtype_display_name(ScalarType type);
// The type's name in C++, which some of PyTorch's messages have: "float", "c10::Half", "long int".
const char* dtype_c_name(ScalarType type);

// The type of an operation between dimensioned tensors of types a and b (torch.promote_types).
// Raises RuntimeError for pairs that have no common type.
ScalarType promote(ScalarType a, ScalarType b);

// The element type of the real part: complex64 -> float32; other types are unchanged.
constexpr ScalarType to_real(ScalarType t) {
  return t == ScalarType::Complex32    ? ScalarType::Float16
         : t == ScalarType::Complex64  ? ScalarType::Float32
         : t == ScalarType::Complex128 ? ScalarType::Float64
                                       : t;
}
constexpr ScalarType to_complex(ScalarType t) {
  return is_complex(t)              ? t
         : t == ScalarType::Float64 ? ScalarType::Complex128
                                    : ScalarType::Complex64;
}
// The complex type whose parts have a floating type. Raises RuntimeError for float16, because
// complex32 is not supported.
ScalarType complex_of(ScalarType t);

// The 16-bit floats as they are stored. Arithmetic is done in float; conversions from float round
// to nearest even and keep NaN and infinities.
struct bfloat16 {
  uint16_t bits = 0;
  bfloat16() = default;
  explicit bfloat16(float value) {
    uint32_t u;
    std::memcpy(&u, &value, 4);
    bits = (u & 0x7fffffffu) > 0x7f800000u ? uint16_t((u >> 16) | 0x40)
                                           : uint16_t((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
  }
  operator float() const {
    uint32_t u = uint32_t(bits) << 16;
    float value;
    std::memcpy(&value, &u, 4);
    return value;
  }
};

float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);

struct float16 {
  uint16_t bits = 0;
  float16() = default;
  explicit float16(float value) : bits(float_to_half(value)) {}
  operator float() const { return half_to_float(bits); }
};

}  // namespace scriptlang
