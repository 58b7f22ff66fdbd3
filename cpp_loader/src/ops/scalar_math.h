// Arithmetic of the language's ints and floats, shared by operators and register code.
//
// Ints wrap at 64 bits. // and % round as in Python. Where PyTorch crashes the process (dividing
// the smallest int by -1, a remainder by zero) these functions wrap or raise.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>

#include "values/error.h"
#include "values/plain_text.h"
#include "values/wide.h"

namespace scriptlang::scalars {

inline int64_t wrap_add(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
inline int64_t wrap_sub(int64_t a, int64_t b) { return int64_t(uint64_t(a) - uint64_t(b)); }
inline int64_t wrap_mul(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }
inline int64_t wrap_abs(int64_t v) { return v < 0 ? wrap_sub(0, v) : v; }

// The shift distance is taken modulo 64, as processors do.
inline int64_t shift_left(int64_t a, int64_t b) { return int64_t(uint64_t(a) << (b & 63)); }
inline int64_t shift_right(int64_t a, int64_t b) { return a >> (b & 63); }

// Whether both are in [0, 2^32). These are divided as 32-bit numbers, which takes processors a
// fifth to a half of the time.
inline bool are_short(int64_t a, int64_t b) { return uint64_t(a | b) >> 32 == 0; }
inline int64_t floordiv(int64_t a, int64_t b) {
  if (__builtin_expect(b == 0, 0)) raise(ErrorKind::RuntimeError, "division by 0");
  if (are_short(a, b)) return int64_t(uint32_t(a) / uint32_t(b));
  if (b == -1) return wrap_sub(0, a);
  int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0));
}
inline int64_t remainder(int64_t a, int64_t b) {
  if (__builtin_expect(b == 0, 0)) raise(ErrorKind::RuntimeError, "division by 0");
  if (are_short(a, b)) return int64_t(uint32_t(a) % uint32_t(b));
  if (b == -1) return 0;
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// Floor division by a constant from 2 to 2^31 - 1 that is no power of two, by a multiplication.
// Where the divisor d has l bits, the inverse is 2^(63 + l) / d rounded up. Its error is small
// enough for the quotients of ints from 0 to 2^63 - 1 to be exact. Negative ints are mirrored: ~(~a
// // d).
struct Divisor {
  uint64_t inverse;
  int32_t shift;
  explicit Divisor(int32_t divisor) {
    shift = 31 - __builtin_clz(uint32_t(divisor));
    // 2^(64 + shift) / divisor, computed in two steps of 32 bits each.
    const uint64_t by = uint32_t(divisor), first = uint64_t(1) << (shift + 32);
    inverse = ((first / by) << 32 | ((first % by) << 32) / by) + 1;
  }
  static int64_t quotient(int64_t a, uint64_t inverse, int32_t shift) {
    uint64_t mirrored = uint64_t(a >> 63);
    uint64_t high = Wide::product(uint64_t(a) ^ mirrored, inverse).high;
    return int64_t((high >> shift) ^ mirrored);
  }
  // The multiple of the divisor may be below the smallest int, so that the operations wrap; the
  // remainder itself is in range.
  static int64_t remainder(int64_t a, int64_t divisor, uint64_t inverse, int32_t shift) {
    return wrap_sub(a, wrap_mul(divisor, quotient(a, inverse, shift)));
  }
};
inline double floordiv(double a, double b) { return std::floor(a / b); }
inline double remainder(double a, double b) { return std::fmod(b + std::fmod(a, b), b); }

inline double power(double a, double b) {
  if (a == 0 && b < 0) {
    raise(ErrorKind::RuntimeError, "0.0 cannot be raised to a negative power");
  }
  return std::pow(a, b);
}

// A C cast where that is defined; else the result on x86, which PyTorch returns.
inline int64_t truncate(double v) {
  bool fits = v >= -9223372036854775808.0 && v < 9223372036854775808.0;
  return fits ? int64_t(v) : std::numeric_limits<int64_t>::min();
}

// Converts a float that is a whole number to int (for math.floor and math.ceil); raises
// RuntimeError where int64 cannot hold it.
inline int64_t whole(double v) {
  if (!(v >= -9223372036854775808.0 && v < 9223372036854775808.0)) {
    raise(ErrorKind::RuntimeError, "Cannot convert float ", fixed_text(v), " to integer");
  }
  return int64_t(v);
}

// The number of values of range(low, high, step).
inline int64_t range_length(int64_t low, int64_t high, int64_t step) {
  if (step == 0) raise(ErrorKind::RuntimeError, "range() arg 3 must not be zero");
  uint64_t stride = step > 0 ? uint64_t(step) : 0 - uint64_t(step);
  bool empty = step > 0 ? low >= high : low <= high;
  uint64_t distance = step > 0 ? uint64_t(high) - uint64_t(low) : uint64_t(low) - uint64_t(high);
  return empty ? 0 : int64_t((distance - 1) / stride + 1);
}

// Smith's division, as in PyTorch: division by infinity gives NaN, where C++ gives zero.
inline std::complex<double> divided(std::complex<double> a, std::complex<double> b) {
  double re = std::abs(b.real()), im = std::abs(b.imag());
  if (re == 0 && im == 0) return {a.real() / re, a.imag() / im};
  if (re >= im) {
    double ratio = b.imag() / b.real(), scale = 1 / (b.real() + b.imag() * ratio);
    return {(a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale};
  }
  double ratio = b.real() / b.imag(), scale = 1 / (b.imag() + b.real() * ratio);
  return {(a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale};
}

}  // namespace scriptlang::scalars
