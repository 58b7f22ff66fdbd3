// Chooses the set of kernels for this processor, once: AVX-512, AVX2 or portable.
#include <cstdlib>
#include <cstring>

#include "kernel_set.h"

namespace scriptlang::kernels {

// Widest first.
// clang-format off
#define SL_ISAS_X86(X)                                                                      \
  X(avx512, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&      \
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && \
                __builtin_cpu_supports("fma"))                                              \
  X(avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
// clang-format on

namespace portable {
const KernelSet& kernel_set();
}
#ifdef SL_HAS_ISA_avx2
// clang-format off
#define X(name, test)            \
  namespace name {               \
  const KernelSet& kernel_set(); \
  }
SL_ISAS_X86(X)
#undef X
// clang-format on
#endif

const KernelSet* usable_kernels(int index) {
#ifdef SL_HAS_ISA_avx2
  __builtin_cpu_init();
  // clang-format off
#define X(name, test) \
  if ((test) && index-- == 0) return &name::kernel_set();
  SL_ISAS_X86(X)
#undef X
// clang-format on
#endif
  return index == 0 ? &portable::kernel_set() : nullptr;
}

namespace {

const KernelSet& choose() {
  const char* wanted = std::getenv("SCRIPTLANG_ISA");
  if (wanted != nullptr) {
    for (int i = 0; usable_kernels(i) != nullptr; ++i) {
      if (std::strcmp(usable_kernels(i)->name, wanted) == 0) return *usable_kernels(i);
    }
  }
  return *usable_kernels(0);
}

}  // namespace

const KernelSet& kernels() {
  static const KernelSet& set = choose();
  return set;
}

}  // namespace scriptlang::kernels
