// Layers of archives that PyTorch optimised for mobile devices, with weights in objects for
// XNNPACK. The one slot of such an object holds the state that archives store. The weights are
// packed for our own kernels at their first use.
#include <cmath>

#include "values/type.h"
#include "layout.h"
#include "pointwise.h"
#include "ops/quantized/packed.h"

namespace scriptlang {

void op_scriptlang_conv2d(Context&, Args, Value*);
void op_scriptlang_linear(Context&, Args, Value*);
void op_aten_conv_transpose2d_input(Context&, Args, Value*);
void op_aten_clamp(Context&, Args, Value*);

namespace {

constexpr char kLinear[] = "__torch__.torch.classes.xnnpack.LinearOpContext";
constexpr char kConv[] = "__torch__.torch.classes.xnnpack.Conv2dOpContext";
constexpr char kTransposed[] = "__torch__.torch.classes.xnnpack.TransposeConv2dOpContext";

Value context_of(const char* name, Args args) {
  return packed_object(name, std::vector<Value>(args.data(), args.data() + args.size()));
}

const Tuple::Items& state_of(const Value& context, const char* name, size_t size) {
  const Tuple::Items& state = scriptlang::state_of(context, name);
  SL_CHECK(state.size() == size, "an object of ", name,
           " is malformed: its state is not that of PyTorch's");
  return state;
}

// The name of the activation that clamps to these bounds in the kernel; "none" for other bounds.
const char* ending_of(const Value& low, const Value& high) {
  auto number = [](const Value& v, double none) {
    return v.is_none() ? none : Scalar::of(v).to_double();
  };
  double from = number(low, -INFINITY), to = number(high, INFINITY);
  if (from == 0 && to == INFINITY) return "relu";
  return from == 0 && to == 6 ? "relu6" : "none";
}

// Clamps to the bounds, unless the activation `done` has done so already.
Value bounded(Context& ctx, Value y, const Value& low, const Value& high, std::string_view done) {
  if (done != "none" || (low.is_none() && high.is_none())) return y;
  Value given[3] = {std::move(y), low, high}, made;
  op_aten_clamp(ctx, Args(given, 3), &made);
  return made;
}

Value sizes_of(const Value& tensor) {
  return tensor.is_none() ? Value() : int_list(tensor.as_tensor().sizes());
}

}  // namespace

SL_OP(prepacked_linear_clamp_prepack) { out[0] = context_of(kLinear, args); }
SL_OP(prepacked_conv2d_clamp_prepack) { out[0] = context_of(kConv, args); }
SL_OP(prepacked_conv2d_transpose_clamp_prepack) { out[0] = context_of(kTransposed, args); }

SL_OP(prepacked_linear_clamp_run) {
  const Tuple::Items& s = state_of(args[1], kLinear, 4);
  std::string ending = ending_of(s[2], s[3]);
  Value given[5] = {args[0], s[0], s[1], Value(), Value(ending)}, made;
  op_scriptlang_linear(ctx, Args(given, 5), &made);
  out[0] = bounded(ctx, std::move(made), s[2], s[3], ending);
}

SL_OP(prepacked_conv2d_clamp_run) {
  const Tuple::Items& s = state_of(args[1], kConv, 8);
  const Tensor& x = args.tensor(0);
  std::string ending = ending_of(s[6], s[7]);
  int64_t format =
      !x.is_contiguous() && is_in_format(x, kChannelsLast) ? int64_t(kChannelsLast) : 0;
  Value given[10] = {args[0], s[0], s[1],    s[2],          s[3],
                     s[4],    s[5], Value(), Value(ending), Value(format)};
  Value made;
  op_scriptlang_conv2d(ctx, Args(given, 10), &made);
  out[0] = bounded(ctx, std::move(made), s[6], s[7], ending);
}

SL_OP(prepacked_conv2d_transpose_clamp_run) {
  const Tuple::Items& s = state_of(args[1], kTransposed, 9);
  Value given[8] = {args[0], s[0], s[1], s[2], s[3], s[4], s[6], s[5]}, made;
  op_aten_conv_transpose2d_input(ctx, Args(given, 8), &made);
  out[0] = bounded(ctx, std::move(made), s[7], s[8], "none");
}

SL_OP(prepacked_unpack_prepacked_sizes_linear) {
  const Tuple::Items& s = state_of(args[0], kLinear, 4);
  out[0] = Tuple::make({sizes_of(s[0]), sizes_of(s[1])});
}
SL_OP(prepacked_unpack_prepacked_sizes_conv2d) {
  const Tuple::Items& s = state_of(args[0], kConv, 8);
  out[0] = Tuple::make({sizes_of(s[0]), sizes_of(s[1]), s[2], s[3], s[4], s[5]});
}

}  // namespace scriptlang
