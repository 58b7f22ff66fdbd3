// Vectors for kernels that are as long as the data; they are charged like scratch memory.
#pragma once
#include <memory>
#include <vector>

#include "scratch.h"

namespace scriptlang::kernels {

template <class T>
struct SpaceAllocator {
  using value_type = T;
  SpaceAllocator() = default;
  template <class U>
  SpaceAllocator(const SpaceAllocator<U>&) {}
  T* allocate(std::size_t n) {
    if (n > SIZE_MAX / 2 / sizeof(T)) throw std::bad_alloc();
    if (count_scratch != nullptr) count_scratch(static_cast<int64_t>(n * sizeof(T)));
    try {
      return std::allocator<T>().allocate(n);
    } catch (...) {
      if (count_scratch != nullptr) count_scratch(-static_cast<int64_t>(n * sizeof(T)));
      throw;
    }
  }
  void deallocate(T* at, std::size_t n) noexcept {
    if (count_scratch != nullptr) count_scratch(-static_cast<int64_t>(n * sizeof(T)));
    std::allocator<T>().deallocate(at, n);
  }
  template <class U>
  bool operator==(const SpaceAllocator<U>&) const {
    return true;
  }
  template <class U>
  bool operator!=(const SpaceAllocator<U>&) const {
    return false;
  }
};

// Must be destroyed on the thread that made it, whose memory limit it is charged to.
template <class T>
using Space = std::vector<T, SpaceAllocator<T>>;

}  // namespace scriptlang::kernels
