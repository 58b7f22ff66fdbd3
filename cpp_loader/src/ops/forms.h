// Forms that follow from another operator's: `add_` and `add.out` from `add`, `t_copy` from `t`.
// ops.def names the operator that each is made from.
#pragma once

#include "op.h"

namespace scriptlang {

// How an output may share memory with what is read: freely, each element with its own place, or
// not at all.
enum class Sharing { free, same, apart };

}  // namespace scriptlang

namespace scriptlang::forms {

// Writes a result into a tensor given as out=, which takes its shape.
void store(const Tensor& to, const Tensor& value);
// Writes a result of the same shape into the tensor that an operator changes in place.
void change(const Tensor& self, const Tensor& value);

// What `base` gives is written into the last `outs` arguments, which take its shape.
template <Sharing>
void out(OpFn base, int outs, Context& ctx, Args args, Value* results);
// The same, the arguments having the types of the results.
template <Sharing>
void exact_out(OpFn base, int outs, Context& ctx, Args args, Value* results);
// `base` computes in the type that its last argument says, which has to be the output's, or else in
// the output's type.
template <Sharing>
void typed_out(OpFn base, int outs, Context& ctx, Args args, Value* results);
// The same for floating types alone.
template <Sharing>
void floating_out(OpFn base, int outs, Context& ctx, Args args, Value* results);
// As `out`, for outputs of bool and uint8, as which the first argument is read.
template <Sharing>
void truth_out(OpFn base, int outs, Context& ctx, Args args, Value* results);
// As `exact_out`, but as `out` if the first argument is complex.
template <Sharing>
void magnitude_out(OpFn base, int outs, Context& ctx, Args args, Value* results);
// As `out`, the first argument being rounded to the output's precision before, but for one result
// of at least single precision.
template <Sharing>
void read_out(OpFn base, int outs, Context& ctx, Args args, Value* results);
// `base` makes a tensor of the last argument's type from the others; that is written into it.
void create(OpFn base, int, Context& ctx, Args args, Value* results);
// The same of a row, which is written into an output of as many elements in their order.
void create_row(OpFn base, int, Context& ctx, Args args, Value* results);
// What `base` gives is written into the first argument.
void in_place(OpFn base, int, Context& ctx, Args args, Value* results);
// The first argument becomes the view of it that `base` gives.
void become(OpFn base, int, Context& ctx, Args args, Value* results);
// A copy of the view, or of every view of the list, that `base` gives.
void copy(OpFn base, int, Context& ctx, Args args, Value* results);
// What `base`, which writes into its first argument, makes of a copy of that, which lies in memory
// as the argument does, or row-major.
void on_copy(OpFn base, int, Context& ctx, Args args, Value* results);
void on_row_major_copy(OpFn base, int, Context& ctx, Args args, Value* results);

}  // namespace scriptlang::forms
