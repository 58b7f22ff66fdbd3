// SIMD vectors with the compiler's vector extensions, as wide as the instruction set allows.
//
// The files of this folder are compiled once per instruction set, whose namespace is SL_ISA. They
// must not use inline functions of the standard library: the linker keeps one copy of such a
// function for the whole program, which might be the one that needs AVX-512.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#if defined(__AVX512F__)
#include <immintrin.h>
#define SL_VECTOR_BYTES 64
#elif defined(__AVX2__)
#include <immintrin.h>
#define SL_VECTOR_BYTES 32
#else
#if defined(__aarch64__)
#include <arm_neon.h>
#endif
#define SL_VECTOR_BYTES 16
#endif

#define SL_INLINE inline __attribute__((always_inline))
#define SL_ALWAYS __attribute__((always_inline))  // for lambdas
#define SL_NOINLINE __attribute__((noinline))
#define SL_UNROLL _Pragma("GCC unroll 64")
#define SL_RESTRICT __restrict__
// Marks a loop whose iterations do not read what others write.
#if defined(__clang__)
#define SL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define SL_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace scriptlang::kernels::SL_ISA {
namespace {

template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  typedef float type __attribute__((vector_size(SL_VECTOR_BYTES)));
  typedef float loose __attribute__((vector_size(SL_VECTOR_BYTES), aligned(4), may_alias));
};
template <>
struct VectorOf<double> {
  typedef double type __attribute__((vector_size(SL_VECTOR_BYTES)));
  typedef double loose __attribute__((vector_size(SL_VECTOR_BYTES), aligned(8), may_alias));
};

template <class T>
using Vector = typename VectorOf<T>::type;
template <class T>
constexpr int kLanes = SL_VECTOR_BYTES / static_cast<int>(sizeof(T));

template <class T>
SL_INLINE Vector<T> load(const T* p) {
  return *reinterpret_cast<const typename VectorOf<T>::loose*>(p);
}
template <class T>
SL_INLINE void store(T* p, Vector<T> v) {
  *reinterpret_cast<typename VectorOf<T>::loose*>(p) = v;
}
template <class T>
SL_INLINE Vector<T> splat(T x) {
  return x - Vector<T>{};
}

// A vector that stays in its register: compilers would read memory again for each of its uses.
template <class V>
SL_INLINE V in_register(V x) {
#if defined(__x86_64__)
  asm("" : "+v"(x));
#elif defined(__aarch64__)
  asm("" : "+w"(x));
#endif
  return x;
}

#if defined(__AVX512F__)
SL_INLINE __mmask16 first_lanes(float, int n) {
  return n >= 16 ? 0xffff : n <= 0 ? 0 : static_cast<__mmask16>((1u << n) - 1);
}
SL_INLINE __mmask8 first_lanes(double, int n) {
  return n >= 8 ? 0xff : n <= 0 ? 0 : static_cast<__mmask8>((1u << n) - 1);
}
// Loads the first n lanes; the others are zero, and their memory is not read.
SL_INLINE Vector<float> load_first(const float* p, int n) {
  return (Vector<float>)_mm512_maskz_loadu_ps(first_lanes(0.f, n), p);
}
SL_INLINE Vector<double> load_first(const double* p, int n) {
  return (Vector<double>)_mm512_maskz_loadu_pd(first_lanes(0., n), p);
}
SL_INLINE void store_first(float* p, Vector<float> v, int n) {
  _mm512_mask_storeu_ps(p, first_lanes(0.f, n), (__m512)v);
}
SL_INLINE void store_first(double* p, Vector<double> v, int n) {
  _mm512_mask_storeu_pd(p, first_lanes(0., n), (__m512d)v);
}
// A mask of lanes, shared by several loads and stores.
template <class T>
using Lanes = decltype(first_lanes(T{}, 0));
template <class T>
SL_INLINE Lanes<T> first_lanes(int n) {
  return first_lanes(T{}, n);
}
SL_INLINE Vector<float> load_lanes(const float* p, __mmask16 lanes) {
  return (Vector<float>)_mm512_maskz_loadu_ps(lanes, p);
}
SL_INLINE Vector<double> load_lanes(const double* p, __mmask8 lanes) {
  return (Vector<double>)_mm512_maskz_loadu_pd(lanes, p);
}
SL_INLINE void store_lanes(float* p, Vector<float> v, __mmask16 lanes) {
  _mm512_mask_storeu_ps(p, lanes, (__m512)v);
}
SL_INLINE void store_lanes(double* p, Vector<double> v, __mmask8 lanes) {
  _mm512_mask_storeu_pd(p, lanes, (__m512d)v);
}
#else
#if defined(__AVX2__)
// Lanes that are set, from the last ones of eight on: where a mask of the first n lanes begins.
alignas(64) constexpr int32_t kLaneMasks[16] = {-1, -1, -1, -1, -1, -1, -1, -1,
                                                0,  0,  0,  0,  0,  0,  0,  0};
SL_INLINE __m256i mask_of_first(int lanes, int n) {
  n = n < 0 ? 0 : n > lanes ? lanes : n;
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kLaneMasks + 8 - 8 / lanes * n));
}
// Loads the first n lanes; the others are zero, and their memory is not read.
SL_INLINE Vector<float> load_first(const float* p, int n) {
  if (n >= 8) return load(p);
  return (Vector<float>)_mm256_maskload_ps(p, mask_of_first(8, n));
}
SL_INLINE Vector<double> load_first(const double* p, int n) {
  if (n >= 4) return load(p);
  return (Vector<double>)_mm256_maskload_pd(p, mask_of_first(4, n));
}
#elif defined(__aarch64__)
// Loads the first n lanes; the others are zero, and their memory is not read.
SL_INLINE Vector<double> load_first(const double* p, int n) {
  if (n >= 2) return load(p);
  return Vector<double>{n == 1 ? *p : 0};
}
SL_INLINE Vector<float> load_first(const float* p, int n) {
  if (n >= 4) return load(p);
  if (n <= 1) return Vector<float>{n == 1 ? *p : 0};
  return Vector<float>{p[0], p[1], n == 3 ? p[2] : 0};
}
#else
template <class T>
SL_INLINE Vector<T> load_first(const T* p, int n) {
  if (n >= kLanes<T>) return load(p);
  Vector<T> v{};
  for (int i = 0; i < n; ++i) v[i] = p[i];
  return v;
}
#endif
template <class T>
SL_INLINE void store_first(T* p, Vector<T> v, int n) {
  if (n >= kLanes<T>) {
    store(p, v);
    return;
  }
#if defined(__aarch64__)
  if (n > 0) p[0] = v[0];
  if (n > 1) p[1] = v[1];
  if (n > 2) p[2] = v[2 % kLanes<T>];
#else
  for (int i = 0; i < n; ++i) p[i] = v[i];
#endif
}
// The lanes of several loads and stores: a count, with functions that are not unrolled into each of
// them.
template <class T>
using Lanes = int;
template <class T>
SL_INLINE int first_lanes(int n) {
  return n;
}
#if defined(__aarch64__)
// No call keeps the vectors that are in registers.
template <class T>
SL_INLINE Vector<T> load_few(const T* p, int n) {
  return load_first(p, n);
}
#else
template <class T>
SL_NOINLINE Vector<T> load_few(const T* p, int n) {
  return load_first(p, n);
}
#endif
template <class T>
SL_NOINLINE void store_few(T* p, Vector<T> v, int n) {
  for (int i = 0; i < n; ++i) p[i] = v[i];
}
template <class T>
SL_INLINE Vector<T> load_lanes(const T* p, int n) {
  return n >= kLanes<T> ? load(p) : load_few(p, n);
}
template <class T>
SL_INLINE void store_lanes(T* p, Vector<T> v, int n) {
  if (n >= kLanes<T>) store(p, v);
  else store_few(p, v, n);
}
#endif

// at_least: the maximum of x and `low`; at_most: the minimum of x and `high`. A NaN in x stays.
#if defined(__AVX512F__)
SL_INLINE Vector<float> at_least(Vector<float> x, Vector<float> low) {
  return (Vector<float>)_mm512_max_ps((__m512)low, (__m512)x);
}
SL_INLINE Vector<double> at_least(Vector<double> x, Vector<double> low) {
  return (Vector<double>)_mm512_max_pd((__m512d)low, (__m512d)x);
}
SL_INLINE Vector<float> at_most(Vector<float> x, Vector<float> high) {
  return (Vector<float>)_mm512_min_ps((__m512)high, (__m512)x);
}
SL_INLINE Vector<double> at_most(Vector<double> x, Vector<double> high) {
  return (Vector<double>)_mm512_min_pd((__m512d)high, (__m512d)x);
}
#elif defined(__AVX2__)
SL_INLINE Vector<float> at_least(Vector<float> x, Vector<float> low) {
  return (Vector<float>)_mm256_max_ps((__m256)low, (__m256)x);
}
SL_INLINE Vector<double> at_least(Vector<double> x, Vector<double> low) {
  return (Vector<double>)_mm256_max_pd((__m256d)low, (__m256d)x);
}
SL_INLINE Vector<float> at_most(Vector<float> x, Vector<float> high) {
  return (Vector<float>)_mm256_min_ps((__m256)high, (__m256)x);
}
SL_INLINE Vector<double> at_most(Vector<double> x, Vector<double> high) {
  return (Vector<double>)_mm256_min_pd((__m256d)high, (__m256d)x);
}
#elif defined(__aarch64__)
// The greater of two zeros is the positive one here.
SL_INLINE Vector<float> at_least(Vector<float> x, Vector<float> low) { return vmaxq_f32(x, low); }
SL_INLINE Vector<double> at_least(Vector<double> x, Vector<double> low) {
  return vmaxq_f64(x, low);
}
SL_INLINE Vector<float> at_most(Vector<float> x, Vector<float> high) { return vminq_f32(x, high); }
SL_INLINE Vector<double> at_most(Vector<double> x, Vector<double> high) {
  return vminq_f64(x, high);
}
#else
template <class V>
SL_INLINE V at_least(V x, V low) {
  return x < low ? low : x;
}
template <class V>
SL_INLINE V at_most(V x, V high) {
  return x > high ? high : x;
}
#endif

// Elements 0, 2, 4, ... and 1, 3, 5, ... of two vectors.
template <class T>
struct Halves {
  Vector<T> even, odd;
};
template <class T, int... I>
SL_INLINE Halves<T> halves_of(Vector<T> a, Vector<T> b, std::integer_sequence<int, I...>) {
  return {__builtin_shufflevector(a, b, (2 * I)...), __builtin_shufflevector(a, b, (2 * I + 1)...)};
}
template <class T>
SL_INLINE Halves<T> halves(Vector<T> a, Vector<T> b) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) {  // four instructions, where compilers make six slower ones
    const __m256 low = _mm256_permute2f128_ps((__m256)a, (__m256)b, 0x20);
    const __m256 high = _mm256_permute2f128_ps((__m256)a, (__m256)b, 0x31);
    return {(Vector<T>)_mm256_shuffle_ps(low, high, 0x88),
            (Vector<T>)_mm256_shuffle_ps(low, high, 0xdd)};
  }
#endif
  return halves_of<T>(a, b, std::make_integer_sequence<int, kLanes<T>>{});
}

SL_INLINE void prefetch(const void* p) { __builtin_prefetch(p, 0, 3); }
SL_INLINE void prefetch_second(const void* p) { __builtin_prefetch(p, 0, 2); }

// The greater of each lane and b; b for a NaN.
template <class T>
SL_INLINE Vector<T> maximum_with(Vector<T> a, T b) {
#if defined(__aarch64__)
  if constexpr (sizeof(T) == 4) return vmaxnmq_f32(a, splat(b));
#endif
  return a > splat(b) ? a : splat(b);
}

// Adds to every lane the one `By` lanes further, with wrap-around.
template <class T, int By, int... I>
SL_INLINE Vector<T> add_rotated(Vector<T> v, std::integer_sequence<int, I...>) {
  return v + __builtin_shufflevector(v, v, ((I + By) % kLanes<T>)...);
}

template <class T, int By = kLanes<T> / 2>
SL_INLINE T sum_lanes(Vector<T> v) {
  v = add_rotated<T, By>(v, std::make_integer_sequence<int, kLanes<T>>{});
  if constexpr (By > 1) return sum_lanes<T, By / 2>(v);
  else return v[0];
}

// One butterfly stage of a transposition: exchanges the off-diagonal blocks of H lanes of two rows
// that are H apart.
template <class T, int H, int... I>
SL_INLINE void exchange(Vector<T>& a, Vector<T>& b, std::integer_sequence<int, I...>) {
  constexpr int W = kLanes<T>;
  Vector<T> low = __builtin_shufflevector(a, b, ((I & H) ? W + (I - H) : I)...);
  Vector<T> high = __builtin_shufflevector(a, b, ((I & H) ? W + I : I + H)...);
  a = low;
  b = high;
}

template <class T, int H>
SL_INLINE void transpose_stage(Vector<T>* rows) {
  constexpr int W = kLanes<T>;
  SL_UNROLL for (int i = 0; i < W; ++i) {
    if ((i & H) == 0) {
      exchange<T, H>(rows[i], rows[i + H], std::make_integer_sequence<int, W>{});
    }
  }
  if constexpr (H > 1) transpose_stage<T, H / 2>(rows);
}

// Transposes kLanes x kLanes elements in registers.
template <class T>
SL_INLINE void transpose(Vector<T>* rows) {
  transpose_stage<T, kLanes<T> / 2>(rows);
}

SL_INLINE int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }
SL_INLINE int64_t max_of(int64_t a, int64_t b) { return a > b ? a : b; }
SL_INLINE int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace
}  // namespace scriptlang::kernels::SL_ISA
