// Arithmetic that is a formula of other operators: float_power, ldexp, xlog1py.
#include "express.h"
#include "layout.h"
#include "recording.h"

namespace scriptlang {

using namespace express;

Args round_numbers(Args args);  // beside tensors of half types

namespace {

// Powers in float64 (or complex128), whatever the operands are.
Tensor float_power(const Input& base, const Input& exponent) {
  ScalarType type =
      is_complex(result_type(base, exponent)) ? ScalarType::Complex128 : ScalarType::Float64;
  Tensor x = base.tensor ? to_dtype(*base.tensor, type) : full(IntSpan(), type, base.number);
  if (exponent.tensor) return pow(x, to_dtype(*exponent.tensor, type));
  return is_symbolic(x) ? pow(x, exponent.number) : power_of_tensor(x, exponent.number, Tensor());
}

// self * log(1 + other), and 0 where self is, unless other is NaN.
Tensor xlog1py(const Input& self, const Input& other) {
  ResultType result;
  result.add(self);
  result.add(other);
  const ScalarType type = result.get_float();
  if (is_complex(type)) {
    raise(ErrorKind::NotImplementedError, "\"special_xlog1py_cpu\" not implemented for '",
          dtype_display_name(type), "'");
  }
  auto as_tensor = [&](const Input& in) {
    return to_dtype(in.tensor ? *in.tensor : Tensor::scalar(in.number.to_double()), type);
  };
  Tensor x = as_tensor(self), y = as_tensor(other);
  Tensor nothing = logical_and(eq(x, Scalar(0.0)), logical_not(isnan(y)));
  Tensor product = mul(x, log1p(y));
  copy_into(product, where(nothing, Scalar(0.0), product));
  return product;
}

}  // namespace

SL_OP(aten_float_power_Tensor_Tensor) {
  out[0] = float_power(Input::of(args[0]), Input::of(args[1]));
}
SL_OP(aten_float_power_Tensor_Scalar) { op_aten_float_power_Tensor_Tensor(ctx, args, out); }
SL_OP(aten_float_power_Scalar) {
  out[0] = to_contiguous(float_power(Input::of(args[0]), Input::of(args[1])));
}
SL_OP(aten_float_power__Tensor) {
  const Tensor& self = args.tensor(0);
  Tensor result = float_power(Input::of(args[0]), Input::of(args[1]));
  SL_CHECK(result.dtype() == self.dtype(), "the base given to float_power_ has dtype ",
           dtype_display_name(self.dtype()), " but the operation's result requires dtype ",
           dtype_display_name(result.dtype()));
  SL_CHECK(result.sizes() == self.sizes(), "output with shape ", to_string(self.sizes()),
           " doesn't match the broadcast shape ", to_string(result.sizes()));
  check_writable(self);
  copy_into(self, result);
  out[0] = self;
}
SL_OP(aten_float_power__Scalar) { op_aten_float_power__Tensor(ctx, args, out); }
SL_OP(aten_ldexp_Tensor) {
  const Tensor &self = args.tensor(0), &other = args.tensor(1);
  ScalarType type = result_type(self, other);
  if (is_integral(type, true)) type = ScalarType::Float32;
  ScalarType wide =
      type == ScalarType::Float16 || type == ScalarType::BFloat16 ? ScalarType::Float32 : type;
  out[0] = to_dtype(mul(to_dtype(self, wide), pow(Scalar(2.0), to_dtype(other, wide))), type);
}
SL_OP(aten_special_xlog1py) { out[0] = xlog1py(Input::of(args[0]), Input::of(args[1])); }
SL_OP(aten_special_xlog1py_other_scalar) { op_aten_special_xlog1py(ctx, round_numbers(args), out); }
SL_OP(aten_special_xlog1py_self_scalar) { op_aten_special_xlog1py(ctx, round_numbers(args), out); }

}  // namespace scriptlang
