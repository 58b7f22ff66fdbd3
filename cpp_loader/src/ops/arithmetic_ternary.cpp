// Arithmetic of three operands: lerp, addcmul, addcdiv.
#include <cstring>

#include "pointwise.h"

namespace scriptlang {

using kernels::Ternary;

namespace {

Tensor lerp(const Tensor& self, const Tensor& end, const Input& weight, const Tensor& into) {
  SL_CHECK(self.dtype() == end.dtype(), "expected dtype ", dtype_name(self.dtype()),
           " for `end` but got dtype ", dtype_name(end.dtype()));
  SL_CHECK(!weight.tensor || weight.tensor->dtype() == self.dtype() || weight.tensor->dim() == 0,
           "expected dtype ", dtype_name(self.dtype()), " for `weight` but got another dtype");
  SL_CHECK(weight.tensor || weight.number.kind != Scalar::Complex || is_complex(self.dtype()),
           "value cannot be converted to type ", dtype_name(self.dtype()), " without overflow");
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
  SL_CHECK(op != Ternary::k_addcdiv || !is_integral(args.tensor(1).dtype(), true) ||
               !is_integral(args.tensor(2).dtype(), true),
           "Integer division with addcdiv is no longer supported, and in a future  release addcdiv "
           "will perform a true division of tensor1 and tensor2. The historic addcdiv behavior can "
           "be implemented as (input + value * torch.trunc(tensor1 / tensor2)).to(input.dtype) for "
           "integer inputs and as (input + value * tensor1 / tensor2) for float inputs.");
  Scalar value = args.scalar(3);
  check_factor(value, p.compute);
  int64_t exact = is_integral(p.compute, true) ? value.to_int() : 0;
  double params[kernels::kParams] = {value.d, 0, value.imag};
  std::memcpy(&params[1], &exact, sizeof exact);
  p.params = params;
  p.count = 3;
  for (int i = 0; i < 3; ++i) p.in[i] = args.tensor(i);
  p.out = into;
  if (into.defined()) check_can_cast(p.compute, into.dtype());
  return run(p);
}

}  // namespace

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
