// Arithmetic on sizes, strides and indices that raises RuntimeError if int64 overflows.
//
//   int64_t reach = Exact(dilation) * (kernel - 1) + 1;
//
// Use it for numbers that a program chooses: they may be near 2^63.
#pragma once

#include <cstdint>
#include <type_traits>

#include "error.h"

namespace scriptlang {

class Exact {
 public:
  Exact(int64_t value) : value_(value) {}
  operator int64_t() const { return value_; }

  Exact& operator+=(int64_t b) {
    if (__builtin_expect(__builtin_add_overflow(value_, b, &value_), 0)) overflow();
    return *this;
  }
  Exact& operator-=(int64_t b) {
    if (__builtin_expect(__builtin_sub_overflow(value_, b, &value_), 0)) overflow();
    return *this;
  }
  Exact& operator*=(int64_t b) {
    if (__builtin_expect(__builtin_mul_overflow(value_, b, &value_), 0)) overflow();
    return *this;
  }

 private:
  [[noreturn]] __attribute__((noinline, cold)) static void overflow() {
    raise(ErrorKind::RuntimeError, "integer overflow: sizes or settings are too large");
  }
  int64_t value_;
};

// The operators below take one Exact operand; the other is an Exact or any integer.
template <class A, class B>
using IfExact =
    std::enable_if_t<(std::is_same_v<A, Exact> || std::is_same_v<B, Exact>) &&
                         std::is_convertible_v<A, int64_t> && std::is_convertible_v<B, int64_t>,
                     Exact>;
template <class A, class B>
IfExact<A, B> operator+(A a, B b) {
  return Exact(int64_t(a)) += int64_t(b);
}
template <class A, class B>
IfExact<A, B> operator-(A a, B b) {
  return Exact(int64_t(a)) -= int64_t(b);
}
template <class A, class B>
IfExact<A, B> operator*(A a, B b) {
  return Exact(int64_t(a)) *= int64_t(b);
}

// Upper bound of the product of a tensor's nonzero sizes, of each of its strides, and of its
// offset. It is low enough that kernels can multiply these by the element size, and add a few of
// them, without overflow. Strides of dimensions with at most one element are never used and may be
// larger.
constexpr int64_t kMaxReach = int64_t{1} << 55;

// The stride of the next outer dimension of a row-major tensor, given this dimension's stride and
// size. It is 0 if it would overflow; this happens only where the stride is never used.
inline int64_t outer_stride(int64_t stride, int64_t size) {
  int64_t next;
  bool leaves = __builtin_mul_overflow(stride, size > 1 ? size : 1, &next);
  return __builtin_expect(leaves || next > kMaxReach, 0) ? 0 : next;
}

}  // namespace scriptlang
