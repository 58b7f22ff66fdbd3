// Blocks of memory at multiples of a power of two.  Such a block goes back by give_aligned(): on
// Windows free() takes none of them.
#pragma once

#include <cstddef>
#include <cstdlib>

#if defined(_WIN32)
#include <malloc.h>
#endif

namespace scriptlang {

// Null if there is no memory.
inline void* take_aligned(size_t alignment, size_t bytes) noexcept {
#if defined(_WIN32)
  return _aligned_malloc(bytes, alignment);
#else
  void* block = nullptr;
  return posix_memalign(&block, alignment, bytes) == 0 ? block : nullptr;
#endif
}

inline void give_aligned(void* block) noexcept {
#if defined(_WIN32)
  _aligned_free(block);
#else
  std::free(block);
#endif
}

}  // namespace scriptlang
