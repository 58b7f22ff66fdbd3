// Kernels on rows and columns of gradients.
#include "../backward.h"

#include "entry.h"
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr int64_t kBlock = 4096;  // elements per block; sums of blocks are added pairwise
constexpr int kSums = 4;

// Computes two sums at once. f(i, count, first, second) adds `count` elements from i on to its two
// vectors.
template <class T, class F>
SL_INLINE void block_sums(int64_t n, F f, T* to) {
  constexpr int W = kLanes<T>;
  Vector<T> first[kSums] = {}, second[kSums] = {};
  int64_t i = 0;
  for (; i + kSums * W <= n; i += kSums * W) {
    SL_UNROLL for (int j = 0; j < kSums; ++j) f(i + j * W, W, first[j], second[j]);
  }
  for (; i < n; i += W) f(i, static_cast<int>(min_of(n - i, W)), first[0], second[0]);
  to[0] = sum_lanes<T>((first[0] + first[1]) + (first[2] + first[3]));
  to[1] = sum_lanes<T>((second[0] + second[1]) + (second[2] + second[3]));
}

// Loads `count` elements and fills the vector with zeros.
template <class T>
SL_INLINE Vector<T> some(const T* p, int count) {
  return count == kLanes<T> ? load(p) : load_first(p, count);
}

template <class T, bool Weighted>
void sums_of(int64_t n, const T* g, const T* w, const T* x, T center, T* to) {
  if (n > kBlock) {
    const int64_t half = ceil_div(ceil_div(n, kBlock), 2) * kBlock;
    T other[2];
    sums_of<T, Weighted>(half, g, w, x, center, to);
    sums_of<T, Weighted>(n - half, g + half, Weighted ? w + half : w, x + half, center, other);
    to[0] += other[0];
    to[1] += other[1];
    return;
  }
  const Vector<T> middle = splat(center);
  block_sums<T>(
      n,
      [&](int64_t i, int count, Vector<T>& total, Vector<T>& products) SL_ALWAYS {
        Vector<T> v = some(g + i, count);
        if (Weighted) v *= some(w + i, count);
        total += v;
        products += v * (some(x + i, count) - middle);
      },
      to);
}

template <class T>
void sums(int64_t n, const T* g, const T* w, const T* x, T center, T* to) {
  w ? sums_of<T, true>(n, g, w, x, center, to) : sums_of<T, false>(n, g, w, x, center, to);
}

template <class T>
void combine(int64_t n, const T* g, const T* w, const T* x, T a, T b, T c, T* y) {
  if (w) {
    SL_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) y[i] = a * (g[i] * w[i]) + (b * x[i] + c);
  } else {
    SL_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) y[i] = a * g[i] + (b * x[i] + c);
  }
}

template <class T>
void add_row(int64_t n, const T* g, const T* x, T center, T scale, T* totals, T* products) {
  SL_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    totals[i] += g[i];
    products[i] += g[i] * ((x[i] - center) * scale);
  }
}

template <class T>
void add_columns(int64_t rows, int64_t n, const T* g, const T* x, const T* center, T* totals,
                 T* products) {
  for (int64_t r = 0; r < rows; ++r, g += n, x += n) {
    SL_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      totals[i] += g[i];
      products[i] += g[i] * (x[i] - center[i]);
    }
  }
}

template <class T>
void combine_columns(int64_t rows, int64_t n, const T* g, const T* x, const T* a, const T* b,
                     const T* c, T* y) {
  for (int64_t r = 0; r < rows; ++r, g += n, x += n, y += n) {
    SL_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) y[i] = a[i] * g[i] + (b[i] * x[i] + c[i]);
  }
}

}  // namespace

const BackwardFunctions<float> backward_f32{&sums<float>, &combine<float>, &add_row<float>,
                                            &add_columns<float>, &combine_columns<float>};
const BackwardFunctions<double> backward_f64{&sums<double>, &combine<double>, &add_row<double>,
                                             &add_columns<double>, &combine_columns<double>};

}  // namespace scriptlang::kernels::SL_ISA
