// What the kernels of one instruction set offer to isa/set.cpp.
#pragma once
#include "../kernel_set.h"

namespace scriptlang::kernels::SL_ISA {

extern const GemmFunctions<float> gemm_f32;
extern const GemmFunctions<double> gemm_f64;
extern const FastLoops fast_loops;

const KernelSet& kernel_set();

}  // namespace scriptlang::kernels::SL_ISA
