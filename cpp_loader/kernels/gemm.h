// Matrix product: what it is asked to do. The work is done by isa/gemm.cpp.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

// What an element of the result starts from, before the products are added.
enum class Start : int { kZero, kResult, kColumnBias, kRowBias };

// Applied to the finished element.
enum class Activation : int { kNone, kRelu, kRelu6 };

// Changes finished elements, `row` apart from row to row, while they are in the first cache.
template <class T>
using Finish = void (*)(T* c, int64_t row, int64_t rows, int64_t columns);

// c[m][n] = activation(start + sum over k of a[m][k] * b[k][n] + added[m][n]).
// Strides are in elements; the rows of c are contiguous. a, b and added must not overlap c.
// b may be given packed (then b is not read): see PackB.
template <class T>
struct Gemm {
  int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  int64_t a_row = 0, a_column = 1;
  const T* b = nullptr;
  int64_t b_row = 0, b_column = 1;
  const T* packed_b = nullptr;
  T* c = nullptr;
  int64_t c_row = 0;
  Start start = Start::kZero;
  const T* bias = nullptr;
  Activation activation = Activation::kNone;
  Finish<T> finish = nullptr;  // null, or applied after the activation
  const T* added = nullptr;    // null, or with rows as far apart as those of c
};

// The functions of one instruction set. A packed matrix may only be given to the set it was
// packed by.
template <class T>
struct GemmFunctions {
  void (*multiply)(const Gemm<T>& g);
  // Elements that a packed k x n matrix takes; 64-byte aligned.
  int64_t (*packed_size)(int64_t k, int64_t n);
  void (*pack)(int64_t k, int64_t n, const T* b, int64_t b_row, int64_t b_column, T* packed);
};

}  // namespace scriptlang::kernels
