// What the processor can do: see processor.h.
#include "processor.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

#include <cstdint>
#include <cstring>

namespace scriptlang::kernels {

namespace {

// The registers that the system saves for each thread.
uint64_t saved_registers() noexcept {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

constexpr uint64_t kNone = 0, kYmm = 0x06, kZmm = 0xe6;

struct Answers {
  uint32_t one_c = 0, seven_b = 0, seven_c = 0, seven_one_a = 0;
  uint64_t saved = 0;
};

Answers ask() noexcept {
  Answers found;
  uint32_t a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d)) found.one_c = c;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    found.seven_b = b;
    found.seven_c = c;
    if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) found.seven_one_a = a;
  }
  if (found.one_c >> 27 & 1) found.saved = saved_registers();
  return found;
}

}  // namespace

bool processor_has(const char* name) noexcept {
  static const Answers found = ask();  // once: in a virtual machine each question leaves it
  const struct {
    const char* name;
    uint32_t word;
    int bit;
    uint64_t registers;  // that it uses
  } all[] = {
      {"avx", found.one_c, 28, kYmm},
      {"fma", found.one_c, 12, kYmm},
      {"f16c", found.one_c, 29, kYmm},
      {"avx2", found.seven_b, 5, kYmm},
      {"bmi2", found.seven_b, 8, kNone},
      {"avx512f", found.seven_b, 16, kZmm},
      {"avx512bw", found.seven_b, 30, kZmm},
      {"avx512dq", found.seven_b, 17, kZmm},
      {"avx512vl", found.seven_b, 31, kZmm},
      {"avx512vnni", found.seven_c, 11, kZmm},
      {"avx512bf16", found.seven_one_a, 5, kZmm},
  };
  for (const auto& one : all) {
    if (std::strcmp(one.name, name) != 0) continue;
    return (one.word >> one.bit & 1) && (found.saved & one.registers) == one.registers;
  }
  return false;
}

}  // namespace scriptlang::kernels

#else

#include <cstring>

#if defined(__aarch64__) && (defined(__linux__) || defined(__ANDROID__))
#include <sys/auxv.h>
#elif defined(__aarch64__) && defined(__APPLE__)
#include <sys/sysctl.h>
#elif defined(__aarch64__) && defined(_WIN32)
#include <windows.h>
#endif

namespace scriptlang::kernels {

namespace {

// Products of four bytes each, summed up: sdot, udot.
bool has_dot_products() noexcept {
#if defined(__ARM_FEATURE_DOTPROD)
  return true;
#elif defined(__aarch64__) && (defined(__linux__) || defined(__ANDROID__))
  constexpr unsigned long kDotProducts = 1ul << 20;  // HWCAP_ASIMDDP, which old headers lack
  return (getauxval(AT_HWCAP) & kDotProducts) != 0;
#elif defined(__aarch64__) && defined(__APPLE__)
  int has = 0;
  size_t size = sizeof has;
  return sysctlbyname("hw.optional.arm.FEAT_DotProd", &has, &size, nullptr, 0) == 0 && has != 0;
#elif defined(__aarch64__) && defined(_WIN32)
  constexpr DWORD kDotProducts = 43;  // PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE
  return IsProcessorFeaturePresent(kDotProducts) != 0;
#else
  return false;
#endif
}

}  // namespace

bool processor_has(const char* name) noexcept {
  static const bool dot_products = has_dot_products();
  return std::strcmp(name, "dotprod") == 0 && dot_products;
}

}  // namespace scriptlang::kernels

#endif
