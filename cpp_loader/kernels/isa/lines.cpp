// Rows and columns of float, double and int64: sums, products, extremes and their places.
#include "entry.h"
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

// Of elements or vectors of them.
struct Add {
  template <class V>
  static SL_INLINE V apply(V a, V b) {
    return a + b;
  }
};
struct Multiply {
  template <class V>
  static SL_INLINE V apply(V a, V b) {
    return a * b;
  }
};
// The second where it is beyond the first; a NaN is beyond all others, and stays.
template <bool Greatest>
struct Extreme {
  template <class T>
  static SL_INLINE bool beyond(T kept, T x) {
    bool further = Greatest ? x > kept : x < kept;
    return further | ((x != x) & (kept == kept));
  }
  template <class V>
  static SL_INLINE V apply(V kept, V x) {
    V best;
    if constexpr (Greatest) best = x > kept ? x : kept;
    else best = x < kept ? x : kept;
    return x != x ? x : best;
  }
};

// All elements of a row, n >= 1, in lanes that do not wait for each other.
template <class Op, class T>
void fold_row(int64_t n, const T* x, T* to) {
  typedef T V __attribute__((vector_size(SL_VECTOR_BYTES), aligned(sizeof(T)), may_alias));
  constexpr int kLane = SL_VECTOR_BYTES / static_cast<int>(sizeof(T)), kSide = 4 * kLane;
  T total = x[0];
  int64_t i = 1;
  if (n >= kSide) {
    const V* from = reinterpret_cast<const V*>(x);
    V a = from[0], b = from[1], c = from[2], d = from[3];
    for (i = kSide; i + kSide <= n; i += kSide) {
      from = reinterpret_cast<const V*>(x + i);
      a = Op::apply(a, V(from[0]));
      b = Op::apply(b, V(from[1]));
      c = Op::apply(c, V(from[2]));
      d = Op::apply(d, V(from[3]));
    }
    a = Op::apply(Op::apply(a, b), Op::apply(c, d));
    total = a[0];
    for (int j = 1; j < kLane; ++j) total = Op::apply(total, T(a[j]));
  }
  for (; i < n; ++i) total = Op::apply(total, x[i]);
  *to = total;
}

// The first place of a value that is there; of a NaN the first NaN.
template <class T>
int64_t place_in_row(int64_t n, const T* x, T value) {
  constexpr int64_t kBlock = 4 * SL_VECTOR_BYTES / static_cast<int64_t>(sizeof(T));
  int64_t i = 0;
  bool nan = value != value;
  for (; i + kBlock <= n; i += kBlock) {
    T found = 0;
    if (nan) {
      for (int64_t j = 0; j < kBlock; ++j) found = x[i + j] != x[i + j] ? T(1) : found;
    } else {
      for (int64_t j = 0; j < kBlock; ++j) found = x[i + j] == value ? T(1) : found;
    }
    if (found != 0) break;
  }
  while (i < n - 1 && !(nan ? x[i] != x[i] : x[i] == value)) ++i;
  return i;
}

// to[j] = to[j] with x[j] of each row in turn; four rows to a pass over `to`.
template <class Op, class T>
void fold_columns(int64_t rows, int64_t width, const T* x, int64_t stride, T* to) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4, x += 4 * stride) {
    const T *a = x, *b = x + stride, *c = b + stride, *d = c + stride;
#pragma GCC ivdep
    for (int64_t j = 0; j < width; ++j) {
      T low = Op::apply(a[j], b[j]), high = Op::apply(c[j], d[j]);
      to[j] = Op::apply(to[j], Op::apply(low, high));
    }
  }
  for (; r < rows; ++r, x += stride) {
#pragma GCC ivdep
    for (int64_t j = 0; j < width; ++j) to[j] = Op::apply(to[j], x[j]);
  }
}

// kept[j] and place[j] of the extreme in column j; rows are numbered from `first`.
template <bool Greatest, class T, class Place>
void places_in_columns(int64_t first, int64_t rows, int64_t width, const T* x, int64_t stride,
                       T* kept, Place* place) {
  for (int64_t r = 0; r < rows; ++r, x += stride) {
    const Place here = static_cast<Place>(first + r);
#pragma GCC ivdep
    for (int64_t j = 0; j < width; ++j) {
      bool better = Extreme<Greatest>::beyond(kept[j], x[j]);
      kept[j] = better ? x[j] : kept[j];
      place[j] = better ? here : place[j];
    }
  }
}

template <class T>
void add_squares(int64_t rows, int64_t width, const T* x, int64_t stride, const T* center, T* to) {
  for (int64_t r = 0; r < rows; ++r, x += stride) {
#pragma GCC ivdep
    for (int64_t j = 0; j < width; ++j) to[j] += (x[j] - center[j]) * (x[j] - center[j]);
  }
}

template <class T>
void scale_shift_rows(int64_t rows, int64_t width, const T* x, const T* scale, const T* shift,
                      T* y) {
  for (int64_t r = 0; r < rows; ++r, x += width, y += width) {
#pragma GCC ivdep
    for (int64_t j = 0; j < width; ++j) y[j] = x[j] * scale[j] + shift[j];
  }
}

int64_t count_row(int64_t n, const uint8_t* x) {
  constexpr int kWide = 64;
  constexpr int64_t kMost = 255 * kWide;  // what fits the lanes
  int64_t total = 0;
  for (; n > 0; n -= kMost, x += kMost) {
    int64_t count = min_of(n, kMost), i = 0;
    uint8_t lanes[kWide] = {};
    for (; i + kWide <= count; i += kWide) {
      for (int j = 0; j < kWide; ++j) lanes[j] = static_cast<uint8_t>(lanes[j] + (x[i + j] != 0));
    }
    for (int j = 0; j < kWide; ++j) total += lanes[j];
    for (; i < count; ++i) total += x[i] != 0;
  }
  return total;
}

void count_columns(int64_t rows, int64_t width, const uint8_t* x, int64_t stride, int64_t* to) {
  constexpr int64_t kWide = 256, kMost = 255;
  for (int64_t first = 0; first < width; first += kWide) {
    int64_t count = min_of(kWide, width - first);
    for (int64_t j = 0; j < count; ++j) to[first + j] = 0;
    for (int64_t row = 0; row < rows; row += kMost) {
      uint8_t lanes[kWide] = {};
      const uint8_t* from = x + row * stride + first;
      for (int64_t r = 0; r < min_of(kMost, rows - row); ++r, from += stride) {
#pragma GCC ivdep
        for (int64_t j = 0; j < count; ++j) {
          lanes[j] = static_cast<uint8_t>(lanes[j] + (from[j] != 0));
        }
      }
      for (int64_t j = 0; j < count; ++j) to[first + j] += lanes[j];
    }
  }
}

// Four rows of b at a time, so that a is loaded once for them.
template <bool Squares, int Count>
SL_INLINE void some_distances(int64_t width, const float* a, const float* b, float* to) {
  constexpr int W = kLanes<float>;
  Vector<float> sums[Count] = {};
  auto add = [&](int k, Vector<float> x, Vector<float> y) SL_ALWAYS {
    Vector<float> d = x - y;
    if constexpr (Squares) sums[k] += d * d;
    else sums[k] += d < Vector<float>{} ? -d : d;
  };
  int64_t i = 0;
  for (; i + W <= width; i += W) {
    Vector<float> x = load(a + i);
    SL_UNROLL for (int k = 0; k < Count; ++k) add(k, x, load(b + k * width + i));
  }
  if (i < width) {
    int rest = static_cast<int>(width - i);
    Vector<float> x = load_first(a + i, rest);
    SL_UNROLL for (int k = 0; k < Count; ++k) add(k, x, load_first(b + k * width + i, rest));
  }
  SL_UNROLL for (int k = 0; k < Count; ++k) to[k] = sum_lanes<float>(sums[k]);
}
template <bool Squares>
void all_distances(int64_t width, const float* a, const float* b, int64_t rows, float* to) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) some_distances<Squares, 4>(width, a, b + r * width, to + r);
  for (; r < rows; ++r) some_distances<Squares, 1>(width, a, b + r * width, to + r);
}
void distances(int64_t width, const float* a, const float* b, int64_t rows, bool squares,
               float* to) {
  (squares ? all_distances<true> : all_distances<false>)(width, a, b, rows, to);
}

// Sums and products of integers wrap.
template <class Op, class T>
void row(int64_t n, const T* x, T* to) {
  if constexpr (T(0.5) == T(0)) {
    fold_row<Op>(n, reinterpret_cast<const uint64_t*>(x), reinterpret_cast<uint64_t*>(to));
  } else {
    fold_row<Op>(n, x, to);
  }
}
template <class Op, class T>
void columns(int64_t rows, int64_t width, const T* x, int64_t stride, T* to) {
  if constexpr (T(0.5) == T(0)) {
    fold_columns<Op>(rows, width, reinterpret_cast<const uint64_t*>(x), stride,
                     reinterpret_cast<uint64_t*>(to));
  } else {
    fold_columns<Op>(rows, width, x, stride, to);
  }
}

template <class T, class Place>
constexpr LineFunctions<T, Place> functions{
    &row<Add, T>,
    &row<Multiply, T>,
    &fold_row<Extreme<true>, T>,
    &fold_row<Extreme<false>, T>,
    &place_in_row<T>,
    &columns<Add, T>,
    &columns<Multiply, T>,
    &fold_columns<Extreme<true>, T>,
    &fold_columns<Extreme<false>, T>,
    &places_in_columns<true, T, Place>,
    &places_in_columns<false, T, Place>,
    &add_squares<T>,
    &scale_shift_rows<T>,
};

}  // namespace

const AllLineFunctions lines{functions<float, int32_t>, functions<double, int64_t>,
                             functions<int64_t, int64_t>,
                             &fold_row<Extreme<true>, int32_t>,
                             &fold_row<Extreme<false>, int32_t>,
                             &fold_row<Extreme<true>, uint8_t>,
                             &fold_row<Extreme<false>, uint8_t>,
                             &count_row,
                             &count_columns,
                             &distances};

}  // namespace scriptlang::kernels::SL_ISA
