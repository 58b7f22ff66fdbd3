// How operators on plain tensors handle quantized arguments. ops.def names the way for each such
// operator; scriptlang/ops/quantization/quantized_plain.py has the table.
#pragma once

#include "ops/op.h"

namespace scriptlang::quantized_ways {

// Whether the first or second argument is a quantized tensor, or the first is a list that starts
// with one.
inline bool concerns(const Args& args) {
  auto is = [](const Value& v) { return v.is_tensor() && v.as_tensor().quantizer() != nullptr; };
  if (args.size() == 0) return false;
  if (args[0].is_tensor()) return is(args[0]) || (args.size() > 1 && is(args[1]));
  if (!args[0].is_list()) return false;
  const List& list = args[0].as_list();
  return list.kind() == List::Kind::Values && !list.empty() && is(list.values()[0]);
}

// clang-format off
#define SL_QUANTIZED_WAYS(X)                                                                   \
  X(on_codes)         /* what it does to numbers it does to codes */                           \
  X(max_pooling)      /* on codes, channels last where they lie so */                          \
  X(moving)           /* it only moves elements */                                             \
  X(on_numbers)       /* on numbers; the result is quantized as the operand is */              \
  X(activating)       /* the same, rounded as vector kernels do */                             \
  X(averaging)        /* a mean of the codes; its rounding depends on the order in memory */   \
  X(interpolating)    /* a weighted mean of the codes */                                       \
  X(averaging_parts)  /* means of parts of the codes, rounded */                               \
  X(from_zero)        /* on numbers; results lie in [0, 1] */                                  \
  X(about_zero)       /* on numbers; results lie in [-1, 1] */                                 \
  X(comparing)        /* on the numbers of two operands */                                     \
  X(padding)          /* a number to pad with stands for its code */                           \
  X(clamping)         /* to the bounds that follow the tensor */                               \
  X(clamping_below)   /* to the lower bound that follows it */                                 \
  X(clamping_above)   /* to the upper bound that follows it */                                 \
  X(relu)                                                                                      \
  X(relu6)                                                                                     \
  X(joining)          /* the parts become quantized as the first one is */                     \
  X(equality)                                                                                  \
  X(copying)          /* from numbers by quantizing, else with the quantizer */                \
  X(converting)       /* stays what it is */
// clang-format on
// clang-format off
#define X(way) void way(OpFn base, int outs, Context& ctx, Args args, Value* results);
SL_QUANTIZED_WAYS(X)
#undef X
// clang-format on

}  // namespace scriptlang::quantized_ways
