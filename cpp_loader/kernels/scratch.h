// Working memory of a kernel: taken from a block the thread keeps, given back on scope exit.
#pragma once
#include <cstddef>
#include <cstdint>

namespace scriptlang::kernels {

// Counts what is large against what a program may use, while it is in use: the engine sets both,
// and the first raises where it is too much. Negative: it is given back.
extern void (*count_scratch)(int64_t bytes);

// 64-byte aligned, uninitialised. Scopes nest: the last taken is the first given back.
// Throws std::bad_alloc.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes);
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  template <class T>
  T* as() const noexcept {
    return static_cast<T*>(data_);
  }

 private:
  struct Block;
  // What is less is not counted: it would cost more than it tells.
  static constexpr std::size_t kCounted = std::size_t{1} << 18;
  void take();
  static Block* make_block();
  static Block& block_here();
  Block& block_;  // the thread's
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool own_ = false;
};

}  // namespace scriptlang::kernels
