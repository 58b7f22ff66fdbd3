// Conversions between element types, as PyTorch's `to` does them: nonzero numbers become True,
// complex numbers lose their imaginary part, floats are truncated to integers.
#include <algorithm>
#include <cstring>

#include "../src/values/error.h"
#include "kernel_set.h"
#include "loop_templates.h"

namespace scriptlang::kernels {
namespace {

template <class To, class From>
To convert_one(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (kIsComplex<From>) {
    if constexpr (kIsComplex<To>) return To(x);
    else if constexpr (std::is_same_v<To, bool>) return x != From();
    else return convert_one<To>(x.real());
  } else if constexpr (std::is_same_v<From, float16> || std::is_same_v<From, bfloat16>) {
    return convert_one<To>(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, float16> || std::is_same_v<To, bfloat16>) {
    return To(static_cast<float>(x));
  } else if constexpr (kIsComplex<To>) {
    return To(static_cast<typename To::value_type>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // Values out of range become the least one, as with x86 instructions; types narrower than 32
    // bits take the low bits of a 64-bit integer.
    if constexpr (sizeof(To) == 4 && std::is_signed_v<To>) {
      if (!(x >= From(INT32_MIN) && x < From(2147483648.0))) return INT32_MIN;
    }
    constexpr From kLimit = From(9223372036854775808.0);
    if (!(x >= -kLimit && x < kLimit)) return static_cast<To>(INT64_MIN);
    return static_cast<To>(static_cast<int64_t>(x));
  } else {
    return static_cast<To>(x);
  }
}

// Reads an element. A bool may be any byte, because view.dtype makes bools of other types.
template <class From>
From element_at(const void* at) {
  if constexpr (std::is_same_v<From, bool>) return *static_cast<const uint8_t*>(at) != 0;
  else return *static_cast<const From*>(at);
}

// Types between which every instruction set has conversions (isa/plain_loops.cpp).
template <class T>
constexpr bool kIsUsual = std::is_arithmetic_v<T> && scalar_type<T>() != ScalarType::Undefined &&
                          !std::is_same_v<T, int16_t>;

template <class To, class From>
auto usual_converter() -> decltype(FastConvert::convert) {
  static const auto found = [] {
    for (const FastConvert& c : kernels().plain_loops->converts) {
      if (c.to == scalar_type<To>() && c.from == scalar_type<From>()) return c.convert;
    }
    return decltype(FastConvert::convert)(nullptr);
  }();
  return found;
}

// X(name, type)
// clang-format off
#define SL_ARITHMETIC_TYPES(X)                                                           \
  X(UInt8, uint8_t) X(Int8, int8_t) X(Int16, int16_t) X(Int32, int32_t) X(Int64, int64_t) \
  X(Float16, float16) X(Float32, float) X(Float64, double) X(Complex64, complex64)        \
  X(Complex128, complex128) X(Bool, bool) X(BFloat16, bfloat16) X(UInt16, uint16_t)       \
  X(UInt32, uint32_t) X(UInt64, uint64_t)
// clang-format on

template <class T>
constexpr ScalarType kTypeOf = ScalarType::Undefined;
// clang-format off
#define X(name, type) \
  template <>         \
  constexpr ScalarType kTypeOf<type> = ScalarType::name;
SL_ARITHMETIC_TYPES(X)
#undef X
// clang-format on

template <class T>
constexpr bool kIsShort = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;

// Converts contiguous elements by way of float: one type has 16 bits and the other is not float.
[[maybe_unused]] void convert_by_float(int64_t n, char* to, ScalarType to_type, const char* from,
                                       ScalarType from_type) {
  constexpr int64_t kBlock = 1024;
  Convert first = converter(ScalarType::Float32, from_type);
  Convert second = converter(to_type, ScalarType::Float32);
  int64_t to_size = itemsize(to_type), from_size = itemsize(from_type);
  float block[kBlock];
  for (int64_t i = 0; i < n; i += kBlock) {
    int64_t count = std::min(kBlock, n - i);
    first(count, block, sizeof(float), from + i * from_size, from_size);
    second(count, to + i * to_size, to_size, block, sizeof(float));
  }
}

template <class To, class From>
void convert(int64_t n, void* to, int64_t to_stride, const void* from, int64_t from_stride) {
  if (to_stride == sizeof(To) && from_stride == sizeof(From)) {
    if constexpr (std::is_same_v<To, From>) {
      std::memmove(to, from, static_cast<size_t>(n) * sizeof(To));
    } else {
      To* o = static_cast<To*>(to);
      const From* a = static_cast<const From*>(from);
      if constexpr ((kIsShort<To> && !std::is_same_v<From, float>) ||
                    (kIsShort<From> && !std::is_same_v<To, float>)) {
        convert_by_float(n, static_cast<char*>(to), kTypeOf<To>, static_cast<const char*>(from),
                         kTypeOf<From>);
      } else if constexpr (kIsUsual<To> && kIsUsual<From>) {
        usual_converter<To, From>()(n, to, from);
      } else {
        for (int64_t i = 0; i < n; ++i) o[i] = convert_one<To>(element_at<From>(a + i));
      }
    }
    return;
  }
  char* o = static_cast<char*>(to);
  const char* a = static_cast<const char*>(from);
  if (from_stride == 0 && to_stride == sizeof(To) && n > 0) {
    std::fill_n(static_cast<To*>(to), n, convert_one<To>(element_at<From>(a)));
    return;
  }
  for (int64_t i = 0; i < n; ++i, o += to_stride, a += from_stride) {
    *reinterpret_cast<To*>(o) = convert_one<To>(element_at<From>(a));
  }
}

// Converts between float32 and a 16-bit float with vector instructions if elements are contiguous.
template <class To, class From>
void convert_fast(int64_t n, void* to, int64_t to_stride, const void* from, int64_t from_stride) {
  if (to_stride != sizeof(To) || from_stride != sizeof(From)) {
    convert<To, From>(n, to, to_stride, from, from_stride);
    return;
  }
  static const HalfLoops& fast = *kernels().halves;
  if constexpr (std::is_same_v<From, float16>) {
    fast.from_half(n, static_cast<float*>(to), static_cast<const uint16_t*>(from));
  } else if constexpr (std::is_same_v<From, bfloat16>) {
    fast.from_bfloat(n, static_cast<float*>(to), static_cast<const uint16_t*>(from));
  } else if constexpr (std::is_same_v<To, float16>) {
    fast.to_half(n, static_cast<uint16_t*>(to), static_cast<const float*>(from));
  } else {
    fast.to_bfloat(n, static_cast<uint16_t*>(to), static_cast<const float*>(from));
  }
}

Convert fast_converter(ScalarType to, ScalarType from) {
  if constexpr (is_kept(ScalarType::Float16)) {
    const HalfLoops& fast = *kernels().halves;
    if (from == ScalarType::Float16 && fast.from_half) return &convert_fast<float, float16>;
    if (to == ScalarType::Float16 && fast.to_half) return &convert_fast<float16, float>;
  }
  if constexpr (is_kept(ScalarType::BFloat16)) {
    if (from == ScalarType::BFloat16) return &convert_fast<float, bfloat16>;
    if (to == ScalarType::BFloat16) return &convert_fast<bfloat16, float>;
  }
  return nullptr;
}

// The signed integer type of the same size, for which there are loops.
template <class T>
struct SignedOf {
  using type = T;
};
template <>
struct SignedOf<uint16_t> {
  using type = int16_t;
};
template <>
struct SignedOf<uint32_t> {
  using type = int32_t;
};
template <>
struct SignedOf<uint64_t> {
  using type = int64_t;
};

// Picks an instance. The result of a conversion between integers has the same bits for signed and
// unsigned `To`. The sign of `From` does not matter either if `To` is not longer. So fewer
// instances are compiled.
template <class To, class From>
Convert conversion() {
  using SignedTo = typename SignedOf<To>::type;
  using SignedFrom = typename SignedOf<From>::type;
  if constexpr (!std::is_integral_v<To> || !std::is_integral_v<From>) {
    return &convert<To, From>;
  } else if constexpr (std::is_same_v<To, bool> || sizeof(To) <= sizeof(From)) {
    return &convert<SignedTo, SignedFrom>;
  } else {
    return &convert<SignedTo, From>;
  }
}

// The conversion, if the build has conversions for both types; else raises NotImplementedError.
template <class To, class From>
Convert kept_conversion() {
  if constexpr (std::is_same_v<To, From> ||
                (is_converted(kTypeOf<To>) && is_converted(kTypeOf<From>))) {
    return conversion<To, From>();
  } else {
    type_left_out(is_converted(kTypeOf<To>) ? kTypeOf<From> : kTypeOf<To>);
  }
}

template <class To>
Convert converter_to(ScalarType from) {
  switch (from) {
    // clang-format off
#define X(name, type) \
  case ScalarType::name: return kept_conversion<To, type>();
    SL_ARITHMETIC_TYPES(X)
#undef X
      // clang-format on
    default: return nullptr;
  }
}

struct Raw32 {
  uint16_t parts[2];
};

}  // namespace

void type_left_out(ScalarType type) {
  raise(ErrorKind::NotImplementedError, "elements of type ", dtype_name(type),
        " were left out of this build: add it to SCRIPTLANG_DTYPES");
}

Convert converter(ScalarType to, ScalarType from) {
  if (to == ScalarType::Float32 || from == ScalarType::Float32) {
    if (Convert fast = fast_converter(to, from)) return fast;
  }
  switch (to) {
    // clang-format off
#define X(name, type) \
  case ScalarType::name: return converter_to<type>(from);
    SL_ARITHMETIC_TYPES(X)
#undef X
      // clang-format on
    case ScalarType::Complex32: return from == to ? &convert<Raw32, Raw32> : nullptr;
    case ScalarType::QInt8: return from == to ? &convert<int8_t, int8_t> : nullptr;
    case ScalarType::QUInt8: return from == to ? &convert<uint8_t, uint8_t> : nullptr;
    case ScalarType::QInt32: return from == to ? &convert<int32_t, int32_t> : nullptr;
    default: return nullptr;
  }
}

}  // namespace scriptlang::kernels
