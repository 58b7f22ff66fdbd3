// Matrix products of integers, in tiles of four rows and two vectors of columns in registers.
#include "../integer_product.h"

#include "../scratch.h"
#include "../stop.h"
#include "entry.h"
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

template <class T>
struct Tile {
  typedef T V __attribute__((vector_size(SL_VECTOR_BYTES), aligned(sizeof(T)), may_alias));
  static constexpr int kLane = SL_VECTOR_BYTES / static_cast<int>(sizeof(T)), kColumns = 2 * kLane;

  // b_row and to_row are the strides of rows of b and `to`.
  template <int Rows>
  static SL_INLINE void run(const IntegerProduct<T>& p, int64_t m, const T* b, int64_t b_row, T* to,
                            int64_t to_row) {
    V sum[Rows][2] = {};
    const T* a = p.a + m * p.a_row;
    for (int64_t k = 0; k < p.k; ++k, a += p.a_column, b += b_row) {
      V low = *reinterpret_cast<const V*>(b), high = *reinterpret_cast<const V*>(b + kLane);
      SL_UNROLL for (int r = 0; r < Rows; ++r) {
        T x = a[r * p.a_row];
        sum[r][0] += low * x;
        sum[r][1] += high * x;
      }
    }
    SL_UNROLL for (int r = 0; r < Rows; ++r) {
      *reinterpret_cast<V*>(to + r * to_row) = sum[r][0];
      *reinterpret_cast<V*>(to + r * to_row + kLane) = sum[r][1];
    }
  }
  static void rows(const IntegerProduct<T>& p, int64_t m, const T* b, int64_t b_row, T* to,
                   int64_t to_row) {
    if (p.m - m >= 4) run<4>(p, m, b, b_row, to, to_row);
    else
      for (int64_t r = m; r < p.m; ++r) run<1>(p, r, b, b_row, to + (r - m) * to_row, to_row);
  }
};

template <class T>
void multiply_integers(const IntegerProduct<T>& p) {
  constexpr int kColumns = Tile<T>::kColumns;
  int64_t n = 0;
  for (; n + kColumns <= p.n; n += kColumns) {
    for (int64_t m = 0; m < p.m; m += 4) {
      Tile<T>::rows(p, m, p.b + n, p.b_row, p.c + m * p.c_row + n, p.c_row);
      multiplied(4 * kColumns * p.k);
    }
  }
  const int64_t rest = p.n - n;
  if (rest == 0) return;
  // The last columns are copied to a panel padded with zeros.
  Scratch space(uint64_t(p.k * kColumns) * sizeof(T));
  T* panel = space.as<T>();
  for (int64_t k = 0; k < p.k; ++k) {
    for (int64_t j = 0; j < kColumns; ++j) {
      panel[k * kColumns + j] = j < rest ? p.b[k * p.b_row + n + j] : T(0);
    }
  }
  for (int64_t m = 0; m < p.m; m += 4) {
    T tile[4 * kColumns];
    Tile<T>::rows(p, m, panel, kColumns, tile, kColumns);
    multiplied(4 * kColumns * p.k);
    for (int64_t r = 0; r < min_of(4, p.m - m); ++r) {
      T* to = p.c + (m + r) * p.c_row + n;
      for (int64_t j = 0; j < rest; ++j) to[j] = tile[r * kColumns + j];
    }
  }
}

template <class T>
T dot_integers(int64_t n, const T* a, const T* b) {
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

const IntegerFunctions integers{&multiply_integers<uint32_t>, &multiply_integers<uint64_t>,
                                &dot_integers<uint32_t>, &dot_integers<uint64_t>};

}  // namespace scriptlang::kernels::SL_ISA
