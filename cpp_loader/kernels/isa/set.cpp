// The kernel set of one instruction set. With SL_BASE_ISA, it is that one's, but for the few tables
// that gain by more instructions.
#include "entry.h"

#define SL_TEXT_OF(x) #x
#define SL_TEXT(x) SL_TEXT_OF(x)

#if defined(SL_BASE_ISA)

namespace scriptlang::kernels::SL_BASE_ISA {
const KernelSet& kernel_set();
}

namespace scriptlang::kernels::SL_ISA {

const KernelSet& kernel_set() {
  static const KernelSet set = [] {
    KernelSet made = SL_BASE_ISA::kernel_set();
    made.name = SL_TEXT(SL_ISA);
    made.quantized_product = &quantized_product;
    return made;
  }();
  return set;
}

}  // namespace scriptlang::kernels::SL_ISA

#else

namespace scriptlang::kernels::SL_ISA {

const KernelSet& kernel_set() {
  static const KernelSet set{
      SL_TEXT(SL_ISA), &gemm_f32,     &gemm_f64,     &fast_loops, &finish_loops,
      &half_loops,     &plain_loops,  &pair_loops,   &conv_f32,   &conv_f64,
      &rows,           &lines,        &last_conv,    &pool,       &quantized_product,
      &quantized_rows, &twister,      &normal,       &copies,     &fourier_f32,
      &fourier_f64,    &grid,         &integers,     &resize,     &half_product,
      &dense_rows,     &backward_f32, &backward_f64, &updates};
  return set;
}

}  // namespace scriptlang::kernels::SL_ISA

#endif
