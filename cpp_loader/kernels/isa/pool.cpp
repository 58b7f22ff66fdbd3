// Pooling. With channels last, it combines the pixels of a window, one vector of channels at a
// time. In planes, a vector holds neighbouring results of a row.
#include "../pool.h"

#include "../stop.h"
#include "entry.h"
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr int W = kLanes<float>;
constexpr int kTogether = 4;

struct Maximum {
  SL_INLINE Vector<float> operator()(Vector<float> best, Vector<float> x) const {
    Vector<float> greater = x > best ? x : best;  // keeps a NaN in `best`
    return x == x ? greater : x;
  }
};
struct Sum {
  SL_INLINE Vector<float> operator()(Vector<float> total, Vector<float> x) const {
    return total + x;
  }
};

template <int Vectors, class F>
SL_INLINE void combine(const PoolWindow& w, int64_t channel, int left, F f, Vector<float>* result) {
  SL_UNROLL for (int j = 0; j < Vectors; ++j) {
    result[j] = load_first(w.x + channel + j * W, left - j * W);
  }
  for (int64_t h = 0; h < w.rows; ++h) {
    const float* from = w.x + h * w.row + channel;
    int64_t first = h == 0 ? 1 : 0;
    from += first * w.pixel;
    for (int64_t i = first; i < w.columns; ++i, from += w.pixel) {
      SL_UNROLL for (int j = 0; j < Vectors; ++j) {
        result[j] = f(result[j], load_first(from + j * W, left - j * W));
      }
    }
  }
}

template <int Vectors, class F>
SL_INLINE void piece(const PoolWindow& w, int64_t channel, F f, float divisor) {
  int left =
      static_cast<int>(w.channels - channel < Vectors * W ? w.channels - channel : Vectors * W);
  Vector<float> result[Vectors];
  combine<Vectors>(w, channel, left, f, result);
  SL_UNROLL for (int j = 0; j < Vectors; ++j) {
    Vector<float> value = divisor == 1.0f ? result[j] : result[j] / splat(divisor);
    store_first(w.y + channel + j * W, value, left - j * W);
  }
}

template <class F>
SL_INLINE void reduce(const PoolWindow& w, F f, float divisor) {
  int64_t channel = 0;
  for (; w.channels - channel >= kTogether * W; channel += kTogether * W) {
    piece<kTogether>(w, channel, f, divisor);
  }
  for (; channel < w.channels; channel += W) piece<1>(w, channel, f, divisor);
}

// Where no element is NaN.
struct MaximumOfNumbers {
  SL_INLINE Vector<float> operator()(Vector<float> best, Vector<float> x) const {
    return x > best ? x : best;
  }
};

// The greatest of the elements at `x` in all rows; Rows may be 0, for a run-time value.
template <int Rows, class F>
SL_INLINE Vector<float> highest(const PoolRow& r, const float* x, F f) {
  Vector<float> best = load(x);
  if constexpr (Rows > 0) {
    SL_UNROLL for (int h = 1; h < Rows; ++h) best = f(best, load(x + h * r.row));
  } else {
    for (int64_t h = 1; h < r.rows; ++h) best = f(best, load(x + h * r.row));
  }
  return best;
}

template <int First, int... I>
SL_INLINE Vector<float> every_second(Vector<float> a, Vector<float> b,
                                     std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (First + 2 * I)...);
}

// The elements under one tap of W neighbouring windows, of which the first begins at `x`. It reads
// nothing outside of these windows, which have more than one column if Stride is 2.
template <int Stride, int Rows, class F>
SL_INLINE Vector<float> under_tap(const PoolRow& r, const float* x, int64_t shift, F f) {
  constexpr auto kAll = std::make_integer_sequence<int, W>{};
  if constexpr (Stride == 1) return highest<Rows>(r, x + shift, f);
  const bool even = shift == 0;
  const float* from = x + shift - (even ? 0 : 1);
  const Vector<float> a = highest<Rows>(r, from, f), b = highest<Rows>(r, from + W, f);
  return even ? every_second<0>(a, b, kAll) : every_second<1>(a, b, kAll);
}

// Results [first, last), W or more, of windows that lie inside the rows. `Window` is the number of
// rows and columns of a window without dilation, or 0 for run-time values.
template <int Stride, int Window, class F>
SL_NOINLINE void inner_maxima(const PoolRow& r, int64_t first, int64_t last) {
  const F f{};
  for (int64_t o = first; o < last; o += W) {
    o = min_of(o, last - W);  // the last vector overlaps the one before it
    const float* x = r.x + o * Stride - r.padding;
    Vector<float> best = under_tap<Stride, Window>(r, x, 0, f);
    if constexpr (Window > 0) {
      SL_UNROLL for (int tap = 1; tap < Window; ++tap) {
        best = f(best, under_tap<Stride, Window>(r, x, tap, f));
      }
    } else {
      for (int64_t tap = 1; tap < r.columns; ++tap) {
        best = f(best, under_tap<Stride, Window>(r, x, tap * r.dilation, f));
      }
    }
    store(r.y + o, best);
  }
}

using InnerMaxima = void (*)(const PoolRow& r, int64_t first, int64_t last);

// Null where results cannot be computed as vectors.
InnerMaxima inner_maxima_of(const PoolRow& r) {
  const bool pairs = r.stride == 2 && r.columns > 1;
  if (r.stride != 1 && !pairs) return nullptr;
  if (!r.numbers) return pairs ? &inner_maxima<2, 0, Maximum> : &inner_maxima<1, 0, Maximum>;
  const bool square = r.rows == r.columns && r.dilation == 1;
  if (pairs && square && r.columns == 3) return &inner_maxima<2, 3, MaximumOfNumbers>;
  if (pairs && square && r.columns == 2) return &inner_maxima<2, 2, MaximumOfNumbers>;
  return pairs ? &inner_maxima<2, 0, MaximumOfNumbers> : &inner_maxima<1, 0, MaximumOfNumbers>;
}

SL_NOINLINE void single_maxima(const PoolRow& r, int64_t first, int64_t last) {
  for (int64_t o = first; o < last; ++o) {
    const int64_t start = o * r.stride - r.padding;
    const int64_t from = start < 0 ? ceil_div(-start, r.dilation) : 0;
    const int64_t end = min_of(r.columns, ceil_div(max_of(0, r.width - start), r.dilation));
    float best = -__builtin_inff();
    for (int64_t h = 0; h < r.rows; ++h) {
      for (int64_t tap = from; tap < end; ++tap) {
        const float x = r.x[h * r.row + start + tap * r.dilation];
        best = x > best || x != x ? x : best;
      }
    }
    r.y[o] = best;
  }
}

constexpr int64_t kStretch = 1 << 20;  // elements of windows between two checks for a stop

// Calls f(first, last) for stretches of results, checking for a stop between them. Stretches have W
// results or more if all together do.
template <class F>
SL_INLINE void in_stretches(const PoolRow& r, int64_t first, int64_t last, F f) {
  const int64_t window = max_of(1, r.rows * min_of(r.columns, r.width));
  const int64_t most = max_of(W, kStretch / window);
  for (; last - first >= 2 * most; first += most) {
    f(r, first, first + most);
    worked(most * window);
  }
  if (first < last) f(r, first, last);
}

// Results whose windows reach beyond the row, or are too few or too far apart for a vector, are
// computed one by one.
void maximum_row(const PoolRow& r) {
  const int64_t reach = (r.columns - 1) * r.dilation;
  int64_t first = min_of(r.results, ceil_div(r.padding, r.stride));
  int64_t last = r.width + r.padding - reach - 1;  // where the last window inside may begin
  last = last < 0 ? 0 : min_of(r.results, last / r.stride + 1);
  const InnerMaxima inner = inner_maxima_of(r);
  if (last - first < W || inner == nullptr) first = last = 0;
  in_stretches(r, 0, first, single_maxima);
  in_stretches(r, first, last, inner);
  in_stretches(r, last, r.results, single_maxima);
}

SL_NOINLINE void maximum(const PoolWindow& w) { reduce(w, Maximum{}, 1.0f); }
SL_NOINLINE void sum(const PoolWindow& w, float divisor) { reduce(w, Sum{}, divisor); }

}  // namespace

const PoolFunctions pool{&maximum, &sum, &maximum_row};

}  // namespace scriptlang::kernels::SL_ISA
