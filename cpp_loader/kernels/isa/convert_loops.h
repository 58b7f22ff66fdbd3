// The types of elements, and loops that convert between them.
#pragma once
#include "../loops.h"
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

// `Wide` is the type for arithmetic that may wrap. A bool is a byte that is zero or not.
template <class T>
struct Of {
  using Wide = T;
  static constexpr bool kInt = false, kBool = false, kFloat = true;
};
#define X(type, wide)                                                 \
  template <>                                                         \
  struct Of<type> {                                                   \
    using Wide = wide;                                                \
    static constexpr bool kInt = true, kBool = false, kFloat = false; \
  };
X(uint8_t, uint32_t)
X(int8_t, uint32_t)
X(int16_t, uint32_t)
X(int32_t, uint32_t)
X(int64_t, uint64_t)
#undef X
template <>
struct Of<bool> {
  using Wide = bool;
  static constexpr bool kInt = false, kBool = true, kFloat = false;
};

template <class T>
constexpr ScalarType scalar_type();
#define X(type, name)                        \
  template <>                                \
  constexpr ScalarType scalar_type<type>() { \
    return ScalarType::name;                 \
  }
X(uint8_t, UInt8)
X(int8_t, Int8)
X(int16_t, Int16)
X(int32_t, Int32)
X(int64_t, Int64)
X(bool, Bool)
X(float, Float32)
X(double, Float64)
#undef X

template <class T>
SL_INLINE T read(const T* from) {
  return *from;
}
SL_INLINE bool read(const bool* from) { return *reinterpret_cast<const uint8_t*>(from) != 0; }

// The same conversions as in kernels/convert.cpp: nonzero numbers become true, floats are
// truncated.
template <class To, class From>
SL_INLINE To converted(From x) {
  if constexpr (Of<To>::kBool) {
    return x != From(0);
  } else if constexpr (!Of<From>::kInt && !Of<From>::kBool && Of<To>::kInt) {
    if constexpr (sizeof(To) == 4 && To(-1) < To(0)) {
      bool fits = x >= From(-2147483648.0) && x < From(2147483648.0);
      return fits ? static_cast<To>(x) : static_cast<To>(-2147483647 - 1);
    } else {
      constexpr From kLimit = From(9223372036854775808.0);
      bool fits = x >= -kLimit && x < kLimit;
      return static_cast<To>(fits ? static_cast<int64_t>(x) : int64_t(-9223372036854775807 - 1));
    }
  } else {
    return static_cast<To>(x);
  }
}

#if defined(__AVX2__) && !defined(__AVX512DQ__)
// AVX2 converts floats to 32 bits only, which most of them fit into.
SL_INLINE void store_longs(int64_t* to, Vector<float> x) {
  const __m256i ints = _mm256_cvttps_epi32((__m256)x);
  __m256i* at = reinterpret_cast<__m256i*>(to);
  _mm256_storeu_si256(at, _mm256_cvtepi32_epi64(_mm256_castsi256_si128(ints)));
  _mm256_storeu_si256(at + 1, _mm256_cvtepi32_epi64(_mm256_extracti128_si256(ints, 1)));
}
SL_INLINE void store_longs(int64_t* to, Vector<double> x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                      _mm256_cvtepi32_epi64(_mm256_cvttpd_epi32((__m256d)x)));
}
// Returns how many elements it has converted.
template <class From>
int64_t convert_to_longs(int64_t n, int64_t* to, const From* from) {
  constexpr int64_t L = kLanes<From>;
  const Vector<From> low = splat(From(-2147483648.0)), high = splat(From(2147483648.0));
  int64_t i = 0;
  for (; i + L <= n; i += L) {
    const Vector<From> x = load(from + i);
    const auto fits = (x >= low) & (x < high);
    if (_mm256_testc_si256((__m256i)fits, _mm256_set1_epi32(-1))) {
      store_longs(to + i, x);
    } else {
      for (int64_t j = i; j < i + L; ++j) to[j] = converted<int64_t>(from[j]);
    }
  }
  return i;
}
#endif

template <class To, class From>
void convert(int64_t n, void* to, const void* from) {
  const From* a = static_cast<const From*>(from);
  To* o = static_cast<To*>(to);
  int64_t i = 0;
#if defined(__AVX2__) && !defined(__AVX512DQ__)
  if constexpr (Of<From>::kFloat && sizeof(To) == 8 && Of<To>::kInt) i = convert_to_longs(n, o, a);
#endif
  for (; i < n; ++i) o[i] = converted<To>(read(a + i));
}

}  // namespace
}  // namespace scriptlang::kernels::SL_ISA
