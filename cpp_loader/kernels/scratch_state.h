// The block from which a thread's Scratch takes memory, for code that lends it another one.
#pragma once
#include <cstddef>

namespace scriptlang::kernels {

struct ScratchState {
  char* base = nullptr;
  std::size_t size = 0, used = 0, wanted = 0;
  bool is_lent = false;  // it is neither grown nor freed
};

// Exchanges the thread's block. No Scratch may be alive.
void swap_scratch(ScratchState* other);

}  // namespace scriptlang::kernels
