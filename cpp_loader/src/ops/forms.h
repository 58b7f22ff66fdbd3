// Operators that are derived from others: `add_` and `add.out` from `add`, `t_copy` from `t`.
// ops.def names the base operator of each.
#pragma once

#include "op.h"

namespace scriptlang {

// How an output may share memory with the inputs: freely; only by being identical, so that every
// element keeps its own place; or not at all.
enum class Sharing { free, same, apart };

}  // namespace scriptlang

namespace scriptlang::forms {

// Writes a result into a tensor given as out=, which is resized to the result's shape.
void store(const Tensor& to, const Tensor& value);
// Writes a result of the same shape into the tensor that an in-place operator changes.
void change(const Tensor& self, const Tensor& value);

// Writes the results of `base` into the last `outs` arguments, which take their shapes.
template <Sharing>
void out(OpFn base, int outs, Context& ctx, Args args, Value* results);
// As `out`, but raises unless the outputs have the types of the results.
template <Sharing>
void exact_out(OpFn base, int outs, Context& ctx, Args args, Value* results);
// The last argument of `base` is a dtype to compute in. It must be the output's type, which is also
// what None stands for.
template <Sharing>
void typed_out(OpFn base, int outs, Context& ctx, Args args, Value* results);
// As `typed_out`, for operators on floating and complex types only (mean).
template <Sharing>
void floating_out(OpFn base, int outs, Context& ctx, Args args, Value* results);
// As `out`, for outputs of bool or uint8. For uint8 the first argument is converted to it first.
template <Sharing>
void truth_out(OpFn base, int outs, Context& ctx, Args args, Value* results);
// As `exact_out`, but as `out` if the first argument is complex.
template <Sharing>
void magnitude_out(OpFn base, int outs, Context& ctx, Args args, Value* results);
// As `out`, but the first argument is rounded to the precision of the output first, unless the
// output has at least single precision and the reduction has one result.
template <Sharing>
void read_out(OpFn base, int outs, Context& ctx, Args args, Value* results);
// `base` makes a tensor from all arguments but the last, in the type of the last, into which it is
// written.
void create(OpFn base, int, Context& ctx, Args args, Value* results);
// As `create`, for a 1-d result: it keeps the shape of an output with as many elements.
void create_row(OpFn base, int, Context& ctx, Args args, Value* results);
// Writes the result of `base` into the first argument.
void in_place(OpFn base, int, Context& ctx, Args args, Value* results);
// Gives the first argument the geometry of the view that `base` returns.
void become(OpFn base, int, Context& ctx, Args args, Value* results);
// Returns row-major copies of the view, or the list of views, that `base` returns.
void copy(OpFn base, int, Context& ctx, Args args, Value* results);
// Runs `base`, which changes its first argument, on a copy of it and returns that. The copy keeps
// the argument's order of dimensions in memory, or is row-major.
void on_copy(OpFn base, int, Context& ctx, Args args, Value* results);
void on_row_major_copy(OpFn base, int, Context& ctx, Args args, Value* results);

}  // namespace scriptlang::forms
