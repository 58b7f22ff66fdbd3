// Pointwise functions of three operands, for element types without loops in isa/.
#include <cmath>

#include "kernel_set.h"
#include "loop_templates.h"

namespace scriptlang::kernels {
namespace {

template <class T>
T scale(const double* p) {
  if constexpr (std::is_integral_v<T>) {
    int64_t exact;
    __builtin_memcpy(&exact, p + 1, sizeof exact);
    return static_cast<T>(exact);
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(p[0]);
  } else {
    return T(p[0], p[2]);
  }
}

struct F_where {
  template <class T>
  static T apply(bool condition, T y, T z, const double*) {
    return condition ? y : z;
  }
};

struct F_lerp {
  template <class T>
  static T apply(T x, T y, T weight, const double*) {
    // Interpolates from the nearer end, so that it is exact at both.
    return std::abs(weight) < 0.5 ? x + weight * (y - x) : y - (y - x) * (T(1) - weight);
  }
};

struct F_addcmul {
  template <class T>
  static T apply(T x, T y, T z, const double* p) {
    using W = Wrapping<T>;
    return static_cast<T>(W(x) + W(scale<T>(p)) * W(y) * W(z));
  }
};

struct F_addcdiv {
  template <class T>
  static T apply(T x, T y, T z, const double* p) {
    return x + scale<T>(p) * (y / z);
  }
};

struct F_clamp {
  template <class T>
  static T apply(T x, T low, T high, const double*) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(low)) return low;
      if (std::isnan(high)) return high;
    }
    if (x < low) x = low;
    return x > high ? high : x;
  }
};

template <class... T>
constexpr void set_where(LoopRow& table) {
  (set_loop<T>(table, &ternary_loop<bool, T, F_where>), ...);
}

struct Tables {
  LoopRow of[static_cast<int>(Ternary::kCount)] = {};
  constexpr LoopRow& operator[](Ternary op) { return of[static_cast<int>(op)]; }

  constexpr Tables() {
    Tables& t = *this;
    set_where<bool, uint8_t, SL_RARE_INT_TYPES, complex128>(t[Ternary::k_where]);
    t[Ternary::k_where].sign_free = true;
    set_ternary<F_lerp, SL_COMPLEX_TYPES>(t[Ternary::k_lerp]);
    set_ternary<F_addcmul, SL_RARE_INT_TYPES, SL_COMPLEX_TYPES>(t[Ternary::k_addcmul]);
    set_ternary<F_addcdiv, SL_COMPLEX_TYPES>(t[Ternary::k_addcdiv]);
    set_ternary<F_clamp, SL_RARE_INT_TYPES>(t[Ternary::k_clamp_tensor]);
  }
};

#if !defined(SL_ONE_ISA)
// The tables above, with the loops of the instruction set taking precedence.
Tables all_tables() {
  Tables t;
  const FastLoops& fast = *kernels().loops;
  for (ScalarType type : {ScalarType::Float32, ScalarType::Int32}) {
    t[Ternary::k_where].at[static_cast<int>(type)] = fast.where_4;
  }
  for (ScalarType type : {ScalarType::Float64, ScalarType::Int64, ScalarType::Complex64}) {
    t[Ternary::k_where].at[static_cast<int>(type)] = fast.where_8;
  }
  for (const FastLoop& l : kernels().plain_loops->ternary) {
    t.of[l.op].at[static_cast<int>(l.type)] = l.loop;
  }
  return t;
}
#else
constexpr Tables kTables;
// clang-format off
#define X(name) constexpr LoopRow own_##name = kTables.of[static_cast<int>(Ternary::k_##name)];
SL_TERNARY_NAMES(X)
#undef X
// clang-format on
#endif

}  // namespace

#if !defined(SL_ONE_ISA)
const LoopTable& loops(Ternary op) {
  static const Tables tables = all_tables();
  return tables.of[static_cast<int>(op)];
}
#else
// clang-format off
#define X(name) SL_LOOP_TABLE(ternary, name)
SL_TERNARY_NAMES(X)
#undef X
// clang-format on
#endif

}  // namespace scriptlang::kernels
