// Exponentials over columns: softmax over a dimension that is not the last.
#include "entry.h"
#include "math_f32.h"
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr int64_t kWidth = 128;  // columns at a time: a few cache lines per row
constexpr int64_t kRows = 64;    // summed before they are added to the total

// total[j] = sum of exp(x[j] - top[j]) over all rows; with Keep, each term is stored in y.
template <bool Keep>
void exp_columns(int64_t rows, int64_t width, const float* x, int64_t stride, const float* top,
                 float* y, float* total) {
  float part[kWidth];
  for (int64_t j = 0; j < width; ++j) total[j] = 0.0f;
  for (int64_t first = 0; first < rows; first += kRows) {
    int64_t count = min_of(kRows, rows - first);
    for (int64_t j = 0; j < width; ++j) part[j] = 0.0f;
    for (int64_t r = 0; r < count; ++r, x += stride, y += Keep ? stride : 0) {
      SL_INDEPENDENT
      for (int64_t j = 0; j < width; ++j) {
        float power = exp_f32(x[j] - top[j]);
        if (Keep) y[j] = power;
        part[j] += power;
      }
    }
    for (int64_t j = 0; j < width; ++j) total[j] += part[j];
  }
}

void tops_of(int64_t rows, int64_t width, const float* x, int64_t stride, float* top) {
  for (int64_t j = 0; j < width; ++j) top[j] = x[j];
  lines.f32.maximum_of_columns(rows - 1, width, x + stride, stride, top);
}

void softmax_band(int64_t rows, int64_t width, const float* x, int64_t stride, float* y, bool log) {
  float top[kWidth], total[kWidth];
  tops_of(rows, width, x, stride, top);
  if (log) {
    exp_columns<false>(rows, width, x, stride, top, nullptr, total);
    for (int64_t j = 0; j < width; ++j) total[j] = log_f32(total[j]);
    for (int64_t r = 0; r < rows; ++r, x += stride, y += stride) {
      SL_INDEPENDENT
      for (int64_t j = 0; j < width; ++j) y[j] = x[j] - top[j] - total[j];
    }
    return;
  }
  exp_columns<true>(rows, width, x, stride, top, y, total);
  for (int64_t j = 0; j < width; ++j) total[j] = 1.0f / total[j];
  for (int64_t r = 0; r < rows; ++r, y += stride) {
    SL_INDEPENDENT
    for (int64_t j = 0; j < width; ++j) y[j] *= total[j];
  }
}

}  // namespace

void softmax_columns(int64_t rows, int64_t width, const float* x, int64_t stride, float* y,
                     bool log) {
  for (int64_t j = 0; j < width; j += kWidth) {
    softmax_band(rows, min_of(kWidth, width - j), x + j, stride, y + j, log);
  }
}

void log_sum_exp_columns(int64_t rows, int64_t width, const float* x, int64_t stride, float* to) {
  for (; width > 0; width -= kWidth, x += kWidth, to += kWidth) {
    float top[kWidth], total[kWidth];
    int64_t count = min_of(kWidth, width);
    tops_of(rows, count, x, stride, top);
    for (int64_t j = 0; j < count; ++j) {
      bool infinite = top[j] == __builtin_inff() || top[j] == -__builtin_inff();
      top[j] = infinite ? 0.0f : top[j];
    }
    exp_columns<false>(rows, count, x, stride, top, nullptr, total);
    for (int64_t j = 0; j < count; ++j) to[j] = log_f32(total[j]) + top[j];
  }
}

}  // namespace scriptlang::kernels::SL_ISA
