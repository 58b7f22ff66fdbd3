// Convolution of images whose channels lie last, weights packed ahead: what it is asked to do.
// isa/last_conv.cpp and isa/winograd.cpp do the work.
#pragma once
#include <cstdint>

#include "conv.h"

namespace scriptlang::kernels {

// How the weights are packed and the convolution is done.
enum class ConvWay : int {
  kDirect,     // a matrix product over the taps of a framed input
  kWinograd,   // 3 x 3, stride 1: four results for sixteen products instead of 36
  kDepthwise,  // one channel in, one out, for every group
};

// y [out][groups * outputs] = activation(bias + w * x + added); added is contiguous, and so is y
// unless its rows and columns are given as lying further apart (kDirect only; nothing is added
// then). The shape has depth 1; its channels and outputs are those of one group.
struct LastConv {
  ConvShape shape;
  int64_t groups = 1;
  ConvWay way = ConvWay::kDirect;
  const float* x = nullptr;
  int64_t x_channel = 1, x_row = 0, x_column = 0;  // strides of the input, in elements
  const float* packed = nullptr;                   // by `pack`, for this shape and way
  const float* bias = nullptr;                     // may be null
  const float* added = nullptr;                    // may be null
  float* y = nullptr;
  int64_t y_row = 0, y_column = 0;  // strides of the result; 0 for a contiguous one
  Activation activation = Activation::kNone;
  Finish<float> finish = nullptr;  // null, or applied after the activation
};

struct LastConvFunctions {
  ConvWay (*choose)(const ConvShape& s, int64_t groups);
  // Elements that packed weights take; 64-byte aligned.
  int64_t (*packed_size)(const ConvShape& s, int64_t groups, ConvWay way);
  // w: [groups * outputs][channels][taps], contiguous.
  void (*pack)(const ConvShape& s, int64_t groups, ConvWay way, const float* w, float* packed);
  void (*convolve)(const LastConv& c);
};

}  // namespace scriptlang::kernels
