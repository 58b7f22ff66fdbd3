// Working memory of a kernel: taken from a block the thread keeps, given back on scope exit.
#pragma once
#include <cstddef>
#include <cstdint>

namespace scriptlang::kernels {

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
  static Block* make_block();
  static Block& block_here();
  Block& block_;  // the thread's
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool own_ = false;
};

}  // namespace scriptlang::kernels
