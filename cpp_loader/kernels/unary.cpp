// Pointwise functions of one operand, for element types without loops in isa/.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernel_set.h"
#include "loop_templates.h"
#include "special.h"

namespace scriptlang::kernels {
namespace {

template <class T>
T clamped(T x, T low, T high) {
  if (x < low) x = low;
  return x > high ? high : x;
}

template <class T>
T log_sigmoid(T x) {
  return std::min(x, T(0)) - std::log1p(std::exp(-std::abs(x)));
}

template <class T>
T softplus(T x, T beta, T threshold) {
  T scaled = x * beta;
  return scaled > threshold ? x : std::log1p(std::exp(scaled)) / beta;
}

template <class T>
T sinc(T x) {
  if (x == T(0)) return T(1);
  T y = x * T(3.14159265358979323846);
  return std::sin(y) / y;
}

template <class T>
T logit(T x, T eps) {
  // If the bounds cross, numbers below the lower one become it, and all others the upper one.
  if (eps >= T(0)) x = x < eps ? eps : x > T(1) - eps ? T(1) - eps : x;
  return std::log(x / (T(1) - x));
}

template <class T>
T round_decimals(T x, int decimals) {
  T scale = std::pow(T(10), T(std::abs(decimals)));
  return decimals >= 0 ? std::nearbyint(x * scale) / scale : std::nearbyint(x / scale) * scale;
}

template <class T>
T nan_to_num(T x, const double* p) {
  if (std::isnan(x)) return constant<T>(p, 0);
  if (std::isinf(x)) return x > 0 ? constant<T>(p, 1) : constant<T>(p, 2);
  return x;
}

template <class T>
T sign_of(T x) {
  return static_cast<T>((T(0) < x) - (x < T(0)));
}

template <class T>
T gelu_tanh(T x) {
  return T(0.5) * x * (T(1) + std::tanh(T(0.7978845608028654) * (x + T(0.044715) * x * x * x)));
}

// X(name, formula of x and the constants p). T is the element type.
// clang-format off
#define SL_COMPLEX_ONLY(X)                                                    \
  X(exp, std::exp(x))                                                         \
  X(sqrt, std::sqrt(x))                                                       \
  X(rsqrt, divided(T(1), std::sqrt(x)))                                               \
  X(sin, std::sin(x))                                                         \
  X(cos, std::cos(x))                                                         \
  X(tanh, std::tanh(x))                                                       \
  X(sigmoid, divided(T(1), T(1) + std::exp(-x)))                                    \
  X(reciprocal, divided(T(1), x))
// clang-format on

// clang-format off
#define SL_DOUBLE_OR_COMPLEX(X)                                               \
  X(log, std::log(x))                                                         \
  X(log10, std::log10(x))                                                     \
  X(tan, std::tan(x))                                                         \
  X(asin, std::asin(x))                                                       \
  X(acos, std::acos(x))                                                       \
  X(atan, std::atan(x))                                                       \
  X(sinh, std::sinh(x))                                                       \
  X(cosh, std::cosh(x))                                                       \
  X(asinh, std::asinh(x))                                                     \
  X(acosh, std::acosh(x))                                                     \
  X(atanh, std::atanh(x))                                                     \
  X(silu, divided(x, T(1) + std::exp(-x)))
// clang-format on

// clang-format off
#define SL_DOUBLE_ONLY(X)                                                     \
  X(exp2, std::exp2(x))                                                       \
  X(expm1, std::expm1(x))                                                     \
  X(log2, std::log2(x))                                                       \
  X(log1p, std::log1p(x))                                                     \
  X(erf, std::erf(x))                                                         \
  X(erfc, std::erfc(x))                                                       \
  X(log_sigmoid, log_sigmoid(x))                                              \
  X(mish, x* std::tanh(softplus(x, T(1), T(20))))                             \
  X(softplus, softplus(x, constant<T>(p, 0), constant<T>(p, 1)))              \
  X(elu, x > T(0) ? x * constant<T>(p, 1)                                     \
                  : std::expm1(x * constant<T>(p, 2)) * constant<T>(p, 0) * constant<T>(p, 1)) \
  X(gelu, T(0.5) * x * (T(1) + std::erf(x * T(0.70710678118654752440))))      \
  X(gelu_tanh, gelu_tanh(x))                                                  \
  X(hardswish, x* clamped(x + T(3), T(0), T(6)) / T(6))                       \
  X(hardsigmoid, clamped(x + T(3), T(0), T(6)) / T(6))                        \
  X(logit, logit(x, constant<T>(p, 0)))
// clang-format on

// clang-format off
#define SL_FLOAT_ONLY(X)                                                      \
  X(digamma, static_cast<T>(digamma(double(x))))                              \
  X(sinc, sinc(x))                                                            \
  X(round_decimals, round_decimals(x, static_cast<int>(p[0])))                \
  X(angle, std::isnan(x) ? x : x < T(0) ? T(3.14159265358979323846) : T(0))
// clang-format on

// Computed in double precision and rounded once. Others are in isa/special_loops.cpp.
// clang-format off
#define SL_SPECIAL(X)                                                         \
  X(erfcx, scaled_erfc(v))                                                    \
  X(log_ndtr, log_ndtr(v))
// clang-format on

// clang-format off
#define SL_RARE_INT(X)                                                        \
  X(sign, sign_of(x))                                                         \
  X(relu, x < T(0) ? T(0) : x)                                                \
  X(threshold, x <= constant<T>(p, 0) ? constant<T>(p, 1) : x)
// clang-format on

// clang-format off
#define X(name, formula)                                \
  struct F_##name {                                     \
    template <class T>                                  \
    static T apply(T x, [[maybe_unused]] const double* p) { \
      return formula;                                   \
    }                                                   \
  };
SL_COMPLEX_ONLY(X)
SL_DOUBLE_OR_COMPLEX(X)
SL_DOUBLE_ONLY(X)
SL_FLOAT_ONLY(X)
SL_RARE_INT(X)
#undef X
// clang-format on

// clang-format off
#define X(name, formula)                                  \
  struct F_##name {                                       \
    template <class T>                                    \
    static T apply(T x, [[maybe_unused]] const double* p) { \
      double v = double(x);                               \
      return static_cast<T>(formula);                     \
    }                                                     \
  };
SL_SPECIAL(X)
#undef X
// clang-format on

// Functions of complex numbers that the C++ library lacks.
template <class R>
std::complex<R> complex_log1p(std::complex<R> z) {
  R x = z.real(), y = z.imag();
  // Near zero, |1 + z|^2 - 1 keeps the digits that |1 + z| loses.
  R real =
      std::abs(z) < R(0.5) ? std::log1p(x * (2 + x) + y * y) / 2 : std::log(std::abs(z + R(1)));
  return {real, std::atan2(y, 1 + x)};
}
template <class R>
std::complex<R> complex_expm1(std::complex<R> z) {
  R s = std::sin(z.imag() / 2), real = std::exp(z.real());
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * s * s, real * std::sin(z.imag())};
}

// clang-format off
#define SL_COMPLEX_TOO(X)                                                     \
  X(log1p, complex_log1p(x))                                                  \
  X(expm1, complex_expm1(x))                                                  \
  X(exp2, std::exp(x * typename T::value_type(0.69314718055994530942)))       \
  X(log2, std::log(x) * typename T::value_type(1.4426950408889634074))        \
  X(sinc, sinc(x))                                                            \
  X(nan_to_num, T(nan_to_num(x.real(), p), nan_to_num(x.imag(), p)))
// clang-format on
// clang-format off
#define X(name, formula)                                    \
  struct FC_##name {                                        \
    template <class T>                                      \
    static T apply(T x, [[maybe_unused]] const double* p) { \
      return formula;                                       \
    }                                                       \
  };
SL_COMPLEX_TOO(X)
#undef X
// clang-format on

// -x, not 0 - x, for floats: the sign of a zero must change.
struct F_neg {
  template <class T>
  static T apply(T x, const double*) {
    if constexpr (std::is_integral_v<T>) return static_cast<T>(Wrapping<T>(0) - Wrapping<T>(x));
    else return -x;
  }
};
struct F_square {
  template <class T>
  static T apply(T x, const double*) {
    return static_cast<T>(Wrapping<T>(x) * Wrapping<T>(x));
  }
};
struct F_abs {
  template <class T>
  static auto apply(T x, const double*) {
    if constexpr (kIsComplex<T> || std::is_floating_point_v<T>) return std::abs(x);
    else return x < T(0) ? static_cast<T>(Wrapping<T>(0) - Wrapping<T>(x)) : x;
  }
};
struct F_same {
  template <class T>
  static T apply(T x, const double*) {
    return x;
  }
};
struct F_conj {
  template <class T>
  static T apply(T x, const double*) {
    return std::conj(x);
  }
};
struct F_arg {
  template <class T>
  static auto apply(T x, const double*) {
    return std::arg(x);
  }
};
struct F_not {
  template <class T>
  static T apply(T x, const double*) {
    return static_cast<T>(~x);
  }
};
struct F_sgn {
  template <class T>
  static T apply(T x, const double*) {
    auto size = std::abs(x);
    return size == 0 ? T(0) : x / size;
  }
};

template <class T>
bool is_nan(T x) {
  return std::isnan(x.real()) || std::isnan(x.imag());
}
template <class T>
bool is_inf(T x) {
  return std::isinf(x.real()) || std::isinf(x.imag());
}

// clang-format off
#define SL_COMPLEX_TESTS(X)                     \
  X(isnan, is_nan(x))                           \
  X(isinf, is_inf(x))                           \
  X(isfinite, !is_nan(x) && !is_inf(x))
// clang-format on
// clang-format off
#define X(name, formula)                        \
  struct F_##name {                             \
    template <class T>                          \
    static bool apply(T x, const double*) {     \
      return formula;                           \
    }                                           \
  };
SL_COMPLEX_TESTS(X)
X(logical_not, x == T())
#undef X
// clang-format on
struct F_false {
  template <class T>
  static bool apply(T, const double*) {
    return false;
  }
};
struct F_true {
  template <class T>
  static bool apply(T, const double*) {
    return true;
  }
};
struct F_negative {
  template <class T>
  static bool apply(T x, const double*) {
    return x < T(0);
  }
};

struct Tables {
  LoopRow of[static_cast<int>(Unary::kCount)] = {};
  constexpr LoopRow& operator[](Unary op) { return of[static_cast<int>(op)]; }

  constexpr Tables() {
    Tables& t = *this;
    // clang-format off
#define X(name, formula) set_unary<F_##name, SL_COMPLEX_TYPES>(t[Unary::k_##name]);
    SL_COMPLEX_ONLY(X)
    SL_COMPLEX_TESTS(X)
#undef X
#define X(name, formula) set_unary<F_##name, double, SL_COMPLEX_TYPES>(t[Unary::k_##name]);
    SL_DOUBLE_OR_COMPLEX(X)
#undef X
#define X(name, formula) set_unary<F_##name, double>(t[Unary::k_##name]);
    SL_DOUBLE_ONLY(X)
#undef X
#define X(name, formula) set_unary<F_##name, SL_FLOAT_TYPES>(t[Unary::k_##name]);
    SL_FLOAT_ONLY(X)
    SL_SPECIAL(X)
#undef X
#define X(name, formula) set_unary<FC_##name, SL_COMPLEX_TYPES>(t[Unary::k_##name]);
    SL_COMPLEX_TOO(X)
#undef X
#define X(name, formula) set_unary<F_##name, SL_RARE_INT_TYPES>(t[Unary::k_##name]);
    SL_RARE_INT(X)
#undef X
    // clang-format on
    for (Unary op : {Unary::k_ceil, Unary::k_floor, Unary::k_round, Unary::k_trunc}) {
      set_unary<F_same, SL_INT_TYPES>(t[op]);
    }
    set_unary<F_same, bool>(t[Unary::k_sign]);
    set_unary<F_sgn, SL_COMPLEX_TYPES>(t[Unary::k_sign]);
#define X(name) set_unary<F_##name, SL_RARE_INT_TYPES, SL_COMPLEX_TYPES>(t[Unary::k_##name]);
    // clang-format off
    X(neg) X(square) X(abs) X(logical_not)
    // clang-format on
#undef X
        set_unary<F_not, SL_RARE_INT_TYPES>(t[Unary::k_bitwise_not]);
    set_unary<F_same, bool, SL_INT_TYPES, SL_FLOAT_TYPES, SL_COMPLEX_TYPES>(t[Unary::k_copy]);
    set_unary<F_conj, SL_COMPLEX_TYPES>(t[Unary::k_conj]);
    set_unary<F_arg, SL_COMPLEX_TYPES>(t[Unary::k_angle]);
    for (Unary op : {Unary::k_isnan, Unary::k_isinf, Unary::k_isposinf, Unary::k_isneginf}) {
      set_unary<F_false, bool, SL_INT_TYPES>(t[op]);
    }
    set_unary<F_true, bool, SL_INT_TYPES>(t[Unary::k_isfinite]);
    for (Unary op : {Unary::k_copy, Unary::k_floor, Unary::k_ceil, Unary::k_trunc, Unary::k_round,
                     Unary::k_isnan, Unary::k_isinf, Unary::k_isfinite}) {
      t[op].sign_free = true;
    }
    set_unary<F_negative, SL_INT_TYPES>(t[Unary::k_signbit]);
    set_unary<F_false, bool>(t[Unary::k_signbit]);
  }
};

#if !defined(SL_ONE_ISA)
// The tables above, with the loops of the instruction set taking precedence.
Tables all_tables() {
  Tables t;
  for (const FastLoop& l : kernels().plain_loops->unary) {
    t.of[l.op].at[static_cast<int>(l.type)] = l.loop;
  }
  const FastLoops& fast = *kernels().loops;
  for (int i = 0; i < static_cast<int>(Unary::kCount); ++i) {
    if (fast.unary_f32[i]) t.of[i].at[static_cast<int>(ScalarType::Float32)] = fast.unary_f32[i];
  }
  return t;
}
#else
constexpr Tables kTables;
// clang-format off
#define X(name) constexpr LoopRow own_##name = kTables.of[static_cast<int>(Unary::k_##name)];
SL_UNARY_NAMES(X)
#undef X
// clang-format on
#endif

}  // namespace

#if !defined(SL_ONE_ISA)
const LoopTable& loops(Unary op) {
  static const Tables tables = all_tables();
  return tables.of[static_cast<int>(op)];
}
#else
Loop LoopTable::operator[](ScalarType t) const {
  if (static_cast<int>(t) >= kLoopTypes) {
    if (own == nullptr || !own->sign_free) return nullptr;
    t = LoopRow::signed_type(t);
  }
  for (const LoopRow* row : {fast, plain, own}) {
    if (row == nullptr) continue;
    if (Loop loop = (*row)[t]) return loop;
  }
  return nullptr;
}

// clang-format off
#define X(name) SL_LOOP_TABLE(unary, name)
SL_UNARY_NAMES(X)
#undef X
// clang-format on
#endif

}  // namespace scriptlang::kernels
