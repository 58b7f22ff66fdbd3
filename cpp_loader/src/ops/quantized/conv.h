// Convolutions on the codes of quantized tensors.
#pragma once

#include "packed.h"
#include "product.h"

namespace scriptlang {

// What a packed convolution holds. Of two or three dimensions of space; sequences are images of one
// row.
struct Convolution {
  Tensor weight, bias;
  std::vector<int64_t> stride, padding, dilation, output_padding;
  int64_t groups = 1;
  bool transposed = false;

  // Raises RuntimeError where the object is malformed; n: dimensions of the operator.
  static Convolution of(const Value& params, int n);
  std::vector<Value> state() const;
  int64_t space() const { return int64_t(stride.size()); }
};

// Codes (N, C, *) with their parameters.
struct CodesIn {
  Tensor codes;
  float scale;
  int64_t zero_point;
};

// The result, float32 or codes (uint8, int8 as the input has), channels last in memory.
Tensor convolve(const CodesIn& x, const Convolution& c, const Finish& finish);

}  // namespace scriptlang
