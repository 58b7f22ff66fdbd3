// Convolution of images in channels-last layout with prepacked weights: the arguments.
// isa/last_conv.cpp and isa/winograd.cpp do the work.
#pragma once
#include <cstdint>

#include "conv.h"

namespace scriptlang::kernels {

// The algorithm, which determines how the weights are packed.
enum class ConvWay : int {
  kDirect,     // a matrix product over the taps of a padded input
  kWinograd,   // 3 x 3, stride 1: 16 instead of 36 products for four results
  kDepthwise,  // one input and one output channel per group
};

// y [out][groups * outputs] = activation(bias + w * x + added). `added` is contiguous. So is y,
// unless strides of its rows and columns are given (kDirect only, without `added`). The shape has
// depth 1; its channels and outputs are those of one group.
struct LastConv {
  ConvShape shape;
  int64_t groups = 1;
  ConvWay way = ConvWay::kDirect;
  const float* x = nullptr;
  int64_t x_channel = 1, x_row = 0, x_column = 0;  // strides of the input, in elements
  const float* packed = nullptr;                   // made by `pack` for this shape and way
  const float* bias = nullptr;                     // may be null
  const float* added = nullptr;                    // may be null
  float* y = nullptr;
  int64_t y_row = 0, y_column = 0;  // strides of the result; 0: contiguous
  // kDepthwise: the channels to compute, which are those of `x`; last = 0: all. Everything else has
  // the places of all channels. `first` is a multiple of LastConvFunctions::panel, and x_channel 1.
  int64_t first = 0, last = 0;
  Activation activation = Activation::kNone;
  Finish<float> finish = nullptr;  // may be null; applied after the activation
};

struct LastConvFunctions {
  // Output channels whose weights are packed together (kDirect). Those of a part of the outputs
  // that begins at a multiple of it lie behind those of the outputs before.
  int64_t panel;
  ConvWay (*choose)(const ConvShape& s, int64_t groups);
  // Number of elements of packed weights, whose memory must be 64-byte aligned.
  int64_t (*packed_size)(const ConvShape& s, int64_t groups, ConvWay way);
  // w is [groups * outputs][channels][taps], contiguous.
  void (*pack)(const ConvShape& s, int64_t groups, ConvWay way, const float* w, float* packed);
  void (*convolve)(const LastConv& c);
};

}  // namespace scriptlang::kernels
