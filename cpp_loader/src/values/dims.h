// A small array of sizes, strides or dimensions, without heap memory.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "tensor.h"

namespace scriptlang {

// Holds at most kMaxDims numbers; more raise RuntimeError.
class Dims {
 public:
  Dims() = default;
  Dims(IntSpan values) { assign(values); }
  Dims(std::initializer_list<int64_t> values) { assign({values.begin(), int64_t(values.size())}); }
  Dims(const std::vector<int64_t>& values) { assign(values); }
  Dims(const Dims& o) { assign(o); }
  Dims& operator=(const Dims& o) {
    if (this != &o) assign(o);
    return *this;
  }

  void push_back(int64_t value) {
    check(size_ + 1);
    values_[size_++] = value;
  }
  size_t size() const { return size_t(size_); }
  bool empty() const { return size_ == 0; }
  int64_t* begin() { return values_; }
  int64_t* end() { return values_ + size_; }
  const int64_t* begin() const { return values_; }
  const int64_t* end() const { return values_ + size_; }
  int64_t& operator[](size_t i) { return values_[i]; }
  int64_t operator[](size_t i) const { return values_[i]; }
  int64_t front() const { return values_[0]; }
  int64_t back() const { return values_[size_ - 1]; }
  operator IntSpan() const { return {values_, size_}; }

 private:
  static void check(int64_t size) {
    if (__builtin_expect(size > kMaxDims, 0)) too_many(size);
  }
  [[noreturn]] __attribute__((noinline, cold)) static void too_many(int64_t size) {
    raise(ErrorKind::RuntimeError, "a tensor may have at most ", kMaxDims, " dimensions, not ",
          size);
  }
  void assign(IntSpan values) {
    check(values.size);
    size_ = values.size;
    std::copy_n(values.data, values.size, values_);
  }

  int64_t size_ = 0;
  int64_t values_[kMaxDims];
};

}  // namespace scriptlang
