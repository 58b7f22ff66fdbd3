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

// ---- rows of planes

// What combines elements tells which of them it was given: `saw(sum)` gets the sum of some.
struct PlainMaximum : Maximum {
  SL_INLINE void saw(Vector<float>) const {}
  SL_INLINE bool only_numbers() const { return true; }
  static constexpr float kNone = -__builtin_inff();
};
struct PlainSum : Sum {
  SL_INLINE void saw(Vector<float>) const {}
  SL_INLINE bool only_numbers() const { return true; }
  static constexpr float kNone = 0.0f;
};
// It is faster than Maximum, and wrong where an element is NaN. Then the sum is NaN, too.
struct MaximumOfNumbers {
  typedef decltype(Vector<float>{} != Vector<float>{}) Mask;
  Mask others{};
  SL_INLINE Vector<float> operator()(Vector<float> best, Vector<float> x) const {
    return x > best ? x : best;
  }
  SL_INLINE void saw(Vector<float> sum) { others |= sum != sum; }
  SL_INLINE bool only_numbers() const {
    uint64_t parts[sizeof(others) / sizeof(uint64_t)], any = 0;
    __builtin_memcpy(parts, &others, sizeof(others));
    for (uint64_t part : parts) any |= part;
    return any == 0;
  }
  static constexpr float kNone = -__builtin_inff();
};

constexpr int64_t kColumns = 1024;  // of which the combined elements are kept
constexpr int64_t kTall = 4096;     // rows for which the time is looked at after each vector

// The elements of a column at x, in all rows; Rows may be 0, for a run-time value. `load_some`
// loads a vector.
template <int Rows, class F, class Load>
SL_INLINE Vector<float> down(const PoolRow& r, const float* x, F& f, Load load_some) {
  Vector<float> all = load_some(x), sum = all;
  auto add = [&](int64_t h) SL_ALWAYS {
    const Vector<float> v = load_some(x + h * r.row);
    all = f(all, v);
    sum += v;
  };
  if constexpr (Rows > 0) {
    SL_UNROLL for (int h = 1; h < Rows; ++h) add(h);
  } else {
    for (int64_t h = 1; h < r.rows; ++h) add(h);
  }
  f.saw(sum);
  return all;
}

// Combines columns [from, end) of the row's elements; those outside of it are `kNone`.
template <int Rows, class F>
SL_INLINE void combine_columns(const PoolRow& r, int64_t from, int64_t end, F& f, float* to) {
  const int64_t left = min_of(end, max_of(from, 0)), right = max_of(left, min_of(end, r.width));
  for (int64_t i = from; i < left; ++i) *to++ = F::kNone;
  auto whole = [](const float* x) SL_ALWAYS { return load(x); };
  int64_t i = left;
  for (; i + W <= right; i += W, to += W) {
    store(to, down<Rows>(r, r.x + i, f, whole));
    if (r.rows > kTall) worked(r.rows * W);
  }
  const int rest = static_cast<int>(right - i);
  if (rest > 0) {
    store(to,
          down<Rows>(r, r.x + i, f, [&](const float* x) SL_ALWAYS { return load_first(x, rest); }));
    to += rest;
  }
  for (i = right; i < end; ++i) *to++ = F::kNone;
}

// The elements under one tap of W neighbouring windows, of which the first begins at `x`.
template <int Stride>
SL_INLINE Vector<float> under_tap(const float* x, int64_t shift) {
  if constexpr (Stride == 1) return load(x + shift);
  const bool even = shift % 2 == 0;
  const float* from = x + shift - (even ? 0 : 1);  // tap 1 reads what tap 0 has read
  const Halves<float> both = halves<float>(load(from), load(from + W));
  return even ? both.even : both.odd;
}

// W results of windows of which the first begins at x.
template <int Stride, int Taps, class F>
SL_INLINE Vector<float> across(const PoolRow& r, const float* x, const F& f) {
  Vector<float> all = under_tap<Stride>(x, 0);
  if constexpr (Taps > 0) {
    SL_UNROLL for (int tap = 1; tap < Taps; ++tap) all = f(all, under_tap<Stride>(x, tap));
  } else {
    for (int64_t tap = 1; tap < r.columns; ++tap) {
      all = f(all, under_tap<Stride>(x, tap * r.dilation));
    }
  }
  return all;
}

// Combines the elements of each column first, then those of each window. `Window` is the number of
// rows and columns of a window without dilation, or 0 for run-time values, as Stride may be.
// Returns whether it saw only numbers.
template <int Stride, int Window, class F>
SL_NOINLINE bool results_by_columns(const PoolRow& r) {
  F f;
  float columns[kColumns + 4 * W];
  const int64_t reach = (r.columns - 1) * r.dilation, room = kColumns - reach;
  const int64_t most = r.stride == 1 ? room : max_of(1, (room - 1) / r.stride);
  for (int64_t first = 0; first < r.results; first += most) {
    const int64_t n = min_of(most, r.results - first), from = first * r.stride - r.padding;
    const int64_t count = (n - 1) * r.stride + reach + 1;
    combine_columns<Window>(r, from, from + count, f, columns);
    for (int j = 0; j < 4; ++j) store(columns + count + j * W, splat(F::kNone));
    float* y = r.y + first;
    int64_t o = 0;
    if constexpr (Stride > 0) {
      for (; o + W <= n; o += W) {
        store(y + o, across<Stride, Window>(r, columns + o * Stride, f));
      }
      const int rest = static_cast<int>(n - o);
      if (rest > 0) store_first(y + o, across<Stride, Window>(r, columns + o * Stride, f), rest);
    } else {
      for (; o < n; ++o) {
        const float* x = columns + o * r.stride;
        Vector<float> all = splat(x[0]);
        for (int64_t tap = 1; tap < r.columns; ++tap) all = f(all, splat(x[tap * r.dilation]));
        y[o] = all[0];
      }
    }
    if (n < r.results) worked(n * (r.rows + r.columns));
  }
  return f.only_numbers();
}

// The first n elements at p, and `none` for the others.
SL_INLINE Vector<float> load_or(const float* p, int64_t n, float none) {
  if (n >= W) return load(p);
#if defined(__AVX512F__)
  const __mmask16 lanes = first_lanes(0.0f, static_cast<int>(n));
  return (Vector<float>)_mm512_mask_loadu_ps((__m512)splat(none), lanes, p);
#else
  float made[W];
  for (int i = 0; i < W; ++i) made[i] = i < n ? p[i] : none;
  return load(made);
#endif
}

// The last lane of `before`, and all but the last of x.
template <int... I>
SL_INLINE Vector<float> shifted(Vector<float> before, Vector<float> x,
                                std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(before, x, (W - 1 + I)...);
}

// Windows of three columns with stride 2 and a padding of at most one. Of the columns after the
// first of all windows, result o has 2o - 1, 2o and 2o + 1: an odd one, which is that of the result
// before, an even one and an odd one. So each is combined once and stays in registers; what went
// through memory could not be read again before it had reached the cache.
template <int Rows>
SL_NOINLINE bool maxima_of_threes(const PoolRow& r) {
  MaximumOfNumbers f;
  const int64_t skipped = 1 - r.padding, width = r.width - skipped;
  const float* x = r.x + skipped;
  Vector<float> before = splat(MaximumOfNumbers::kNone);
  if (skipped && r.width > 0) {
    before = down<Rows>(r, r.x, f, [](const float* p) SL_ALWAYS { return splat(*p); });
  }
  for (int64_t o = 0; o < r.results; o += W, x += 2 * W) {
    const int64_t left = width - 2 * o;
    const auto part = [&](int64_t at) SL_ALWAYS {
      if (left - at >= W) {
        return down<Rows>(r, x + at, f, [](const float* p) SL_ALWAYS { return load(p); });
      }
      return down<Rows>(r, x + at, f, [&](const float* p) SL_ALWAYS {
        return load_or(p, left - at, MaximumOfNumbers::kNone);
      });
    };
    const Vector<float> first = part(0), second = part(W);
    const Halves<float> both = halves<float>(first, second);
    const Vector<float> odd = shifted(before, both.odd, std::make_integer_sequence<int, W>{});
    store_first(r.y + o, f(f(both.even, odd), both.odd),
                static_cast<int>(min_of(W, r.results - o)));
    before = both.odd;
  }
  return f.only_numbers();
}

// Results one by one, for windows that are wider than the room for columns.
template <class F>
SL_NOINLINE bool single_results(const PoolRow& r) {
  const F f{};
  for (int64_t o = 0; o < r.results; ++o) {
    const int64_t start = o * r.stride - r.padding;
    const int64_t from = start < 0 ? ceil_div(-start, r.dilation) : 0;
    const int64_t end = min_of(r.columns, ceil_div(max_of(0, r.width - start), r.dilation));
    Vector<float> all = splat(F::kNone), lanes = all;
    for (int64_t h = 0; h < r.rows; ++h) {
      const float* x = r.x + h * r.row + start;
      int64_t tap = from;
      for (; r.dilation == 1 && tap + W <= end; tap += W) lanes = f(lanes, load(x + tap));
      for (; tap < end; ++tap) all = f(all, splat(x[tap * r.dilation]));
      worked(max_of(0, end - from));
    }
    for (int j = 0; j < W; ++j) all = f(all, splat(lanes[j]));
    r.y[o] = all[0];
  }
  return true;
}

template <class F>
SL_INLINE bool row_of(const PoolRow& r) {
  if ((r.columns - 1) * r.dilation >= kColumns / 2) return single_results<F>(r);
  if (r.stride == 1) return results_by_columns<1, 0, F>(r);
  return r.stride == 2 ? results_by_columns<2, 0, F>(r) : results_by_columns<0, 0, F>(r);
}
bool maximum_row(const PoolRow& r) {
  if (!r.numbers || (r.columns - 1) * r.dilation >= kColumns / 2) return row_of<PlainMaximum>(r);
  const bool threes = r.stride == 2 && r.columns == 3 && r.dilation == 1 && r.padding <= 1;
  if (threes && r.results <= kColumns && r.rows == 3) return maxima_of_threes<3>(r);
  if (threes && r.results <= kColumns && r.rows == 2) return maxima_of_threes<2>(r);
  const bool pairs = r.stride == 2 && r.rows == r.columns && r.dilation == 1;
  if (pairs && r.columns == 2) return results_by_columns<2, 2, MaximumOfNumbers>(r);
  return row_of<MaximumOfNumbers>(r);
}
void sum_row(const PoolRow& r) {
  const bool pairs = r.stride == 2 && r.rows == 2 && r.columns == 2 && r.dilation == 1;
  if (pairs) results_by_columns<2, 2, PlainSum>(r);
  else row_of<PlainSum>(r);
}

SL_NOINLINE void maximum(const PoolWindow& w) { reduce(w, Maximum{}, 1.0f); }
SL_NOINLINE void sum(const PoolWindow& w, float divisor) { reduce(w, Sum{}, divisor); }

}  // namespace

const PoolFunctions pool{&maximum, &sum, &maximum_row, &sum_row};

}  // namespace scriptlang::kernels::SL_ISA
