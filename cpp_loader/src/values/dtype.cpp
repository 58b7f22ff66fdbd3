// Names, promotion and conversion rules of element types.
#include "dtype.h"

#include "error.h"

namespace scriptlang {

const char* dtype_name(ScalarType type) {
  switch (type) {
    // clang-format off
#define X(name, number, bytes, category, text) \
  case ScalarType::name:                       \
    return "torch." text;
    SL_SCALAR_TYPES(X)
#undef X
      // clang-format on
    default: return "undefined";
  }
}

ScalarType complex_of(ScalarType t) {
  SL_CHECK(t != ScalarType::Float16, "tensors of complex32 (use complex64) are not supported");
  return to_complex(t);
}

const char* dtype_display_name(ScalarType type) {
  switch (type) {
    case ScalarType::UInt8: return "Byte";
    case ScalarType::Int8: return "Char";
    case ScalarType::Int16: return "Short";
    case ScalarType::Int32: return "Int";
    case ScalarType::Int64: return "Long";
    case ScalarType::Float16: return "Half";
    case ScalarType::Float32: return "Float";
    case ScalarType::Float64: return "Double";
    case ScalarType::Complex32: return "ComplexHalf";
    case ScalarType::Complex64: return "ComplexFloat";
    case ScalarType::Complex128: return "ComplexDouble";
    case ScalarType::Bool: return "Bool";
    case ScalarType::QInt8: return "QInt8";
    case ScalarType::QUInt8: return "QUInt8";
    case ScalarType::QInt32: return "QInt32";
    case ScalarType::BFloat16: return "BFloat16";
    case ScalarType::UInt16: return "UInt16";
    case ScalarType::UInt32: return "UInt32";
    case ScalarType::UInt64: return "UInt64";
    default: return "Undefined";
  }
}

const char* dtype_c_name(ScalarType type) {
  switch (type) {
    case ScalarType::UInt8: return "unsigned char";
    case ScalarType::Int8: return "signed char";
    case ScalarType::Int16: return "short int";
    case ScalarType::Int32: return "int";
    case ScalarType::Int64: return "long int";
    case ScalarType::Float16: return "c10::Half";
    case ScalarType::Float32: return "float";
    case ScalarType::Float64: return "double";
    case ScalarType::Complex64: return "c10::complex<float>";
    case ScalarType::Complex128: return "c10::complex<double>";
    case ScalarType::Bool: return "bool";
    case ScalarType::BFloat16: return "c10::BFloat16";
    case ScalarType::UInt16: return "short unsigned int";
    case ScalarType::UInt32: return "unsigned int";
    case ScalarType::UInt64: return "long unsigned int";
    default: return dtype_display_name(type);
  }
}

namespace {

int bits_of(ScalarType t) { return int(itemsize(t) * 8); }
bool is_unsigned(ScalarType t) { return t == ScalarType::UInt8 || is_barebones(t); }

void refuse_barebones(ScalarType a, ScalarType b) {
  if (is_barebones(a) || is_barebones(b)) {
    raise(ErrorKind::RuntimeError,
          "Promotion for uint16, uint32, uint64 types is not supported, "
          "attempted to promote ",
          dtype_display_name(a), " and ", dtype_display_name(b));
  }
}

ScalarType promote_integral(ScalarType a, ScalarType b) {
  refuse_barebones(a, b);
  bool ua = is_unsigned(a), ub = is_unsigned(b);
  if (ua == ub) return bits_of(a) >= bits_of(b) ? a : b;
  ScalarType is_signed = ua ? b : a;
  return is_signed == ScalarType::Int8 ? ScalarType::Int16 : is_signed;
}

ScalarType promote_floating(ScalarType a, ScalarType b) {
  // float16 with bfloat16: neither can represent all values of the other.
  if (bits_of(a) == bits_of(b)) return ScalarType::Float32;
  return bits_of(a) > bits_of(b) ? a : b;
}

ScalarType promote_complex(ScalarType a, ScalarType b) {
  refuse_barebones(a, b);
  auto real_bits = [](ScalarType t) {
    if (is_complex(t)) return bits_of(t) / 2;
    return is_floating(t) ? (t == ScalarType::BFloat16 ? 32 : bits_of(t)) : 0;
  };
  int bits = real_bits(a) > real_bits(b) ? real_bits(a) : real_bits(b);
  return bits <= 16   ? ScalarType::Complex32
         : bits <= 32 ? ScalarType::Complex64
                      : ScalarType::Complex128;
}

}  // namespace

ScalarType promote(ScalarType a, ScalarType b) {
  if (a == b) return a;
  TypeCategory ca = category(a), cb = category(b);
  if (ca == TypeCategory::Other || cb == TypeCategory::Other) {
    raise(ErrorKind::RuntimeError, dtype_display_name(a), " and ", dtype_display_name(b),
          " have no common type: pass x.dequantize() for what is quantized");
  }
  if (ca == TypeCategory::Boolean && !is_barebones(b)) return b;
  if (cb == TypeCategory::Boolean && !is_barebones(a)) return a;
  if (ca == TypeCategory::Complex || cb == TypeCategory::Complex) return promote_complex(a, b);
  if (ca == TypeCategory::Floating || cb == TypeCategory::Floating) {
    if (ca != cb) return ca > cb ? a : b;
  }
  return ca == TypeCategory::Floating ? promote_floating(a, b) : promote_integral(a, b);
}

float half_to_float(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 31, mantissa = bits & 0x3ff, u;
  if (exponent == 31) {
    u = sign | 0x7f800000u | (mantissa << 13);
  } else if (exponent) {
    u = sign | ((exponent + 112) << 23) | (mantissa << 13);
  } else {  // zero or subnormal: mantissa * 2^-24, exact in float
    float magnitude = float(mantissa) * 5.9604644775390625e-8f;
    std::memcpy(&u, &magnitude, 4);
    u |= sign;
  }
  float value;
  std::memcpy(&value, &u, 4);
  return value;
}

uint16_t float_to_half(float value) {
  uint32_t u;
  std::memcpy(&u, &value, 4);
  uint16_t sign = uint16_t((u >> 16) & 0x8000);
  u &= 0x7fffffffu;
  if (u > 0x7f800000u) return sign | 0x7e00;   // NaN
  if (u >= 0x47800000u) return sign | 0x7c00;  // at least 65536: infinity
  if (u < 0x38800000u) {                       // below 2^-14: subnormal; adding 0.5 rounds it
    float magnitude;
    std::memcpy(&magnitude, &u, 4);
    magnitude += 0.5f;
    std::memcpy(&u, &magnitude, 4);
    return sign | uint16_t(u - 0x3f000000u);
  }
  u += 0xfffu + ((u >> 13) & 1);  // rounds to nearest even; a carry may correctly reach infinity
  return sign | uint16_t((u - 0x38000000u) >> 13);
}

}  // namespace scriptlang
