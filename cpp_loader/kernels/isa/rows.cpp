// Row functions: sums, softmax, norms, LSTM and GRU cells.
#include "../rows.h"
#include "../stop.h"

#include "entry.h"
#include "math_avx512.h"
#include "math_f32.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr int kLanesF = kLanes<float>;
constexpr int64_t kBlock = 4096;  // elements per block; sums of blocks are added pairwise
constexpr int kSums = 4;

// Sums f(x[i]) over at most a block, with kSums vectors of accumulators.
template <class F>
SL_INLINE float block_sum(int64_t n, const float* x, F f) {
  Vector<float> sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums * kLanesF <= n; i += kSums * kLanesF) {
    SL_UNROLL for (int j = 0; j < kSums; ++j) {
      Vector<float> v = load(x + i + j * kLanesF);
      sums[j] += f(v);
    }
  }
  for (; i + kLanesF <= n; i += kLanesF) {
    Vector<float> v = load(x + i);
    sums[0] += f(v);
  }
  if (i < n) {
    // Lanes beyond the end hold f(0), which is masked out.
    Vector<float> v = load_first(x + i, static_cast<int>(n - i)), place;
    SL_UNROLL for (int j = 0; j < kLanesF; ++j) place[j] = static_cast<float>(j);
    Vector<float> y = f(v);
    sums[1] += place < splat(static_cast<float>(n - i)) ? y : Vector<float>{};
  }
  return sum_lanes<float>((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

template <class F>
float pairwise_sum(int64_t n, const float* x, F f) {
  if (n <= kBlock) return block_sum(n, x, f);
  worked(kBlock);  // once per block except the last
  int64_t half = ceil_div(ceil_div(n, kBlock), 2) * kBlock;
  return pairwise_sum(half, x, f) + pairwise_sum(n - half, x + half, f);
}

float sum(int64_t n, const float* x) {
  return pairwise_sum(n, x, [](Vector<float> v) { return v; });
}

void sums(int64_t rows, int64_t n, const float* x, float* to, bool numbers) {
  auto all = [&](auto f) SL_ALWAYS {
    if (n <= kBlock) {
      for (int64_t i = 0; i < rows; ++i) to[i] = block_sum(n, x + i * n, f);
    } else {
      for (int64_t i = 0; i < rows; ++i) to[i] = pairwise_sum(n, x + i * n, f);
    }
  };
  if (numbers) all([](Vector<float> v) { return v == v ? v : Vector<float>{}; });
  else all([](Vector<float> v) { return v; });
}

float sum_squares(int64_t n, const float* x, float center) {
  Vector<float> c = splat(center);
  return pairwise_sum(n, x, [c](Vector<float> v) { return (v - c) * (v - c); });
}

constexpr int64_t kStretch = 1 << 20;  // elements of a very long row between two checks for a stop

// Calls f(first, last) for stretches of a row, checking for a stop between them.
template <class F>
SL_INLINE void in_stretches(int64_t n, F f) {
  for (int64_t first = 0; first < n; first += kStretch) {
    f(first, min_of(n, first + kStretch));
    if (n > kStretch) worked(kStretch);
  }
}

template <bool Least>
float extreme_of_stretch(int64_t n, const float* x);

template <bool Least>
float extreme(int64_t n, const float* x) {
  float best = extreme_of_stretch<Least>(min_of(n, kStretch), x);
  for (int64_t first = kStretch; first < n; first += kStretch) {
    worked(kStretch);
    const float next = extreme_of_stretch<Least>(min_of(n - first, kStretch), x + first);
    if (best != best || next != next) return __builtin_nanf("");
    best = (Least ? next < best : next > best) ? next : best;
  }
  return best;
}

#if defined(__AVX512F__)
// The greatest element, or the least.
template <bool Least>
float extreme_of_stretch(int64_t n, const float* x) {
  constexpr float kNone = Least ? __builtin_inff() : -__builtin_inff();
  F16 best[4];
  for (F16& b : best) b = all(kNone);
  __mmask16 nan = 0;
  auto beyond = [](F16 a, F16 b)
                    SL_ALWAYS { return Least ? _mm512_min_ps(a, b) : _mm512_max_ps(a, b); };
  auto look = [&](F16& b, F16 v) SL_ALWAYS {
    nan |= _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    b = beyond(b, v);
  };
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    SL_UNROLL for (int j = 0; j < 4; ++j) look(best[j], _mm512_loadu_ps(x + i + 16 * j));
  }
  for (; i < n; i += 16) {
    __mmask16 lanes = first_lanes(0.f, static_cast<int>(min_of(n - i, 16)));
    look(best[0], _mm512_mask_loadu_ps(all(kNone), lanes, x + i));
  }
  if (nan) return __builtin_nanf("");
  F16 top = beyond(beyond(best[0], best[1]), beyond(best[2], best[3]));
  return Least ? _mm512_reduce_min_ps(top) : _mm512_reduce_max_ps(top);
}

// Returns the sum of exp(x - top), block by block, and stores the terms in y unless it is null. It
// prefetches the next row, n elements further: rows are contiguous, and this pass is not limited by
// memory.
template <class Exp>
SL_INLINE float exp_sum(int64_t n, const float* x, float top, float* y, Exp exp) {
  F16 shift = all(top);
  float total = 0;
  for (int64_t first = 0; first < n; first += kBlock) {
    if (first > 0) worked(4 * kBlock);
    int64_t end = min_of(first + kBlock, n), i = first;
    F16 a = all(0.0f), b = all(0.0f);
    for (; i + 32 <= end; i += 32) {
      SL_UNROLL for (int j = 0; j < 32; j += 16) {
        __builtin_prefetch(x + n + i + j);
        if (y) __builtin_prefetch(y + n + i + j, 1);
      }
      F16 p = exp(_mm512_sub_ps(_mm512_loadu_ps(x + i), shift));
      F16 q = exp(_mm512_sub_ps(_mm512_loadu_ps(x + i + 16), shift));
      if (y) {
        _mm512_storeu_ps(y + i, p);
        _mm512_storeu_ps(y + i + 16, q);
      }
      a = _mm512_add_ps(a, p);
      b = _mm512_add_ps(b, q);
    }
    for (; i < end; i += 16) {
      __mmask16 lanes = first_lanes(0.f, static_cast<int>(min_of(end - i, 16)));
      F16 p = exp(_mm512_sub_ps(_mm512_maskz_loadu_ps(lanes, x + i), shift));
      if (y) _mm512_mask_storeu_ps(y + i, lanes, p);
      a = _mm512_mask_add_ps(a, lanes, a, p);
    }
    total += _mm512_reduce_add_ps(_mm512_add_ps(a, b));
  }
  return total;
}

// For any `top`; terms of larger elements may be infinite.
float sum_exp(int64_t n, const float* x, float top) {
  return exp_sum(n, x, top, nullptr, [](F16 v) SL_ALWAYS { return exp_512(v); });
}
// `top` must be the largest element.
float exp_falling_sum(int64_t n, const float* x, float top, float* y) {
  return exp_sum(n, x, top, y, [](F16 v) SL_ALWAYS { return exp_falling_512(v); });
}

float greatest_number(int64_t n, const float* x) { return extreme<false>(n, x); }

constexpr int kHeldVectors = 8;  // vectors of a row that softmax keeps in registers

// Rows of at most kVectors vectors, read once and written once. The processor begins with the next
// rows while lanes of one are combined.
template <int kVectors, bool kLog>
void softmax_in_registers(int64_t rows, int64_t n, const float* x, float* y) {
  const __mmask16 last = first_lanes(0.f, static_cast<int>(n - 16 * (kVectors - 1)));
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    F16 v[kVectors], top = all(-__builtin_inff()), sum = all(0.0f);
    SL_UNROLL for (int j = 0; j < kVectors; ++j) {
      v[j] = j + 1 < kVectors ? _mm512_loadu_ps(x + 16 * j)
                              : _mm512_mask_loadu_ps(all(-__builtin_inff()), last, x + 16 * j);
      __builtin_prefetch(x + 4 * n + 16 * j);
      top = _mm512_max_ps(top, v[j]);
    }
    const F16 shift = all(_mm512_reduce_max_ps(top));
    SL_UNROLL for (int j = 0; j < kVectors; ++j) {
      v[j] = _mm512_sub_ps(v[j], shift);
      const F16 power = exp_falling_512(v[j]);
      sum = _mm512_add_ps(sum, power);
      if (!kLog) v[j] = power;
    }
    const float total = _mm512_reduce_add_ps(sum);
    const F16 by = all(kLog ? log_f32(total) : 1.0f / total);
    SL_UNROLL for (int j = 0; j < kVectors; ++j) {
      const F16 part = kLog ? _mm512_sub_ps(v[j], by) : _mm512_mul_ps(v[j], by);
      if (j + 1 < kVectors) _mm512_storeu_ps(y + 16 * j, part);
      else _mm512_mask_storeu_ps(y + 16 * j, last, part);
    }
  }
}

template <bool kLog, int... kBelow>
void softmax_of_held_rows(int64_t rows, int64_t n, const float* x, float* y,
                          std::integer_sequence<int, kBelow...>) {
  using Rows = void (*)(int64_t, int64_t, const float*, float*);
  constexpr Rows kByVectors[] = {softmax_in_registers<kBelow + 1, kLog>...};
  kByVectors[(n - 1) / 16](rows, n, x, y);
}
// Returns false for rows that are too long.
template <bool kLog>
bool softmax_of_held_rows(int64_t rows, int64_t n, const float* x, float* y) {
  if (n > kHeldVectors * 16) return false;
  softmax_of_held_rows<kLog>(rows, n, x, y, std::make_integer_sequence<int, kHeldVectors>{});
  return true;
}
#else
// Combines all lanes with f into the first one; f must be associative and commutative.
template <int By, class V, class F, int... I>
SL_INLINE V fold_lanes(V v, F f, std::integer_sequence<int, I...> lanes) {
  v = f(v, __builtin_shufflevector(v, v, ((I + By) % kLanesF)...));
  if constexpr (By > 1) return fold_lanes<By / 2>(v, f, lanes);
  else return v;
}

// The greatest element, of which a NaN may be any: for a softmax, which is NaN then anyway.
float greatest_number(int64_t n, const float* x) {
  Vector<float> best[kSums];
  SL_UNROLL for (int j = 0; j < kSums; ++j) best[j] = splat(-__builtin_inff());
  float most = -__builtin_inff();
  in_stretches(n, [&](int64_t i, int64_t last) SL_ALWAYS {
    for (; i + kSums * kLanesF <= last; i += kSums * kLanesF) {
      SL_UNROLL for (int j = 0; j < kSums; ++j) {
        best[j] = at_least(load(x + i + j * kLanesF), best[j]);
      }
    }
    for (; i + kLanesF <= last; i += kLanesF) best[0] = at_least(load(x + i), best[0]);
    for (; i < last; ++i) most = x[i] > most ? x[i] : most;
  });
  auto greater = [](Vector<float> a, Vector<float> b) SL_ALWAYS { return at_least(a, b); };
  Vector<float> top = greater(greater(best[0], best[1]), greater(best[2], best[3]));
  constexpr auto kAll = std::make_integer_sequence<int, kLanesF>{};
  const float vectors = fold_lanes<kLanesF / 2>(top, greater, kAll)[0];
  return vectors > most ? vectors : most;
}

// The greatest element, or the least.
template <bool Least>
float extreme_of_stretch(int64_t n, const float* x) {
  constexpr float kNone = Least ? __builtin_inff() : -__builtin_inff();
  auto beyond = [](Vector<float> a, Vector<float> b)
                    SL_ALWAYS { return Least ? at_most(a, b) : at_least(a, b); };
  Vector<float> best[kSums];
  SL_UNROLL for (int j = 0; j < kSums; ++j) best[j] = Vector<float>{} + kNone;
  auto unordered = best[0] != best[0];
  int64_t i = 0;
  for (; i + kSums * kLanesF <= n; i += kSums * kLanesF) {
    SL_UNROLL for (int j = 0; j < kSums; ++j) {
      Vector<float> v = load(x + i + j * kLanesF);
      unordered |= v != v;
      best[j] = beyond(v, best[j]);
    }
  }
  for (; i + kLanesF <= n; i += kLanesF) {
    Vector<float> v = load(x + i);
    unordered |= v != v;
    best[0] = beyond(v, best[0]);
  }
  Vector<float> top = beyond(beyond(best[0], best[1]), beyond(best[2], best[3]));
  constexpr auto kAll = std::make_integer_sequence<int, kLanesF>{};
  float most = fold_lanes<kLanesF / 2>(top, beyond, kAll)[0];
  auto either = [](auto a, auto b) SL_ALWAYS { return a | b; };
  bool nan = fold_lanes<kLanesF / 2>(unordered, either, kAll)[0] != 0;
  for (; i < n; ++i) {
    nan |= x[i] != x[i];
    most = (Least ? x[i] < most : x[i] > most) ? x[i] : most;
  }
  return nan ? __builtin_nanf("") : most;
}

// Adds e^(x - shift) of a block to lanes, and stores the terms in y if Stores.
template <bool Stores>
SL_INLINE Vector<float> exp_block(int64_t n, const float* x, Vector<float> shift, float* y) {
  Vector<float> a{}, b{};
  int64_t i = 0;
  for (; i + 2 * kLanesF <= n; i += 2 * kLanesF) {
    const Vector<float> p = exp_of_negative(load(x + i) - shift);
    const Vector<float> q = exp_of_negative(load(x + i + kLanesF) - shift);
    if constexpr (Stores) {
      store(y + i, p);
      store(y + i + kLanesF, q);
    }
    a += p;
    b += q;
  }
  for (; i < n; i += kLanesF) {
    float rest[kLanesF];
    const size_t bytes = static_cast<size_t>(min_of(n - i, kLanesF)) * sizeof(float);
    for (float& r : rest) r = -__builtin_inff();
    __builtin_memcpy(rest, x + i, bytes);
    const Vector<float> p = exp_of_negative(load(rest) - shift);
    store(rest, p);
    if constexpr (Stores) __builtin_memcpy(y + i, rest, bytes);
    a += p;
  }
  return a + b;
}

// Returns the sum of e^(x - top), block by block, and stores the terms in y unless it is null.
// `top` must be the largest element.
float exp_falling_sum(int64_t n, const float* x, float top, float* y) {
  const Vector<float> shift = splat(top);
  float total = 0;
  for (int64_t first = 0; first < n; first += kBlock) {
    if (first > 0) worked(4 * kBlock);
    const int64_t length = min_of(kBlock, n - first);
    total += sum_lanes<float>(y ? exp_block<true>(length, x + first, shift, y + first)
                                : exp_block<false>(length, x + first, shift, nullptr));
  }
  return total;
}

// For any `top`; terms of larger elements may be infinite.
float sum_exp(int64_t n, const float* x, float top) {
  constexpr int64_t kPiece = 1024;
  float total = 0;
  for (int64_t first = 0; first < n; first += kPiece) {
    if (first > 0) worked(4 * kPiece);
    float powers[kPiece];
    int64_t length = min_of(kPiece, n - first);
    map_vectors(length, x + first, powers, [top](auto v) SL_ALWAYS { return exp_f32(v - top); });
    total += sum(length, powers);
  }
  return total;
}
#endif

void log_softmax(int64_t rows, int64_t n, const float* x, float* y) {
#if defined(__AVX512F__)
  if (softmax_of_held_rows<true>(rows, n, x, y)) return;
#endif
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const float top = greatest_number(n, x);
    const float shift = log_f32(exp_falling_sum(n, x, top, nullptr));
    in_stretches(n, [&](int64_t first, int64_t last) {
      SL_INDEPENDENT
      for (int64_t i = first; i < last; ++i) y[i] = x[i] - top - shift;
    });
  }
}

// Short rows go through each step some at a time. Where a step ends by combining the lanes of a
// vector, the processor would wait; it begins with the next row instead.
void softmax(int64_t rows, int64_t n, const float* x, float* y) {
#if defined(__AVX512F__)
  if (softmax_of_held_rows<false>(rows, n, x, y)) return;
#endif
  constexpr int64_t kShort = 1024, kMost = 8;
  const int64_t together = n <= kShort ? kMost : 1;
  float top[kMost], scale[kMost];
  for (int64_t r = 0; r < rows; r += together, x += together * n, y += together * n) {
    const int64_t count = min_of(together, rows - r);
    for (int64_t i = 0; i < count; ++i) top[i] = greatest_number(n, x + i * n);
    for (int64_t i = 0; i < count; ++i) {
      scale[i] = 1.0f / exp_falling_sum(n, x + i * n, top[i], y + i * n);
    }
    for (int64_t i = 0; i < count; ++i) {
      float* row = y + i * n;
      in_stretches(n, [&](int64_t first, int64_t last) {
        SL_INDEPENDENT
        for (int64_t j = first; j < last; ++j) row[j] *= scale[i];
      });
    }
  }
}

void layer_norm(int64_t n, const float* x, const float* gamma, const float* beta, float eps,
                float* y, float* mean_out, float* rstd_out) {
  float mean = sum(n, x) / static_cast<float>(n);
  float variance = sum_squares(n, x, mean) / static_cast<float>(n);
  float rstd = 1.0f / __builtin_sqrtf(variance + eps);
  *mean_out = mean;
  *rstd_out = rstd;
  if (gamma && beta) {
    in_stretches(n, [&](int64_t first, int64_t last) {
      SL_INDEPENDENT
      for (int64_t i = first; i < last; ++i) y[i] = (x[i] - mean) * rstd * gamma[i] + beta[i];
    });
  } else if (gamma) {
    in_stretches(n, [&](int64_t first, int64_t last) {
      SL_INDEPENDENT
      for (int64_t i = first; i < last; ++i) y[i] = (x[i] - mean) * rstd * gamma[i];
    });
  } else {
    in_stretches(n, [&](int64_t first, int64_t last) {
      SL_INDEPENDENT
      for (int64_t i = first; i < last; ++i) y[i] = (x[i] - mean) * rstd + (beta ? beta[i] : 0.0f);
    });
  }
}

void rms_norm(int64_t n, const float* x, const float* gamma, float eps, float* y) {
  float scale = 1.0f / __builtin_sqrtf(sum_squares(n, x, 0.0f) / static_cast<float>(n) + eps);
  if (gamma) {
    in_stretches(n, [&](int64_t first, int64_t last) {
      SL_INDEPENDENT
      for (int64_t i = first; i < last; ++i) y[i] = x[i] * scale * gamma[i];
    });
  } else {
    in_stretches(n, [&](int64_t first, int64_t last) {
      SL_INDEPENDENT
      for (int64_t i = first; i < last; ++i) y[i] = x[i] * scale;
    });
  }
}

void scale_shift(int64_t n, const float* x, float scale, float shift, float* y) {
  in_stretches(n, [&](int64_t first, int64_t last) {
    SL_INDEPENDENT
    for (int64_t i = first; i < last; ++i) y[i] = x[i] * scale + shift;
  });
}

// Computes one vector of hidden units; `apart` is the stride between the arrays of the gates.
SL_INLINE void lstm_units(int64_t apart, const float* gates, const float* c_in, float* c,
                          float* h) {
  const Vector<float> input = sigmoid_f32(load(gates)), forget = sigmoid_f32(load(gates + apart));
  const Vector<float> cell = tanh_f32(load(gates + 2 * apart));
  const Vector<float> next = forget * load(c_in) + input * cell;
  store(c, next);
  store(h, sigmoid_f32(load(gates + 3 * apart)) * tanh_f32(next));
}

SL_INLINE void gru_units(int64_t apart, const float* input, const float* hidden, const float* h_in,
                         float* h) {
  const Vector<float> reset = sigmoid_f32(load(input) + load(hidden));
  const Vector<float> update = sigmoid_f32(load(input + apart) + load(hidden + apart));
  const Vector<float> fresh = tanh_f32(load(input + 2 * apart) + reset * load(hidden + 2 * apart));
  store(h, (load(h_in) - fresh) * update + fresh);
}

// Copies the last n - first elements of each of Rows contiguous rows of n into whole vectors.
template <int Rows>
SL_INLINE void pad_rows(int64_t n, int64_t first, const float* from, float (&to)[Rows][kLanesF]) {
  size_t bytes = static_cast<size_t>(n - first) * sizeof(float);
  __builtin_memset(to, 0, sizeof to);
  for (int r = 0; r < Rows; ++r) __builtin_memcpy(to[r], from + r * n + first, bytes);
}

void lstm_cell(int64_t n, const float* gates, const float* c_in, float* c, float* h) {
  int64_t i = 0;
  for (; i + kLanesF <= n; i += kLanesF) { lstm_units(n, gates + i, c_in + i, c + i, h + i); }
  if (i == n) return;
  float padded[4][kLanesF], state[1][kLanesF], result[2][kLanesF];
  pad_rows(n, i, gates, padded);
  pad_rows(n, i, c_in, state);
  lstm_units(kLanesF, padded[0], state[0], result[0], result[1]);
  __builtin_memcpy(c + i, result[0], static_cast<size_t>(n - i) * sizeof(float));
  __builtin_memcpy(h + i, result[1], static_cast<size_t>(n - i) * sizeof(float));
}

void gru_cell(int64_t n, const float* input, const float* hidden, const float* h_in, float* h) {
  int64_t i = 0;
  for (; i + kLanesF <= n; i += kLanesF) { gru_units(n, input + i, hidden + i, h_in + i, h + i); }
  if (i == n) return;
  float a[3][kLanesF], b[3][kLanesF], state[1][kLanesF], result[kLanesF];
  pad_rows(n, i, input, a);
  pad_rows(n, i, hidden, b);
  pad_rows(n, i, h_in, state);
  gru_units(kLanesF, a[0], b[0], state[0], result);
  __builtin_memcpy(h + i, result, static_cast<size_t>(n - i) * sizeof(float));
}

// GCC does not clear the upper halves of vector registers if a function returns a lane. Code
// without AVX, such as the caller's, is slow until they are cleared.
template <auto Function, class... Arguments>
float leaving_no_vectors(Arguments... arguments) {
  float result = Function(arguments...);
#if defined(__AVX__)
  _mm256_zeroupper();
#endif
  return result;
}

}  // namespace

const RowFunctions rows{&softmax,
                        &log_softmax,
                        &layer_norm,
                        &rms_norm,
                        &scale_shift,
                        &leaving_no_vectors<sum>,
                        &sums,
                        &leaving_no_vectors<sum_squares>,
                        &leaving_no_vectors<sum_exp>,
                        &leaving_no_vectors<extreme<false>>,
                        &leaving_no_vectors<extreme<true>>,
                        &softmax_columns,
                        &log_sum_exp_columns,
                        &lstm_cell,
                        &gru_cell};

}  // namespace scriptlang::kernels::SL_ISA
