// Scratch memory of a kernel: taken from a block that the thread keeps, returned at scope exit.
#pragma once
#include <cstddef>
#include <cstdint>

#include "as_size.h"

namespace scriptlang::kernels {

// Charges large scratch memory to the program's memory limit while it is in use; negative bytes are
// returned. Set by the engine (null without it); raises MemoryError beyond the limit.
extern void (*count_scratch)(int64_t bytes);

// 64-byte aligned, uninitialised memory. Scopes must nest: the last taken is the first returned.
// Throws std::bad_alloc. Sizes are computed with 64 bits everywhere: what does not fit addresses of
// 32 bits is refused.
class Scratch {
 public:
  explicit Scratch(std::uint64_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(data_);
  }

 private:
  struct Block;
  // Smaller requests are not charged: the cost would exceed the benefit.
  static constexpr std::size_t kCounted = std::size_t{1} << 18;
  void take();
  static Block* make_block();
  static Block& block_here();
  Block& block_;  // of this thread
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool own_ = false;
};

}  // namespace scriptlang::kernels
