#include <cstdlib>
#include <cstring>

#include "kernel_set.h"

namespace scriptlang::kernels {

// Widest first.
#define SL_ISAS_X86(X)                                                            \
  X(avx512, __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && \
                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) \
  X(avx2, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))

namespace portable {
const KernelSet& kernel_set();
}
#ifdef SL_HAS_ISA_avx2
#define X(name, test)            \
  namespace name {               \
  const KernelSet& kernel_set(); \
  }
SL_ISAS_X86(X)
#undef X
#endif

namespace {

const KernelSet& choose() {
  const char* wanted = std::getenv("SCRIPTLANG_ISA");
#ifdef SL_HAS_ISA_avx2
  __builtin_cpu_init();
  bool reached = wanted == nullptr;
#define X(name, test)                                               \
  reached = reached || std::strcmp(wanted, #name) == 0;             \
  if (reached && (test)) return name::kernel_set();
  SL_ISAS_X86(X)
#undef X
#endif
  (void)wanted;
  return portable::kernel_set();
}

}  // namespace

const KernelSet& kernels() {
  static const KernelSet& set = choose();
  return set;
}

}  // namespace scriptlang::kernels
