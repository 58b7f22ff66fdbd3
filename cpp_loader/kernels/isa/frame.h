// The input of a convolution with its padding as zeros and its columns sorted by their remainder
// modulo the stride: what a tap reads for neighbouring pixels of an output row is then contiguous,
// whatever stride and dilation.
#pragma once
#include "../conv.h"
#include "../parallel.h"
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

// The input with zeros around it. Rows hold `stride` runs of `run` columns each.
struct Frame {
  int64_t depth, height, run, row, plane, volume;
  explicit Frame(const ConvShape& s) {
    depth = s.in[0] + 2 * s.padding[0];
    height = s.in[1] + 2 * s.padding[1];
    run = ceil_div(s.in[2] + 2 * s.padding[2], s.stride[2]);
    row = run * s.stride[2];
    plane = row * height;
    volume = plane * depth;
  }
  int64_t tap(const ConvShape& s, int64_t d, int64_t h, int64_t w) const {
    int64_t column = w * s.dilation[2];
    return d * s.dilation[0] * plane + h * s.dilation[1] * row + column % s.stride[2] * run +
           column / s.stride[2];
  }
  int64_t pixel(const ConvShape& s, int64_t d, int64_t h, int64_t w) const {
    return d * s.stride[0] * plane + h * s.stride[1] * row + w;
  }
};

template <class T>
void frame_row(const ConvShape& s, const Frame& f, const T* from, T* to) {
  int64_t width = s.in[2], pad = s.padding[2], stride = s.stride[2];
  for (int64_t phase = 0; phase < stride; ++phase) {
    T* run = to + phase * f.run;
    // Column `phase + i * stride` of the padded row, for i < run.
    int64_t first = pad > phase ? ceil_div(pad - phase, stride) : 0;
    int64_t last = min_of(f.run, max_of(0, ceil_div(width + pad - phase, stride)));
    first = min_of(first, f.run);
    last = max_of(first, last);
    for (int64_t i = 0; i < first; ++i) run[i] = T(0);
    const T* source = from + phase - pad;
    if (stride == 1) {
      __builtin_memcpy(run + first, source + first, static_cast<size_t>(last - first) * sizeof(T));
    } else if (stride == 2) {  // known to the compiler: it loads and sorts whole vectors
      SL_INDEPENDENT
      for (int64_t i = first; i < last; ++i) run[i] = source[i * 2];
    } else {
      for (int64_t i = first; i < last; ++i) run[i] = source[i * stride];
    }
    for (int64_t i = last; i < f.run; ++i) run[i] = T(0);
  }
}

template <class T>
void frame_input(const ConvShape& s, const Frame& f, const T* x, T* to) {
  int64_t rows = f.depth * f.height;
  int64_t grain = max_of(1, 65536 / max_of(1, f.row));
  parallel_for(s.channels * rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t channel = i / rows, d = i % rows / f.height - s.padding[0];
      int64_t h = i % f.height - s.padding[1];
      T* row = to + i * f.row;
      if (d < 0 || d >= s.in[0] || h < 0 || h >= s.in[1]) {
        for (int64_t j = 0; j < f.row; ++j) row[j] = T(0);
      } else {
        frame_row(s, f, x + ((channel * s.in[0] + d) * s.in[1] + h) * s.in[2], row);
      }
    }
  });
}

}  // namespace
}  // namespace scriptlang::kernels::SL_ISA
