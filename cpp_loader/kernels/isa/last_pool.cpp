// Pooling with channels last: combines the pixels of a window, one vector of channels at a time.
#include "../last_pool.h"

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

SL_NOINLINE void maximum(const PoolWindow& w) { reduce(w, Maximum{}, 1.0f); }
SL_NOINLINE void sum(const PoolWindow& w, float divisor) { reduce(w, Sum{}, divisor); }

}  // namespace

const LastPoolFunctions last_pool{&maximum, &sum};

}  // namespace scriptlang::kernels::SL_ISA
