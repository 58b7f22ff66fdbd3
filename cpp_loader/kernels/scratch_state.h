// The block that a thread's Scratch uses, for who lends it another one.
#pragma once
#include <cstddef>

namespace scriptlang::kernels {

struct ScratchState {
  char* base = nullptr;
  std::size_t size = 0, used = 0, wanted = 0;
  bool is_lent = false;  // it neither grows nor is freed
};

// Exchanges the thread's block. No Scratch may be alive.
void swap_scratch(ScratchState* other);

}  // namespace scriptlang::kernels
