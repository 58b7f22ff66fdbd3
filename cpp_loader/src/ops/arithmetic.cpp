// Arithmetic composed of other operators: float_power, ldexp, xlogy, xlog1py; and what float32
// loops cannot compute for half types: nextafter, floor_divide.
#include "express.h"
#include "layout.h"
#include "pointwise_binary.h"
#include "recording.h"

namespace scriptlang {

using namespace express;

namespace {

// Powers in float64 (or complex128), whatever the operands are.
Tensor float_power(const Input& base, const Input& exponent) {
  ScalarType type =
      is_complex(result_type(base, exponent)) ? ScalarType::Complex128 : ScalarType::Float64;
  Tensor x = base.tensor ? to_dtype(*base.tensor, type) : full(IntSpan(), type, base.number);
  if (exponent.tensor) return pow(x, to_dtype(*exponent.tensor, type));
  return is_symbolic(x) ? pow(x, exponent.number) : power_of_tensor(x, exponent.number, Tensor());
}

// ldexp for integer exponents, of which PyTorch uses 32 bits. It is exact, in two steps because 2^e
// alone may overflow.
Tensor ldexp_exactly(const Tensor& x, const Tensor& exponent) {
  if (exponent.dtype() == ScalarType::Bool || is_barebones(exponent.dtype())) {
    raise(ErrorKind::NotImplementedError, "\"ldexp_cpu_exp\" not implemented for '",
          dtype_display_name(exponent.dtype()), "'");
  }
  Tensor e = to_dtype(to_dtype(exponent, ScalarType::Int32), ScalarType::Float64);
  e = minimum(maximum(e, Scalar(-2000.0)), Scalar(2000.0));
  Tensor half = unary_result(mul(e, Scalar(0.5)), Unary::k_trunc, "trunc", Rule::kSame);
  Tensor y = mul(to_dtype(x, ScalarType::Float64), pow(Scalar(2.0), half));
  return to_dtype(mul(y, pow(Scalar(2.0), sub(e, half))), x.dtype());
}

// self * log(other); 0 where self is 0, unless other is NaN. The logarithm is rounded to the result
// type.
Tensor times_log(const Input& self, const Input& other, Tensor log(const Tensor&),
                 const char* name) {
  ResultType result;
  result.add(self);
  result.add(other);
  const ScalarType type = result.get_float();
  if (is_complex(type)) {
    raise(ErrorKind::NotImplementedError, '"', name, "_cpu\" not implemented for '",
          dtype_display_name(type), "'");
  }
  auto as_tensor = [&](const Input& in) {
    return to_dtype(in.tensor ? *in.tensor : full(IntSpan(), ScalarType::Float64, in.number), type);
  };
  Tensor x = as_tensor(self), y = as_tensor(other);
  Tensor nothing = logical_and(eq(x, Scalar(0.0)), logical_not(isnan(y)));
  Tensor product = mul(x, log(y));
  copy_into(product, where(nothing, Scalar(0.0), product));
  return product;
}

void xlogy(Args args, Value* out) {
  args = round_numbers(args);
  const Input self = Input::of(args[0]), other = Input::of(args[1]);
  const ScalarType type = result_type(self, other);
  if (is_half(type)) out[0] = express::xlogy(self, other);
  else pointwise::binary(args, out, Binary::k_xlogy, "xlogy", Rule::kFloat);
}

// Writes the result of an in-place form.
void store(const Tensor& self, const Tensor& result) {
  SL_CHECK(result.sizes() == self.sizes(), "output with shape ", to_string(self.sizes()),
           " doesn't match the broadcast shape ", to_string(result.sizes()));
  check_writable(self);
  copy_into(self, result);
}

Tensor half_op(const Tensor& a, const Tensor& b, Binary op, const char* name) {
  return binary_result(a, b, op, name, Rule::kSame);
}

// The next half-type number from x towards y. Adding 1 to the bits grows the magnitude, subtracting
// 1 shrinks it.
uint16_t next_bits(uint16_t x, uint16_t y, uint16_t infinity) {
  const int from = x & 0x7fff, to = y & 0x7fff;
  if (from > infinity) return x;  // NaN
  if (to > infinity) return y;
  const int a = x & 0x8000 ? -from : from, b = y & 0x8000 ? -to : to;
  if (a == b) return y;
  if (a == 0) return uint16_t((y & 0x8000) | 1);
  return uint16_t((a < b) == (a > 0) ? x + 1 : x - 1);
}

Tensor nextafter(const Tensor& a, const Tensor& b) {
  const ScalarType type = result_type(a, b);
  if (!is_half(type)) { return binary_result(a, b, Binary::k_nextafter, "nextafter", Rule::kSame); }
  // Computed by an operator, for its broadcasting and memory layout.
  Tensor result = half_op(a, b, Binary::k_add, "nextafter");
  if (is_symbolic(result)) Recording::give_up();
  auto bits = [&](const Tensor& t) {
    return contiguous_as(view_expand(to_dtype(t, type), result.sizes()), type);
  };
  Tensor x = bits(a), y = bits(b);
  auto* to = static_cast<uint16_t*>(x.storage() == a.storage() ? (x = clone(x)).raw() : x.raw());
  const auto* towards = static_cast<const uint16_t*>(y.raw());
  const uint16_t infinity = type == ScalarType::Float16 ? 0x7c00 : 0x7f80;
  for (int64_t i = 0; i < x.numel(); ++i) to[i] = next_bits(to[i], towards[i], infinity);
  copy_into(result, x);
  return result;
}

void xlogy_(Args args, Value* out) {
  const Tensor self = args.tensor(0);  // a second owner: the result cannot reuse its memory
  xlogy(args, out);
  check_can_cast(out[0].as_tensor().dtype(), self.dtype());
  store(self, out[0].as_tensor());
  out[0] = self;
}

}  // namespace

Tensor express::xlogy(const Input& a, const Input& b) {
  const ScalarType type = result_type(a, b);
  return is_half(type) ? times_log(a, b, log, "xlogy")
                       : binary_result(a, b, Binary::k_xlogy, "xlogy", Rule::kFloat);
}

Tensor floor_divide_halves(const Tensor& a, const Tensor& b, const Tensor& into) {
  const Scalar zero(0.0);
  Tensor quotient = div(a, b);
  Tensor rest = half_op(a, b, Binary::k_fmod, "div_floor");
  Tensor exact = div(sub(a, rest), b);
  Tensor apart = ne(lt(b, zero), lt(rest, zero));
  exact = where(logical_and(ne(rest, zero), apart), sub(exact, Scalar(1.0)), exact);
  Tensor down = unary_result(exact, Unary::k_floor, "floor", Rule::kSame);
  down = where(gt(sub(exact, down), Scalar(0.5)), add(down, Scalar(1.0)), down);
  Tensor nothing = binary_result(zero, quotient, Binary::k_copysign, "copysign", Rule::kSame);
  down = where(eq(exact, zero), nothing, down);
  down = where(eq(b, zero), quotient, down);
  if (!into.defined()) return down;
  check_can_cast(down.dtype(), into.dtype());
  store(into, down);
  return into;
}

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
  store(self, result);
  out[0] = self;
}
SL_OP(aten_float_power__Scalar) { op_aten_float_power__Tensor(ctx, args, out); }
SL_OP(aten_ldexp_Tensor) {
  const Tensor &self = args.tensor(0), &other = args.tensor(1);
  const bool exact = is_floating(self.dtype()) && is_integral(other.dtype(), true);
  out[0] = exact ? ldexp_exactly(self, other) : mul(self, pow(Scalar(2.0), other));
}
SL_OP(aten_nextafter) { out[0] = nextafter(args.tensor(0), args.tensor(1)); }
SL_OP(aten_nextafter_) {
  const Tensor& self = args.tensor(0);
  Tensor result = nextafter(self, args.tensor(1));
  check_can_cast(result.dtype(), self.dtype());
  store(self, result);
  out[0] = self;
}
SL_OP(aten_xlogy_Tensor) { xlogy(args, out); }
SL_OP(aten_xlogy_Scalar_Other) { xlogy(args, out); }
SL_OP(aten_xlogy_Scalar_Self) { xlogy(args, out); }
SL_OP(aten_xlogy__Tensor) { xlogy_(args, out); }
SL_OP(aten_xlogy__Scalar_Other) { xlogy_(args, out); }
SL_OP(aten_special_xlogy) { xlogy(args, out); }
SL_OP(aten_special_xlogy_other_scalar) { xlogy(args, out); }
SL_OP(aten_special_xlogy_self_scalar) { xlogy(args, out); }
SL_OP(aten_special_xlog1py) {
  out[0] = times_log(Input::of(args[0]), Input::of(args[1]), log1p, "special_xlog1py");
}
SL_OP(aten_special_xlog1py_other_scalar) { op_aten_special_xlog1py(ctx, round_numbers(args), out); }
SL_OP(aten_special_xlog1py_self_scalar) { op_aten_special_xlog1py(ctx, round_numbers(args), out); }

}  // namespace scriptlang
