// Copies in the order of rows.
#pragma once

#include "pointwise.h"

namespace scriptlang {

// The elements in a new tensor, row by row, whatever the strides of `t`.
inline Tensor copy_of(const Tensor& t) {
  Tensor copy = Tensor::empty(t.sizes(), t.dtype());
  copy_into(copy, t);
  return copy;
}

}  // namespace scriptlang
