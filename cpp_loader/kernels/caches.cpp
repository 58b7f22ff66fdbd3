// How large the caches are: see caches.h.
#include "caches.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(__linux__)
#include <unistd.h>
#endif

namespace scriptlang::kernels {

namespace {

constexpr int64_t kLeast = 64 << 10, kMost = 64 << 20;  // beyond them it is no such cache

#if defined(__x86_64__) || defined(__i386__)

// Looks through the caches that a leaf of cpuid describes: Intel's leaf 4, AMD's 0x8000001d.
int64_t told_by(uint32_t leaf) noexcept {
  constexpr uint32_t kMostCaches = 8, kData = 1, kUnified = 3;
  for (uint32_t k = 0; k < kMostCaches; ++k) {
    uint32_t a, b, c, d;
    if (!__get_cpuid_count(leaf, k, &a, &b, &c, &d)) return 0;
    const uint32_t kind = a & 31, level = a >> 5 & 7;
    if (kind == 0) return 0;
    if (level != 2 || (kind != kData && kind != kUnified)) continue;
    const int64_t ways = (b >> 22) + 1, parts = (b >> 12 & 1023) + 1, line = (b & 4095) + 1;
    return ways * parts * line * (int64_t(c) + 1);
  }
  return 0;
}

int64_t told() noexcept {
  const int64_t bytes = told_by(4);
  return bytes ? bytes : told_by(0x8000001d);
}

#elif defined(__APPLE__)

int64_t told() noexcept {
  int64_t bytes = 0;
  size_t size = sizeof bytes;
  if (sysctlbyname("hw.perflevel0.l2cachesize", &bytes, &size, nullptr, 0) == 0) return bytes;
  bytes = 0;
  size = sizeof bytes;
  return sysctlbyname("hw.l2cachesize", &bytes, &size, nullptr, 0) == 0 ? bytes : 0;
}

#elif defined(_SC_LEVEL2_CACHE_SIZE)

int64_t told() noexcept { return sysconf(_SC_LEVEL2_CACHE_SIZE); }

#else

int64_t told() noexcept { return 0; }

#endif

}  // namespace

int64_t second_cache_bytes() noexcept {
  static const int64_t bytes = [] {
    const int64_t found = told();
    return found >= kLeast && found <= kMost ? found : kUsualSecondCache;
  }();
  return bytes;
}

int64_t second_cache_block(int64_t usual) noexcept {
  const int64_t known = second_cache_bytes();
  return known < kUsualSecondCache ? usual * known / kUsualSecondCache : usual;
}

}  // namespace scriptlang::kernels
