// Reductions of rows and columns of float, double and int64: sums, products, extremes and their
// indices.
#include "entry.h"
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

// Operations on elements or vectors. kNothing is the neutral element.
struct Add {
  static constexpr int kNothing = 0;
  template <class V>
  static SL_INLINE V apply(V a, V b) {
    return a + b;
  }
};
struct Multiply {
  static constexpr int kNothing = 1;
  template <class V>
  static SL_INLINE V apply(V a, V b) {
    return a * b;
  }
};
// The larger (or smaller) of two; NaN takes precedence over all numbers, and the first NaN stays.
template <bool Greatest>
struct Extreme {
  static constexpr int kNothing = -1;  // none: elements may be repeated instead
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

// Reduces a row of n >= 1 elements, in independent lanes.
template <class Op, class T>
void fold_row(int64_t n, const T* x, T* to) {
  typedef T V __attribute__((vector_size(SL_VECTOR_BYTES), aligned(sizeof(T)), may_alias));
  constexpr int kLane = SL_VECTOR_BYTES / static_cast<int>(sizeof(T)), kSide = 4 * kLane;
  T total = x[0];
  int64_t i = 1;
  if (n >= kLane) {
    const V* from = reinterpret_cast<const V*>(x);
    V a = from[0];
    i = kLane;
    if (n >= kSide) {
      V b = from[1], c = from[2], d = from[3];
      for (i = kSide; i + kSide <= n; i += kSide) {
        from = reinterpret_cast<const V*>(x + i);
        a = Op::apply(a, V(from[0]));
        b = Op::apply(b, V(from[1]));
        c = Op::apply(c, V(from[2]));
        d = Op::apply(d, V(from[3]));
      }
      a = Op::apply(Op::apply(a, b), Op::apply(c, d));
    }
    for (; i + kLane <= n; i += kLane) a = Op::apply(a, V(*reinterpret_cast<const V*>(x + i)));
    T lanes[kLane];
    if (i < n) {
      const T* rest = x + n - kLane;
      if (Op::kNothing >= 0) {
        for (int j = 0; j < kLane; ++j) lanes[j] = j < n - i ? x[i + j] : T(Op::kNothing);
        rest = lanes;
      }
      a = Op::apply(a, V(*reinterpret_cast<const V*>(rest)));
    }
    *reinterpret_cast<V*>(lanes) = a;
    for (int half = kLane / 2; half > 0; half /= 2) {
      for (int j = 0; j < half; ++j) lanes[j] = Op::apply(lanes[j], lanes[j + half]);
    }
    *to = lanes[0];
    return;
  }
  for (; i < n; ++i) total = Op::apply(total, x[i]);
  *to = total;
}

// Returns the index of the first occurrence of a value that is in the row; for NaN, of the first
// NaN.
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

// Reduces x[j] of all rows into to[j], four rows per pass over `to`.
template <class Op, class T>
void fold_columns(int64_t rows, int64_t width, const T* x, int64_t stride, T* to) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4, x += 4 * stride) {
    const T *a = x, *b = x + stride, *c = b + stride, *d = c + stride;
    SL_INDEPENDENT
    for (int64_t j = 0; j < width; ++j) {
      T low = Op::apply(a[j], b[j]), high = Op::apply(c[j], d[j]);
      to[j] = Op::apply(to[j], Op::apply(low, high));
    }
  }
  for (; r < rows; ++r, x += stride) {
    SL_INDEPENDENT
    for (int64_t j = 0; j < width; ++j) to[j] = Op::apply(to[j], x[j]);
  }
}

template <class T>
void add_numbers(int64_t rows, int64_t width, const T* x, int64_t stride, T* to) {
  for (int64_t r = 0; r < rows; ++r, x += stride) {
    SL_INDEPENDENT
    for (int64_t j = 0; j < width; ++j) to[j] += x[j] == x[j] ? x[j] : T(0);
  }
}

#if defined(__F16C__)
SL_INLINE Vector<float> widened_half(const uint16_t* p) {
#if defined(__AVX512F__)
  __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return (Vector<float>)_mm512_maskz_cvtph_ps(0xffff, v);
#else
  return (Vector<float>)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
#endif
}
SL_INLINE Vector<float> widened_bfloat(const uint16_t* p) {
#if defined(__AVX512F__)
  __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return (Vector<float>)_mm512_maskz_slli_epi32(0xffff, _mm512_maskz_cvtepu16_epi32(0xffff, v), 16);
#else
  __m256i v = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return (Vector<float>)_mm256_slli_epi32(v, 16);
#endif
}
SL_INLINE void copy_few(uint16_t* to, const uint16_t* from, int count) {
#if defined(__AVX512F__)
  const __mmask16 lanes = first_lanes(0.f, count);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_maskz_loadu_epi16(lanes, from));
#else
  for (int i = 0; i < count; ++i) to[i] = from[i];
#endif
}
template <bool Bfloat>
void add_halves(int64_t rows, int64_t width, const uint16_t* x, int64_t stride, float* to) {
  constexpr int W = kLanes<float>;
  auto wide = [](const uint16_t* p)
                  SL_ALWAYS { return Bfloat ? widened_bfloat(p) : widened_half(p); };
  int64_t j = 0;
  for (; j + 2 * W <= width; j += 2 * W) {
    Vector<float> a = load(to + j), b = load(to + j + W);
    const uint16_t* from = x + j;
    for (int64_t r = 0; r < rows; ++r, from += stride) {
      a += wide(from);
      b += wide(from + W);
    }
    store(to + j, a);
    store(to + j + W, b);
  }
  for (; j < width; j += W) {
    const int lanes = static_cast<int>(min_of(W, width - j));
    Vector<float> a = load_first(to + j, lanes);
    const uint16_t* from = x + j;
    if (lanes == W) {
      for (int64_t r = 0; r < rows; ++r, from += stride) a += wide(from);
    } else {
      for (int64_t r = 0; r < rows; ++r, from += stride) {
        uint16_t few[W] = {};
        copy_few(few, from, lanes);
        a += wide(few);
      }
    }
    store_first(to + j, a, lanes);
  }
}
constexpr auto add_float16 = &add_halves<false>, add_bfloat16 = &add_halves<true>;
#else
constexpr void (*add_float16)(int64_t, int64_t, const uint16_t*, int64_t, float*) = nullptr;
constexpr void (*add_bfloat16)(int64_t, int64_t, const uint16_t*, int64_t, float*) = nullptr;
#endif

template <class T>
void greatest(int64_t rows, int64_t width, const T* x, int64_t stride, T mask, T* to) {
  for (int64_t r = 0; r < rows; ++r, x += stride) {
    SL_INDEPENDENT
    for (int64_t j = 0; j < width; ++j) {
      T key = static_cast<T>(x[j] ^ mask);
      to[j] = key > to[j] ? key : to[j];
    }
  }
}

// Updates the extreme kept[j] of column j and its row place[j]; rows are numbered from `first`.
template <bool Greatest, class T, class Place>
void places_in_columns(int64_t first, int64_t rows, int64_t width, const T* x, int64_t stride,
                       T* kept, Place* place) {
  for (int64_t r = 0; r < rows; ++r, x += stride) {
    const Place here = static_cast<Place>(first + r);
    SL_INDEPENDENT
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
    SL_INDEPENDENT
    for (int64_t j = 0; j < width; ++j) to[j] += (x[j] - center[j]) * (x[j] - center[j]);
  }
}

template <class T>
void scale_shift_rows(int64_t rows, int64_t width, const T* x, const T* scale, const T* shift,
                      T* y) {
  for (int64_t r = 0; r < rows; ++r, x += width, y += width) {
    SL_INDEPENDENT
    for (int64_t j = 0; j < width; ++j) y[j] = x[j] * scale[j] + shift[j];
  }
}

int64_t count_row(int64_t n, const uint8_t* x) {
  constexpr int kWide = 64;
  constexpr int64_t kMost = 255 * kWide;  // bytes before a lane may overflow
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
        SL_INDEPENDENT
        for (int64_t j = 0; j < count; ++j) {
          lanes[j] = static_cast<uint8_t>(lanes[j] + (from[j] != 0));
        }
      }
      for (int64_t j = 0; j < count; ++j) to[first + j] += lanes[j];
    }
  }
}

// Distances of `Count` rows of b at a time, so that a is loaded once for them.
template <bool Squares, int Count, class T>
SL_INLINE void some_distances(int64_t width, const T* a, const T* b, T* to) {
  constexpr int W = kLanes<T>;
  Vector<T> sums[Count] = {};
  auto add = [&](int k, Vector<T> x, Vector<T> y) SL_ALWAYS {
    Vector<T> d = x - y;
    if constexpr (Squares) sums[k] += d * d;
    else sums[k] += d < Vector<T>{} ? -d : d;
  };
  int64_t i = 0;
  for (; i + W <= width; i += W) {
    Vector<T> x = load(a + i);
    SL_UNROLL for (int k = 0; k < Count; ++k) add(k, x, load(b + k * width + i));
  }
  if (i < width) {
    int rest = static_cast<int>(width - i);
    Vector<T> x = load_first(a + i, rest);
    SL_UNROLL for (int k = 0; k < Count; ++k) add(k, x, load_first(b + k * width + i, rest));
  }
  SL_UNROLL for (int k = 0; k < Count; ++k) to[k] = sum_lanes<T>(sums[k]);
}
template <bool Squares, class T>
void all_distances(int64_t width, const T* a, const T* b, int64_t rows, T* to) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) some_distances<Squares, 4>(width, a, b + r * width, to + r);
  for (; r < rows; ++r) some_distances<Squares, 1>(width, a, b + r * width, to + r);
}
template <class T>
void distances(int64_t width, const T* a, const T* b, int64_t rows, bool squares, T* to) {
  (squares ? all_distances<true, T> : all_distances<false, T>)(width, a, b, rows, to);
}

// Sums and products of integers are computed as unsigned, so that they wrap.
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
    &add_numbers<T>,
    &places_in_columns<true, T, Place>,
    &places_in_columns<false, T, Place>,
    &add_squares<T>,
    &scale_shift_rows<T>,
};

}  // namespace

const AllLineFunctions lines{functions<float, int32_t>,
                             functions<double, int64_t>,
                             functions<int64_t, int64_t>,
                             &fold_row<Extreme<true>, int32_t>,
                             &fold_row<Extreme<false>, int32_t>,
                             &fold_row<Extreme<true>, uint8_t>,
                             &fold_row<Extreme<false>, uint8_t>,
                             &count_row,
                             &count_columns,
                             add_float16,
                             add_bfloat16,
                             &greatest<uint8_t>,
                             &greatest<uint16_t>,
                             &greatest<uint32_t>,
                             &distances<float>,
                             &distances<double>};

}  // namespace scriptlang::kernels::SL_ISA
