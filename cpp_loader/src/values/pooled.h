// Vectors whose memory comes from the thread's free lists (memory.cpp) instead of malloc. They are
// for short-lived data of every call, such as the sizes of a result.
#pragma once

#include <initializer_list>
#include <vector>

#include "tensor.h"

namespace scriptlang {

template <class T>
struct PooledAllocator {
  static_assert(alignof(T) <= 16);
  using value_type = T;
  PooledAllocator() = default;
  template <class U>
  PooledAllocator(const PooledAllocator<U>&) {}
  T* allocate(size_t n) {
    if (n > size_t(PTRDIFF_MAX) / sizeof(T)) throw std::bad_alloc();
    const size_t bytes = n * sizeof(T);
    return static_cast<T*>(bytes <= kSmall ? memory::take_small(bytes) : memory::take(bytes));
  }
  void deallocate(T* at, size_t n) noexcept {
    const size_t bytes = n * sizeof(T);
    if (bytes <= kSmall) memory::give_small(at, bytes);
    else memory::give(at, bytes);
  }
  template <class U>
  bool operator==(const PooledAllocator<U>&) const {
    return true;
  }
  template <class U>
  bool operator!=(const PooledAllocator<U>&) const {
    return false;
  }

 private:
  static constexpr size_t kSmall = 128;
};

template <class T>
using Pooled = std::vector<T, PooledAllocator<T>>;

// Sizes, strides or settings.
class Sizes : public Pooled<int64_t> {
 public:
  using Pooled<int64_t>::vector;
  Sizes() = default;
  Sizes(IntSpan values) : Sizes(values.begin(), values.end()) {}
  operator IntSpan() const { return {data(), int64_t(size())}; }
};

}  // namespace scriptlang
