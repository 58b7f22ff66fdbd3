#include "../rows.h"

#include "entry.h"
#include "math_f32.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr int kLanesF = kLanes<float>;
constexpr int64_t kBlock = 4096;  // elements summed before blocks are added pairwise
constexpr int kSums = 4;

// Adds f(x[i]) over at most a block with kSums vectors of accumulators.
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
  Vector<float> all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  float total = sum_lanes<float>(all);
  for (; i < n; ++i) total += f(splat(x[i]))[0];
  return total;
}

template <class F>
float pairwise_sum(int64_t n, const float* x, F f) {
  if (n <= kBlock) return block_sum(n, x, f);
  int64_t half = ceil_div(ceil_div(n, kBlock), 2) * kBlock;
  return pairwise_sum(half, x, f) + pairwise_sum(n - half, x + half, f);
}

float sum(int64_t n, const float* x) {
  return pairwise_sum(n, x, [](Vector<float> v) { return v; });
}

float sum_squares(int64_t n, const float* x, float center) {
  Vector<float> c = splat(center);
  return pairwise_sum(n, x, [c](Vector<float> v) { return (v - c) * (v - c); });
}

void accumulate(int64_t n, const float* SL_RESTRICT x, float* SL_RESTRICT to) {
  for (int64_t i = 0; i < n; ++i) to[i] += x[i];
}

float maximum(int64_t n, const float* x) {
  float lanes[4 * kLanesF];
  for (int j = 0; j < 4 * kLanesF; ++j) lanes[j] = -__builtin_inff();
  int64_t i = 0;
  bool nan = false;
  for (; i + 4 * kLanesF <= n; i += 4 * kLanesF) {
    int has_nan = 0;
    for (int j = 0; j < 4 * kLanesF; ++j) {
      float v = x[i + j];
      has_nan |= v != v;
      lanes[j] = v > lanes[j] ? v : lanes[j];
    }
    nan |= has_nan != 0;
  }
  float best = -__builtin_inff();
  for (; i < n; ++i) {
    nan |= x[i] != x[i];
    best = x[i] > best ? x[i] : best;
  }
  for (int j = 0; j < 4 * kLanesF; ++j) best = lanes[j] > best ? lanes[j] : best;
  return nan ? __builtin_nanf("") : best;
}

void softmax(int64_t n, const float* x, float* y) {
  float top = maximum(n, x);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = exp_f32(x[i] - top);
  float scale = 1.0f / sum(n, y);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] *= scale;
}

void log_softmax(int64_t n, const float* x, float* y) {
  float top = maximum(n, x);
  constexpr int64_t kPiece = 1024;
  float total = 0;
  for (int64_t first = 0; first < n; first += kPiece) {
    float powers[kPiece];
    int64_t length = min_of(kPiece, n - first);
    for (int64_t i = 0; i < length; ++i) powers[i] = exp_f32(x[first + i] - top);
    total += sum(length, powers);
  }
  float shift = log_f32(total);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] - top - shift;
}

void layer_norm(int64_t n, const float* x, const float* gamma, const float* beta, float eps,
                float* y, float* mean_out, float* rstd_out) {
  float mean = sum(n, x) / static_cast<float>(n);
  float variance = sum_squares(n, x, mean) / static_cast<float>(n);
  float rstd = 1.0f / __builtin_sqrtf(variance + eps);
  *mean_out = mean;
  *rstd_out = rstd;
  if (gamma && beta) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd * gamma[i] + beta[i];
  } else if (gamma) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd * gamma[i];
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd + (beta ? beta[i] : 0.0f);
  }
}

void scale_shift(int64_t n, const float* x, float scale, float shift, float* y) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale + shift;
}

void lstm_cell(int64_t n, const float* SL_RESTRICT gates, const float* c_in, float* c, float* h) {
  const float *input = gates, *forget = gates + n, *cell = gates + 2 * n, *output = gates + 3 * n;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    float next = sigmoid_f32(forget[i]) * c_in[i] + sigmoid_f32(input[i]) * tanh_f32(cell[i]);
    c[i] = next;
    h[i] = sigmoid_f32(output[i]) * tanh_f32(next);
  }
}

void gru_cell(int64_t n, const float* SL_RESTRICT input, const float* SL_RESTRICT hidden,
              const float* h_in, float* h) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    float reset = sigmoid_f32(input[i] + hidden[i]);
    float update = sigmoid_f32(input[n + i] + hidden[n + i]);
    float fresh = tanh_f32(input[2 * n + i] + reset * hidden[2 * n + i]);
    h[i] = (h_in[i] - fresh) * update + fresh;
  }
}

}  // namespace

const RowFunctions rows{&softmax,     &log_softmax, &layer_norm, &scale_shift, &sum,
                        &sum_squares, &accumulate,  &maximum,    &lstm_cell,   &gru_cell};

}  // namespace scriptlang::kernels::SL_ISA
