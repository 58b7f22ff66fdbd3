// Pooling. With channels last, it combines the pixels of a window, one vector of channels at a time.
// In planes, a vector holds neighbouring results of a row.
#include "../pool.h"

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

// The greatest of the elements at `x` in all rows.
SL_INLINE Vector<float> highest(const PoolRow& r, const float* x) {
  Vector<float> best = load(x);
  for (int64_t h = 1; h < r.rows; ++h) best = Maximum{}(best, load(x + h * r.row));
  return best;
}

template <int First, int... I>
SL_INLINE Vector<float> every_second(Vector<float> a, Vector<float> b,
                                     std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (First + 2 * I)...);
}

// The elements under one tap of W neighbouring windows, of which the first begins at `x`. It reads
// nothing outside of these windows, which have more than one column if Stride is 2.
template <int Stride>
SL_INLINE Vector<float> under_tap(const PoolRow& r, const float* x, int64_t tap) {
  constexpr auto kAll = std::make_integer_sequence<int, W>{};
  const float* from = x + tap * r.dilation;
  if constexpr (Stride == 1) return highest(r, from);
  if (tap == 0) return every_second<0>(highest(r, from), highest(r, from + W), kAll);
  return every_second<1>(highest(r, from - 1), highest(r, from - 1 + W), kAll);
}

// Results [first, last), W or more, of windows that lie inside the rows.
template <int Stride>
SL_NOINLINE void inner_maxima(const PoolRow& r, int64_t first, int64_t last) {
  for (int64_t o = first; o < last; o += W) {
    o = min_of(o, last - W);  // the last vector overlaps the one before it
    const float* x = r.x + o * Stride - r.padding;
    Vector<float> best = under_tap<Stride>(r, x, 0);
    for (int64_t tap = 1; tap < r.columns; ++tap)
      best = Maximum{}(best, under_tap<Stride>(r, x, tap));
    store(r.y + o, best);
  }
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

// Results whose windows reach beyond the row, or are too few or too far apart for a vector, are
// computed one by one.
void maximum_row(const PoolRow& r) {
  const int64_t reach = (r.columns - 1) * r.dilation;
  int64_t first = min_of(r.results, ceil_div(r.padding, r.stride));
  int64_t last = r.width + r.padding - reach - 1;  // where the last window inside may begin
  last = last < 0 ? 0 : min_of(r.results, last / r.stride + 1);
  const bool pairs = r.stride == 2 && r.columns > 1;
  if (last - first < W || !(r.stride == 1 || pairs)) first = last = 0;
  single_maxima(r, 0, first);
  if (first < last) (pairs ? inner_maxima<2> : inner_maxima<1>)(r, first, last);
  single_maxima(r, last, r.results);
}

SL_NOINLINE void maximum(const PoolWindow& w) { reduce(w, Maximum{}, 1.0f); }
SL_NOINLINE void sum(const PoolWindow& w, float divisor) { reduce(w, Sum{}, divisor); }

}  // namespace

const PoolFunctions pool{&maximum, &sum, &maximum_row};

}  // namespace scriptlang::kernels::SL_ISA
