// Selects the set of kernels for this processor, once: AVX-512, AVX2, ARM's dot products or
// portable. In a build for one instruction set there is nothing to select.
#include <cstdlib>
#include <cstring>

#include "can_run.h"
#include "kernel_set.h"
#include "processor.h"

namespace scriptlang::kernels {

// X(name, test of the processor), the widest vectors first.
// clang-format off
#define SL_ISAS_X86(X)                                                                  \
  X(avx512, processor_has("avx512f") && processor_has("avx512bw") &&                    \
                processor_has("avx512dq") && processor_has("avx512vl") &&               \
                processor_has("fma") && processor_has("f16c") && processor_has("bmi2")) \
  X(avx2, processor_has("avx2") && processor_has("fma") && processor_has("f16c") &&     \
              processor_has("bmi2"))
#define SL_ISAS_ARM(X) X(dotprod, processor_has("dotprod"))
// clang-format on

namespace {

// Whether the processor supports the set of this name.
[[maybe_unused]] bool has([[maybe_unused]] const char* wanted) {
#if defined(__x86_64__) || defined(__i386__)
#define X(name, test) \
  if (std::strcmp(wanted, #name) == 0) return test;
  SL_ISAS_X86(X)
#undef X
#elif defined(__aarch64__)
#define X(name, test) \
  if (std::strcmp(wanted, #name) == 0) return test;
  SL_ISAS_ARM(X)
#undef X
#endif
  return true;
}

}  // namespace

#if defined(SL_ONE_ISA)

#define SL_TEXT_OF(x) #x
#define SL_TEXT(x) SL_TEXT_OF(x)

bool can_run() {
  static const bool can = has(SL_TEXT(SL_ONE_ISA));
  return can;
}

#else

// The sets in this build, in the same order.
#if defined(SL_HAS_ISA_avx512)
#define SL_ISA_AVX512(X) X(avx512)
#else
#define SL_ISA_AVX512(X)
#endif
#if defined(SL_HAS_ISA_avx2)
#define SL_ISA_AVX2(X) X(avx2)
#else
#define SL_ISA_AVX2(X)
#endif
#if defined(SL_HAS_ISA_dotprod)
#define SL_ISA_DOTPROD(X) X(dotprod)
#else
#define SL_ISA_DOTPROD(X)
#endif
#if defined(SL_HAS_ISA_portable)
#define SL_ISA_PORTABLE(X) X(portable)
#else
#define SL_ISA_PORTABLE(X)
#endif
#define SL_BUILT_ISAS(X) SL_ISA_AVX512(X) SL_ISA_AVX2(X) SL_ISA_DOTPROD(X) SL_ISA_PORTABLE(X)

#define X(name)                  \
  namespace name {               \
  const KernelSet& kernel_set(); \
  }
SL_BUILT_ISAS(X)
#undef X

const KernelSet* usable_kernels(int index) {
#define X(name) \
  if (has(#name) && index-- == 0) return &name::kernel_set();
  SL_BUILT_ISAS(X)
#undef X
  return nullptr;
}

bool can_run() { return usable_kernels(0) != nullptr; }

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

#endif

}  // namespace scriptlang::kernels
