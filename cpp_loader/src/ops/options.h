// The arguments (dtype, layout, device, pin_memory) at the end of operators that create tensors.
#pragma once

#include "op.h"

namespace scriptlang {

// Checks the layout, argument `first`, and the device after it.
inline void want_strided_on_cpu(Args args, int first) {
  SL_CHECK(args.none(first) || args.integer(first) == 0,
           "only strided tensors are supported, but the program asks for layout ",
           args.integer(first));
  args.want_cpu(first + 1);
}

// Checks the four arguments from `first` on and returns the dtype.
inline ScalarType options(Args args, int first, ScalarType if_none) {
  want_strided_on_cpu(args, first + 1);
  return args.dtype(first, if_none);
}

}  // namespace scriptlang
