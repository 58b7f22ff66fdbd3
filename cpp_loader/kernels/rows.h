// Kernels over rows of contiguous elements: softmax, normalisation, sums, gates.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

struct RowFunctions {
  // y may be x. A row of -inf gives NaN, as the formula does.
  void (*softmax)(int64_t n, const float* x, float* y);
  void (*log_softmax)(int64_t n, const float* x, float* y);
  // y = (x - mean) * rstd * gamma + beta; gamma and beta may be null. Gives mean and rstd.
  void (*layer_norm)(int64_t n, const float* x, const float* gamma, const float* beta, float eps,
                     float* y, float* mean, float* rstd);
  // y = x / sqrt(mean of squares + eps) * gamma; gamma may be null.
  void (*rms_norm)(int64_t n, const float* x, const float* gamma, float eps, float* y);
  // y = x * scale + shift
  void (*scale_shift)(int64_t n, const float* x, float scale, float shift, float* y);
  // The sum, to about the last place: many accumulators over blocks that are added pairwise.
  float (*sum)(int64_t n, const float* x);
  // The sums of `rows` rows that follow each other; with `numbers`, NaN counts as 0.
  void (*sums)(int64_t rows, int64_t n, const float* x, float* to, bool numbers);
  // Sum of squared differences from `center`.
  float (*sum_squares)(int64_t n, const float* x, float center);
  // Sum of exp(x - top).
  float (*sum_exp)(int64_t n, const float* x, float top);
  // NaN if there is one; n >= 1.
  float (*maximum)(int64_t n, const float* x);
  float (*minimum)(int64_t n, const float* x);
  // Softmax, or its logarithm, of every column; rows of x and of y are `stride` apart.
  void (*softmax_columns)(int64_t rows, int64_t width, const float* x, int64_t stride, float* y,
                          bool log);
  // to[j] = log of the sum of exp(x[j]) in every row.
  void (*log_sum_exp_columns)(int64_t rows, int64_t width, const float* x, int64_t stride,
                              float* to);
  // LSTM: gates are i, f, g, o, n each, before their activations; c is updated, h = o * tanh(c).
  void (*lstm_cell)(int64_t n, const float* gates, const float* c_in, float* c, float* h);
  // GRU: from input and hidden parts of r, z, n, n each, and the previous h.
  void (*gru_cell)(int64_t n, const float* input, const float* hidden, const float* h_in, float* h);
};

}  // namespace scriptlang::kernels
