// Conversion of vectors of sums to codes or numbers, and loading and storing of codes.
#pragma once
#include "../quantized.h"
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr int kWords = SL_VECTOR_BYTES / 4;
typedef int32_t Words __attribute__((vector_size(SL_VECTOR_BYTES)));
typedef int32_t LooseWords __attribute__((vector_size(SL_VECTOR_BYTES), aligned(4), may_alias));
typedef uint8_t Bytes __attribute__((vector_size(SL_VECTOR_BYTES / 4)));
typedef int8_t SignedBytes __attribute__((vector_size(SL_VECTOR_BYTES / 4)));

// Adding and subtracting this rounds a float below 2^22 to the nearest integer, halves to even.
[[maybe_unused]] constexpr float kRounder = 12582912.0f;

SL_INLINE Words load_words(const int32_t* p) { return *reinterpret_cast<const LooseWords*>(p); }

// Widens codes to int32, with instructions where possible: compilers need many steps for it.
SL_INLINE Words load_codes(const uint8_t* p, bool is_signed) {
#if defined(__AVX512F__)
  __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return (Words)(is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes));
#elif defined(__AVX2__)
  __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return (Words)(is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes));
#elif defined(__aarch64__)
  uint32_t word;
  __builtin_memcpy(&word, p, sizeof word);
  const uint8x8_t bytes = vreinterpret_u8_u32(vdup_n_u32(word));
  return is_signed ? (Words)vmovl_s16(vget_low_s16(vmovl_s8(vreinterpret_s8_u8(bytes))))
                   : (Words)vmovl_u16(vget_low_u16(vmovl_u8(bytes)));
#else
  Bytes bytes;
  __builtin_memcpy(&bytes, p, sizeof bytes);
  return is_signed ? __builtin_convertvector((SignedBytes)bytes, Words)
                   : __builtin_convertvector(bytes, Words);
#endif
}

SL_INLINE Words load_first_codes(const uint8_t* p, bool is_signed, int n) {
  if (n >= kWords) return load_codes(p, is_signed);
  uint8_t bytes[kWords] = {};
  for (int i = 0; i < n; ++i) bytes[i] = p[i];
  return load_codes(bytes, is_signed);
}

SL_INLINE void store_first_codes(uint8_t* p, Words codes, int n) {
#if defined(__AVX512F__)
  __m128i bytes = _mm512_cvtepi32_epi8((__m512i)codes);
  _mm_mask_storeu_epi8(p, first_lanes(0.f, n), bytes);
#elif defined(__aarch64__)
  const uint16x4_t half = vmovn_u32((uint32x4_t)codes);
  const uint8x8_t bytes = vmovn_u16(vcombine_u16(half, half));
  if (n >= kWords) {
    __builtin_memcpy(p, &bytes, kWords);
    return;
  }
  if (n > 0) p[0] = bytes[0];
  if (n > 1) p[1] = bytes[1];
  if (n > 2) p[2] = bytes[2];
#else
  Bytes bytes = __builtin_convertvector(codes, Bytes);
  if (n >= kWords) {
    __builtin_memcpy(p, &bytes, sizeof bytes);
    return;
  }
  for (int i = 0; i < n; ++i) p[i] = bytes[i];
#endif
}

// Clamps and rounds scaled numbers to codes, before the zero point is added.
SL_INLINE Words encoded(Vector<float> v, const Encoding& e) {
  int32_t zero = e.zero;
  Vector<float> low = splat(static_cast<float>(e.low - zero));
  Vector<float> high = splat(static_cast<float>(e.high - zero));
#if defined(__aarch64__)
  return (Words)vcvtnq_s32_f32(vminq_f32(vmaxnmq_f32(v, low), high)) + zero;
#else
  v = v > low ? v : low;
  v = v < high ? v : high;
  v = (v + splat(kRounder)) - splat(kRounder);
  return __builtin_convertvector(v, Words) + zero;
#endif
}

// Converts a vector of sums at column j as `how` asks, and stores its first n elements.
template <class How>
SL_INLINE void finish_sums(const How& how, Vector<float> sums, int64_t j, int n, uint8_t* codes,
                           float* numbers) {
  Vector<float> factor = load(how.factor + j);
  if (how.sums == Sums::kNumbers) {
    sums = sums * factor;
    if (how.bias) sums = sums + load(how.bias + j);
    if (how.relu) sums = maximum_with(sums, 0.0f);
    store_first(numbers, sums, n);
    return;
  }
  if (how.bias) sums = sums + load(how.bias + j);
  sums = sums * factor;
  if (how.relu) sums = maximum_with(sums, 0.0f);
  store_first_codes(codes, encoded(sums, how.encoding), n);
}

}  // namespace
}  // namespace scriptlang::kernels::SL_ISA
