// Shared by operators on random numbers.
#pragma once

#include <mutex>

#include "options.h"
#include "random.h"

namespace scriptlang::drawing {

using Lock = std::lock_guard<std::mutex>;

// A view of the tensor with its dimensions in memory order, outermost first. Numbers are drawn in
// that order.
Tensor as_it_lies(const Tensor& t);

inline Tensor like(Args args, int first) {
  const Tensor& self = args.tensor(0);
  return empty_in_format(self, options(args, first, self.dtype()),
                         args.integer(first + 4, kPreserve));
}

}  // namespace scriptlang::drawing

// Defines the functional form of an in-place operator: it fills a new tensor like the given one.
#define SL_FILLED(pure, in_place)                                              \
  SL_OP(pure) {                                                                \
    Tensor fresh = Tensor::empty_like(args.tensor(0), args.tensor(0).dtype()); \
    args[0] = fresh;                                                           \
    op_##in_place(ctx, args, out);                                             \
  }
