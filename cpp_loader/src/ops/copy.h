// Row-major copies.
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
