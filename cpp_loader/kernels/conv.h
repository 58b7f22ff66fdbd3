// Convolution: the arguments. isa/conv.cpp does the work.
#pragma once
#include <cstdint>

#include "gemm.h"

namespace scriptlang::kernels {

// Order of dimensions: depth, height, width. A 1-d or 2-d convolution has leading ones (and no
// padding there).
struct ConvShape {
  int64_t channels = 0, outputs = 0;
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, padding[3] = {0, 0, 0}, dilation[3] = {1, 1, 1};

  int64_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t in_pixels() const { return in[0] * in[1] * in[2]; }
  int64_t out_pixels() const { return out[0] * out[1] * out[2]; }
};

// y [outputs][out] = activation(bias [outputs] + w [outputs][channels][kernel] * x [channels][in]),
// all contiguous; bias may be null. The shape is that of one group; `groups` of them follow each
// other in all operands. x_image and y_image are the strides between images, in elements. The
// caller has checked that the shape is consistent and that sizes do not overflow.
template <class T>
struct Conv {
  ConvShape shape;
  int64_t groups = 1;
  int64_t images = 1, x_image = 0, y_image = 0;
  const T* x = nullptr;
  const T* w = nullptr;
  const T* bias = nullptr;
  T* y = nullptr;
  Activation activation = Activation::kNone;
};

// The weight gradient dw [outputs][channels][kernel]: per tap, the sum over all pixels of all
// images of g [outputs][out] times the element of x [channels][in] under the tap. x_image and
// g_image are the strides between images, in elements.
template <class T>
struct ConvWeights {
  ConvShape shape;
  int64_t images = 0, x_image = 0, g_image = 0;
  const T* x = nullptr;
  const T* g = nullptr;
  T* dw = nullptr;
};

template <class T>
struct ConvFunctions {
  void (*convolve)(const Conv<T>& c);
  void (*weight_gradient)(const ConvWeights<T>& c);
};

}  // namespace scriptlang::kernels
