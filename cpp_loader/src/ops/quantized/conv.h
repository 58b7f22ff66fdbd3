// Convolutions on the codes of quantized tensors.
#pragma once

#include "packed.h"
#include "product.h"

namespace scriptlang {

// What a packed convolution holds, with two or three spatial dimensions; sequences are treated as
// images of one row.
struct Convolution {
  Tensor weight, bias;
  std::vector<int64_t> stride, padding, dilation, output_padding;
  int64_t groups = 1;
  bool transposed = false;

  // Unpacks a packed object for an operator of n dimensions; raises RuntimeError where it is
  // malformed.
  static Convolution of(const Value& params, int n);
  std::vector<Value> state() const;
  int64_t space() const { return int64_t(stride.size()); }
};

// Codes of shape (N, C, *) with their quantization parameters.
struct CodesIn {
  Tensor codes;
  float scale;
  int64_t zero_point;
};

// The result, as float32 or codes (uint8 or int8, as the input has), channels last in memory.
Tensor convolve(const CodesIn& x, const Convolution& c, const Finish& finish);

}  // namespace scriptlang
