// Pointwise operators of three operands: where, masked_fill, lerp, addcmul, addcdiv.
#include <cmath>
#include <cstring>

#include "pointwise.h"

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
  return where_result(condition, a, b, result_type(a, b));
}

// A number that becomes an element of the type; raises when it does not fit.
void check_fits(const Scalar& s, ScalarType type) {
  static const struct {
    ScalarType type;
    double low, high;
  } kRanges[] = {
      {ScalarType::UInt8, -255, 255},           {ScalarType::Int8, -128, 127},
      {ScalarType::Int16, -32768, 32767},       {ScalarType::Int32, -2147483648.0, 2147483647.0},
      {ScalarType::Int64, -9223372036854775808.0, 9223372036854774784.0},
  };
  bool fits = s.kind != Scalar::Complex || is_complex(type) || s.imag == 0;
  for (const auto& range : kRanges) {
    if (range.type == type && s.kind == Scalar::Double) {
      fits = fits && s.d >= range.low && s.d <= range.high;
    } else if (range.type == type && type != ScalarType::Int64) {
      fits = fits && double(s.i) >= range.low && double(s.i) <= range.high;
    }
  }
  SL_CHECK(fits, "value cannot be converted to type ", dtype_name(type), " without overflow");
}

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Value& value,
                   const Tensor& into) {
  SL_CHECK(mask.dtype() == ScalarType::Bool,
           "masked_fill_ only supports boolean masks, but got mask with dtype ",
           dtype_name(mask.dtype()));
  if (value.is_tensor()) {
    const Tensor& v = value.as_tensor();
    SL_CHECK(v.dim() == 0, "masked_fill_ only supports a 0-dimensional value tensor, but got "
             "tensor with ", v.dim(), " dimension(s).");
    check_can_cast(v.dtype(), self.dtype());
  }
  Scalar number = Scalar::of(value);
  check_fits(number, self.dtype());
  return where_result(mask, number, self, self.dtype(), into);
}

Tensor lerp(const Tensor& self, const Tensor& end, const Input& weight, const Tensor& into) {
  SL_CHECK(self.dtype() == end.dtype(), "expected dtype ", dtype_name(self.dtype()),
           " for `end` but got dtype ", dtype_name(end.dtype()));
  SL_CHECK(!weight.tensor || weight.tensor->dtype() == self.dtype() || weight.tensor->dim() == 0,
           "expected dtype ", dtype_name(self.dtype()), " for `weight` but got another dtype");
  Pointwise p;
  p.table = &kernels::loops(Ternary::k_lerp);
  p.name = "lerp";
  p.compute = self.dtype();
  p.count = 3;
  p.in[0] = self;
  p.in[1] = end;
  p.in[2] = weight;
  p.out = into;
  return run(p);
}

Tensor combine(Ternary op, const char* name, Args args, const Tensor& into) {
  ResultType type;
  for (int i = 0; i < 3; ++i) type.add(args.tensor(i));
  Pointwise p;
  p.table = &kernels::loops(op);
  p.name = name;
  p.compute = type.get();
  SL_CHECK(op != Ternary::k_addcdiv || !is_integral(p.compute, true),
           "Integer division with addcdiv is no longer supported, and in a future  release addcdiv "
           "will perform a true division of tensor1 and tensor2. The historic addcdiv behavior can "
           "be implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for "
           "integer inputs and as (input + value * tensor1 / tensor2) for float inputs.");
  Scalar value = args.scalar(3);
  int64_t exact = value.to_int();
  double params[kernels::kParams] = {value.to_double()};
  std::memcpy(&params[1], &exact, sizeof exact);
  p.params = params;
  p.count = 3;
  for (int i = 0; i < 3; ++i) p.in[i] = args.tensor(i);
  p.out = into;
  if (into.defined()) check_can_cast(p.compute, into.dtype());
  return run(p);
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

SL_OP(aten_lerp_Scalar) {
  out[0] = lerp(args.tensor(0), args.tensor(1), Input::of(args[2]), Tensor());
}
SL_OP(aten_lerp_Tensor) { op_aten_lerp_Scalar(ctx, args, out); }
SL_OP(aten_lerp__Scalar) {
  out[0] = lerp(args.tensor(0), args.tensor(1), Input::of(args[2]), args.tensor(0));
}
SL_OP(aten_lerp__Tensor) { op_aten_lerp__Scalar(ctx, args, out); }

SL_OP(aten_addcmul) { out[0] = combine(Ternary::k_addcmul, "addcmul", args, Tensor()); }
SL_OP(aten_addcmul_) { out[0] = combine(Ternary::k_addcmul, "addcmul", args, args.tensor(0)); }
SL_OP(aten_addcdiv) { out[0] = combine(Ternary::k_addcdiv, "addcdiv", args, Tensor()); }
SL_OP(aten_addcdiv_) { out[0] = combine(Ternary::k_addcdiv, "addcdiv", args, args.tensor(0)); }

}  // namespace scriptlang
