// Arithmetic of two tensors, or of a tensor and a number.
#include <cstring>

#include "linalg.h"
#include "pointwise_binary.h"
#include "recording.h"

namespace scriptlang {

using namespace pointwise;

double round_to_half(double number, ScalarType type) {
  if (type == ScalarType::Float16) return double(float(float16(float(number))));
  if (type == ScalarType::BFloat16) return double(float(bfloat16(float(number))));
  return number;
}

Args round_numbers(Args args) {
  const int i = args[0].is_tensor() ? 1 : 0;  // index of the number
  const ScalarType type = args.tensor(1 - i).dtype();
  if (!is_half(type)) return args;
  if (args[i].is_tensor()) return args;
  const Scalar number = args.scalar(i);
  if (number.kind == Scalar::Complex || number.kind == Scalar::Bool) return args;
  args[i] = round_to_half(number.to_double(), type);
  return args;
}

namespace {

// ---- add, sub, rsub: other times alpha

struct Alpha {
  double params[kernels::kParams];  // as a float, as an integer's bits, imaginary part
  bool is_one;
};

Alpha read_alpha(const Value& v, ScalarType type) {
  if (v.is_int() && v.raw_int() == 1) return {{}, true};
  Scalar s = Scalar::of(v);
  SL_CHECK(is_complex(type) || s.kind != Scalar::Complex,
           is_integral(type, true)
               ? "For integral input tensors, argument alpha must not be a floating point number."
               : "For non-complex input tensors, argument alpha must not be a complex number.");
  SL_CHECK(s.kind != Scalar::Bool || type == ScalarType::Bool,
           "Boolean alpha only supported for Boolean results.");
  Alpha alpha{};
  alpha.is_one = s.is_integral() ? s.i == 1 : s.d == 1 && s.imag == 0;
  if (alpha.is_one) return alpha;
  SL_CHECK(is_floating(type) || is_complex(type) || s.is_integral(),
           "For integral input tensors, argument alpha must not be a floating point number.");
  check_fits(s, type);
  int64_t exact = s.is_integral() ? s.i : 0;
  alpha.params[0] = s.d;
  std::memcpy(&alpha.params[1], &exact, sizeof exact);
  alpha.params[2] = s.imag;
  return alpha;
}

bool is_bool(const Input& in) {
  return in.tensor ? in.tensor->dtype() == ScalarType::Bool : in.number.kind == Scalar::Bool;
}

Tensor add(const Input& a, const Input& b, const Value& alpha_value, const Tensor& into) {
  Alpha alpha = read_alpha(alpha_value, result_type(a, b));
  if (alpha.is_one) return binary_result(a, b, Binary::k_add, "add", kCommon, nullptr, into, true);
  return binary_result(a, b, Binary::k_add_scaled, "add", kCommon, alpha.params, into, true);
}

Tensor sub(const Input& a, const Input& b, const Value& alpha_value, const Tensor& into) {
  bool bool_a = is_bool(a), bool_b = is_bool(b);
  SL_CHECK(!(bool_a && bool_b),
           "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
           "`logical_xor()` operator instead.");
  SL_CHECK(!bool_a && !bool_b,
           "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying "
           "to invert a mask, use the `~` or `logical_not()` operator instead.");
  Alpha alpha = read_alpha(alpha_value, result_type(a, b));
  if (alpha.is_one) return binary_result(a, b, Binary::k_sub, "sub", kCommon, nullptr, into, true);
  int64_t exact;
  std::memcpy(&exact, &alpha.params[1], sizeof exact);
  exact = int64_t(0 - uint64_t(exact));
  std::memcpy(&alpha.params[1], &exact, sizeof exact);
  alpha.params[0] = -alpha.params[0];
  alpha.params[2] = -alpha.params[2];
  return binary_result(a, b, Binary::k_add_scaled, "sub", kCommon, alpha.params, into, true);
}

// The fast path for alpha 1, which is nearly always given.
bool without_alpha(Args args, Value* out, Binary op) {
  bool one = args[2].is_int() && args[2].raw_int() == 1;
  return one && direct_binary(args, out, kernels::loops(op));
}

// ---- add_relu: a sum that is cut off below 0 and above what self's type holds

bool is_cut(ScalarType type) {
  return is_integral(type, false) ? type != ScalarType::UInt8 && !is_barebones(type)
                                  : type == ScalarType::Float32 || type == ScalarType::Float64;
}

Scalar greatest(ScalarType type) {
  switch (type) {
    case ScalarType::Int8: return Scalar(int64_t{std::numeric_limits<int8_t>::max()});
    case ScalarType::Int16: return Scalar(int64_t{std::numeric_limits<int16_t>::max()});
    case ScalarType::Int32: return Scalar(int64_t{std::numeric_limits<int32_t>::max()});
    case ScalarType::Int64: return Scalar(std::numeric_limits<int64_t>::max());
    case ScalarType::Float32: return Scalar(double{std::numeric_limits<float>::max()});
    default: return Scalar(std::numeric_limits<double>::max());
  }
}

Tensor add_relu(const Tensor& self, const Input& other, const Value& alpha_value) {
  const ScalarType type = result_type(self, other), own = self.dtype();
  if (other.tensor) broadcast_shapes(self.sizes(), other.tensor->sizes());
  SL_CHECK(is_cut(own), "Unsupported datatype for add_relu: ", dtype_display_name(own));
  if (type != ScalarType::UInt8 && !is_cut(type)) {
    raise(ErrorKind::NotImplementedError, "\"add_clamp_cpu\" not implemented for '",
          dtype_display_name(type), "'");
  }
  const Scalar alpha = Scalar::of(alpha_value), most = greatest(own);
  check_fits(alpha, type);
  check_fits(most, type);
  int64_t exact = alpha.is_integral() ? alpha.i : is_floating(type) ? 0 : int64_t(alpha.d);
  double params[kernels::kParams] = {alpha.d};
  std::memcpy(&params[1], &exact, sizeof exact);
  Tensor sum = binary_result(self, other, Binary::k_add_scaled, "add_clamp", kCommon, params);
  double bounds[kernels::kParams] = {0, most.d};
  const bool both = own != ScalarType::Int64 || is_floating(type);  // int64 ends there by itself
  return unary_result(sum, both ? kernels::Unary::k_clamp : kernels::Unary::k_clamp_min,
                      "add_clamp", kCommon, bounds, sum);
}

// ---- division with a rounding mode

// Whether a quotient is rounded before truncation or floor: for half types, unless the divisor is a
// number.
bool rounds_quotient(ScalarType type, const Input& b) {
  return is_half(type) && b.tensor && b.tensor->numel() != 1;
}

Tensor floor_divide(const Input& a, const Input& b, const Tensor& into) {
  const ScalarType type = result_type(a, b);
  if (a.tensor && rounds_quotient(type, b)) {
    return floor_divide_halves(to_dtype(*a.tensor, type), to_dtype(*b.tensor, type), into);
  }
  return binary_result(a, b, Binary::k_div_floor, "div_floor", kCommon, nullptr, into);
}

Tensor divide(const Input& a, const Input& b, const Value& mode, const Tensor& into) {
  if (mode.is_none()) return binary_result(a, b, Binary::k_div, "div", kFloat, nullptr, into);
  std::string_view text = mode.as_string();
  if (text == "floor") return floor_divide(a, b, into);
  SL_CHECK(text == "trunc",
           "div expected rounding_mode to be one of None, 'trunc', or 'floor' "
           "but found '",
           text, "'");
  if (rounds_quotient(result_type(a, b), b)) {
    Tensor quotient = binary_result(a, b, Binary::k_div, "div", kCommon, nullptr, into);
    return unary_result(quotient, kernels::Unary::k_trunc, "trunc", kCommon, nullptr, quotient);
  }
  return binary_result(a, b, Binary::k_div_trunc, "div_trunc", kCommon, nullptr, into);
}

}  // namespace

void check_alpha(const Value& alpha, ScalarType type) { read_alpha(alpha, type); }

Tensor power_of_tensor(const Tensor& base, const Scalar& exponent, const Tensor& into) {
  ScalarType type = result_type(base, exponent);
  if (into.defined()) check_can_cast(type, into.dtype());
  SL_CHECK(!(is_integral(type, true) && exponent.is_integral() && exponent.to_int() < 0),
           "Integers to negative integer powers are not allowed.");
  if (type == ScalarType::Bool) {
    Scalar always(!exponent.to_bool());
    return binary_result(base, always, Binary::k_logical_or, "pow", Rule::kToBool, nullptr, into);
  }
  bool real = exponent.kind != Scalar::Complex;
  double e = exponent.d;
  if (e == 0.0 && exponent.imag == 0.0 && is_complex(type)) {  // 1 even if not finite
    if (is_symbolic(base)) Recording::give_up();
    if (into.defined()) check_writable(into);
    Tensor ones = into.defined() ? into : Tensor::empty_like(base, type);
    fill(ones, Scalar(1.0));
    return ones;
  }
  auto one = [&](kernels::Unary op, const char* name) {
    Pointwise p;
    p.table = &kernels::loops(op);
    p.name = name;
    p.compute = type;
    p.count = 1;
    p.in[0] = base;
    p.out = into;
    return run(p);
  };
  bool integers = is_integral(base.dtype(), true);
  if (real && type != ScalarType::Bool) {
    const bool numbers = is_floating(type) || is_complex(type);
    if (e == 2.0 && (numbers || is_integral(type, false))) {
      return one(kernels::Unary::k_square, "pow");
    }
    if (numbers && !integers && type != ScalarType::Float16) {
      if (e == 0.5) return one(kernels::Unary::k_sqrt, "pow");
      if (e == -0.5) return one(kernels::Unary::k_rsqrt, "pow");
      if (e == -1.0) return one(kernels::Unary::k_reciprocal, "pow");
      if (e == 3.0) {
        Tensor square = binary_result(base, base, Binary::k_mul, "pow", kCommon, nullptr, Tensor());
        // The square's own memory becomes the result.
        bool own = !into.defined() && !is_symbolic(base) && square.dtype() == type;
        return binary_result(square, base, Binary::k_mul, "pow", kCommon, nullptr,
                             own ? square : into);
      }
    }
  }
  return binary_result(base, exponent, Binary::k_pow, "pow", kCommon, nullptr, into);
}

SL_OP(aten_add_Tensor) {
  if (without_alpha(args, out, Binary::k_add)) return;
  out[0] = add(Input::of(args[0]), Input::of(args[1]), args[2], Tensor());
}
SL_OP(aten_add_Scalar) {
  args = round_numbers(args);
  if (without_alpha(args, out, Binary::k_add)) return;
  out[0] = add(Input::of(args[0]), Input::of(args[1]), args[2], Tensor());
}
SL_OP(aten_add__Tensor) {
  out[0] = add(args.tensor(0), Input::of(args[1]), args[2], args.tensor(0));
}
SL_OP(aten_add__Scalar) {
  args = round_numbers(args);
  out[0] = add(args.tensor(0), Input::of(args[1]), args[2], args.tensor(0));
}
SL_OP(aten_sub_Tensor) {
  if (without_alpha(args, out, Binary::k_sub)) return;
  out[0] = sub(Input::of(args[0]), Input::of(args[1]), args[2], Tensor());
}
SL_OP(aten_sub_Scalar) {
  args = round_numbers(args);
  if (without_alpha(args, out, Binary::k_sub)) return;
  out[0] = sub(Input::of(args[0]), Input::of(args[1]), args[2], Tensor());
}
SL_OP(aten_sub__Tensor) {
  out[0] = sub(args.tensor(0), Input::of(args[1]), args[2], args.tensor(0));
}
SL_OP(aten_sub__Scalar) {
  args = round_numbers(args);
  out[0] = sub(args.tensor(0), Input::of(args[1]), args[2], args.tensor(0));
}
SL_OP(aten_rsub_Tensor) { out[0] = sub(Input::of(args[1]), Input::of(args[0]), args[2], Tensor()); }
SL_OP(aten_rsub_Scalar) {
  args = round_numbers(args);
  out[0] = sub(Input::of(args[1]), Input::of(args[0]), args[2], Tensor());
}
SL_OP(aten__add_relu_Tensor) { out[0] = add_relu(args.tensor(0), Input::of(args[1]), args[2]); }
SL_OP(aten__add_relu_Scalar) { op_aten__add_relu_Tensor(ctx, args, out); }
SL_OP(aten_subtract_Tensor) { op_aten_sub_Tensor(ctx, args, out); }
SL_OP(aten_subtract_Scalar) { op_aten_sub_Scalar(ctx, args, out); }
SL_OP(aten_div_Tensor_mode) {
  out[0] = divide(Input::of(args[0]), Input::of(args[1]), args[2], Tensor());
}
SL_OP(aten_div_Scalar_mode) {
  out[0] = divide(Input::of(args[0]), Input::of(args[1]), args[2], Tensor());
}
SL_OP(aten_div__Tensor_mode) {
  out[0] = divide(args.tensor(0), Input::of(args[1]), args[2], args.tensor(0));
}
SL_OP(aten_div__Scalar_mode) {
  out[0] = divide(args.tensor(0), Input::of(args[1]), args[2], args.tensor(0));
}
SL_OP(aten_divide_Tensor_mode) { op_aten_div_Tensor_mode(ctx, args, out); }
SL_OP(aten_divide_Scalar_mode) { op_aten_div_Scalar_mode(ctx, args, out); }
SL_OP(aten_floor_divide) {
  out[0] = floor_divide(Input::of(args[0]), Input::of(args[1]), Tensor());
}
SL_OP(aten_floor_divide_Scalar) { op_aten_floor_divide(ctx, args, out); }
SL_OP(aten_floor_divide__Tensor) {
  out[0] = floor_divide(args.tensor(0), Input::of(args[1]), args.tensor(0));
}
SL_OP(aten_floor_divide__Scalar) { op_aten_floor_divide__Tensor(ctx, args, out); }
SL_OP(aten_pow_Tensor_Scalar) {
  args = round_numbers(args);
  out[0] = power_of_tensor(args.tensor(0), args.scalar(1), Tensor());
}
SL_OP(aten_pow__Scalar) {
  args = round_numbers(args);
  out[0] = power_of_tensor(args.tensor(0), args.scalar(1), args.tensor(0));
}
SL_OP(aten_pow_Tensor_Tensor) { binary(args, out, Binary::k_pow, "pow", kCommon); }
SL_OP(aten_pow__Tensor) { binary_(args, out, Binary::k_pow, "pow", kCommon); }
SL_OP(aten_pow_Scalar) {  // row-major, whatever the exponent is
  binary(round_numbers(args), out, Binary::k_pow, "pow", kCommon);
  out[0] = to_contiguous(out[0].as_tensor());
}
SL_OP(aten_mul_Tensor) { binary(args, out, Binary::k_mul, "mul", kCommon); }
SL_OP(aten_mul__Tensor) { binary_(args, out, Binary::k_mul, "mul", kCommon); }
SL_OP(aten_mul_Scalar) { binary(args, out, Binary::k_mul, "mul", kCommon); }
SL_OP(aten_mul__Scalar) { binary_(round_numbers(args), out, Binary::k_mul, "mul", kCommon); }
SL_OP(aten_multiply_Tensor) { binary(args, out, Binary::k_mul, "mul", kCommon); }
SL_OP(aten_multiply__Tensor) { binary_(args, out, Binary::k_mul, "mul", kCommon); }
SL_OP(aten_multiply_Scalar) { binary(args, out, Binary::k_mul, "mul", kCommon); }
SL_OP(aten_multiply__Scalar) { binary_(round_numbers(args), out, Binary::k_mul, "mul", kCommon); }
SL_OP(aten_remainder_Tensor) { binary(args, out, Binary::k_remainder, "remainder", kCommon); }
SL_OP(aten_remainder__Tensor) { binary_(args, out, Binary::k_remainder, "remainder", kCommon); }
SL_OP(aten_remainder_Scalar) {
  binary(round_numbers(args), out, Binary::k_remainder, "remainder", kCommon);
}
SL_OP(aten_remainder__Scalar) {
  binary_(round_numbers(args), out, Binary::k_remainder, "remainder", kCommon);
}
SL_OP(aten_remainder_Scalar_Tensor) {
  binary(round_numbers(args), out, Binary::k_remainder, "remainder", kCommon);
}
SL_OP(aten_fmod_Tensor) { binary(args, out, Binary::k_fmod, "fmod", kCommon); }
SL_OP(aten_fmod__Tensor) { binary_(args, out, Binary::k_fmod, "fmod", kCommon); }
SL_OP(aten_fmod_Scalar) { binary(round_numbers(args), out, Binary::k_fmod, "fmod", kCommon); }
SL_OP(aten_fmod__Scalar) { binary_(round_numbers(args), out, Binary::k_fmod, "fmod", kCommon); }
SL_OP(aten_maximum) { binary(args, out, Binary::k_maximum, "maximum", kCommon); }
SL_OP(aten_minimum) { binary(args, out, Binary::k_minimum, "minimum", kCommon); }
SL_OP(aten_fmax) { binary(args, out, Binary::k_fmax, "fmax", kCommon); }
SL_OP(aten_fmin) { binary(args, out, Binary::k_fmin, "fmin", kCommon); }
SL_OP(aten_gcd) { binary(args, out, Binary::k_gcd, "gcd", kCommon); }
SL_OP(aten_gcd_) { binary_(args, out, Binary::k_gcd, "gcd", kCommon); }
SL_OP(aten_lcm) { binary(args, out, Binary::k_lcm, "lcm", kCommon); }
SL_OP(aten_lcm_) { binary_(args, out, Binary::k_lcm, "lcm", kCommon); }
SL_OP(aten_heaviside) {
  SL_CHECK(args.tensor(0).dtype() == args.tensor(1).dtype(),
           "heaviside is not yet implemented for tensors with different dtypes.");
  SL_CHECK(!is_complex(args.tensor(0).dtype()),
           "heaviside is not yet implemented for complex tensors.");
  binary(args, out, Binary::k_heaviside, "heaviside", kCommon);
}
SL_OP(aten_hypot) { binary(args, out, Binary::k_hypot, "hypot", kCommon); }
SL_OP(aten_hypot_) { binary_(args, out, Binary::k_hypot, "hypot", kCommon); }
SL_OP(aten_logaddexp) { binary(args, out, Binary::k_logaddexp, "logaddexp", kCommon); }
SL_OP(aten_logaddexp2) { binary(args, out, Binary::k_logaddexp2, "logaddexp2", kCommon); }
SL_OP(aten_div_Tensor) { binary(args, out, Binary::k_div, "div", kFloat); }
SL_OP(aten_div__Tensor) { binary_(args, out, Binary::k_div, "div", kFloat); }
SL_OP(aten_div_Scalar) { binary(args, out, Binary::k_div, "div", kFloat); }
SL_OP(aten_div__Scalar) { binary_(args, out, Binary::k_div, "div", kFloat); }
SL_OP(aten_divide_Tensor) { binary(args, out, Binary::k_div, "div", kFloat); }
SL_OP(aten_divide__Tensor) { binary_(args, out, Binary::k_div, "div", kFloat); }
SL_OP(aten_divide_Scalar) { binary(args, out, Binary::k_div, "div", kFloat); }
SL_OP(aten_divide__Scalar) { binary_(args, out, Binary::k_div, "div", kFloat); }
SL_OP(aten_true_divide_Tensor) { binary(args, out, Binary::k_div, "div", kFloat); }
SL_OP(aten_true_divide__Tensor) { binary_(args, out, Binary::k_div, "div", kFloat); }
SL_OP(aten_true_divide_Scalar) { binary(args, out, Binary::k_div, "div", kFloat); }
SL_OP(aten_true_divide__Scalar) { binary_(args, out, Binary::k_div, "div", kFloat); }
SL_OP(aten_atan2) { binary(args, out, Binary::k_atan2, "atan2", kFloat); }
SL_OP(aten_atan2_) { binary_(args, out, Binary::k_atan2, "atan2", kFloat); }
SL_OP(aten_arctan2) { binary(args, out, Binary::k_atan2, "atan2", kFloat); }
SL_OP(aten_arctan2_) { binary_(args, out, Binary::k_atan2, "atan2", kFloat); }
SL_OP(aten_copysign_Tensor) { binary(args, out, Binary::k_copysign, "copysign", kFloat); }
SL_OP(aten_copysign__Tensor) { binary_(args, out, Binary::k_copysign, "copysign", kFloat); }
SL_OP(aten_copysign_Scalar) { binary(args, out, Binary::k_copysign, "copysign", kFloat); }
SL_OP(aten_copysign__Scalar) { binary_(args, out, Binary::k_copysign, "copysign", kFloat); }

}  // namespace scriptlang
