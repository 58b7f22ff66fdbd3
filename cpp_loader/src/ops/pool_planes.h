// Maxima and averages of float32 planes, by a kernel for a row of results.
#pragma once
#include <algorithm>
#include <limits>

#include "../../kernels/kernel_set.h"
#include "../../kernels/parallel.h"
#include "pool.h"

namespace scriptlang::pools {

// Calls f(row of results, its place) for a plane; rows without elements are empty.
template <class F>
void for_rows(const Window& w, const float* x, float* y, F f) {
  kernels::PoolRow r{x,
                     w.dilation[1] * w.in[2],
                     0,
                     w.in[2],
                     w.kernel[2],
                     w.stride[2],
                     w.dilation[2],
                     w.padding[2],
                     w.out[2],
                     y};
  for (int64_t h = 0; h < w.out[1]; ++h, r.y += w.out[2]) {
    const Range rows = inside(w, 1, h);
    r.rows = rows.last > rows.first ? (rows.last - rows.first - 1) / w.dilation[1] + 1 : 0;
    r.x = x + rows.first * w.in[2];
    f(r, h);
    kernels::multiplied(w.out[2] * std::min(r.columns, r.width) * (r.rows + 1));
  }
}

// Computes the maxima of all windows of a plane, but not their places.
inline void max_plane_of_floats(const Window& w, const float* x, float* y) {
  const auto maximum_row = kernels::kernels().pool->maximum_row;
  bool are_numbers = true;
  auto go = [&](bool numbers) {
    for_rows(w, x, y, [&](kernels::PoolRow& r, int64_t) {
      r.numbers = numbers;
      if (r.rows > 0) are_numbers &= maximum_row(r);
      else std::fill_n(r.y, w.out[2], -std::numeric_limits<float>::infinity());
    });
  };
  go(true);
  if (!are_numbers) go(false);
}

// The settings of an average, and what divides its sums.
struct Average {
  Window w;
  bool adaptive = false, count_padding = false;
  int64_t divisor = 0;  // 0: not given

  Range range(int d, int64_t o) const {
    return adaptive ? adaptive_range(w, d, o) : inside(w, d, o);
  }
  // The factor of the divisor that one dimension contributes. It is a double since with huge
  // paddings the product may overflow int64. An empty window's sum of 0 may be divided by 1.
  double part(int d, int64_t o) const {
    if (divisor) return d == 2 ? double(divisor) : 1;
    const Range r = range(d, o);
    if (r.last <= r.first) return 1;
    return double(!adaptive && count_padding ? covered(w, d, o) : r.last - r.first);
  }
};

// Computes the averages of a plane; `columns` has w.out[2] parts of their divisors.
inline void average_plane_of_floats(const Average& a, const double* columns, const float* x,
                                    float* y) {
  const auto sum_row = kernels::kernels().pool->sum_row;
  for_rows(a.w, x, y, [&](kernels::PoolRow& r, int64_t h) {
    if (r.rows > 0) sum_row(r);
    else std::fill_n(r.y, r.results, 0.0f);
    const double by = a.part(0, 0) * a.part(1, h);
    for (int64_t o = 0; o < r.results; ++o) r.y[o] /= float(by * columns[o]);
  });
}

}  // namespace scriptlang::pools
