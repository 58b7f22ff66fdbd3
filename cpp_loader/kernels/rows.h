// Kernels over rows of contiguous elements: softmax, normalisation, sums, gates.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

struct RowFunctions {
  // Of contiguous rows of n elements; y may be x. A row of -inf yields NaN, as the formula does.
  void (*softmax)(int64_t rows, int64_t n, const float* x, float* y);
  void (*log_softmax)(int64_t rows, int64_t n, const float* x, float* y);
  // y = (x - mean) * rstd * gamma + beta; gamma and beta may be null. Also returns mean and rstd.
  void (*layer_norm)(int64_t n, const float* x, const float* gamma, const float* beta, float eps,
                     float* y, float* mean, float* rstd);
  // y = x / sqrt(mean of squares + eps) * gamma; gamma may be null.
  void (*rms_norm)(int64_t n, const float* x, const float* gamma, float eps, float* y);
  // y = x * scale + shift
  void (*scale_shift)(int64_t n, const float* x, float scale, float shift, float* y);
  // The sum, accurate to about the last place: blocks have several accumulators, and their sums are
  // added pairwise.
  float (*sum)(int64_t n, const float* x);
  // The sums of `rows` contiguous rows; with `numbers`, NaN counts as 0.
  void (*sums)(int64_t rows, int64_t n, const float* x, float* to, bool numbers);
  // Sum of squared differences from `center`.
  float (*sum_squares)(int64_t n, const float* x, float center);
  // Sum of exp(x - top).
  float (*sum_exp)(int64_t n, const float* x, float top);
  // Returns NaN if there is one; n >= 1.
  float (*maximum)(int64_t n, const float* x);
  float (*minimum)(int64_t n, const float* x);
  // Softmax of every column, or with `log` its logarithm; `stride` is that of the rows of x and y.
  void (*softmax_columns)(int64_t rows, int64_t width, const float* x, int64_t stride, float* y,
                          bool log);
  // to[j] = log of the sum of exp(x[j]) over all rows.
  void (*log_sum_exp_columns)(int64_t rows, int64_t width, const float* x, int64_t stride,
                              float* to);
  // LSTM: `gates` holds i, f, g, o, n elements each, before activation; c is the new cell state, h
  // = o * tanh(c).
  void (*lstm_cell)(int64_t n, const float* gates, const float* c_in, float* c, float* h);
  // GRU: `input` and `hidden` hold their parts of the gates r, z and n, n elements each; h_in is
  // the previous h.
  void (*gru_cell)(int64_t n, const float* input, const float* hidden, const float* h_in, float* h);
};

}  // namespace scriptlang::kernels
