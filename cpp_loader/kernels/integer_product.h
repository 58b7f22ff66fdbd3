// Matrix products of integers with wrapping arithmetic.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

// c[m][n] = sum over k of a[m][k] * b[k][n]. Strides are in elements; rows of b and c are
// contiguous.
template <class T>
struct IntegerProduct {
  int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  int64_t a_row = 0, a_column = 1;
  const T* b = nullptr;
  int64_t b_row = 0;
  T* c = nullptr;
  int64_t c_row = 0;
};

struct IntegerFunctions {
  void (*multiply_32)(const IntegerProduct<uint32_t>& p);
  void (*multiply_64)(const IntegerProduct<uint64_t>& p);
  // The sum of a[i] * b[i].
  uint32_t (*dot_32)(int64_t n, const uint32_t* a, const uint32_t* b);
  uint64_t (*dot_64)(int64_t n, const uint64_t* a, const uint64_t* b);

  void multiply(const IntegerProduct<uint32_t>& p) const { multiply_32(p); }
  void multiply(const IntegerProduct<uint64_t>& p) const { multiply_64(p); }
  uint32_t dot(int64_t n, const uint32_t* a, const uint32_t* b) const { return dot_32(n, a, b); }
  uint64_t dot(int64_t n, const uint64_t* a, const uint64_t* b) const { return dot_64(n, a, b); }
};

}  // namespace scriptlang::kernels
