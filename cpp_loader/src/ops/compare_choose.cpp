// Elements of one tensor or another: where, masked_fill.
#include "index.h"
#include "pointwise.h"
#include "recording.h"
#include "view.h"

namespace scriptlang {

using kernels::Ternary;

Tensor where_result(const Tensor& condition, const Input& a, const Input& b, ScalarType type,
                    const Tensor& into) {
  Pointwise p;
  p.table = &kernels::loops(Ternary::k_where);
  p.name = "where";
  p.compute = type;
  p.first = ScalarType::Bool;
  p.result = type;
  p.count = 3;
  p.in[0] = condition;
  p.in[1] = a;
  p.in[2] = b;
  p.out = into;
  return run(p);
}

namespace {

Tensor where(const Tensor& condition, const Input& a, const Input& b) {
  SL_CHECK(condition.dtype() == ScalarType::Bool || condition.dtype() == ScalarType::UInt8,
           "where expected condition to be a boolean tensor, but got a tensor with dtype ",
           dtype_display_name(condition.dtype()));
  const ScalarType type = result_type(a, b);
  // For half types, numbers only need to fit float32: beyond float16 they become infinite, as in
  // masks.
  for (const Input* choice : {&a, &b}) {
    if (choice->tensor) continue;
    check_fits(choice->number, loop_type(type));
  }
  return where_result(condition, a, b, type);
}

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Value& value, const Tensor& into) {
  SL_CHECK(mask.dtype() == ScalarType::Bool,
           "masked_fill_ only supports boolean masks, but got mask with dtype ",
           dtype_name(mask.dtype()));
  if (value.is_tensor()) {
    const Tensor& v = value.as_tensor();
    SL_CHECK(v.dim() == 0,
             "masked_fill_ only supports a 0-dimensional value tensor, but got "
             "tensor with ",
             v.dim(), " dimension(s).");
  }
  Scalar number = Scalar::of(value);
  check_fits(number, self.dtype());
  if (into.defined() && overlaps_itself(into)) {
    Tensor one = Tensor::empty(IntSpan(), into.dtype());
    fill(one, number);
    index_put(into, {to_contiguous(view_expand(mask, into.sizes()))}, one, false);
    return into;
  }
  Tensor result = where_result(mask, number, self, self.dtype(), into);
  if (into.defined() || result.is_contiguous()) return result;
  if (is_symbolic(result)) Recording::give_up();
  return to_contiguous(result);  // as in PyTorch
}

}  // namespace

SL_OP(aten_where_self) { out[0] = where(args.tensor(0), Input::of(args[1]), Input::of(args[2])); }
SL_OP(aten_where_ScalarOther) { op_aten_where_self(ctx, args, out); }
SL_OP(aten_where_ScalarSelf) { op_aten_where_self(ctx, args, out); }
SL_OP(aten_where_Scalar) { op_aten_where_self(ctx, args, out); }

SL_OP(aten_masked_fill_Scalar) {
  out[0] = masked_fill(args.tensor(0), args.tensor(1), args[2], Tensor());
}
SL_OP(aten_masked_fill_Tensor) { op_aten_masked_fill_Scalar(ctx, args, out); }
SL_OP(aten_masked_fill__Scalar) {
  out[0] = masked_fill(args.tensor(0), args.tensor(1), args[2], args.tensor(0));
}
SL_OP(aten_masked_fill__Tensor) { op_aten_masked_fill__Scalar(ctx, args, out); }

}  // namespace scriptlang
