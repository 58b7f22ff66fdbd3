// What a processor can do: multiply-adds a second, in as many sums as its registers hold.
#pragma once

#include <cstring>

#include "timing.h"

namespace bench {

#if defined(__x86_64__)
#define SL_TARGET(names) __attribute__((target(names), noinline))
#else
#define SL_TARGET(names) __attribute__((noinline))
#endif

#define SL_RATE(name, target, bytes, sums)                                                 \
  SL_TARGET(target) inline float name(int64_t times) {                                     \
    typedef float Vector __attribute__((vector_size(bytes)));                              \
    Vector sum[sums] = {}, x = {}, y = {};                                                 \
    asm volatile("" : "+m"(x), "+m"(y));                                                   \
    for (int64_t i = 0; i < times; ++i) {                                                  \
      _Pragma("GCC unroll 16") for (int k = 0; k < sums; ++k) { sum[k] = sum[k] * x + y; } \
    }                                                                                      \
    float all = 0;                                                                         \
    for (int k = 0; k < sums; ++k) all += sum[k][0];                                       \
    return all;                                                                            \
  }

#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast")
#if defined(__x86_64__)
SL_RATE(multiply_add_avx2, "avx2,fma", 32, 12)
SL_RATE(multiply_add_avx512, "avx512f", 64, 16)
#else
SL_RATE(multiply_add, "", 16, 16)
#endif
#pragma GCC pop_options
#undef SL_RATE
#undef SL_TARGET

// GFLOP/s of one core with the instructions of a set of kernels.
inline double peak(const char* kernels) {
  constexpr int64_t kTimes = 100'000;
  volatile float sink;
  (void)kernels;
#if defined(__x86_64__)
  if (std::strcmp(kernels, "avx512") == 0) {
    return 2e-9 * kTimes * 16 * 16 / best_seconds([&] { sink = multiply_add_avx512(kTimes); });
  }
  return 2e-9 * kTimes * 12 * 8 / best_seconds([&] { sink = multiply_add_avx2(kTimes); });
#else
  return 2e-9 * kTimes * 16 * 4 / best_seconds([&] { sink = multiply_add(kTimes); });
#endif
}

}  // namespace bench
