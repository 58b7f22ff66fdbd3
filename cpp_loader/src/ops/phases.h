// The phases of a transposed convolution. With stride s, a result receives something only from the
// taps k for which its place + padding - k is a multiple of s. So the results of a dimension fall
// into s interleaved ones, each an ordinary convolution of stride 1 with the flipped taps of its
// phase: nothing is scattered, and nothing multiplied by zero.
#pragma once
#include <cstdint>

namespace scriptlang::convolutions {

// One spatial dimension of the operator.
struct Axis {
  int64_t in, out, kernel, stride, padding;
};

// One phase of a dimension: results first, first + stride, ... are a convolution with `taps` taps,
// phase, phase + stride, ... of the kernel. The first tap of the first result is at `from` in the
// input (which may be outside).
struct Phase {
  int64_t first, count, taps, from;

  Phase(const Axis& a, int64_t phase) {
    taps = (a.kernel - phase + a.stride - 1) / a.stride;
    int64_t step = a.padding > phase ? (a.padding - phase + a.stride - 1) / a.stride : 0;
    first = a.stride * step + phase - a.padding;
    count = first < a.out ? (a.out - 1 - first) / a.stride + 1 : 0;
    from = step - (taps - 1);
  }
};

}  // namespace scriptlang::convolutions
