// Frames: the input of a convolution with its padding as zeros and its columns sorted by their
// remainder modulo the stride. Then the elements that a tap reads for neighbouring pixels of an
// output row are contiguous, whatever the stride and dilation.
#pragma once
#include "../conv.h"
#include "../parallel.h"
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

// The geometry of a frame. Rows hold `stride` runs of `run` columns each.
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
    const int64_t column = w * s.dilation[2], from = d * s.dilation[0] * plane;
    const int64_t rows = from + h * s.dilation[1] * row;
    if (s.stride[2] == 1) return rows + column;  // divisions are noticeable with small images
    return rows + column % s.stride[2] * run + column / s.stride[2];
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
    } else if (stride == 2) {  // a constant stride: vectorised by the compiler
      SL_INDEPENDENT
      for (int64_t i = first; i < last; ++i) run[i] = source[i * 2];
    } else {
      for (int64_t i = first; i < last; ++i) run[i] = source[i * stride];
    }
    for (int64_t i = last; i < f.run; ++i) run[i] = T(0);
  }
}

// Copies a row. For short rows a call of memcpy would take longer than the copy.
template <class T>
SL_INLINE void copy_row(int64_t n, const T* from, T* to) {
  constexpr int W = kLanes<T>;
  if (n >= W) {
    for (int64_t i = 0; i + W <= n; i += W) store(to + i, load(from + i));
    store(to + n - W, load(from + n - W));
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i];
  }
}

// Fills rows with stride 2: even columns of the frame first, then odd ones. Their padding has been
// zeroed before.
template <class T>
SL_NOINLINE void part_rows(const ConvShape& s, const Frame& f, int64_t rows, const T* x, T* to) {
  constexpr int W = kLanes<T>;
  const int64_t width = s.in[2], pad = s.padding[2], run = f.run, row = f.row;
  if (width == 0) return;
  const int64_t alone = pad & 1;  // the first column, if it is an odd one
  const int64_t pairs = (width - alone) >> 1, whole = pairs - pairs % W;
  for (; rows > 0; --rows, x += width, to += row) {
    const T* from = x + alone;
    T *even = to + ((pad + alone) >> 1), *odd = even + run;
    if (alone) odd[-1] = *x;
    const auto many = [&](int64_t i) SL_ALWAYS {
      const Halves<T> parts = halves<T>(load(from + 2 * i), load(from + 2 * i + W));
      store(even + i, parts.even);
      store(odd + i, parts.odd);
    };
    for (int64_t i = 0; i < whole; i += W) many(i);
    if (whole == 0) {
#if defined(__AVX512F__)  // narrow rows of many networks; masks cost nothing here
      const int count = static_cast<int>(pairs);
      const Vector<T> first = load_first(from, 2 * count),
                      second = load_first(from + W, 2 * count - W);
      const Halves<T> parts = halves<T>(first, second);
      store_first(even, parts.even, count);
      store_first(odd, parts.odd, count);
#else
      for (int64_t i = 0; i < pairs; ++i) {
        even[i] = from[2 * i];
        odd[i] = from[2 * i + 1];
      }
#endif
    } else if (whole < pairs) {
      many(pairs - W);
    }
    if ((width - alone) & 1) even[pairs] = from[2 * pairs];
  }
}

// Frames one channel. If the padding of `to` is zero already, it is left alone.
template <class T>
void frame_channel(const ConvShape& s, const Frame& f, const T* x, T* to, bool is_padded = false) {
  const bool known = s.stride[2] <= 2;
  if (!is_padded) __builtin_memset(to, 0, static_cast<size_t>(f.volume) * sizeof(T));
  to += s.padding[0] * f.plane + s.padding[1] * f.row;
  for (int64_t d = 0; d < s.in[0]; ++d, to += f.plane) {
    if (s.stride[2] == 2) part_rows(s, f, s.in[1], x, to);
    for (int64_t h = 0; h < s.in[1]; ++h, x += s.in[2]) {
      if (s.stride[2] == 1) copy_row(s.in[2], x, to + h * f.row + s.padding[2]);
      else if (!known) frame_row(s, f, x, to + h * f.row);
    }
  }
}

template <class T>
void frame_input(const ConvShape& s, const Frame& f, const T* x, T* to) {
  const int64_t rows = f.depth * f.height, threads = thread_count();
  const int64_t grain = max_of(1, 65536 / max_of(1, f.row));
  if (threads == 1 || s.channels >= 2 * threads || s.channels * rows <= grain) {
    parallel_for(s.channels, grain / max_of(1, rows) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t channel = begin; channel < end; ++channel) {
        frame_channel(s, f, x + channel * s.in_pixels(), to + channel * f.volume);
        worked(f.volume);
      }
    });
    return;
  }
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
