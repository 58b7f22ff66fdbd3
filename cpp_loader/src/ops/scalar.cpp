// Arithmetic, comparison and conversion of ints, floats, bools and complex numbers.
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "language.h"
#include "op.h"
#include "scalar_math.h"
#include "values/plain_text.h"

namespace scriptlang {

namespace {

using complex = std::complex<double>;
using namespace scalars;

double add(double a, double b) { return a + b; }
double sub(double a, double b) { return a - b; }
double mul(double a, double b) { return a * b; }
complex add(complex a, complex b) { return a + b; }
complex sub(complex a, complex b) { return a - b; }
complex mul(complex a, complex b) { return a * b; }

// Computed in float64, as in PyTorch; results that do not fit int64 become the smallest int.
int64_t power_int(double base, double exponent) {
  if (base == 0 && exponent < 0) {
    raise(ErrorKind::RuntimeError, "0.0 cannot be raised to a negative power");
  }
  const double power = std::pow(base, exponent), limit = 0x1p63;
  return power >= -limit && power < limit ? int64_t(power) : std::numeric_limits<int64_t>::min();
}

double double_of(const Value& v) {
  return v.is_double() ? v.raw_double() : v.is_int() ? double(v.raw_int()) : Scalar::of(v).d;
}
double real_of(const Value& v) {
  return v.is_double() ? v.raw_double() : Scalar::of(v).to_double();
}
complex complex_of(const Value& v) { return Scalar::of(v).to_complex(); }
bool both_int(const Args& args) {
  return (args[0].is_int() || args[0].is_bool()) && (args[1].is_int() || args[1].is_bool());
}
bool any_complex(const Args& args) { return args[0].is_complex() || args[1].is_complex(); }
void check_real(const Args& args) {
  if (any_complex(args)) {
    raise(ErrorKind::RuntimeError, "complex numbers have no floor division and no remainder");
  }
}
int64_t int_of(const Value& v) { return Scalar::of(v).i; }

Value mixed_add(const Value& a, const Value& b) { return Value(complex_of(a) + complex_of(b)); }
Value mixed_sub(const Value& a, const Value& b) { return Value(complex_of(a) - complex_of(b)); }
// A real factor multiplies both parts. Converted to complex, it would turn infinite parts into NaN.
Value mixed_mul(const Value& a, const Value& b) {
  if (!a.is_complex()) return Value(double_of(a) * complex_of(b));
  if (!b.is_complex()) return Value(complex_of(a) * double_of(b));
  return Value(complex_of(a) * complex_of(b));
}

}  // namespace

// a op b for int, float and their mixtures, complex and its mixtures, and Scalar.
#define SL_ARITHMETIC(name, on_int, on_float)                                                     \
  SL_OP(aten_##name##_int) { out[0].set_int(on_int(args.integer(0), args.integer(1))); }          \
  SL_OP(aten_##name##_float) { out[0].set_double(on_float(args.number(0), args.number(1))); }     \
  SL_OP(aten_##name##_int_float) { out[0].set_double(on_float(args.number(0), args.number(1))); } \
  SL_OP(aten_##name##_float_int) { out[0].set_double(on_float(args.number(0), args.number(1))); }

// on_mixed takes two Values, one of which is complex.
#define SL_COMPLEX_ARITHMETIC(name, on_complex, on_mixed)                     \
  SL_OP(aten_##name##_complex) {                                              \
    out[0] = Value(on_complex(complex_of(args[0]), complex_of(args[1])));     \
  }                                                                           \
  SL_OP(aten_##name##_int_complex) { out[0] = on_mixed(args[0], args[1]); }   \
  SL_OP(aten_##name##_complex_int) { out[0] = on_mixed(args[0], args[1]); }   \
  SL_OP(aten_##name##_float_complex) { out[0] = on_mixed(args[0], args[1]); } \
  SL_OP(aten_##name##_complex_float) { out[0] = on_mixed(args[0], args[1]); }

#define SL_SCALAR_ARITHMETIC(name, on_int, on_float, on_mixed)             \
  SL_OP(aten_##name) {                                                     \
    if (any_complex(args)) {                                               \
      out[0] = on_mixed(args[0], args[1]);                                 \
    } else if (both_int(args)) {                                           \
      out[0].set_int(on_int(int_of(args[0]), int_of(args[1])));            \
    } else {                                                               \
      out[0].set_double(on_float(double_of(args[0]), double_of(args[1]))); \
    }                                                                      \
  }

SL_ARITHMETIC(add, wrap_add, add)
SL_COMPLEX_ARITHMETIC(add, add, mixed_add)
SL_SCALAR_ARITHMETIC(add, wrap_add, add, mixed_add)
SL_ARITHMETIC(sub, wrap_sub, sub)
SL_COMPLEX_ARITHMETIC(sub, sub, mixed_sub)
SL_SCALAR_ARITHMETIC(sub, wrap_sub, sub, mixed_sub)
SL_ARITHMETIC(mul, wrap_mul, mul)
SL_COMPLEX_ARITHMETIC(mul, mul, mixed_mul)
SL_SCALAR_ARITHMETIC(mul, wrap_mul, mul, mixed_mul)
SL_ARITHMETIC(floordiv, floordiv, floordiv)
SL_ARITHMETIC(remainder, remainder, remainder)

SL_OP(aten_floordiv) {
  check_real(args);
  if (both_int(args)) {
    out[0].set_int(floordiv(int_of(args[0]), int_of(args[1])));
  } else {
    out[0].set_double(floordiv(double_of(args[0]), double_of(args[1])));
  }
}
SL_OP(aten_remainder) {
  check_real(args);
  if (both_int(args)) {
    out[0].set_int(remainder(int_of(args[0]), int_of(args[1])));
  } else {
    out[0].set_double(remainder(double_of(args[0]), double_of(args[1])));
  }
}

SL_OP(aten_div_int) { out[0].set_double(args.number(0) / args.number(1)); }
SL_OP(aten_div_float) { out[0].set_double(args.number(0) / args.number(1)); }
SL_OP(aten_div_complex) {
  out[0] = Value(scalars::divided(complex_of(args[0]), complex_of(args[1])));
}
SL_OP(aten_div) {
  if (any_complex(args)) {
    out[0] = Value(scalars::divided(complex_of(args[0]), complex_of(args[1])));
  } else {
    out[0].set_double(double_of(args[0]) / double_of(args[1]));
  }
}

SL_OP(aten_divmod_int) {
  int64_t a = args.integer(0), b = args.integer(1);
  if (b == 0) {
    raise(ErrorKind::RuntimeError, "ZeroDivisionError: integer division or modulo by zero");
  }
  out[0].set_int(floordiv(a, b));
  out[1].set_int(remainder(a, b));
}
#define SL_DIVMOD(name)                                                              \
  SL_OP(aten_divmod_##name) {                                                        \
    double a = args.number(0), b = args.number(1);                                   \
    if (b == 0) raise(ErrorKind::RuntimeError, "ZeroDivisionError: float divmod()"); \
    double rest = std::fmod(a, b);                                                   \
    if (rest != 0 && (rest < 0) != (b < 0)) rest += b;                               \
    out[0].set_double((a - rest) / b);                                               \
    out[1].set_double(rest);                                                         \
  }
SL_DIVMOD(float)
SL_DIVMOD(int_float)
SL_DIVMOD(float_int)

SL_OP(aten_pow_int) { out[0].set_double(power(args.number(0), args.number(1))); }
SL_OP(aten_pow_float) { out[0].set_double(power(args.number(0), args.number(1))); }
SL_OP(aten_pow_int_float) { out[0].set_double(power(args.number(0), args.number(1))); }
SL_OP(aten_pow_float_int) { out[0].set_double(power(args.number(0), args.number(1))); }
SL_OP(aten_pow_Scalar_Scalar) {
  if (any_complex(args)) {
    out[0] = Value(std::pow(complex_of(args[0]), complex_of(args[1])));
  } else {
    out[0].set_double(std::pow(double_of(args[0]), double_of(args[1])));
  }
}
SL_OP(aten_pow_int_to_int) { out[0].set_int(power_int(args.number(0), args.number(1))); }
#define SL_POW_COMPLEX(name) \
  SL_OP(aten_pow_##name) { out[0] = Value(std::pow(complex_of(args[0]), complex_of(args[1]))); }
SL_POW_COMPLEX(complex)
// Real operands are not converted to complex: that would change the result where something is
// infinite, NaN or zero.
SL_OP(aten_pow_float_complex) { out[0] = Value(std::pow(args.number(0), complex_of(args[1]))); }
SL_OP(aten_pow_complex_float) { out[0] = Value(std::pow(complex_of(args[0]), args.number(1))); }

SL_OP(aten___round_to_zero_floordiv_int) {
  int64_t a = args.integer(0), b = args.integer(1);
  if (b == 0) raise(ErrorKind::RuntimeError, "division by 0");
  out[0].set_int(b == -1 ? wrap_sub(0, a) : a / b);
}

// ---- comparisons

namespace {
void check_ordered(const Args& args) {
  if (any_complex(args)) {
    raise(ErrorKind::RuntimeError, "complex numbers have no order: compare their parts or abs()");
  }
}
}  // namespace

#define SL_COMPARE(name, op)                                                            \
  SL_OP(aten_##name##_int) { out[0].set_bool(args.integer(0) op args.integer(1)); }     \
  SL_OP(aten_##name##_float) { out[0].set_bool(args.number(0) op args.number(1)); }     \
  SL_OP(aten_##name##_int_float) { out[0].set_bool(args.number(0) op args.number(1)); } \
  SL_OP(aten_##name##_float_int) { out[0].set_bool(args.number(0) op args.number(1)); } \
  SL_OP(aten_##name##_str) { out[0].set_bool(args.string(0) op args.string(1)); }
#define SL_COMPARE_SCALAR(name, op)                                             \
  SL_OP(aten_##name) {                                                          \
    check_ordered(args);                                                        \
    out[0].set_bool(both_int(args) ? int_of(args[0]) op int_of(args[1])         \
                                   : double_of(args[0]) op double_of(args[1])); \
  }
#define SL_EQUALITY(name, op)                                                                   \
  SL_OP(aten_##name) {                                                                          \
    out[0].set_bool(both_int(args) ? int_of(args[0]) op int_of(args[1])                         \
                                   : complex_of(args[0]) op complex_of(args[1]));               \
  }                                                                                             \
  SL_OP(aten_##name##_bool) { out[0].set_bool(args.boolean(0) op args.boolean(1)); }            \
  SL_OP(aten_##name##_device) { out[0].set_bool(args.device(0) op args.device(1)); }            \
  SL_OP(aten_##name##_complex) { out[0].set_bool(complex_of(args[0]) op complex_of(args[1])); } \
  SL_OP(aten_##name##_float_complex) {                                                          \
    out[0].set_bool(complex_of(args[0]) op complex_of(args[1]));                                \
  }                                                                                             \
  SL_OP(aten_##name##_complex_float) {                                                          \
    out[0].set_bool(complex_of(args[0]) op complex_of(args[1]));                                \
  }                                                                                             \
  SL_OP(aten_##name##_enum) { out[0].set_bool(equal(args[0], args[1]) op true); }               \
  SL_OP(aten_##name##_int_list) { out[0].set_bool(equal(args[0], args[1]) op true); }           \
  SL_OP(aten_##name##_float_list) { out[0].set_bool(equal(args[0], args[1]) op true); }         \
  SL_OP(aten_##name##_bool_list) { out[0].set_bool(equal(args[0], args[1]) op true); }          \
  SL_OP(aten_##name##_str_list) { out[0].set_bool(equal(args[0], args[1]) op true); }

SL_COMPARE(lt, <)
SL_COMPARE_SCALAR(lt, <)
SL_COMPARE(le, <=)
SL_COMPARE_SCALAR(le, <=)
SL_COMPARE(gt, >)
SL_COMPARE_SCALAR(gt, >)
SL_COMPARE(ge, >=)
SL_COMPARE_SCALAR(ge, >=)
SL_COMPARE(eq, ==)
SL_EQUALITY(eq, ==)
SL_COMPARE(ne, !=)
SL_EQUALITY(ne, !=)

// ---- bits and bools

SL_OP(aten___and___bool) { out[0].set_bool(args.boolean(0) && args.boolean(1)); }
SL_OP(aten___and___int) { out[0].set_int(args.integer(0) & args.integer(1)); }
SL_OP(aten___or___bool) { out[0].set_bool(args.boolean(0) || args.boolean(1)); }
SL_OP(aten___or___int) { out[0].set_int(args.integer(0) | args.integer(1)); }
SL_OP(aten___xor___bool) { out[0].set_bool(args.boolean(0) != args.boolean(1)); }
SL_OP(aten___xor___int) { out[0].set_int(args.integer(0) ^ args.integer(1)); }
SL_OP(aten___not__) { out[0].set_bool(!args.boolean(0)); }
SL_OP(aten___lshift___int) { out[0].set_int(shift_left(args.integer(0), args.integer(1))); }
SL_OP(aten___rshift___int) { out[0].set_int(shift_right(args.integer(0), args.integer(1))); }

// ---- conversions

SL_OP(aten_Bool_int) { out[0].set_bool(args.integer(0) != 0); }
SL_OP(aten_Bool_float) { out[0].set_bool(args.number(0) != 0); }
SL_OP(aten_Int_bool) { out[0].set_int(args.boolean(0)); }
SL_OP(aten_Int_float) { out[0].set_int(truncate(args.number(0))); }

int64_t language::to_integer(const Scalar& s) {
  if (s.is_integral()) return s.i;
  bool fits = s.d >= -9223372036854775808.0 && s.d < 9223372036854775808.0;
  if (!fits || (s.kind == Scalar::Complex && s.imag != 0)) {
    raise(ErrorKind::RuntimeError, "value cannot be converted to type int64_t without overflow");
  }
  return int64_t(s.d);
}
SL_OP(aten_Int_Scalar) { out[0].set_int(language::to_integer(args.scalar(0))); }
// For complex numbers the real part, as in PyTorch.
SL_OP(aten_Float_Scalar) { out[0].set_double(args.scalar(0).d); }
SL_OP(aten_Float_int) { out[0].set_double(args.number(0)); }
SL_OP(aten_Float_bool) { out[0].set_double(args.boolean(0)); }

namespace {
// Counts the leading digits of a text and appends them to the number.
size_t read_digits(std::string_view text, int64_t* number) {
  size_t count = 0;
  for (; count < text.size() && unsigned(text[count] - '0') < 10; ++count) {
    *number = scalars::wrap_add(scalars::wrap_mul(*number, 10), text[count] - '0');
  }
  return count;
}
constexpr size_t kExactDigits = 15;  // digits that a float represents exactly
}  // namespace

SL_OP(aten_Int_str) {
  std::string_view text = args.string(0);
  int64_t plain = 0;
  if (text.size() - 1 < kExactDigits && read_digits(text, &plain) == text.size()) {
    return out[0].set_int(plain);
  }
  char* end = nullptr;
  errno = 0;
  long long value = std::strtoll(text.data(), &end, 10);
  bool good = end != text.data() && end == text.data() + text.size() && errno == 0;
  if (!good) {
    raise(ErrorKind::RuntimeError, "invalid literal for int() with base 10: '", text, "'");
  }
  out[0].set_int(value);
}
SL_OP(aten_Float_str) {
  std::string_view text = args.string(0);
  if (text.size() - 1 < kExactDigits + 1) {  // digits and power of ten are exact: one rounding
    constexpr double kTens[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    int64_t number = 0;
    size_t whole = read_digits(text, &number), places = 0;
    if (whole && whole < text.size() && text[whole] == '.') {
      places = read_digits(text.substr(whole + 1), &number);
      ++whole;
    }
    if (whole && whole + places == text.size() && whole <= kExactDigits) {
      return out[0].set_double(double(number) / kTens[places]);
    }
  }
#if defined(__cpp_lib_to_chars)
  double quick;  // for plain decimals; strtod parses all others
  const char *first = text.data(), *last = first + text.size();
  bool plain = first != last && *first >= '0' && *first <= '9';
  std::from_chars_result read = {first, std::errc()};
  if (plain) read = std::from_chars(first, last, quick);
  if (plain && read.ptr == last && read.ec == std::errc()) return out[0].set_double(quick);
#endif
  char* end = nullptr;
  double value = read_number(text.data(), &end);
  if (end == text.data() || end != text.data() + text.size()) {
    raise(ErrorKind::RuntimeError, "could not convert string to float: '", text, "'");
  }
  out[0].set_double(value);
}

SL_OP(aten_Complex_Scalar) { out[0] = Value(args.scalar(0).to_complex()); }
#define SL_COMPLEX(name) \
  SL_OP(aten_Complex_##name) { out[0] = Value(complex(real_of(args[0]), real_of(args[1]))); }
SL_COMPLEX(int_int)
SL_COMPLEX(int_float)
SL_COMPLEX(int_bool)
SL_COMPLEX(float_int)
SL_COMPLEX(float_float)
SL_COMPLEX(float_bool)
SL_COMPLEX(bool_int)
SL_COMPLEX(bool_float)
SL_COMPLEX(bool_bool)
SL_COMPLEX(Tensor_Tensor)
SL_COMPLEX(Tensor_int)
SL_COMPLEX(Tensor_float)
SL_COMPLEX(Tensor_bool)
SL_COMPLEX(int_Tensor)
SL_COMPLEX(float_Tensor)
SL_COMPLEX(bool_Tensor)

// ---- loops over ranges

SL_OP(aten___derive_index) {
  out[0].set_int(wrap_add(args.integer(1), wrap_mul(args.integer(0), args.integer(2))));
}
SL_OP(aten___range_length) {
  out[0].set_int(range_length(args.integer(0), args.integer(1), args.integer(2)));
}

}  // namespace scriptlang
