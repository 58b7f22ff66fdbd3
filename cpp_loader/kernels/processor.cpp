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

}  // namespace

bool processor_has(const char* name) noexcept {
  uint32_t a, b, c, d, one_c = 0, seven_b = 0, seven_c = 0, seven_one_a = 0;
  if (__get_cpuid(1, &a, &b, &c, &d)) one_c = c;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    seven_b = b;
    seven_c = c;
    if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) seven_one_a = a;
  }
  const struct {
    const char* name;
    uint32_t word;
    int bit;
    uint64_t registers;  // that it uses
  } all[] = {
      {"avx", one_c, 28, kYmm},
      {"fma", one_c, 12, kYmm},
      {"f16c", one_c, 29, kYmm},
      {"avx2", seven_b, 5, kYmm},
      {"bmi2", seven_b, 8, kNone},
      {"avx512f", seven_b, 16, kZmm},
      {"avx512bw", seven_b, 30, kZmm},
      {"avx512dq", seven_b, 17, kZmm},
      {"avx512vl", seven_b, 31, kZmm},
      {"avx512vnni", seven_c, 11, kZmm},
      {"avx512bf16", seven_one_a, 5, kZmm},
  };
  const uint64_t saved = one_c >> 27 & 1 ? saved_registers() : 0;
  for (const auto& one : all) {
    if (std::strcmp(one.name, name) != 0) continue;
    return (one.word >> one.bit & 1) && (saved & one.registers) == one.registers;
  }
  return false;
}

}  // namespace scriptlang::kernels

#else

namespace scriptlang::kernels {

bool processor_has(const char*) noexcept { return false; }

}  // namespace scriptlang::kernels

#endif
