// The math module on ints, floats, complex numbers and Scalars; prim::max, min and abs.
#include <cmath>
#include <numeric>

#include "op.h"
#include "scalar_math.h"

namespace scriptlang {

namespace {

using complex = std::complex<double>;
using scalars::whole;

double real_of(const Value& v) {
  if (v.is_complex()) {
    raise(ErrorKind::TypeError, "this function takes a real number, not a complex one");
  }
  return Scalar::of(v).d;
}
complex complex_of(const Value& v) { return Scalar::of(v).to_complex(); }

double rounded(double x) { return double(float(x)); }

constexpr double kPi = 3.14159265358979323846;
double degrees(double v) { return v * 180 / kPi; }
double radians(double v) { return v * kPi / 180; }
double angle(double v) { return std::signbit(v) ? kPi : 0; }  // as in PyTorch
double round_even(double v) { return std::nearbyint(v); }

}  // namespace

#define SL_MATH_REAL(name, function)                                        \
  SL_OP(aten_##name##_int) { out[0].set_double(function(args.number(0))); } \
  SL_OP(aten_##name##_float) { out[0].set_double(function(args.number(0))); }

// For Scalars the result is rounded to float, as in PyTorch.
#define SL_MATH(name, function) \
  SL_MATH_REAL(name, function)  \
  SL_OP(aten_##name##_Scalar) { out[0].set_double(rounded(function(real_of(args[0])))); }

#define SL_MATH_COMPLEX(name, function)                                           \
  SL_MATH_REAL(name, function)                                                    \
  SL_OP(aten_##name##_complex) { out[0] = Value(function(complex_of(args[0]))); } \
  SL_OP(aten_##name##_Scalar) {                                                   \
    out[0] = args[0].is_complex() ? Value(function(complex_of(args[0])))          \
                                  : Value(rounded(function(real_of(args[0]))));   \
  }

SL_MATH_COMPLEX(sqrt, std::sqrt)
SL_MATH_COMPLEX(exp, std::exp)
SL_MATH_COMPLEX(log, std::log)
SL_MATH_COMPLEX(log10, std::log10)
SL_MATH_COMPLEX(sin, std::sin)
SL_MATH_COMPLEX(cos, std::cos)
SL_MATH_COMPLEX(tan, std::tan)
SL_MATH_COMPLEX(asin, std::asin)
SL_MATH_COMPLEX(acos, std::acos)
SL_MATH_COMPLEX(atan, std::atan)
SL_MATH_COMPLEX(sinh, std::sinh)
SL_MATH_COMPLEX(cosh, std::cosh)
SL_MATH_COMPLEX(tanh, std::tanh)
SL_MATH_COMPLEX(asinh, std::asinh)
SL_MATH_COMPLEX(acosh, std::acosh)
SL_MATH_COMPLEX(atanh, std::atanh)
SL_MATH(expm1, std::expm1)
SL_MATH(log1p, std::log1p)
SL_MATH(erf, std::erf)
SL_MATH(erfc, std::erfc)
SL_MATH(gamma, std::tgamma)
SL_MATH(lgamma, std::lgamma)
SL_MATH(fabs, std::fabs)
SL_MATH(degrees, degrees)
SL_MATH(radians, radians)
SL_MATH(round, round_even)
SL_MATH_REAL(angle, angle)
SL_OP(aten_angle_complex) { out[0].set_double(std::arg(complex_of(args[0]))); }
SL_OP(aten_angle_Scalar) {
  out[0].set_double(args[0].is_complex() ? std::arg(complex_of(args[0])) : angle(real_of(args[0])));
}

SL_OP(aten_floor_int) { out[0].set_int(args.integer(0)); }
SL_OP(aten_floor_float) { out[0].set_int(whole(std::floor(args.number(0)))); }
SL_OP(aten_floor_Scalar) {
  out[0].set_int(args[0].is_int() ? args.integer(0) : whole(std::floor(real_of(args[0]))));
}
SL_OP(aten_ceil_int) { out[0].set_int(args.integer(0)); }
SL_OP(aten_ceil_float) { out[0].set_int(whole(std::ceil(args.number(0)))); }
SL_OP(aten_ceil_Scalar) {
  out[0].set_int(args[0].is_int() ? args.integer(0) : whole(std::ceil(real_of(args[0]))));
}

SL_OP(aten_neg_int) { out[0].set_int(int64_t(0 - uint64_t(args.integer(0)))); }
SL_OP(aten_neg_float) { out[0].set_double(-args.number(0)); }
SL_OP(aten_neg_complex) { out[0] = Value(-complex_of(args[0])); }
SL_OP(aten_neg_Scalar) {
  if (args[0].is_complex()) {
    out[0] = Value(-complex_of(args[0]));
  } else if (args[0].is_double()) {
    out[0].set_double(rounded(-args.number(0)));
  } else {
    out[0].set_int(int64_t(0 - uint64_t(Scalar::of(args[0]).i)));
  }
}

#define SL_BINARY_REAL(name, function)                                                            \
  SL_OP(aten_##name##_int) { out[0].set_double(function(args.number(0), args.number(1))); }       \
  SL_OP(aten_##name##_float) { out[0].set_double(function(args.number(0), args.number(1))); }     \
  SL_OP(aten_##name##_int_float) { out[0].set_double(function(args.number(0), args.number(1))); } \
  SL_OP(aten_##name##_float_int) { out[0].set_double(function(args.number(0), args.number(1))); }
#define SL_BINARY_SCALAR(symbol, function) \
  SL_OP(symbol) { out[0].set_double(function(real_of(args[0]), real_of(args[1]))); }

SL_BINARY_REAL(atan2, std::atan2)
SL_BINARY_SCALAR(aten_atan2_Scalar_Scalar, std::atan2)
SL_BINARY_REAL(fmod, std::fmod)
SL_BINARY_SCALAR(aten_fmod, std::fmod)
SL_BINARY_REAL(copysign, std::copysign)
SL_BINARY_SCALAR(aten_copysign, std::copysign)
SL_BINARY_REAL(mathremainder, std::remainder)
SL_BINARY_SCALAR(aten_mathremainder, std::remainder)

namespace {
double log_base(double v, double base) { return std::log(v) / std::log(base); }
// For real numbers the real logarithm: NaN for negative ones, as in PyTorch.
complex log_of(const Value& v) {
  return v.is_complex() ? std::log(complex_of(v)) : complex(std::log(real_of(v)), 0);
}
}  // namespace
SL_BINARY_SCALAR(aten_log_int_int, log_base)
SL_BINARY_SCALAR(aten_log_float_float, log_base)
SL_BINARY_SCALAR(aten_log_int_float, log_base)
SL_BINARY_SCALAR(aten_log_float_int, log_base)
SL_BINARY_SCALAR(aten_log_Scalar_Scalar, log_base)
#define SL_LOG_COMPLEX(name) \
  SL_OP(aten_log_##name) { out[0] = Value(scalars::divided(log_of(args[0]), log_of(args[1]))); }
SL_LOG_COMPLEX(complex_complex)
SL_LOG_COMPLEX(int_complex)
SL_LOG_COMPLEX(complex_int)
SL_LOG_COMPLEX(float_complex)
SL_LOG_COMPLEX(complex_float)

#define SL_POLAR(name)                                         \
  SL_OP(aten_polar_##name) {                                   \
    double r = real_of(args[0]), a = real_of(args[1]);         \
    out[0] = Value(complex(r * std::cos(a), r * std::sin(a))); \
  }
SL_POLAR(int)
SL_POLAR(float)
SL_POLAR(int_float)
SL_POLAR(float_int)
SL_POLAR(Scalar_Scalar)

SL_OP(aten_isnan_float) { out[0].set_bool(std::isnan(args.number(0))); }
SL_OP(aten_isinf_float) { out[0].set_bool(std::isinf(args.number(0))); }
SL_OP(aten_isfinite_float) { out[0].set_bool(std::isfinite(args.number(0))); }
SL_OP(aten_isnan_complex) {
  complex c = complex_of(args[0]);
  out[0].set_bool(std::isnan(c.real()) || std::isnan(c.imag()));
}
SL_OP(aten_isinf_complex) {
  complex c = complex_of(args[0]);
  out[0].set_bool(std::isinf(c.real()) || std::isinf(c.imag()));
}
SL_OP(aten_isfinite_complex) {
  complex c = complex_of(args[0]);
  out[0].set_bool(std::isfinite(c.real()) && std::isfinite(c.imag()));
}

SL_OP(aten_frexp) {
  int exponent;
  out[0].set_double(std::frexp(args.number(0), &exponent));
  out[1].set_int(exponent);
}
SL_OP(aten_modf) {
  double integral;
  out[0].set_double(std::modf(args.number(0), &integral));
  out[1].set_double(integral);
}
SL_OP(aten_ldexp) {
  int64_t exponent = args.integer(1);
  int64_t clamped = exponent > 5000 ? 5000 : exponent < -5000 ? -5000 : exponent;
  out[0].set_double(std::ldexp(args.number(0), int(clamped)));
}
SL_OP(aten_gcd_int) {
  uint64_t a = uint64_t(args.integer(0)), b = uint64_t(args.integer(1));
  if (int64_t(a) < 0) a = 0 - a;
  if (int64_t(b) < 0) b = 0 - b;
  out[0].set_int(int64_t(std::gcd(a, b)));
}
SL_OP(aten_factorial_int) {
  int64_t n = args.integer(0);
  if (n < 0) raise(ErrorKind::RuntimeError, "factorial() not defined for negative values");
  uint64_t product = 1;
  for (int64_t k = 2; k <= n && product; ++k) product *= uint64_t(k);  // 0 from 66! on: it wraps
  out[0].set_int(int64_t(product));
}

// ---- prim::abs, max, min

SL_OP(prim_abs_int) {
  int64_t v = args.integer(0);
  out[0].set_int(v < 0 ? int64_t(0 - uint64_t(v)) : v);
}
SL_OP(prim_abs_float) { out[0].set_double(std::fabs(args.number(0))); }
SL_OP(prim_abs_complex) { out[0].set_double(std::abs(complex_of(args[0]))); }
SL_OP(prim_abs_Scalar) {
  if (args[0].is_int()) {
    op_prim_abs_int(ctx, args, out);
  } else if (args[0].is_bool()) {
    out[0] = int64_t{args[0].as_bool()};
  } else {
    out[0].set_double(args[0].is_complex() ? std::abs(complex_of(args[0]))
                                           : std::fabs(real_of(args[0])));
  }
}

namespace {

// Whether a < b. max and min take the second number only if it is strictly better, so that NaN
// behaves as in PyTorch.
bool less(const Value& a, const Value& b) {
  if (a.is_int() && b.is_int()) return a.raw_int() < b.raw_int();
  return real_of(a) < real_of(b);
}

void extreme_of_list(const Args& args, Value* out, bool want_max) {
  const List& items = args.list(0);
  if (items.empty()) {
    raise(ErrorKind::RuntimeError, want_max ? "max" : "min", "() arg is an empty sequence");
  }
  size_t best = 0;
  for (size_t k = 1; k < items.size(); ++k) {
    bool better =
        want_max ? less(items.get(best), items.get(k)) : less(items.get(k), items.get(best));
    if (better) best = k;
  }
  out[0] = items.get(best);
}

bool list_less(const List& a, const List& b) {
  for (size_t k = 0; k < a.size() && k < b.size(); ++k) {
    if (less(a.get(k), b.get(k))) return true;
    if (less(b.get(k), a.get(k))) return false;
  }
  return a.size() < b.size();
}

}  // namespace

#define SL_EXTREME(name, want_max, take_second)                                            \
  SL_OP(prim_##name##_int) {                                                               \
    int64_t a = args.integer(0), b = args.integer(1);                                      \
    out[0].set_int(take_second(a, b) ? b : a);                                             \
  }                                                                                        \
  SL_OP(prim_##name##_float) {                                                             \
    double a = args.number(0), b = args.number(1);                                         \
    out[0].set_double(want_max ? (a > b ? a : b) : (a < b ? a : b));                       \
  }                                                                                        \
  SL_OP(prim_##name##_int_float) { op_prim_##name##_float(ctx, args, out); }               \
  SL_OP(prim_##name##_float_int) { op_prim_##name##_float(ctx, args, out); }               \
  SL_OP(prim_##name) {                                                                     \
    if (args[0].is_int() && args[1].is_int()) return op_prim_##name##_int(ctx, args, out); \
    op_prim_##name##_float(ctx, args, out);                                                \
  }                                                                                        \
  SL_OP(prim_##name##_self_int) { extreme_of_list(args, out, want_max); }                  \
  SL_OP(prim_##name##_self_float) { extreme_of_list(args, out, want_max); }                \
  SL_OP(prim_##name##_self_bool) { extreme_of_list(args, out, want_max); }                 \
  SL_OP(prim_##name##_int_list) {                                                          \
    bool first = list_less(args.list(0), args.list(1));                                    \
    out[0] = args[first == want_max];                                                      \
  }                                                                                        \
  SL_OP(prim_##name##_float_list) { op_prim_##name##_int_list(ctx, args, out); }           \
  SL_OP(prim_##name##_bool_list) { op_prim_##name##_int_list(ctx, args, out); }

#define SL_SECOND_IS_MORE(a, b) ((b) > (a))
#define SL_SECOND_IS_LESS(a, b) ((b) < (a))
SL_EXTREME(max, true, SL_SECOND_IS_MORE)
SL_EXTREME(min, false, SL_SECOND_IS_LESS)

}  // namespace scriptlang
