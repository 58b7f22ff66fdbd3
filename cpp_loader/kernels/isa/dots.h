// Dot products of some rows of A with some columns of B.
#pragma once
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

// Operands of dot products: rows of A and columns of B are contiguous in k.
template <class T>
struct Dots {
  int64_t k;
  const T *a, *b;
  int64_t a_row, b_column;
  T* sums;  // [rows][columns]
};

template <class T, int Rows, int Columns>
SL_NOINLINE void dot_tile(const Dots<T>& d) {
  constexpr int W = kLanes<T>;
  Vector<T> sum[Rows][Columns];
  SL_UNROLL for (int r = 0; r < Rows; ++r) SL_UNROLL for (int c = 0; c < Columns; ++c) sum[r][c] =
      Vector<T>{};
  for (int64_t k = 0; k < d.k; k += W) {
    int left = static_cast<int>(min_of(W, d.k - k));
    Vector<T> a[Rows];
    SL_UNROLL for (int r = 0; r < Rows; ++r) {
      a[r] = left == W ? load(d.a + r * d.a_row + k) : load_first(d.a + r * d.a_row + k, left);
    }
    SL_UNROLL for (int c = 0; c < Columns; ++c) {
      const T* from = d.b + c * d.b_column + k;
      Vector<T> b = left == W ? load(from) : load_first(from, left);
      SL_UNROLL for (int r = 0; r < Rows; ++r) sum[r][c] += a[r] * b;
    }
  }
  SL_UNROLL for (int r = 0; r < Rows; ++r) SL_UNROLL for (int c = 0; c < Columns; ++c)
      d.sums[r * Columns + c] = sum_lanes<T>(sum[r][c]);
}

// One long dot product, in independent partial sums.
template <class T>
SL_NOINLINE void long_dot(const Dots<T>& d) {
  constexpr int W = kLanes<T>, kStep = 4 * W;
  Vector<T> sum[4] = {};
  int64_t k = 0;
  for (; k + kStep <= d.k; k += kStep) {
    SL_UNROLL for (int i = 0; i < 4; ++i) sum[i] += load(d.a + k + i * W) * load(d.b + k + i * W);
  }
  for (; k < d.k; k += W) {
    const int left = static_cast<int>(min_of(W, d.k - k));
    sum[0] += load_first(d.a + k, left) * load_first(d.b + k, left);
  }
  d.sums[0] = sum_lanes<T>((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

}  // namespace
}  // namespace scriptlang::kernels::SL_ISA
