// Conversion between numbers and codes, and pointwise operators on codes.
#include "../stop.h"
#include "codes.h"
#include "entry.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

// Calls f(index, count) for every vector of n elements.
template <class F>
SL_INLINE void each_vector(int64_t n, F f) {
  int64_t i = 0;
  for (; i + kWords <= n; i += kWords) f(i, kWords);
  if (i < n) f(i, static_cast<int>(n - i));
}

void range(int64_t n, const float* x, float* smallest, float* largest) {
  Vector<float> low = splat(x[0]), high = low, odd = {};
  int64_t i = 0;
  for (; i + kWords <= n; i += kWords) {
    Vector<float> v = load(x + i);
    low = v < low ? v : low;
    high = v > high ? v : high;
    odd = odd + (v - v);  // NaN for NaN and infinities
  }
  float least = x[0], most = x[0];
  bool strange = x[0] != x[0];
  for (int k = 0; k < kWords; ++k) {
    least = low[k] < least ? low[k] : least;
    most = high[k] > most ? high[k] : most;
    strange = strange || odd[k] != odd[k];
  }
  for (; i < n; ++i) {
    least = x[i] < least ? x[i] : least;
    most = x[i] > most ? x[i] : most;
    strange = strange || x[i] != x[i];
  }
  if (strange) {
    for (int64_t k = 0; k < n; ++k) {
      if (x[k] != x[k]) least = most = x[k];
    }
  }
  *smallest = least;
  *largest = most;
}

// v * scale + shift, rounded once.
SL_INLINE Vector<float> scaled(Vector<float> v, Scaled s) {
#if defined(__AVX512F__)
  return (Vector<float>)_mm512_fmadd_ps((__m512)v, (__m512)splat(s.scale), (__m512)splat(s.shift));
#elif defined(__FMA__)
  return (Vector<float>)_mm256_fmadd_ps((__m256)v, (__m256)splat(s.scale), (__m256)splat(s.shift));
#elif defined(__aarch64__)
  return (Vector<float>)vfmaq_f32(splat(s.shift), v, splat(s.scale));
#else
  for (int i = 0; i < kWords; ++i) {  // of codes, it is exact in double before the final rounding
    v[i] = static_cast<float>(static_cast<double>(v[i]) * s.scale + s.shift);
  }
  return v;
#endif
}

void encode(int64_t n, const float* x, const Encoding& e, uint8_t* codes) {
  if (e.moved_first) {
    const Scaled by{e.factor, static_cast<float>(e.zero)};
    const Encoding moved{1.0f, 0, e.low, e.high, false};
    each_vector(n, [&](int64_t i, int count) SL_ALWAYS {
      store_first_codes(codes + i, encoded(scaled(load_first(x + i, count), by), moved), count);
    });
    return;
  }
  Vector<float> factor = splat(e.factor);
  each_vector(n, [&](int64_t i, int count) SL_ALWAYS {
    store_first_codes(codes + i, encoded(load_first(x + i, count) * factor, e), count);
  });
}

void decode(int64_t n, const uint8_t* codes, bool is_signed, int32_t zero, float scale, float* x) {
  each_vector(n, [&](int64_t i, int count) SL_ALWAYS {
    Words centred = load_first_codes(codes + i, is_signed, count) - zero;
    store_first(x + i, __builtin_convertvector(centred, Vector<float>) * splat(scale), count);
  });
}

// codes * scale + shift, rounded once.
SL_INLINE Vector<float> scaled(Words codes, Scaled s) {
  return scaled(__builtin_convertvector(codes, Vector<float>), s);
}

void add(int64_t n, const uint8_t* a, Scaled as, const uint8_t* b, Scaled bs, bool is_signed,
         bool relu, const Encoding& e, uint8_t* codes) {
  each_vector(n, [&](int64_t i, int count) SL_ALWAYS {
    Vector<float> total = scaled(load_first_codes(a + i, is_signed, count), as) +
                          scaled(load_first_codes(b + i, is_signed, count), bs);
    if (relu) total = maximum_with(total, 0.0f);
    store_first_codes(codes + i, encoded(total * splat(e.factor), e), count);
  });
}

void multiply_codes(int64_t n, const uint8_t* a, int32_t a_zero, const uint8_t* b, int32_t b_zero,
                    bool is_signed, bool relu, const Encoding& e, uint8_t* codes) {
  each_vector(n, [&](int64_t i, int count) SL_ALWAYS {
    Words product = (load_first_codes(a + i, is_signed, count) - a_zero) *
                    (load_first_codes(b + i, is_signed, count) - b_zero);
    Vector<float> v = __builtin_convertvector(product, Vector<float>);
    if (relu) v = maximum_with(v, 0.0f);
    store_first_codes(codes + i, encoded(v * splat(e.factor), e), count);
  });
}

template <class T>
SL_INLINE void larger_of(int64_t n, const T* x, T* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] > y[i] ? x[i] : y[i];
}

void larger(int64_t n, const uint8_t* x, bool is_signed, uint8_t* y) {
  if (is_signed) larger_of(n, reinterpret_cast<const int8_t*>(x), reinterpret_cast<int8_t*>(y));
  else larger_of(n, x, y);
}

template <class T>
SL_INLINE void clamp_to(int64_t n, const T* x, T low, T high, T* y) {
  for (int64_t i = 0; i < n; ++i) {
    T v = x[i] > low ? x[i] : low;
    y[i] = v < high ? v : high;
  }
}

void clamp(int64_t n, const uint8_t* x, bool is_signed, int32_t low, int32_t high, uint8_t* y) {
  if (is_signed) {
    clamp_to(n, reinterpret_cast<const int8_t*>(x), static_cast<int8_t>(low),
             static_cast<int8_t>(high), reinterpret_cast<int8_t*>(y));
  } else {
    clamp_to(n, x, static_cast<uint8_t>(low), static_cast<uint8_t>(high), y);
  }
}

constexpr int kTogether = 4;

template <int Vectors>
SL_INLINE void depthwise_piece(const DepthwiseRow& r, int64_t pixel, int64_t channel) {
  Vector<float> sums[Vectors] = {};
  int left = static_cast<int>(r.channels - channel < Vectors * kWords ? r.channels - channel
                                                                      : Vectors * kWords);
  int32_t zero = static_cast<int32_t>(r.zero);
  for (int64_t t = 0; t < r.taps; ++t) {
    if (!r.x[t]) continue;
    const uint8_t* x = r.x[t] + pixel * r.step + channel;
    const float* w = r.w + t * r.w_row + channel;
    SL_UNROLL for (int v = 0; v < Vectors; ++v) {
      Words codes = load_first_codes(x + v * kWords, r.is_signed, left - v * kWords) - zero;
      sums[v] = sums[v] + __builtin_convertvector(codes, Vector<float>) * load(w + v * kWords);
    }
  }
  int64_t at = pixel * r.y_row + channel;
  SL_UNROLL for (int v = 0; v < Vectors; ++v) {
    finish_sums(r, sums[v], channel + v * kWords, left - v * kWords,
                static_cast<uint8_t*>(r.y) + at + v * kWords,
                static_cast<float*>(r.y) + at + v * kWords);
  }
}

void depthwise(const DepthwiseRow& r) {
  constexpr int64_t kLongWork = 1 << 20;  // multiply-adds between two checks for a stop
  const int64_t work = r.channels * r.taps;
  const bool is_long = r.pixels * work > kLongWork;
  for (int64_t pixel = 0; pixel < r.pixels; ++pixel) {
    if (is_long) multiplied(work);
    int64_t channel = 0;
    for (; channel + kTogether * kWords <= r.channels; channel += kTogether * kWords) {
      depthwise_piece<kTogether>(r, pixel, channel);
    }
    for (; channel < r.channels; channel += kWords) depthwise_piece<1>(r, pixel, channel);
  }
}

}  // namespace

const QuantizedRowFunctions quantized_rows{&depthwise, &range,          &encode, &decode,
                                           &add,       &multiply_codes, &larger, &clamp};

}  // namespace scriptlang::kernels::SL_ISA
