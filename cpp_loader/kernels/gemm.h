// Matrix product: the arguments. isa/gemm.cpp does the work.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

// The initial value of an element of the result, to which the products are added.
enum class Start : int { kZero, kResult, kColumnBias, kRowBias };

// Applied to the finished element.
enum class Activation : int { kNone, kRelu, kRelu6 };

// Applies a function to finished elements while they are in the first-level cache, and writes them
// to `to`, which may be `from`. The strides are those between rows.
template <class T>
using Finish = void (*)(const T* from, int64_t from_row, T* to, int64_t to_row, int64_t rows,
                        int64_t columns);

// The smallest builds do without what needs more code than it is worth there: `scale`, and operands
// that are exchanged.
#ifdef SL_NO_OPTIMIZER
constexpr bool kSmallGemm = true;
#else
constexpr bool kSmallGemm = false;
#endif

// Products of at most this depth write each element of c once.
constexpr int64_t kOnePassDepth = 1024;

// c[m][n] = activation(start + sum over k of a[m][k] * b[k][n]). Strides are in elements; the rows
// of c are contiguous. With `added` what is activated is scale * (start + sum) + added[m][n]. a, b
// and added must not overlap c, but added may be c where k <= kOnePassDepth. If packed_b is given,
// b is not read: see GemmFunctions::pack.
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
  Finish<T> finish = nullptr;  // may be null; applied after the activation
  const T* added = nullptr;    // may be null; its row stride is c_row
#ifndef SL_NO_OPTIMIZER
  T scale = T(1);  // used where something is added
#endif
  // With a packed B and few rows. Products with the same B that take turns at its two ends find in
  // the cache what the one before read last.
  bool last_panel_first = false;
};

// The functions of one instruction set. A packed matrix may be used only with the set that packed
// it.
template <class T>
struct GemmFunctions {
  void (*multiply)(const Gemm<T>& g);
  // Number of elements of a packed k x n matrix, whose memory must be 64-byte aligned.
  int64_t (*packed_size)(int64_t k, int64_t n);
  void (*pack)(int64_t k, int64_t n, const T* b, int64_t b_row, int64_t b_column, T* packed);
};

}  // namespace scriptlang::kernels
