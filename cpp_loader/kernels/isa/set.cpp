// The kernel set of one instruction set.
#include "entry.h"

#define SL_TEXT_OF(x) #x
#define SL_TEXT(x) SL_TEXT_OF(x)

namespace scriptlang::kernels::SL_ISA {

const KernelSet& kernel_set() {
  static const KernelSet set{
      SL_TEXT(SL_ISA), &gemm_f32,    &gemm_f64,   &fast_loops,   &finish_loops,
      &half_loops,     &plain_loops, &pair_loops, &conv_f32,     &conv_f64,
      &rows,           &lines,       &last_conv,  &pool,         &quantized_product,
      &quantized_rows, &twister,     &copies,     &fourier_f32,  &fourier_f64,
      &grid,           &integers,    &resize,     &half_product, &dense_rows,
      &backward_f32,   &backward_f64};
  return set;
}

}  // namespace scriptlang::kernels::SL_ISA
