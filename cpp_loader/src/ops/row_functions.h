// What reductions and normalisations do with one row. Operators and fused groups share these
// functions, so that their results are the same bit for bit.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "row_kernels.h"

namespace scriptlang {

// Computes out[0] or out[0..n) from the n elements in[0][0..n). Further inputs are rows of n
// elements (null where left out); params are numbers.
using RowLoop = void (*)(int64_t n, void* out, const void* const* in, const double* params);

struct RowFunction {
  RowLoop run;
  bool reduces;  // writes one element; else n, and out may be in[0]
  // `piece` is run on pieces of kRowPiece elements (the last one may be shorter), and `join`
  // combines the partial results in an order that depends on n only. Null: the row is processed at
  // once.
  RowLoop piece = nullptr;
  void (*join)(int64_t n, void* out, const void* partials, const double* params) = nullptr;
};

constexpr int64_t kRowPiece = 4096;

namespace row {

inline int64_t pieces(int64_t n) { return (n + kRowPiece - 1) / kRowPiece; }

// Partial sums are added pairwise, in the order of Rows<T>::sum.
template <class T>
T add_pairwise(int64_t count, const T* x) {
  if (count == 1) return x[0];
  int64_t half = (count + 1) / 2;
  return T(add_pairwise(half, x) + add_pairwise(count - half, x + half));
}

// The mean as PyTorch computes it with a variance. Its running update gives NaN where another
// number follows an infinite one.
template <class T>
T corrected_mean(int64_t n, const T* x, int64_t step, T mean) {
  if (std::isfinite(mean)) return mean;
  for (int64_t i = 0; i + 1 < n; ++i) {
    if (std::isinf(x[i * step])) return std::numeric_limits<T>::quiet_NaN();
  }
  return mean;
}

// The sum of squared distances from the mean divided by `count`, or the square root of that. Float
// sums are used unless the variance overflows or underflows, or is tiny beside the squared mean;
// then it is computed in double.
template <class T>
T spread(int64_t n, const T* x, double count, bool root, T* mean) {
  *mean = Rows<T>::sum(n, x) / T(n);
  T variance = Rows<T>::sum_squares(n, x, *mean) / T(count);
  if constexpr (std::is_same_v<T, float>) {
    bool held = variance > 1e-8f * *mean * *mean && variance > 1e-30f &&
                variance <= std::numeric_limits<float>::max();
    if (!held) {
      double sum = 0, squares = 0;
      for (int64_t i = 0; i < n; ++i) sum += x[i];
      double center = sum / double(n);
      for (int64_t i = 0; i < n; ++i) squares += (x[i] - center) * (x[i] - center);
      *mean = corrected_mean<T>(n, x, 1, float(center));
      return float(root ? std::sqrt(squares / count) : squares / count);
    }
  }
  *mean = corrected_mean(n, x, 1, *mean);
  return root ? std::sqrt(variance) : variance;
}

template <class T>
struct Function {
  static const T* at(const void* const* in, int k = 0) { return static_cast<const T*>(in[k]); }
  static T& result(void* out) { return *static_cast<T*>(out); }

  static void sum(int64_t n, void* out, const void* const* in, const double*) {
    result(out) = Rows<T>::sum(n, at(in));
  }
  static void join_sum(int64_t n, void* out, const void* partials, const double*) {
    result(out) = add_pairwise(pieces(n), static_cast<const T*>(partials));
  }
  static void sum_numbers(int64_t n, void* out, const void* const* in, const double*) {
    result(out) = Rows<T>::sum_numbers(n, at(in));
  }
  static void mean(int64_t n, void* out, const void* const* in, const double*) {
    result(out) = Rows<T>::sum(n, at(in)) / T(n);
  }
  static void join_mean(int64_t n, void* out, const void* partials, const double*) {
    result(out) = add_pairwise(pieces(n), static_cast<const T*>(partials)) / T(n);
  }
  static void maximum(int64_t n, void* out, const void* const* in, const double*) {
    result(out) = Rows<T>::maximum(n, at(in));
  }
  static void join_maximum(int64_t n, void* out, const void* partials, const double*) {
    result(out) = Rows<T>::maximum(pieces(n), static_cast<const T*>(partials));
  }
  static void minimum(int64_t n, void* out, const void* const* in, const double*) {
    result(out) = Rows<T>::minimum(n, at(in));
  }
  static void join_minimum(int64_t n, void* out, const void* partials, const double*) {
    result(out) = Rows<T>::minimum(pieces(n), static_cast<const T*>(partials));
  }
  // params: the divisor of the sum of squares
  static void variance(int64_t n, void* out, const void* const* in, const double* params) {
    T mean;
    result(out) = spread(n, at(in), params[0], false, &mean);
  }
  static void deviation(int64_t n, void* out, const void* const* in, const double* params) {
    T mean;
    result(out) = spread(n, at(in), params[0], true, &mean);
  }
  static void euclidean(int64_t n, void* out, const void* const* in, const double*) {
    result(out) = std::sqrt(Rows<T>::sum_squares(n, at(in), T(0)));
  }
  static void squares(int64_t n, void* out, const void* const* in, const double*) {
    result(out) = Rows<T>::sum_squares(n, at(in), T(0));
  }
  static void join_euclidean(int64_t n, void* out, const void* partials, const double*) {
    result(out) = std::sqrt(add_pairwise(pieces(n), static_cast<const T*>(partials)));
  }
  static void softmax(int64_t n, void* out, const void* const* in, const double*) {
    Rows<T>::softmax(1, n, at(in), static_cast<T*>(out));
  }
  static void log_softmax(int64_t n, void* out, const void* const* in, const double*) {
    Rows<T>::log_softmax(1, n, at(in), static_cast<T*>(out));
  }
  // params: eps; in: the row, weight, bias
  static void layer_norm(int64_t n, void* out, const void* const* in, const double* params) {
    T mean, rstd;
    Rows<T>::layer_norm(n, at(in), at(in, 1), at(in, 2), params[0], static_cast<T*>(out), &mean,
                        &rstd);
  }
  static void rms_norm(int64_t n, void* out, const void* const* in, const double* params) {
    Rows<T>::rms_norm(n, at(in), at(in, 1), params[0], static_cast<T*>(out));
  }
};

template <class T>
constexpr RowFunction kSum{Function<T>::sum, true, Function<T>::sum, Function<T>::join_sum};
// NaN counts as 0; for float only.
constexpr RowFunction kSumNumbers{Function<float>::sum_numbers, true, Function<float>::sum_numbers,
                                  Function<float>::join_sum};
template <class T>
constexpr RowFunction kMean{Function<T>::mean, true, Function<T>::sum, Function<T>::join_mean};
template <class T>
constexpr RowFunction kMaximum{Function<T>::maximum, true, Function<T>::maximum,
                               Function<T>::join_maximum};
template <class T>
constexpr RowFunction kMinimum{Function<T>::minimum, true, Function<T>::minimum,
                               Function<T>::join_minimum};
template <class T>
constexpr RowFunction kVariance{Function<T>::variance, true};
template <class T>
constexpr RowFunction kDeviation{Function<T>::deviation, true};
template <class T>
constexpr RowFunction kEuclidean{Function<T>::euclidean, true, Function<T>::squares,
                                 Function<T>::join_euclidean};
template <class T>
constexpr RowFunction kSoftmax{Function<T>::softmax, false};
template <class T>
constexpr RowFunction kLogSoftmax{Function<T>::log_softmax, false};
template <class T>
constexpr RowFunction kLayerNorm{Function<T>::layer_norm, false};
template <class T>
constexpr RowFunction kRmsNorm{Function<T>::rms_norm, false};

}  // namespace row

// Calls f(T()) with the type that a row function computes in: float, double or, for sums and
// extremes only, int64_t.
template <class F>
void for_row_type(ScalarType computed, F&& f) {
  if (computed == ScalarType::Int64) f(int64_t());
  else for_float_type(computed, f);
}

}  // namespace scriptlang
