// Clamping by numbers and by tensors.
#include <cmath>

#include "pointwise.h"

namespace scriptlang {

using kernels::Unary;

namespace {

// A bound as an element of the type; negative bounds of uint8 wrap.
double clamp_bound(const Scalar& bound, ScalarType type) {
  if (is_complex(type)) {
    raise(ErrorKind::NotImplementedError, "clamp is not supported for complex types");
  }
  check_fits(bound, type);
  double value = bound.to_double();
  return type == ScalarType::UInt8 && value < 0 ? value + 256 : value;
}

Tensor clamp_numbers(const Tensor& self, const Value& low, const Value& high, const Tensor& into) {
  SL_CHECK(!low.is_none() || !high.is_none(),
           "torch.clamp: At least one of 'min' or 'max' must not be None");
  ResultType type;
  type.add(self);
  for (const Value* bound : {&low, &high}) {
    if (!bound->is_none()) type.add(Input(Scalar::of(*bound)));
  }
  double p[kernels::kParams] = {};
  if (!low.is_none()) p[0] = clamp_bound(Scalar::of(low), type.get());
  if (!high.is_none()) p[low.is_none() ? 0 : 1] = clamp_bound(Scalar::of(high), type.get());
  Unary op = low.is_none()    ? Unary::k_clamp_max
             : high.is_none() ? Unary::k_clamp_min
                              : Unary::k_clamp;
  ScalarType result = type.get();
  for (double bound : {p[0], p[1]}) {
    if (!std::isnan(bound)) continue;
    return binary_result(self, Scalar(bound), kernels::Binary::k_add, "clamp", Rule::kSame, nullptr,
                         into);
  }
  if (into.defined()) {
    check_can_cast(result, into.dtype());
    return unary_result(self, op, "clamp", Rule::kSame, p, into);
  }
  return unary_result(to_dtype(self, result), op, "clamp", Rule::kSame, p);
}

Tensor clamp_tensors(const Tensor& self, const Tensor& low, const Tensor& high,
                     const Tensor& into) {
  SL_CHECK(low.defined() || high.defined(),
           "torch.clamp: At least one of 'min' or 'max' must not be None");
  using kernels::Binary;
  if (!high.defined()) {
    return binary_result(self, low, Binary::k_maximum, "clamp", Rule::kSame, nullptr, into);
  }
  if (!low.defined()) {
    return binary_result(self, high, Binary::k_minimum, "clamp", Rule::kSame, nullptr, into);
  }
  Pointwise p;
  p.table = &kernels::loops(kernels::Ternary::k_clamp_tensor);
  p.name = "clamp";
  ResultType type;
  type.add(self);
  type.add(low);
  type.add(high);
  p.compute = type.get();
  p.count = 3;
  p.in[0] = self;
  p.in[1] = low;
  p.in[2] = high;
  p.out = into;
  if (into.defined()) check_can_cast(p.compute, into.dtype());
  return run(p);
}

}  // namespace

SL_OP(aten_clamp) { out[0] = clamp_numbers(args.tensor(0), args[1], args[2], Tensor()); }
SL_OP(aten_clamp_) { out[0] = clamp_numbers(args.tensor(0), args[1], args[2], args.tensor(0)); }
SL_OP(aten_clip) { op_aten_clamp(ctx, args, out); }
SL_OP(aten_clip_) { op_aten_clamp_(ctx, args, out); }
SL_OP(aten_clamp_min) { out[0] = clamp_numbers(args.tensor(0), args[1], Value(), Tensor()); }
SL_OP(aten_clamp_max) { out[0] = clamp_numbers(args.tensor(0), Value(), args[1], Tensor()); }
SL_OP(aten_clamp_min_) { out[0] = clamp_numbers(args.tensor(0), args[1], Value(), args.tensor(0)); }
SL_OP(aten_clamp_max_) { out[0] = clamp_numbers(args.tensor(0), Value(), args[1], args.tensor(0)); }
SL_OP(aten_clamp_Tensor) {
  out[0] = clamp_tensors(args.tensor(0), args.opt_tensor(1), args.opt_tensor(2), Tensor());
}
SL_OP(aten_clamp__Tensor) {
  out[0] = clamp_tensors(args.tensor(0), args.opt_tensor(1), args.opt_tensor(2), args.tensor(0));
}
SL_OP(aten_clip_Tensor) { op_aten_clamp_Tensor(ctx, args, out); }
SL_OP(aten_clamp_min_Tensor) {
  out[0] = clamp_tensors(args.tensor(0), args.tensor(1), Tensor(), Tensor());
}
SL_OP(aten_clamp_max_Tensor) {
  out[0] = clamp_tensors(args.tensor(0), Tensor(), args.tensor(1), Tensor());
}
SL_OP(aten_clamp_min__Tensor) {
  out[0] = clamp_tensors(args.tensor(0), args.tensor(1), Tensor(), args.tensor(0));
}
SL_OP(aten_clamp_max__Tensor) {
  out[0] = clamp_tensors(args.tensor(0), Tensor(), args.tensor(1), args.tensor(0));
}

}  // namespace scriptlang
