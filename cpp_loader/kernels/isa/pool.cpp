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

// The elements at `x` in all rows, combined; Rows may be 0, for a run-time value.
template <int Rows, class F>
SL_INLINE Vector<float> column_of(const PoolRow& r, const float* x, F f) {
  Vector<float> all = load(x);
  if constexpr (Rows > 0) {
    SL_UNROLL for (int h = 1; h < Rows; ++h) all = f(all, load(x + h * r.row));
  } else {
    for (int64_t h = 1; h < r.rows; ++h) all = f(all, load(x + h * r.row));
  }
  return all;
}

// The elements under one tap of W neighbouring windows, of which the first begins at `x`. It reads
// nothing outside of these windows, which have more than one column if Stride is 2.
template <int Stride, int Rows, class F>
SL_INLINE Vector<float> under_tap(const PoolRow& r, const float* x, int64_t shift, F f) {
  if constexpr (Stride == 1) return column_of<Rows>(r, x + shift, f);
  const bool even = shift == 0;
  const float* from = x + shift - (even ? 0 : 1);
  const Vector<float> a = column_of<Rows>(r, from, f), b = column_of<Rows>(r, from + W, f);
  return even ? halves<float>(a, b).even : halves<float>(a, b).odd;
}

// Results [first, last), W or more, of windows that lie inside the rows. `Window` is the number of
// rows and columns of a window without dilation, or 0 for run-time values.
template <int Stride, int Window, class F>
SL_NOINLINE void inner_results(const PoolRow& r, int64_t first, int64_t last) {
  const F f{};
  for (int64_t o = first; o < last; o += W) {
    o = min_of(o, last - W);  // the last vector overlaps the one before it
    const float* x = r.x + o * Stride - r.padding;
    Vector<float> all = under_tap<Stride, Window>(r, x, 0, f);
    if constexpr (Window > 0) {
      SL_UNROLL for (int tap = 1; tap < Window; ++tap) {
        all = f(all, under_tap<Stride, Window>(r, x, tap, f));
      }
    } else {
      for (int64_t tap = 1; tap < r.columns; ++tap) {
        all = f(all, under_tap<Stride, Window>(r, x, tap * r.dilation, f));
      }
    }
    store(r.y + o, all);
  }
}

using InnerResults = void (*)(const PoolRow& r, int64_t first, int64_t last);

// For windows of any size; null where results cannot be computed as vectors.
template <class F>
InnerResults inner_results_of(const PoolRow& r) {
  const bool pairs = r.stride == 2 && r.columns > 1;
  if (r.stride != 1 && !pairs) return nullptr;
  return pairs ? &inner_results<2, 0, F> : &inner_results<1, 0, F>;
}

InnerResults inner_maxima_of(const PoolRow& r) {
  if (!r.numbers) return inner_results_of<Maximum>(r);
  const bool squares = r.stride == 2 && r.rows == r.columns && r.dilation == 1;
  if (squares && r.columns == 3) return &inner_results<2, 3, MaximumOfNumbers>;
  if (squares && r.columns == 2) return &inner_results<2, 2, MaximumOfNumbers>;
  return inner_results_of<MaximumOfNumbers>(r);
}

InnerResults inner_sums_of(const PoolRow& r) {
  const bool squares = r.stride == 2 && r.rows == 2 && r.columns == 2 && r.dilation == 1;
  return squares ? &inner_results<2, 2, Sum> : inner_results_of<Sum>(r);
}

// Results one by one: f(all, x) combines all of a window with one more element.
template <class F>
SL_INLINE void single_results(const PoolRow& r, int64_t first, int64_t last, float none, F f) {
  for (int64_t o = first; o < last; ++o) {
    const int64_t start = o * r.stride - r.padding;
    const int64_t from = start < 0 ? ceil_div(-start, r.dilation) : 0;
    const int64_t end = min_of(r.columns, ceil_div(max_of(0, r.width - start), r.dilation));
    float all = none;
    for (int64_t h = 0; h < r.rows; ++h) {
      for (int64_t tap = from; tap < end; ++tap) {
        all = f(all, r.x[h * r.row + start + tap * r.dilation]);
      }
    }
    r.y[o] = all;
  }
}
SL_NOINLINE void single_maxima(const PoolRow& r, int64_t first, int64_t last) {
  single_results(r, first, last, -__builtin_inff(),
                 [](float best, float x) SL_ALWAYS { return x > best || x != x ? x : best; });
}
SL_NOINLINE void single_sums(const PoolRow& r, int64_t first, int64_t last) {
  single_results(r, first, last, 0.0f, [](float sum, float x) SL_ALWAYS { return sum + x; });
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
void row_of(const PoolRow& r, InnerResults inner, InnerResults singles) {
  const int64_t reach = (r.columns - 1) * r.dilation;
  int64_t first = min_of(r.results, ceil_div(r.padding, r.stride));
  int64_t last = r.width + r.padding - reach - 1;  // where the last window inside may begin
  last = last < 0 ? 0 : min_of(r.results, last / r.stride + 1);
  if (last - first < W || inner == nullptr) first = last = 0;
  in_stretches(r, 0, first, singles);
  in_stretches(r, first, last, inner);
  in_stretches(r, last, r.results, singles);
}
void maximum_row(const PoolRow& r) { row_of(r, inner_maxima_of(r), &single_maxima); }
void sum_row(const PoolRow& r) { row_of(r, inner_sums_of(r), &single_sums); }

SL_NOINLINE void maximum(const PoolWindow& w) { reduce(w, Maximum{}, 1.0f); }
SL_NOINLINE void sum(const PoolWindow& w, float divisor) { reduce(w, Sum{}, divisor); }

}  // namespace

const PoolFunctions pool{&maximum, &sum, &maximum_row, &sum_row};

}  // namespace scriptlang::kernels::SL_ISA
