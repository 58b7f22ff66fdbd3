// Memory that operators allocate besides the tensors they return.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "values/pooled.h"

namespace scriptlang {

namespace memory {
// Raises where `charge` would, without counting anything. Called before an operator makes
// allocations of its own.
void ask(int64_t count, int64_t bytes_each);
// As `charge`, for `count` items; raises also where the size overflows.
void charge_items(size_t count, size_t bytes_each);
// As `ask`, before a string that an operator builds grows by `more` bytes.
inline void ask_to_grow(const std::string& text, size_t more) {
  ask(int64_t(text.size() + more), 2);
}

}  // namespace memory

// Counts working memory against the program's limit while it is in use.
class Charged {
 public:
  explicit Charged(int64_t bytes) : bytes_(bytes) { memory::charge(bytes); }
  ~Charged() { memory::uncharge(bytes_); }
  Charged(const Charged&) = delete;
  Charged& operator=(const Charged&) = delete;

 private:
  int64_t bytes_;
};

// Allocator of Working<T>, a std::vector whose size depends on data or settings: its memory counts
// against the program's limit. The vector must be destroyed on the thread that made it.
template <class T>
struct WorkingAllocator {
  using value_type = T;
  WorkingAllocator() = default;
  template <class U>
  WorkingAllocator(const WorkingAllocator<U>&) {}
  T* allocate(size_t n) {
    memory::charge_items(n, sizeof(T));
    try {
      return PooledAllocator<T>().allocate(n);
    } catch (...) {
      memory::uncharge(int64_t(n * sizeof(T)));
      throw;
    }
  }
  void deallocate(T* at, size_t n) noexcept {
    PooledAllocator<T>().deallocate(at, n);
    memory::uncharge(int64_t(n * sizeof(T)));
  }
  template <class U>
  bool operator==(const WorkingAllocator<U>&) const {
    return true;
  }
  template <class U>
  bool operator!=(const WorkingAllocator<U>&) const {
    return false;
  }
};
template <class T>
using Working = std::vector<T, WorkingAllocator<T>>;

// Uninitialised working memory of plain numbers, for elements that are written once and may be so
// many that zeroing them would take long.
template <class T>
class WorkingBlock {
 public:
  explicit WorkingBlock(int64_t n)
      : size_(as_size(n)), data_(WorkingAllocator<T>().allocate(size_)) {}
  ~WorkingBlock() { WorkingAllocator<T>().deallocate(data_, size_); }
  WorkingBlock(const WorkingBlock&) = delete;
  WorkingBlock& operator=(const WorkingBlock&) = delete;

  T* data() { return data_; }
  const T* data() const { return data_; }
  int64_t size() const { return int64_t(size_); }
  T& operator[](int64_t i) { return data_[i]; }
  const T& operator[](int64_t i) const { return data_[i]; }

 private:
  size_t size_;
  T* data_;
};

// Prepares an uninitialised tensor for a program to see: its bytes may be any, but bools are 0 or
// 1, and programs with a memory limit, which are not trusted, see zeros instead of earlier contents
// of the process's memory.
const Tensor& unwritten(const Tensor& t);

}  // namespace scriptlang
