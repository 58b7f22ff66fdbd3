// Copies of tensors that are row-major, whatever the strides of the original.
#pragma once

#include "pointwise.h"

namespace scriptlang {

// A new row-major tensor with the elements of `t`, whatever its strides.
inline Tensor copy_of(const Tensor& t) {
  Tensor copy = Tensor::empty(t.sizes(), t.dtype());
  copy_into(copy, t);
  return copy;
}

}  // namespace scriptlang
