// Pointwise functions of two operands, for element types without loops in isa/.
#include <cmath>
#include <limits>

#include "../src/values/error.h"
#include "kernel_set.h"
#include "loop_templates.h"
#include "special.h"

namespace scriptlang::kernels {
namespace {

template <class T>
constexpr bool kIsBool = std::is_same_v<T, bool>;
template <class T>
constexpr bool kIsInt = std::is_integral_v<T> && !kIsBool<T>;

[[noreturn]] __attribute__((noinline, cold)) void division_by_zero() {
  raise(ErrorKind::RuntimeError, "ZeroDivisionError");
}

// C's quotient. The least number divided by -1 wraps.
template <class T>
T quotient(T a, T b) {
  if (b == T(0)) division_by_zero();
  if constexpr (std::is_signed_v<T>) {
    if (b == T(-1)) return static_cast<T>(Wrapping<T>(0) - Wrapping<T>(a));
  }
  return static_cast<T>(a / b);
}

template <class T>
T div_floor(T a, T b) {
  if constexpr (kIsInt<T>) {
    T q = quotient(a, b);
    if constexpr (std::is_signed_v<T>) {
      if ((a < 0) != (b < 0) && static_cast<T>(Wrapping<T>(q) * Wrapping<T>(b)) != a) q -= T(1);
    }
    return q;
  } else {
    // Python's floor division: exact if a / b is, and consistent with the remainder.
    if (b == T(0)) return a / b;
    T mod = std::fmod(a, b);
    T div = (a - mod) / b;
    if (mod != T(0) && (b < T(0)) != (mod < T(0))) div -= T(1);
    if (div == T(0)) return std::copysign(T(0), a / b);
    T floored = std::floor(div);
    return div - floored > T(0.5) ? floored + T(1) : floored;
  }
}

template <class T>
T div_trunc(T a, T b) {
  if constexpr (kIsInt<T>) return quotient(a, b);
  else return std::trunc(a / b);
}

template <class T>
T c_remainder(T a, T b) {
  if constexpr (kIsInt<T>) {
    if (b == T(0)) division_by_zero();
    if constexpr (std::is_signed_v<T>) {
      if (b == T(-1)) return T(0);
    }
    return static_cast<T>(a % b);
  } else {
    return std::fmod(a, b);
  }
}

template <class T>
T python_remainder(T a, T b) {
  T r = c_remainder(a, b);
  if (r != T(0) && (r < T(0)) != (b < T(0))) r = static_cast<T>(r + b);
  return r;
}

template <class T>
T power(T a, T b) {
  if constexpr (kIsInt<T>) {
    if constexpr (std::is_signed_v<T>) {
      if (b < T(0)) {
        if (a == T(1)) return T(1);
        if (a == T(-1)) return b % T(2) == T(0) ? T(1) : T(-1);
        return T(0);
      }
    }
    Wrapping<T> result = 1, base = static_cast<Wrapping<T>>(a);
    for (auto n = static_cast<std::make_unsigned_t<T>>(b); n != 0; n >>= 1) {
      if (n & 1) result *= base;
      base *= base;
    }
    return static_cast<T>(result);
  } else {
    return std::pow(a, b);
  }
}

template <class T>
T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return a > b ? a : b;
}
template <class T>
T smaller(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return a < b ? a : b;
}

template <class T>
T log_add_exp(T a, T b) {
  if (std::isinf(a) && a == b) return a;
  T m = larger(a, b);
  return m + std::log1p(std::exp(-std::abs(a - b)));
}
template <class T>
T log_add_exp2(T a, T b) {
  if (std::isinf(a) && a == b) return a;
  constexpr T kInverseLog2 = T(1.4426950408889634074);
  T m = larger(a, b);
  return m + std::log1p(std::exp2(-std::abs(a - b))) * kInverseLog2;
}

template <class R>
std::complex<R> complex_log_add_exp(std::complex<R> a, std::complex<R> b) {
  if (std::isinf(a.real()) && a.real() == b.real() && a.real() < 0) return a;
  if (a.real() < b.real()) std::swap(a, b);
  return a + std::log(std::complex<R>(1) + std::exp(b - a));
}

template <class T>
T xlogy(T a, T b) {
  if (std::isnan(b)) return b;
  return a == T(0) ? T(0) : a * std::log(b);
}

template <class T>
T heaviside(T a, T b) {
  if constexpr (kIsBool<T>) return a || b;
  else return a == T(0) ? b : static_cast<T>(a > T(0));
}

// The absolute value. That of the least number wraps to itself, so a common divisor may be
// negative, as in PyTorch.
template <class T>
T magnitude(T a) {
  return a < T(0) ? static_cast<T>(Wrapping<T>(0) - Wrapping<T>(a)) : a;
}
template <class T>
T gcd(T a, T b) {
  a = magnitude(a);
  b = magnitude(b);
  while (a != T(0)) {
    T rest = std::is_signed_v<T> && a == T(-1) ? T(0) : static_cast<T>(b % a);
    b = a;
    a = rest;
  }
  return b;
}
// Computed in at least 32 bits; smaller types take the low bits.
template <class T>
T lcm(T a, T b) {
  using Wide = std::conditional_t<(sizeof(T) < 4), int32_t, T>;
  T g = gcd(a, b);
  if (g == T(0)) return T(0);
  Wide product = static_cast<Wide>(Wrapping<Wide>(quotient(a, g)) * Wrapping<Wide>(b));
  return static_cast<T>(magnitude(product));
}

template <class T>
T shift_left(T a, T b) {
  if (b < T(0) || static_cast<uint64_t>(b) >= sizeof(T) * 8) return T(0);
  return static_cast<T>(Wrapping<T>(a) << b);
}
template <class T>
T shift_right(T a, T b) {
  constexpr int kLast = sizeof(T) * 8 - std::is_signed_v<T>;
  if (b < T(0) || static_cast<uint64_t>(b) >= static_cast<uint64_t>(kLast)) {
    return std::is_signed_v<T> ? static_cast<T>(a >> (sizeof(T) * 8 - 1)) : T(0);
  }
  return static_cast<T>(a >> b);
}

template <class T>
T add(T a, T b) {
  if constexpr (kIsBool<T>) return a || b;
  else return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b));
}
template <class T>
T multiply(T a, T b) {
  if constexpr (kIsBool<T>) return a && b;
  else return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b));
}

// The factor `alpha` of add_scaled. Integer types read it from the second slot, which holds it
// exactly as an int64.
template <class T>
T alpha(const double* p) {
  if constexpr (kIsInt<T> || kIsBool<T>) {
    int64_t exact;
    __builtin_memcpy(&exact, p + 1, sizeof exact);
    return static_cast<T>(exact);
  } else if constexpr (kIsComplex<T>) {
    return T(static_cast<typename T::value_type>(p[0]), static_cast<typename T::value_type>(p[2]));
  } else {
    return static_cast<T>(p[0]);
  }
}

// The derivatives of gelu and of its approximation by tanh.
template <class T>
T gelu_slope(T x) {
  T below = T(0.5) * (T(1) + std::erf(x * T(0.70710678118654752440)));
  return below + x * T(0.39894228040143267794) * std::exp(T(-0.5) * x * x);
}
template <class T>
T gelu_tanh_slope(T x) {
  constexpr T kWidth = T(0.79788456080286535588), kCubic = T(0.044715);
  T inner = std::tanh(kWidth * (x + kCubic * x * x * x));
  T steep = kWidth * (T(1) + T(3) * kCubic * x * x);
  return T(0.5) * (T(1) + inner) + T(0.5) * x * (T(1) - inner * inner) * steep;
}

// X(name, formula of x and y)
// clang-format off
#define SL_ANY_BINARY(X)                                \
  X(add, add(x, y))                                     \
  X(mul, multiply(x, y))                                \
  X(add_scaled, add(x, multiply(alpha<T>(p), y)))
// clang-format on

// clang-format off
#define SL_REAL_BINARY(X)                               \
  X(div_floor, div_floor(x, y))                         \
  X(div_trunc, div_trunc(x, y))                         \
  X(remainder, python_remainder(x, y))                  \
  X(fmod, c_remainder(x, y))
// clang-format on

// clang-format off
#define SL_ORDER_BINARY(X)                              \
  X(maximum, larger(x, y))                              \
  X(minimum, smaller(x, y))
// clang-format on

// clang-format off
#define SL_FLOAT_BINARY(X)                              \
  X(atan2, std::atan2(x, y))                            \
  X(hypot, std::hypot(x, y))                            \
  X(copysign, std::copysign(x, y))                      \
  X(logaddexp, log_add_exp(x, y))                       \
  X(logaddexp2, log_add_exp2(x, y))                     \
  X(xlogy, xlogy(x, y))                                 \
  X(gelu_back, x * gelu_slope(y))                       \
  X(gelu_tanh_back, x * gelu_tanh_slope(y))
// clang-format on

// Computed in double precision and rounded once. Polynomials are in isa/special_loops.cpp.
// clang-format off
#define SL_SPECIAL_BINARY(X)                                                  \
  X(zeta, zeta(v, w))                                                         \
  X(igamma, lower_gamma(v, w))                                                \
  X(igammac, upper_gamma(v, w))
// clang-format on

// clang-format off
#define SL_INT_BINARY(X)                                \
  X(gcd, gcd(x, y))                                     \
  X(lcm, lcm(x, y))
// clang-format on

// clang-format off
#define SL_SHIFTS(X)                                    \
  X(lshift, shift_left(x, y))                           \
  X(rshift, shift_right(x, y))
// clang-format on

// clang-format off
#define SL_BIT_BINARY(X)                                \
  X(bitwise_and, static_cast<T>(x & y))                 \
  X(bitwise_or, static_cast<T>(x | y))                  \
  X(bitwise_xor, static_cast<T>(x ^ y))
// clang-format on

// clang-format off
#define X(name, formula)                                            \
  struct F_##name {                                                 \
    template <class T>                                              \
    static T apply(T x, T y, [[maybe_unused]] const double* p) {    \
      return formula;                                               \
    }                                                               \
  };
SL_ANY_BINARY(X)
SL_REAL_BINARY(X)
SL_ORDER_BINARY(X)
SL_FLOAT_BINARY(X)
SL_INT_BINARY(X)
SL_SHIFTS(X)
SL_BIT_BINARY(X)
X(sub, static_cast<T>(Wrapping<T>(x) - Wrapping<T>(y)))
X(div, divided(x, y))
X(pow, power(x, y))
X(heaviside, heaviside(x, y))
X(nextafter, std::nextafter(x, y))
#undef X
#define X(name, formula)                             \
  struct F_##name {                                  \
    template <class T>                               \
    static T apply(T x, T y, const double*) {        \
      double v = double(x), w = double(y);           \
      return static_cast<T>(formula);                \
    }                                                \
  };
SL_SPECIAL_BINARY(X)
#undef X
// clang-format on
struct F_complex_logaddexp {
  template <class T>
  static T apply(T x, T y, const double*) {
    return complex_log_add_exp(x, y);
  }
};
struct F_squared_difference {
  template <class T>
  static T apply(T x, T y, const double*) {
    Wrapping<T> d = Wrapping<T>(x) - Wrapping<T>(y);
    return static_cast<T>(d * d);
  }
};

#define SL_EQUALITY(X) X(eq, x == y) X(ne, x != y)
#define SL_ORDER(X) X(lt, x < y) X(le, x <= y) X(gt, x > y) X(ge, x >= y)
// clang-format off
#define SL_LOGICAL(X)                         \
  X(logical_and, (x != T()) && (y != T()))    \
  X(logical_or, (x != T()) || (y != T()))     \
  X(logical_xor, (x != T()) != (y != T()))
// clang-format on
// clang-format off
#define X(name, formula)                         \
  struct F_##name {                              \
    template <class T>                           \
    static bool apply(T x, T y, const double*) { \
      return formula;                            \
    }                                            \
  };
SL_EQUALITY(X)
SL_ORDER(X)
SL_LOGICAL(X)
#undef X
// clang-format on

struct Tables {
  LoopRow of[static_cast<int>(Binary::kCount)] = {};
  constexpr LoopRow& operator[](Binary op) { return of[static_cast<int>(op)]; }

  constexpr Tables() {
    Tables& t = *this;
    // clang-format off
#define X(name, formula) \
  set_binary<F_##name, SL_RARE_INT_TYPES, SL_COMPLEX_TYPES>(t[Binary::k_##name]);
    SL_ANY_BINARY(X)
    SL_EQUALITY(X)
    SL_LOGICAL(X)
    X(sub, )
#undef X
#define X(name, formula) set_binary<F_##name, SL_RARE_INT_TYPES>(t[Binary::k_##name]);
    SL_ORDER(X)
    SL_ORDER_BINARY(X)
    SL_SHIFTS(X)
    SL_BIT_BINARY(X)
    X(squared_difference, )
#undef X
#define X(name, formula) set_binary<F_##name, SL_INT_TYPES, double>(t[Binary::k_##name]);
    SL_REAL_BINARY(X)
#undef X
#define X(name, formula) set_binary<F_##name, double>(t[Binary::k_##name]);
    SL_FLOAT_BINARY(X)
#undef X
#define X(name, formula) set_binary<F_##name, SL_FLOAT_TYPES>(t[Binary::k_##name]);
    SL_SPECIAL_BINARY(X)
    X(nextafter, )
#undef X
#define X(name, formula) set_binary<F_##name, SL_INT_TYPES>(t[Binary::k_##name]);
    SL_INT_BINARY(X)
#undef X
    // clang-format on
    set_binary<F_heaviside, bool, SL_INT_TYPES, SL_FLOAT_TYPES>(t[Binary::k_heaviside]);
    set_binary<F_complex_logaddexp, SL_COMPLEX_TYPES>(t[Binary::k_logaddexp]);
    set_binary<F_div, SL_COMPLEX_TYPES>(t[Binary::k_div]);
    set_binary<F_pow, SL_INT_TYPES, double, SL_COMPLEX_TYPES>(t[Binary::k_pow]);
    set_binary<F_maximum, SL_RARE_INT_TYPES>(t[Binary::k_fmax]);
    set_binary<F_minimum, SL_RARE_INT_TYPES>(t[Binary::k_fmin]);
    for (Binary op : {Binary::k_mul, Binary::k_eq, Binary::k_ne, Binary::k_bitwise_and,
                      Binary::k_bitwise_or, Binary::k_bitwise_xor}) {
      t[op].sign_free = true;
    }
  }
};

#if !defined(SL_ONE_ISA)
// The tables above, with the loops of the instruction set taking precedence.
Tables all_tables() {
  Tables t;
  for (const FastLoop& l : kernels().plain_loops->binary) {
    t.of[l.op].at[static_cast<int>(l.type)] = l.loop;
  }
  const FastLoops& fast = *kernels().loops;
  for (int i = 0; i < static_cast<int>(Binary::kCount); ++i) {
    if (fast.binary_f32[i]) t.of[i].at[static_cast<int>(ScalarType::Float32)] = fast.binary_f32[i];
    if (fast.binary_f64[i]) t.of[i].at[static_cast<int>(ScalarType::Float64)] = fast.binary_f64[i];
  }
  return t;
}
#else
constexpr Tables kTables;
// clang-format off
#define X(name) constexpr LoopRow own_##name = kTables.of[static_cast<int>(Binary::k_##name)];
SL_BINARY_NAMES(X)
#undef X
// clang-format on
#endif

}  // namespace

#if !defined(SL_ONE_ISA)
const LoopTable& loops(Binary op) {
  static const Tables tables = all_tables();
  return tables.of[static_cast<int>(op)];
}
#else
// clang-format off
#define X(name) SL_LOOP_TABLE(binary, name)
SL_BINARY_NAMES(X)
#undef X
// clang-format on
#endif

}  // namespace scriptlang::kernels
