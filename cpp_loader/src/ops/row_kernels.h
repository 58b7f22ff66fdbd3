// The row kernels by type: float32 uses the kernels for the instruction set at hand, other types
// plain loops.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "../../kernels/kernel_set.h"
#include "pieces.h"

namespace scriptlang {

template <class T>
struct Rows;

template <>
struct Rows<float> {
  static const kernels::RowFunctions& f() { return *kernels::kernels().rows; }
  // Of contiguous rows of n elements.
  static void softmax(int64_t rows, int64_t n, const float* x, float* y) {
    f().softmax(rows, n, x, y);
  }
  static void log_softmax(int64_t rows, int64_t n, const float* x, float* y) {
    f().log_softmax(rows, n, x, y);
  }
  static void layer_norm(int64_t n, const float* x, const float* gamma, const float* beta,
                         double eps, float* y, float* mean, float* rstd) {
    f().layer_norm(n, x, gamma, beta, float(eps), y, mean, rstd);
  }
  static void scale_shift(int64_t n, const float* x, float scale, float shift, float* y) {
    f().scale_shift(n, x, scale, shift, y);
  }
  static void rms_norm(int64_t n, const float* x, const float* gamma, double eps, float* y) {
    f().rms_norm(n, x, gamma, float(eps), y);
  }
  static float maximum(int64_t n, const float* x) { return f().maximum(n, x); }
  static float minimum(int64_t n, const float* x) { return f().minimum(n, x); }
  static float sum(int64_t n, const float* x) { return f().sum(n, x); }
  // Of contiguous rows of n elements.
  static void sums(int64_t rows, int64_t n, const float* x, float* to) {
    f().sums(rows, n, x, to, false);
  }
  static float sum_numbers(int64_t n, const float* x) {
    float total;
    f().sums(1, n, x, &total, true);
    return total;
  }
  static float sum_squares(int64_t n, const float* x, float center) {
    return f().sum_squares(n, x, center);
  }
  static float sum_exp(int64_t n, const float* x, float top) { return f().sum_exp(n, x, top); }
  static void lstm_cell(int64_t n, const float* gates, const float* c_in, float* c, float* h) {
    f().lstm_cell(n, gates, c_in, c, h);
  }
  static void gru_cell(int64_t n, const float* input, const float* hidden, const float* h_in,
                       float* h) {
    f().gru_cell(n, input, hidden, h_in, h);
  }
};

// For elements of any type. Sums use independent lanes, so that additions do not wait for each
// other.
template <class T>
struct PlainRows {
  static constexpr int64_t kBlock = 4096;  // elements summed before blocks are added pairwise
  static constexpr int kLanes = 8;

  // The sum of f(x[i]).
  template <class F>
  static T added(int64_t n, const T* x, F f) {
    if (n <= kBlock) return added_block(n, x, f);
    kernels::worked(2 * kBlock);
    int64_t half = ((n + kBlock - 1) / kBlock + 1) / 2 * kBlock;
    return T(added(half, x, f) + added(n - half, x + half, f));
  }
  template <class F>
  static T added_block(int64_t n, const T* x, F f) {
    T lanes[kLanes] = {};
    const T* const end = x + n;
    for (; end - x >= kLanes; x += kLanes) {
      for (int j = 0; j < kLanes; ++j) lanes[j] = T(lanes[j] + f(x[j]));
    }
    T total = 0;
    for (; x < end; ++x) total = T(total + f(*x));
    for (T lane : lanes) total = T(total + lane);
    return total;
  }
  static T sum(int64_t n, const T* x) {
    return added(n, x, [](T v) { return v; });
  }
  static T sum_squares(int64_t n, const T* x, T center) {
    return added(n, x, [center](T v) { return (v - center) * (v - center); });
  }
  // The largest (smallest) element for n >= 1; NaN if there is one.
  static T maximum(int64_t n, const T* x) {
    return extreme(n, x, kernels::kernels().lines->of(T()).maximum);
  }
  static T minimum(int64_t n, const T* x) {
    return extreme(n, x, kernels::kernels().lines->of(T()).minimum);
  }
  // The extreme of the extremes of pieces.
  template <class F>
  static T extreme(int64_t n, const T* x, F of_piece) {
    constexpr int64_t kPiece = 1 << 18;
    T best[2];
    of_piece(std::min(n, kPiece), x, best);
    for (int64_t first = kPiece; first < n; first += kPiece) {
      kernels::worked(kPiece);
      of_piece(std::min(n - first, kPiece), x + first, best + 1);
      of_piece(2, best, best);
    }
    return best[0];
  }
};

// Sums of integers wrap.
template <>
struct Rows<int64_t> : PlainRows<int64_t> {
  static int64_t sum(int64_t n, const int64_t* x) {
    int64_t total = 0;
    if (n > 0) kernels::kernels().lines->i64.sum(n, x, &total);
    return total;
  }
};

template <>
struct Rows<double> : PlainRows<double> {
  static double sum(int64_t n, const double* x) {
    if (n > kBlock) {
      kernels::worked(kBlock);
      int64_t half = ((n + kBlock - 1) / kBlock + 1) / 2 * kBlock;
      return sum(half, x) + sum(n - half, x + half);
    }
    double total = 0;
    if (n > 0) kernels::kernels().lines->f64.sum(n, x, &total);
    return total;
  }
  // y = exp(x - top)
  static void exp_less(int64_t n, const double* x, double top, double* y) {
    const int64_t step[1] = {1};
    in_pieces(n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = x[i] - top;
      const void* in[1] = {y + begin};
      kernels::loops(kernels::Unary::k_exp)[ScalarType::Float64](end - begin, y + begin, in, step,
                                                                 nullptr);
    });
  }
  static void rms_norm(int64_t n, const double* x, const double* gamma, double eps, double* y) {
    double scale = 1 / std::sqrt(sum_squares(n, x, 0) / double(n) + eps);
    in_pieces(n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = x[i] * scale * (gamma ? gamma[i] : 1.0);
    });
  }
  static void sums(int64_t rows, int64_t n, const double* x, double* to) {
    for (int64_t r = 0; r < rows; ++r) to[r] = sum(n, x + r * n);
  }
  static void softmax(int64_t rows, int64_t n, const double* x, double* y) {
    for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
      exp_less(n, x, maximum(n, x), y);
      const double total = sum(n, y);
      in_pieces(n, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) y[i] /= total;
      });
    }
  }
  static void log_softmax(int64_t rows, int64_t n, const double* x, double* y) {
    for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
      const double top = maximum(n, x), shift = std::log(sum_exp(n, x, top));
      in_pieces(n, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) y[i] = x[i] - top - shift;
      });
    }
  }
  static void layer_norm(int64_t n, const double* x, const double* gamma, const double* beta,
                         double eps, double* y, double* mean, double* rstd) {
    *mean = sum(n, x) / double(n);
    *rstd = 1 / std::sqrt(sum_squares(n, x, *mean) / double(n) + eps);
    in_pieces(n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        y[i] = (x[i] - *mean) * *rstd * (gamma ? gamma[i] : 1.0) + (beta ? beta[i] : 0.0);
      }
    });
  }
  static void scale_shift(int64_t n, const double* x, double scale, double shift, double* y) {
    in_pieces(n, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = x[i] * scale + shift;
    });
  }
  static double sum_exp(int64_t n, const double* x, double top) {
    constexpr int64_t kPiece = 512;
    double powers[kPiece], total = 0;
    for (int64_t first = 0; first < n; first += kPiece) {
      int64_t count = std::min(kPiece, n - first);
      exp_less(count, x + first, top, powers);
      total += sum(count, powers);
    }
    return total;
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
  if constexpr (kernels::is_kept(ScalarType::Float64)) {
    if (computed == ScalarType::Float64) return f(double());
  }
  kernels::check_kept(computed);
  f(float());
}

// The type to compute in, float32 or float64; raises NotImplementedError for types that are no
// floats.
inline ScalarType computed_type(ScalarType t, const char* name) {
  if (is_floating(t)) return t == ScalarType::Float64 ? t : ScalarType::Float32;
  raise(ErrorKind::NotImplementedError, '"', name, "\" not implemented for '",
        dtype_display_name(t), "'");
}

}  // namespace scriptlang
