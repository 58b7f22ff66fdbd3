// The arguments (dtype, layout, device, pin_memory) that operators which make tensors end with.
#pragma once

#include "op.h"

namespace scriptlang {

// The layout at place `first`, and the device behind it.
inline void want_strided_on_cpu(Args args, int first) {
  SL_CHECK(args.none(first) || args.integer(first) == 0,
           "only strided tensors are supported, but the program asks for layout ",
           args.integer(first));
  args.want_cpu(first + 1);
}

// All of them from place `first` on; the type of what is made.
inline ScalarType options(Args args, int first, ScalarType if_none) {
  want_strided_on_cpu(args, first + 1);
  return args.dtype(first, if_none);
}

}  // namespace scriptlang
