// Maximum pools of float32 planes, by a kernel for a row of results.
#pragma once
#include <algorithm>
#include <limits>

#include "../../kernels/kernel_set.h"
#include "../../kernels/parallel.h"
#include "pool.h"
#include "row_kernels.h"

namespace scriptlang::pools {

// Computes the maxima of all windows of a plane, but not their places.
inline void max_plane_of_floats(const Window& w, const float* x, float* y) {
  const auto maximum_row = kernels::kernels().pool->maximum_row;
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
  const float top = Rows<float>::maximum(w.in_pixels(), x);
  r.numbers = top == top;
  for (int64_t h = 0; h < w.out[1]; ++h, r.y += w.out[2]) {
    const Range rows = inside(w, 1, h);
    r.rows = rows.last > rows.first ? (rows.last - rows.first - 1) / w.dilation[1] + 1 : 0;
    r.x = x + rows.first * w.in[2];
    if (r.rows > 0) maximum_row(r);
    else std::fill_n(r.y, w.out[2], -std::numeric_limits<float>::infinity());
    kernels::multiplied(w.out[2] * std::min(r.columns, r.width) * (r.rows + 1));
  }
}

}  // namespace scriptlang::pools
