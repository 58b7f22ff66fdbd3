// The row kernels for both float types: float32 from the instruction set at hand, float64 plainly.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "../../kernels/kernel_set.h"

namespace scriptlang {

template <class T>
struct Rows;

template <>
struct Rows<float> {
  static const kernels::RowFunctions& f() { return *kernels::kernels().rows; }
  static void softmax(int64_t n, const float* x, float* y) { f().softmax(n, x, y); }
  static void log_softmax(int64_t n, const float* x, float* y) { f().log_softmax(n, x, y); }
  static void layer_norm(int64_t n, const float* x, const float* gamma, const float* beta,
                         double eps, float* y, float* mean, float* rstd) {
    f().layer_norm(n, x, gamma, beta, float(eps), y, mean, rstd);
  }
  static void scale_shift(int64_t n, const float* x, float scale, float shift, float* y) {
    f().scale_shift(n, x, scale, shift, y);
  }
  static float sum(int64_t n, const float* x) { return f().sum(n, x); }
  static float sum_squares(int64_t n, const float* x, float center) {
    return f().sum_squares(n, x, center);
  }
  static void accumulate(int64_t n, const float* x, float* to) { f().accumulate(n, x, to); }
  static void lstm_cell(int64_t n, const float* gates, const float* c_in, float* c, float* h) {
    f().lstm_cell(n, gates, c_in, c, h);
  }
  static void gru_cell(int64_t n, const float* input, const float* hidden, const float* h_in,
                       float* h) {
    f().gru_cell(n, input, hidden, h_in, h);
  }
};

template <>
struct Rows<double> {
  static double maximum(int64_t n, const double* x) {
    double best = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < n; ++i) {
      if (std::isnan(x[i])) return x[i];
      best = std::max(best, x[i]);
    }
    return best;
  }
  static double sum(int64_t n, const double* x) {
    if (n <= 512) {
      double lanes[8] = {};
      int64_t i = 0;
      for (; i + 8 <= n; i += 8) {
        for (int j = 0; j < 8; ++j) lanes[j] += x[i + j];
      }
      double total = 0;
      for (; i < n; ++i) total += x[i];
      for (double lane : lanes) total += lane;
      return total;
    }
    int64_t half = n / 2;
    return sum(half, x) + sum(n - half, x + half);
  }
  static double sum_squares(int64_t n, const double* x, double center) {
    if (n > 512) {
      int64_t half = n / 2;
      return sum_squares(half, x, center) + sum_squares(n - half, x + half, center);
    }
    double total = 0;
    for (int64_t i = 0; i < n; ++i) total += (x[i] - center) * (x[i] - center);
    return total;
  }
  static void softmax(int64_t n, const double* x, double* y) {
    double top = maximum(n, x);
    for (int64_t i = 0; i < n; ++i) y[i] = std::exp(x[i] - top);
    double total = sum(n, y);
    for (int64_t i = 0; i < n; ++i) y[i] /= total;
  }
  static void log_softmax(int64_t n, const double* x, double* y) {
    double top = maximum(n, x), total = 0;
    for (int64_t i = 0; i < n; ++i) total += std::exp(x[i] - top);
    double shift = std::log(total);
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] - top - shift;
  }
  static void layer_norm(int64_t n, const double* x, const double* gamma, const double* beta,
                         double eps, double* y, double* mean, double* rstd) {
    *mean = sum(n, x) / double(n);
    *rstd = 1 / std::sqrt(sum_squares(n, x, *mean) / double(n) + eps);
    for (int64_t i = 0; i < n; ++i) {
      y[i] = (x[i] - *mean) * *rstd * (gamma ? gamma[i] : 1.0) + (beta ? beta[i] : 0.0);
    }
  }
  static void scale_shift(int64_t n, const double* x, double scale, double shift, double* y) {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] * scale + shift;
  }
  static void accumulate(int64_t n, const double* x, double* to) {
    for (int64_t i = 0; i < n; ++i) to[i] += x[i];
  }
  static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
  static void lstm_cell(int64_t n, const double* gates, const double* c_in, double* c, double* h) {
    for (int64_t i = 0; i < n; ++i) {
      c[i] = sigmoid(gates[n + i]) * c_in[i] + sigmoid(gates[i]) * std::tanh(gates[2 * n + i]);
      h[i] = sigmoid(gates[3 * n + i]) * std::tanh(c[i]);
    }
  }
  static void gru_cell(int64_t n, const double* input, const double* hidden, const double* h_in,
                       double* h) {
    for (int64_t i = 0; i < n; ++i) {
      double reset = sigmoid(input[i] + hidden[i]), update = sigmoid(input[n + i] + hidden[n + i]);
      double fresh = std::tanh(input[2 * n + i] + reset * hidden[2 * n + i]);
      h[i] = (h_in[i] - fresh) * update + fresh;
    }
  }
};

// Calls f(T()) with float for the types computed in float32, with double for float64.
template <class F>
void for_float_type(ScalarType computed, F&& f) {
  if (computed == ScalarType::Float64) f(double());
  else f(float());
}

// The type in which a kernel of the two computes; raises for types that are no floats.
inline ScalarType computed_type(ScalarType t, const char* name) {
  if (is_floating(t)) return t == ScalarType::Float64 ? t : ScalarType::Float32;
  raise(ErrorKind::NotImplementedError, '"', name, "\" not implemented for '",
        dtype_display_name(t), "'");
}

}  // namespace scriptlang
