// Special functions of float32 and float64, both computed in double, one block of elements at a
// time. Each step is a loop over the block, which the compiler vectorises; the coefficients per
// interval come from tables (special_tables.h). All instruction sets give the same bits, because no
// multiply-adds are fused here.
#include "../stop.h"
#include "../special.h"
#include "../special_tables.h"
#include "math_full.h"
#include "wide_loops.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr int kBlock = 64;
constexpr double kInfinity = __builtin_inf();
constexpr double kRootPi = 1.772453850905516, kTwoOverPi = 0.6366197723675814;

struct alignas(64) Block {
  double at[kBlock];
};

// Calls f(i) for each element; the calls are independent.
template <class F>
SL_INLINE void each(F f) {
  SL_INDEPENDENT
  for (int i = 0; i < kBlock; ++i) f(i);
}

// Evaluates the polynomial of the interval of u, 0 <= u <= 16; for a NaN the result is arbitrary.
SL_NOINLINE void piecewise(const double (*table)[16], int degree, const Block& u, Block& y) {
  constexpr double kMost = 15.999999999999998;
#if defined(__AVX512F__)
  constexpr int kTogether = 4;
  for (int i = 0; i < kBlock; i += 8 * kTogether) {
    __m512i index[kTogether];
    __m512d t[kTogether], sum[kTogether];
    SL_UNROLL for (int j = 0; j < kTogether; ++j) {
      __m512d x = _mm512_load_pd(u.at + i + 8 * j), whole;
      x = _mm512_maskz_min_pd(0xff, x, _mm512_set1_pd(kMost));
      index[j] = _mm512_maskz_cvttpd_epi64(0xff, x);
      whole = _mm512_maskz_cvtepi64_pd(0xff, index[j]);
      t[j] = _mm512_sub_pd(_mm512_sub_pd(x, whole), _mm512_set1_pd(0.5));
      sum[j] = _mm512_setzero_pd();
    }
    for (int d = degree; d >= 0; --d) {
      const __m512d low = _mm512_loadu_pd(table[d]), high = _mm512_loadu_pd(table[d] + 8);
      SL_UNROLL for (int j = 0; j < kTogether; ++j) {
        __m512d next = _mm512_permutex2var_pd(low, index[j], high);
        sum[j] = _mm512_add_pd(_mm512_mul_pd(sum[j], t[j]), next);
      }
    }
    SL_UNROLL for (int j = 0; j < kTogether; ++j) _mm512_store_pd(y.at + i + 8 * j, sum[j]);
  }
#else
  constexpr int kTogether = 4;
  for (int i = 0; i < kBlock; i += kTogether) {
    const double* row[kTogether];
    double t[kTogether], sum[kTogether] = {};
    for (int j = 0; j < kTogether; ++j) {
      const double x = u.at[i + j] < kMost ? u.at[i + j] : kMost;
      const int64_t index = static_cast<int64_t>(x);
      t[j] = x - static_cast<double>(index) - 0.5;
      row[j] = &table[degree][index];
    }
    for (int d = degree; d >= 0; --d) {
      for (int j = 0; j < kTogether; ++j, row[j - 1] -= 16) sum[j] = sum[j] * t[j] + *row[j];
    }
    for (int j = 0; j < kTogether; ++j) y.at[i + j] = sum[j];
  }
#endif
}
template <int N>
SL_INLINE void piecewise(const double (&table)[N][16], const Block& u, Block& y) {
  piecewise(table, N - 1, u, y);
}

// ---- elementary functions of a block

SL_NOINLINE void exponentials(const Block& x, Block& y) {
  each([&](int i) SL_ALWAYS { y.at[i] = exp_full(x.at[i]); });
}
// Logarithms of any positive numbers; -inf at zero.
SL_NOINLINE void logarithms(const Block& x, Block& y) {
  each([&](int i) SL_ALWAYS {
    const double v = x.at[i];
    const bool tiny = v < 0x1p-1022;
    double r = log_full(tiny ? v * 0x1p60 : v);
    r = tiny ? r - 41.58883083359672 : r;
    y.at[i] = v == kInfinity ? v : r;
  });
}
SL_NOINLINE void waves(const Block& x, Block& sine, Block& cosine) {
  each([&](int i) SL_ALWAYS { sine.at[i] = sine_full<0>(x.at[i]); });
  each([&](int i) SL_ALWAYS { cosine.at[i] = sine_full<1>(x.at[i]); });
  int beyond = 0;
  for (int i = 0; i < kBlock; ++i) beyond |= !(absolute(x.at[i]) < kExactTurns);
  if (!beyond) return;
  for (int i = 0; i < kBlock; ++i) {
    if (absolute(x.at[i]) < kExactTurns) continue;
    sine.at[i] = __builtin_sin(x.at[i]);
    cosine.at[i] = __builtin_cos(x.at[i]);
  }
}

// ---- Bessel functions

// Maps |x| to 16 intervals: eight below `limit`, and eight of limit / |x| above.
SL_NOINLINE void halves(double limit, const Block& x, Block& u) {
  const double scale = 8.0 / limit;
  each([&](int i) SL_ALWAYS {
    const double t = absolute(x.at[i]);
    u.at[i] = t < limit ? t * scale : 8.0 + 8.0 * (limit / t);
  });
}

template <int Order, bool Scaled>
void modified_i(const Block& x, Block& y) {
  Block u, value;
  halves(8.0, x, u);
  piecewise(Order == 0 ? kI0 : kI1, u, value);
  each([&](int i) SL_ALWAYS {
    const double v = x.at[i], t = absolute(v), root = 1.0 / __builtin_sqrt(t);
    double r = value.at[i] * (t < 8.0 ? (Order == 0 ? 1.0 : t) : root);
    y.at[i] = v != v ? v : Order == 1 && v < 0.0 ? -r : r;
    u.at[i] = t;
  });
  if (Scaled) return;
  exponentials(u, u);
  each([&](int i) SL_ALWAYS { y.at[i] *= u.at[i]; });
}

template <int Order, bool Scaled>
void modified_k(const Block& x, Block& y) {
  Block u, low, logarithm, power, value;
  // The table has scaled values of I, so they are multiplied by the exponential.
  each([&](int i) SL_ALWAYS {
    const double v = x.at[i], t = absolute(v);
    u.at[i] = t < 2.0 ? t : 2.0;
    power.at[i] = t < 2.0 ? t : -t;
    low.at[i] = v * 0.5;
  });
  piecewise(Order == 0 ? kI0 : kI1, u, value);
  exponentials(power, power);
  logarithms(low, logarithm);
  halves(2.0, x, u);
  piecewise(Order == 0 ? kK0 : kK1, u, low);
  each([&](int i) SL_ALWAYS {
    const double v = x.at[i], e = power.at[i], l = logarithm.at[i] * (value.at[i] * e);
    double near = Order == 0 ? low.at[i] - l : 1.0 / v + v * (low.at[i] + l);
    double far = low.at[i] / __builtin_sqrt(v) * (Scaled ? 1.0 : e);
    double r = v < 2.0 ? near * (Scaled ? e : 1.0) : far;
    r = v == 0.0 ? kInfinity : r;
    y.at[i] = v >= 0.0 ? r : __builtin_nan("");
  });
}

// Beyond 8, J and Y are waves whose amplitudes are in one table: times sqrt(pi x) they are a sin(x)
// + b cos(x), where a and b are combined from P + Q and P - Q.
struct Hankel {
  Block sine, cosine, sum, difference;
  SL_NOINLINE Hankel(int order, const Block& x) {
    Block u;
    each([&](int i) SL_ALWAYS {
      const double t = absolute(x.at[i]);
      u.at[i] = t < 8.0 ? 8.0 : 64.0 / t;
    });
    const double (*table)[16] = order == 0 ? kWave0 : kWave1;
    each([&](int i) SL_ALWAYS { u.at[i] = u.at[i] < 8.0 ? u.at[i] : 7.999999999999999; });
    piecewise(table, 8, u, sum);
    each([&](int i) SL_ALWAYS { u.at[i] += 8.0; });
    piecewise(table, 8, u, difference);
    each([&](int i) SL_ALWAYS { u.at[i] = absolute(x.at[i]); });
    waves(u, sine, cosine);
    each([&](int i) SL_ALWAYS {
      const double scale = 1.0 / (kRootPi * __builtin_sqrt(u.at[i]));
      sum.at[i] *= scale;
      difference.at[i] *= scale;
    });
  }
};

SL_INLINE bool any_beyond(const Block& x) {
  int beyond = 0;
  for (int i = 0; i < kBlock; ++i) beyond |= !(absolute(x.at[i]) < 8.0);
  return beyond != 0;
}
// J below 8; for order 1 divided by x.
template <int Order>
SL_INLINE void near_j(const Block& x, Block& u, Block& value) {
  each([&](int i) SL_ALWAYS { u.at[i] = absolute(x.at[i]) * 2.0; });
  piecewise(Order == 0 ? kJ0 : kJ1, u, value);
}

template <int Order>
void bessel_j(const Block& x, Block& y) {
  Block u, value;
  near_j<Order>(x, u, value);
  each([&](int i) SL_ALWAYS { y.at[i] = Order == 0 ? value.at[i] : value.at[i] * x.at[i]; });
  if (!any_beyond(x)) return;
  const Hankel h(Order, x);
  each([&](int i) SL_ALWAYS {
    const double v = x.at[i], s = h.sine.at[i], c = h.cosine.at[i];
    double far = Order == 0 ? h.sum.at[i] * c + h.difference.at[i] * s
                            : h.sum.at[i] * s - h.difference.at[i] * c;
    far = Order == 1 && v < 0.0 ? -far : far;
    y.at[i] = absolute(v) < 8.0 ? y.at[i] : far;
  });
}

template <int Order>
void bessel_y(const Block& x, Block& y) {
  Block u, value, logarithm, rest;
  near_j<Order>(x, u, value);
  piecewise(Order == 0 ? kY0 : kY1, u, rest);
  logarithms(x, logarithm);
  each([&](int i) SL_ALWAYS {
    const double v = x.at[i], l = kTwoOverPi * logarithm.at[i] * value.at[i];
    double near = Order == 0 ? l + rest.at[i] : v * (l + rest.at[i]) - kTwoOverPi / v;
    near = v == 0.0 ? -kInfinity : near;
    y.at[i] = v >= 0.0 ? near : __builtin_nan("");
  });
  if (!any_beyond(x)) return;
  const Hankel h(Order, x);
  each([&](int i) SL_ALWAYS {
    const double v = x.at[i], s = h.sine.at[i], c = h.cosine.at[i];
    double far = Order == 0 ? h.sum.at[i] * s - h.difference.at[i] * c
                            : -(h.difference.at[i] * s + h.sum.at[i] * c);
    y.at[i] = v >= 8.0 ? far : y.at[i];
  });
}

void spherical_j(const Block& x, Block& y) {
  Block sine, cosine;
  waves(x, sine, cosine);
  each([&](int i) SL_ALWAYS {
    const double v = x.at[i], z = v * v;
    double near = 1.0 - z / 6.0 * (1.0 - z / 20.0 * (1.0 - z / 42.0 * (1.0 - z / 72.0)));
    double r = absolute(v) < 0.1 ? near : sine.at[i] / v;
    y.at[i] = absolute(v) == kInfinity ? 0.0 : r;
  });
}

void airy(const Block& x, Block& y) {
  constexpr double kAtTwo = 1.8856180831641267, kAtEight = 15.084944665313014;
  Block u, near, far, other, z, power, sine, cosine;
  each([&](int i) SL_ALWAYS {
    const double v = x.at[i], t = absolute(v);
    z.at[i] = t * __builtin_sqrt(t) * (2.0 / 3.0);
    power.at[i] = v > 0.0 ? -z.at[i] : 0.0;
    u.at[i] = v < -8.0 ? 0.0 : (v + 8.0) * 1.6;
  });
  piecewise(kAiry, u, near);
  exponentials(power, power);
  each([&](int i) SL_ALWAYS {
    const double w = x.at[i] > 0.0 ? 8.0 * (kAtTwo / z.at[i]) : 4.0 * (kAtEight / z.at[i]);
    const double most = x.at[i] > 0.0 ? 7.999999999999999 : 3.9999999999999996;
    u.at[i] = (w < most ? w : most) + (x.at[i] > 0.0 ? 0.0 : 8.0);
  });
  piecewise(kAiryFar, u, far);
  each([&](int i) SL_ALWAYS { u.at[i] += 4.0; });
  piecewise(kAiryFar, u, other);
  waves(z, sine, cosine);
  each([&](int i) SL_ALWAYS {
    const double v = x.at[i], root = __builtin_sqrt(__builtin_sqrt(absolute(v)));
    double wave = far.at[i] * sine.at[i] + other.at[i] * cosine.at[i];
    double r = (v > 0.0 ? far.at[i] * power.at[i] : wave) / root;
    r = v < 2.0 && v >= -8.0 ? near.at[i] : r;
    y.at[i] = absolute(v) < kInfinity ? r : __builtin_nan("");
  });
}

// ---- the normal distribution, entropy, gamma functions

// The inverse of erf at t, given -log(1 - t^2).
SL_NOINLINE void inverse_erf(const Block& t, const Block& minus_log, Block& y) {
  Block u, far;
  each([&](int i) SL_ALWAYS {
    const double w = minus_log.at[i];
    u.at[i] = __builtin_sqrt(w > 0.0 ? w : 0.0) * 2.5;
  });
  piecewise(kInverseErf, u, y);
  int beyond = 0;
  for (int i = 0; i < kBlock; ++i) beyond |= u.at[i] >= 16.0;
  if (beyond) {
    each([&](int i) SL_ALWAYS {
      const double v = (u.at[i] * 0.4 - 6.4) * (16.0 / 21.2);
      far.at[i] = u.at[i];
      u.at[i] = v > 0.0 ? v : 0.0;
    });
    Block value;
    piecewise(kFarInverseErf, u, value);
    each([&](int i) SL_ALWAYS { y.at[i] = far.at[i] >= 16.0 ? value.at[i] : y.at[i]; });
  }
  each([&](int i) SL_ALWAYS {
    const double v = t.at[i];
    double r = v * y.at[i];
    r = absolute(v) == 1.0 && minus_log.at[i] == kInfinity ? v * kInfinity : r;
    y.at[i] = absolute(v) <= 1.0 ? r : __builtin_nan("");
  });
}
void erfinv(const Block& x, Block& y) {
  Block w;
  each([&](int i) SL_ALWAYS { w.at[i] = (1.0 - x.at[i]) * (1.0 + x.at[i]); });
  logarithms(w, w);
  each([&](int i) SL_ALWAYS { w.at[i] = -w.at[i]; });
  inverse_erf(x, w, y);
}
// ndtri(p) = sqrt(2) erfinv(2 p - 1), where 1 - (2 p - 1)^2 = 4 p (1 - p).
void ndtri(const Block& x, Block& y) {
  Block t, low, high;
  each([&](int i) SL_ALWAYS {
    t.at[i] = x.at[i] + x.at[i] - 1.0;
    low.at[i] = x.at[i];
    high.at[i] = 4.0 * (1.0 - x.at[i]);
  });
  logarithms(low, low);
  logarithms(high, high);
  each([&](int i) SL_ALWAYS { low.at[i] = -(low.at[i] + high.at[i]); });
  inverse_erf(t, low, y);
  each([&](int i) SL_ALWAYS {
    const double r = y.at[i] * 1.4142135623730951;
    y.at[i] = x.at[i] >= 0.0 && x.at[i] <= 1.0 ? r : __builtin_nan("");
  });
}
void entr(const Block& x, Block& y) {
  Block logarithm;
  logarithms(x, logarithm);
  each([&](int i) SL_ALWAYS {
    const double v = x.at[i], r = -v * logarithm.at[i];
    y.at[i] = v > 0.0 ? r : v == 0.0 ? 0.0 : v != v ? v : -kInfinity;
  });
}

void lgamma(const Block& x, Block& y) {
  constexpr double kStirling[] = {
      0.08333333333333333,   -0.002777777777777778,  0.0007936507936507937, -0.0005952380952380953,
      0.0008417508417508417, -0.0019175269175269176, 0.00641025641025641};
  Block u, value, logarithm;
  each([&](int i) SL_ALWAYS {
    const double t = x.at[i] < 1.0 ? x.at[i] + 1.0 : x.at[i];
    const double v = t < 3.0 ? (t - 1.0) * 4.0 : t + 5.0;
    u.at[i] = v > 0.0 ? v : 0.0;
  });
  piecewise(kGamma, u, value);
  logarithms(x, logarithm);
  int negative = 0;
  each([&](int i) SL_ALWAYS {
    const double v = x.at[i], l = logarithm.at[i], t = v < 1.0 ? v + 1.0 : v;
    const double near = (t - 1.0) * (t - 2.0) * value.at[i];
    const double inverse = 1.0 / v;
    double far =
        (v - 0.5) * l - v + 0.9189385332046728 + inverse * polynomial(kStirling, inverse * inverse);
    double r = v < 11.0 ? (v < 1.0 ? near - l : near) : far;
    y.at[i] = v == kInfinity ? v : v != v ? v : r + 0.0;
  });
  for (int i = 0; i < kBlock; ++i) negative |= x.at[i] < 0.0;
  for (int i = 0; negative && i < kBlock; ++i) {
    if (x.at[i] < 0.0) y.at[i] = log_gamma(x.at[i]);
  }
}

// The sum of log gamma(x - j / 2) for j < p, plus a constant; differences are rounded to T.
template <class T>
void multivariate(const Block& x, double p, Block& y) {
  Block at, value;
  const double constant = p * (p - 1.0) * 0.2861824714623501;  // log(pi) / 4
  each([&](int i) SL_ALWAYS { y.at[i] = constant; });
  for (double j = 0.0; j < p; j += 1.0) {
    each([&](int i) SL_ALWAYS { at.at[i] = static_cast<T>(x.at[i] - j * 0.5); });
    lgamma(at, value);
    each([&](int i) SL_ALWAYS { y.at[i] += value.at[i]; });
  }
}

// Eight steps of the recurrence, then the asymptotic series; below 1/2 the reflection formula.
void trigamma(const Block& x, Block& y) {
  constexpr double kSeries[] = {0.16666666666666666,  -0.03333333333333333, 0.023809523809523808,
                                -0.03333333333333333, 0.07575757575757576,  -0.2531135531135531,
                                1.1666666666666667,   -7.092156862745098,   54.971177944862156};
  Block angle, sine, cosine;
  each([&](int i) SL_ALWAYS { angle.at[i] = kPi * x.at[i]; });
  waves(angle, sine, cosine);
  each([&](int i) SL_ALWAYS {
    const double v = x.at[i], z = v < 0.5 ? 1.0 - v : v;
    double sum = 0.0;
    SL_UNROLL for (int k = 0; k < 8; k += 2) {
      const double a = z + k, b = z + (k + 1), p = a * b;
      sum += (a * a + b * b) / (p * p);
    }
    const double w = 1.0 / (z + 8.0), square = w * w;
    sum += w + square * (0.5 + w * polynomial(kSeries, square));
    // For large z only the first term counts, and squares of products would overflow.
    sum = z > 1e70 ? w : sum;
    const double ratio = kPi / sine.at[i];
    y.at[i] = v < 0.5 ? ratio * ratio - sum : sum;
  });
}

void polygammas(const Block& x, double order, Block& y) {
  if (order == 1.0) return trigamma(x, y);
  for (int i = 0; i < kBlock; ++i) y.at[i] = polygamma(x.at[i], order);
}

// ---- orthogonal polynomials, by their recurrences (Abramowitz and Stegun, table 22.7)

enum class Family { kChebyshev, kHermite, kHermiteE, kLaguerre, kLegendre };
struct Orthogonal {
  Family family;
  double first, rest;    // the value of degree 1 is first * x + rest
  bool shifted = false;  // a polynomial of 2 x - 1
};

// Advances `value` to degree k + 1. Values above `largest` in size become infinite, so that later
// ones become NaN, as they would in the element type.
template <class F>
SL_INLINE void next_degree(double k, const Block& degree, double largest, Block& before,
                           Block& value, F f) {
  each([&](int i) SL_ALWAYS {
    const double last = value.at[i], made = f(i, last, before.at[i]);
    const double next = made > largest    ? __builtin_inf()
                        : made < -largest ? -__builtin_inf()
                                          : made;
    before.at[i] = last;
    value.at[i] = k < degree.at[i] ? next : last;
  });
}

// Evaluates the polynomial of degree `degree`, truncated to an integer; zero for degrees below 0
// and beyond kMostDegrees.
SL_NOINLINE void orthogonal(const Orthogonal& p, double largest, Block& x, Block& degree,
                            Block& value) {
  constexpr double kMostDegrees = 1 << 20;
  Block before;
  double most = 0.0;
  each([&](int i) SL_ALWAYS {
    const double n = __builtin_trunc(degree.at[i]);
    degree.at[i] = n >= 0.0 && n <= kMostDegrees ? n : -1.0;
    x.at[i] = p.shifted ? 2.0 * x.at[i] - 1.0 : x.at[i];
    before.at[i] = 1.0;
    value.at[i] = p.first * x.at[i] + p.rest;
  });
  for (int i = 0; i < kBlock; ++i) most = degree.at[i] > most ? degree.at[i] : most;
  for (double k = 1.0; k < most; k += 1.0) {
    if (most > 4096.0 && (static_cast<int64_t>(k) & 4095) == 1 && stopping::is_over()) break;
    const double twice = 2.0 * k, odd = twice + 1.0, above = k + 1.0;
    auto step = [&](auto f) SL_ALWAYS { next_degree(k, degree, largest, before, value, f); };
    switch (p.family) {
      case Family::kChebyshev:
        step([&](int i, double a, double b) SL_ALWAYS { return 2.0 * x.at[i] * a - b; });
        break;
      case Family::kHermite:
        step([&](int i, double a, double b) SL_ALWAYS { return 2.0 * x.at[i] * a - twice * b; });
        break;
      case Family::kHermiteE:
        step([&](int i, double a, double b) SL_ALWAYS { return x.at[i] * a - k * b; });
        break;
      case Family::kLaguerre:
        step([&](int i, double a, double b)
                 SL_ALWAYS { return ((odd - x.at[i]) * a - k * b) / above; });
        break;
      case Family::kLegendre:
        step([&](int i, double a, double b)
                 SL_ALWAYS { return (odd * x.at[i] * a - k * b) / above; });
        break;
    }
  }
  each([&](int i) SL_ALWAYS {
    const double n = degree.at[i];
    value.at[i] = n < 0.0 ? 0.0 : n == 0.0 ? 1.0 : value.at[i];
  });
}

// ---- loops

struct Chosen {
  void (*plain)(const Block& x, Block& y);  // if null, the next is used
  void (*with_constant)(const Block& x, double constant, Block& y) = nullptr;
  double constant = 0.0;
};

// Loads `count` elements into a block; if `step` is 0, one number fills all of it.
template <class T>
SL_INLINE void fill(Block& x, const T* from, int64_t step, int64_t count) {
  if (step == 1 && count == kBlock) {
    each([&](int i) SL_ALWAYS { x.at[i] = static_cast<double>(from[i]); });
    return;
  }
  for (int i = 0; i < kBlock; ++i) x.at[i] = static_cast<double>(from[0]);
  for (int64_t i = 0; step == 1 && i < count; ++i) x.at[i] = static_cast<double>(from[i]);
}
template <class T>
SL_INLINE void empty(const Block& y, T* to, int64_t count) {
  if (count == kBlock) {
    each([&](int i) SL_ALWAYS { to[i] = static_cast<T>(y.at[i]); });
    return;
  }
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(y.at[i]);
}

template <class T>
SL_NOINLINE void run(int64_t n, void* out, const void* const* in, const int64_t* step,
                     const Chosen& chosen) {
  const T* a = static_cast<const T*>(in[0]);
  Block x, y;
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t count = min_of(kBlock, n - first);
    if (first == 0 || step[0] != 0) {
      fill(x, a + first * step[0], step[0], count);
      if (chosen.plain) chosen.plain(x, y);
      else chosen.with_constant(x, chosen.constant, y);
    }
    empty(y, static_cast<T*>(out) + first, count);
  }
}

template <class T>
SL_NOINLINE void run(int64_t n, void* out, const void* const* in, const int64_t* step,
                     const Orthogonal& p) {
  const T *a = static_cast<const T*>(in[0]), *b = static_cast<const T*>(in[1]);
  const double largest = sizeof(T) == 4 ? __FLT_MAX__ : __DBL_MAX__;
  Block x, degree, y;
  for (int64_t first = 0; first < n; first += kBlock) {
    const int64_t count = min_of(kBlock, n - first);
    fill(x, a + first * step[0], step[0], count);
    fill(degree, b + first * step[1], step[1], count);
    orthogonal(p, largest, x, degree, y);
    empty(y, static_cast<T*>(out) + first, count);
  }
}

}  // namespace

#define LOOP(name, type, function)                                                               \
  void special_##name##_##type(int64_t n, void* out, const void* const* in, const int64_t* step, \
                               const double*) {                                                  \
    run<type>(n, out, in, step, {function});                                                     \
  }
#define BOTH(name, function) LOOP(name, float, function) LOOP(name, double, function)
BOTH(i0, (&modified_i<0, false>))
BOTH(i0e, (&modified_i<0, true>))
BOTH(i1, (&modified_i<1, false>))
BOTH(i1e, (&modified_i<1, true>))
BOTH(modified_bessel_k0, (&modified_k<0, false>))
BOTH(modified_bessel_k1, (&modified_k<1, false>))
BOTH(scaled_modified_bessel_k0, (&modified_k<0, true>))
BOTH(scaled_modified_bessel_k1, (&modified_k<1, true>))
BOTH(bessel_j0, &bessel_j<0>)
BOTH(bessel_j1, &bessel_j<1>)
BOTH(bessel_y0, &bessel_y<0>)
BOTH(bessel_y1, &bessel_y<1>)
BOTH(spherical_bessel_j0, &spherical_j)
BOTH(airy_ai, &airy)
BOTH(ndtri, &ndtri)
BOTH(entr, &entr)
LOOP(erfinv, double, &erfinv)
LOOP(lgamma, double, &lgamma)

#define WITH_CONSTANT(name, type, function)                                                      \
  void special_##name##_##type(int64_t n, void* out, const void* const* in, const int64_t* step, \
                               const double* params) {                                           \
    run<type>(n, out, in, step, {nullptr, function, params[0]});                                 \
  }
WITH_CONSTANT(polygamma, float, &polygammas)
WITH_CONSTANT(polygamma, double, &polygammas)
WITH_CONSTANT(multigammaln, float, &multivariate<float>)
WITH_CONSTANT(multigammaln, double, &multivariate<double>)

#define ORTHOGONAL(name, ...)                                                                    \
  void special_##name##_float(int64_t n, void* out, const void* const* in, const int64_t* step,  \
                              const double*) {                                                   \
    run<float>(n, out, in, step, Orthogonal{__VA_ARGS__});                                       \
  }                                                                                              \
  void special_##name##_double(int64_t n, void* out, const void* const* in, const int64_t* step, \
                               const double*) {                                                  \
    run<double>(n, out, in, step, Orthogonal{__VA_ARGS__});                                      \
  }
ORTHOGONAL(chebyshev_polynomial_t, Family::kChebyshev, 1, 0)
ORTHOGONAL(chebyshev_polynomial_u, Family::kChebyshev, 2, 0)
ORTHOGONAL(chebyshev_polynomial_v, Family::kChebyshev, 2, -1)
ORTHOGONAL(chebyshev_polynomial_w, Family::kChebyshev, 2, 1)
ORTHOGONAL(shifted_chebyshev_polynomial_t, Family::kChebyshev, 1, 0, true)
ORTHOGONAL(shifted_chebyshev_polynomial_u, Family::kChebyshev, 2, 0, true)
ORTHOGONAL(shifted_chebyshev_polynomial_v, Family::kChebyshev, 2, -1, true)
ORTHOGONAL(shifted_chebyshev_polynomial_w, Family::kChebyshev, 2, 1, true)
ORTHOGONAL(hermite_polynomial_h, Family::kHermite, 2, 0)
ORTHOGONAL(hermite_polynomial_he, Family::kHermiteE, 1, 0)
ORTHOGONAL(laguerre_polynomial_l, Family::kLaguerre, -1, 1)
ORTHOGONAL(legendre_polynomial_p, Family::kLegendre, 1, 0)

}  // namespace scriptlang::kernels::SL_ISA
