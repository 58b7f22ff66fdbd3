// Normal numbers of uniform ones.
#pragma once

#include <cstdint>

namespace scriptlang::kernels {

// The functions of one instruction set.
struct NormalFunctions {
  // Turns blocks of sixteen uniform numbers in [0, 1) into normal ones by the Box-Muller transform,
  // which pairs each of the first eight with one of the last eight. Where there are fused
  // multiply-adds, the numbers are PyTorch's, to the last bit.
  void (*blocks_f32)(int64_t blocks, float mean, float std, float* data);
};

}  // namespace scriptlang::kernels
