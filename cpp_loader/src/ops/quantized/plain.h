// How operators on plain tensors handle quantized arguments. ops.def names the way for each such
// operator; scriptlang/ops/quantization/quantized_plain.py has the table.
#pragma once

#include "../../../kernels/kept_types.h"
#include "ops/op.h"
#include "values/quantizer.h"

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

// Whether this build computes with quantized tensors, and what is raised where it does not.
constexpr bool kKept = kernels::is_kept(ScalarType::QInt8) ||
                       kernels::is_kept(ScalarType::QUInt8) || kernels::is_kept(ScalarType::QInt32);
[[noreturn]] inline void left_out(const Args& args) {
  const Value* at = args.data();
  if (at->is_list()) at = at->as_list().values();
  if (!at->is_tensor() || !at->as_tensor().quantizer()) ++at;
  const ScalarType type = at->as_tensor().dtype();
  kernels::type_left_out(is_quantized(type) ? type : ScalarType::QUInt8);
}

// clang-format off
#define SL_QUANTIZED_WAYS(X)                                                                   \
  X(on_codes)         /* apply the operator to the codes */                                    \
  X(on_laid_codes)    /* the same, the codes in the memory format they suggest */              \
  X(in_rows)          /* the same, the result row-major */                                     \
  X(cloning)          /* the same, row-major unless a memory format is given */                \
  X(pooling)          /* the same, channels last if the input is */                            \
  X(max_pooling)      /* the same, with a kernel for images that have channels last */         \
  X(moving)           /* only moves elements; channels last if the input is */                 \
  X(mean)             /* of codes in the innermost dimensions, or of numbers */                \
  X(activating)       /* of each number; quantize the result as the operand is */              \
  X(on_numbers)       /* dequantize; quantize the result as the operand is */                  \
  X(averaging)        /* mean of the codes; rounding depends on memory order */                \
  X(interpolating)    /* weighted mean of the codes */                                         \
  X(averaging_parts)  /* means of parts of the codes, rounded */                               \
  X(from_zero)        /* dequantize; results are in [0, 1] */                                  \
  X(about_zero)       /* dequantize; results are in [-1, 1] */                                 \
  X(comparing)        /* dequantize both operands */                                           \
  X(padding)          /* quantizes the padding value */                                        \
  X(clamping)         /* to the bounds given after the tensor */                               \
  X(clamping_below)   /* to the lower bound given after it */                                  \
  X(clamping_above)   /* to the upper bound given after it */                                  \
  X(relu)                                                                                      \
  X(relu6)                                                                                     \
  X(joining)          /* quantizes all parts as the first one is */                            \
  X(equality)                                                                                  \
  X(copying)          /* quantizes plain numbers, else copies the quantizer */                 \
  X(converting)       /* returns the tensor, in a memory format if one is given */
// clang-format on
// clang-format off
#define X(way) void way(OpFn base, int outs, Context& ctx, Args args, Value* results);
SL_QUANTIZED_WAYS(X)
#undef X
// clang-format on

}  // namespace scriptlang::quantized_ways
