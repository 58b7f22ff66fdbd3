// What operators take from memory besides the tensors that they give.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "values/pooled.h"

namespace scriptlang {

namespace memory {
// Raises as `charge` would and counts nothing: before an operator allocates for itself.
void ask(int64_t count, int64_t bytes_each);
// As `charge`, of `count` things; raises where there can be no so many.
void charge_items(size_t count, size_t bytes_each);
// Before a text that an operator makes grows by so many bytes.
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

// Like std::vector, of what depends on data or settings: its memory counts against the program's
// limit. It ends on the thread that made it.
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

// Working memory that nobody has written to, of plain numbers: for what is written once and may be
// so much that zeros would take long.
template <class T>
class WorkingBlock {
 public:
  explicit WorkingBlock(int64_t n)
      : size_(size_t(n)), data_(WorkingAllocator<T>().allocate(size_)) {}
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

// A tensor that nobody has written to, as a program gets it: any bytes, but bools are 0 or 1, and
// programs with a memory limit, which their host does not trust, see zeros and not what the process
// had there before.
const Tensor& unwritten(const Tensor& t);

}  // namespace scriptlang
