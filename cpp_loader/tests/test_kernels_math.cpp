// Elementary functions of float32: within 3 units in the last place of double's results, for
// every instruction set, with C's special values.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "../kernels/kernel_set.h"
#include "harness.h"

using namespace scriptlang::kernels;
using scriptlang::ScalarType;

namespace {

constexpr double kAllowed = 3.0;

// Distance in units in the last place of the wanted float.
double distance(float got, double wanted) {
  if (std::isnan(wanted)) return std::isnan(got) ? 0 : 1e9;
  float nearest = static_cast<float>(wanted);
  if (std::isinf(nearest) || std::isinf(got)) return nearest == got ? 0 : 1e9;
  float size = std::abs(nearest);
  double unit = double(std::nextafter(size, std::numeric_limits<float>::infinity())) - double(size);
  return std::abs(double(got) - wanted) / unit;
}

std::vector<float> arguments_between(float low, float high) {
  std::vector<float> x;
  constexpr int kCount = 20001;
  for (int i = 0; i < kCount; ++i) {
    x.push_back(low + (high - low) * static_cast<float>(i) / (kCount - 1));
  }
  for (float v : {0.0f, -0.0f, 1e-30f, -1e-30f, 1e-42f, 1.0f, -1.0f, 0.65f, 0.92f, 100.0f, -100.0f,
                  3e38f, -3e38f, std::numeric_limits<float>::infinity(),
                  -std::numeric_limits<float>::infinity(), std::nanf("")}) {
    x.push_back(v);
  }
  return x;
}

void check(Unary op, const char* name, double (*exact)(double), float low, float high,
           double allowed = kAllowed) {
  std::vector<float> x = arguments_between(low, high), y(x.size());
  for (int i = 0; usable_kernels(i) != nullptr; ++i) {
    Loop loop = usable_kernels(i)->loops->unary_f32[static_cast<int>(op)];
    CHECK(loop != nullptr);
    const void* in[1] = {x.data()};
    int64_t step[1] = {1};
    loop(static_cast<int64_t>(x.size()), y.data(), in, step, nullptr);
    double worst = 0;
    float where = 0;
    for (size_t j = 0; j < x.size(); ++j) {
      double d = distance(y[j], exact(double(x[j])));
      if (d > worst) {
        worst = d;
        where = x[j];
      }
    }
    if (worst > allowed) {
      test::fail(__FILE__, __LINE__,
                 scriptlang::concat(usable_kernels(i)->name, " ", name, "(", where, "): ", worst,
                                    " units"));
    }
  }
}

void check(Binary op, const char* name, double (*exact)(double, double),
           double allowed = kAllowed) {
  std::vector<float> some = arguments_between(-6, 6), x, y;
  for (size_t i = 0; i < some.size(); ++i) {
    x.push_back(some[i]);
    y.push_back(some[i * 7919 % some.size()]);
  }
  for (size_t i = some.size() - 16; i < some.size(); ++i) {  // each special value with each
    for (size_t j = some.size() - 16; j < some.size(); ++j) {
      x.push_back(some[i]);
      y.push_back(some[j]);
    }
  }
  for (int i = 0; usable_kernels(i) != nullptr; ++i) {
    Loop loop = usable_kernels(i)->loops->binary_f32[static_cast<int>(op)];
    std::vector<float> got(x.size());
    const void* in[2] = {x.data(), y.data()};
    const int64_t step[2] = {1, 1};
    loop(static_cast<int64_t>(x.size()), got.data(), in, step, nullptr);
    for (size_t j = 0; j < x.size(); ++j) {
      double wanted = exact(double(x[j]), double(y[j])), d = distance(got[j], wanted);
      bool signs = wanted != 0 || std::signbit(got[j]) == std::signbit(float(wanted));
      if (d <= allowed && signs) continue;
      test::fail(__FILE__, __LINE__,
                 scriptlang::concat(usable_kernels(i)->name, " ", name, "(", x[j], ", ", y[j],
                                    "): ", got[j], ", not ", wanted));
    }
  }
}

// Every loop of a list gives the same bytes as that of the portable kernels, on any bytes; but
// functions of float64 may be a few units apart, as products and sums are rounded once or twice.
constexpr double kUnits = 8 * 2.3e-16;
void compare_with_portable(Listed<FastLoop> mine, Listed<FastLoop> portable, int operands) {
  constexpr int kCount = 203;
  std::vector<uint64_t> bits(kCount * 2);
  uint64_t state = 1;
  for (uint64_t& b : bits) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    b = state;
  }
  const double params[kParams] = {0.25, 0.75, -3.0, 0};
  for (const FastLoop& a : mine) {
    for (const FastLoop& b : portable) {
      if (a.op != b.op || a.type != b.type) continue;
      for (int64_t steps = 1; steps < (1 << operands); ++steps) {
        const void* in[2] = {bits.data(), bits.data() + kCount};
        const int64_t step[2] = {steps & 1, steps >> 1};
        std::vector<uint64_t> left(kCount), right(kCount);
        a.loop(kCount, left.data(), in, step, params);
        b.loop(kCount, right.data(), in, step, params);
        bool floats = a.type == scriptlang::ScalarType::Float32;
        bool doubles = a.type == scriptlang::ScalarType::Float64;
        bool functions = operands == 1 && a.op < static_cast<int>(Unary::k_abs);
        for (int i = 0; i < kCount; ++i) {
          bool alike = false;  // NaNs have any sign and payload
          if (doubles) {
            double x, y;
            std::memcpy(&x, &left[size_t(i)], 8);
            std::memcpy(&y, &right[size_t(i)], 8);
            alike = (x != x && y != y) || (functions && std::abs(x - y) <= kUnits * std::abs(y));
          } else if (floats) {
            float x[2], y[2];
            std::memcpy(x, &left[size_t(i)], 8);
            std::memcpy(y, &right[size_t(i)], 8);
            alike = (x[0] == y[0] || (x[0] != x[0] && y[0] != y[0])) &&
                    (x[1] == y[1] || (x[1] != x[1] && y[1] != y[1]));
          }
          if (alike || left[size_t(i)] == right[size_t(i)]) continue;
          test::fail(__FILE__, __LINE__,
                     scriptlang::concat("operation ", int(a.op), " of ", int(a.type), ", ", i, ": ",
                                        left[size_t(i)], ", not ", right[size_t(i)]));
        }
      }
    }
  }
}

}  // namespace

TEST(functions_through_double) {
  check(Unary::k_atan, "atan", std::atan, -20, 20);
  check(Unary::k_asin, "asin", std::asin, -1.1f, 1.1f, 1.0);
  check(Unary::k_acos, "acos", std::acos, -1.1f, 1.1f, 1.0);
  check(Unary::k_sinh, "sinh", std::sinh, -95, 95, 1.0);
  check(Unary::k_sinh, "sinh", std::sinh, -1, 1, 1.0);
  check(Unary::k_cosh, "cosh", std::cosh, -95, 95, 1.0);
  check(Unary::k_asinh, "asinh", std::asinh, -50, 50, 1.0);
  check(Unary::k_acosh, "acosh", std::acosh, 0.9f, 50, 1.0);
}
TEST(functions_with_poles) {
  check(Unary::k_tan, "tan", std::tan, -3000, 3000);
  check(Unary::k_tan, "tan", std::tan, -500, 500);
  check(Unary::k_atanh, "atanh", std::atanh, -1.1f, 1.1f);
}
TEST(the_complement_of_erf) { check(Unary::k_erfc, "erfc", std::erfc, -10, 10.5f); }
TEST(the_inverse_of_erf) {
  for (int i = 0; usable_kernels(i) != nullptr; ++i) {
    Loop loop = usable_kernels(i)->loops->unary_f32[static_cast<int>(Unary::k_erfinv)];
    std::vector<float> x = arguments_between(-0.99999f, 0.99999f), y(x.size());
    const void* in[1] = {x.data()};
    int64_t step[1] = {1};
    loop(static_cast<int64_t>(x.size()), y.data(), in, step, nullptr);
    for (size_t j = 0; j < x.size(); ++j) {
      if (std::abs(x[j]) > 1 || std::isnan(x[j])) CHECK(std::isnan(y[j]));
      else if (std::abs(x[j]) == 1) CHECK(y[j] == x[j] * std::numeric_limits<float>::infinity());
      else {
        // By the slope there: an error of y shows in erf(y) times 2/sqrt(pi) exp(-y^2).
        double slope = 1.1283791670955126 * std::exp(-double(y[j]) * double(y[j]));
        double error = std::abs(std::erf(double(y[j])) - double(x[j])) / slope;
        CHECK(error <= 3 * 6e-8 * std::abs(double(y[j])) + 1e-44);
      }
    }
  }
}
TEST(functions_of_two_numbers) {
  check(Binary::k_atan2, "atan2", std::atan2, 1.0);
  check(Binary::k_pow, "pow", std::pow, 1.0);
  check(Binary::k_hypot, "hypot", std::hypot, 1.0);
  check(Binary::k_fmod, "fmod", std::fmod, 0.0);
}
TEST(loops_do_not_depend_on_the_machine) {
  const KernelSet* portable = nullptr;
  for (int i = 0; usable_kernels(i) != nullptr; ++i) portable = usable_kernels(i);
  for (int i = 0; usable_kernels(i) != portable; ++i) {
    const PlainLoops& mine = *usable_kernels(i)->plain_loops;
    compare_with_portable(mine.unary, portable->plain_loops->unary, 1);
    compare_with_portable(mine.binary, portable->plain_loops->binary, 2);
  }
}

// Truncated; what does not fit is the least number.
template <class From>
void check_longs(ScalarType from) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  std::vector<From> x;
  for (int i = -40; i < 40; ++i) x.push_back(From(i) * From(0.37));
  for (double v : {2147483520.0, 2147483648.0, -2147483648.0, -2147483904.0, 9e15, 9.3e18, -9.3e18,
                   std::numeric_limits<double>::infinity(), std::nan(""), 0.9, -0.9}) {
    x.push_back(From(v));
    for (int i = 0; i < 9; ++i)
      x.push_back(From(i) - From(4.5));  // in blocks with numbers that fit
  }
  for (int i = 0; usable_kernels(i) != nullptr; ++i) {
    for (const FastConvert& c : usable_kernels(i)->plain_loops->converts) {
      if (c.to != ScalarType::Int64 || c.from != from || c.convert == nullptr) continue;
      for (size_t n = 0; n <= x.size(); ++n) {
        std::vector<int64_t> y(n);
        c.convert(int64_t(n), y.data(), x.data());
        bool same = true;
        for (size_t k = 0; k < n; ++k) {
          const bool fits = std::abs(double(x[k])) < 9223372036854775808.0;
          same = same && y[k] == (fits ? int64_t(x[k]) : kLeast);
        }
        CHECK(same);
      }
    }
  }
}
TEST(floats_become_whole_numbers_of_64_bits) {
  check_longs<float>(ScalarType::Float32);
  check_longs<double>(ScalarType::Float64);
}

TEST(a_pair_of_operators_gives_what_both_give) {
  constexpr int kCount = 75;
  std::vector<float> x = arguments_between(-6, 6);
  auto operand = [&](int k) { return x.data() + (k + 1) * 5 + (k == 2 ? int(x.size()) - 120 : 0); };
  const Binary names[] = {Binary::k_add, Binary::k_sub, Binary::k_mul, Binary::k_div};
  for (Binary first : names) {
    for (int then = 0; then < 9; ++then) {
      Loop one = loops(first)[scriptlang::ScalarType::Float32];
      Loop other = then < 8 ? loops(names[then / 2])[scriptlang::ScalarType::Float32]
                            : loops(Unary::k_neg)[scriptlang::ScalarType::Float32];
      Loop pair = pair_loop(one, other, then % 2);
      CHECK_EQ(pair != nullptr, first != Binary::k_div);
      if (pair == nullptr) continue;
      for (int steps = 0; steps < 8; ++steps) {
        const int64_t step[3] = {steps & 1, (steps >> 1) & 1, steps >> 2};
        const void* in[3] = {operand(0), operand(1), operand(2)};
        std::vector<float> between(kCount), wanted(kCount), got(kCount);
        one(kCount, between.data(), in, step, nullptr);
        const void* second[2] = {between.data(), in[2]};
        int64_t second_step[2] = {1, step[2]};
        if (then < 8 && then % 2 == 1) {
          std::swap(second[0], second[1]);
          std::swap(second_step[0], second_step[1]);
        }
        other(kCount, wanted.data(), second, second_step, nullptr);
        pair(kCount, got.data(), in, step, nullptr);
        for (int i = 0; i < kCount; ++i) {
          CHECK(got[i] == wanted[i] ? std::signbit(got[i]) == std::signbit(wanted[i])
                                    : std::isnan(got[i]) && std::isnan(wanted[i]));
        }
      }
    }
  }
}

TEST(special_functions_give_the_same_bits_everywhere) {
  const Unary names[] = {Unary::k_i0,
                         Unary::k_i0e,
                         Unary::k_i1,
                         Unary::k_i1e,
                         Unary::k_bessel_j0,
                         Unary::k_bessel_j1,
                         Unary::k_bessel_y0,
                         Unary::k_bessel_y1,
                         Unary::k_modified_bessel_k0,
                         Unary::k_modified_bessel_k1,
                         Unary::k_scaled_modified_bessel_k0,
                         Unary::k_scaled_modified_bessel_k1,
                         Unary::k_spherical_bessel_j0,
                         Unary::k_airy_ai,
                         Unary::k_ndtri,
                         Unary::k_entr,
                         Unary::k_polygamma,
                         Unary::k_multigammaln,
                         Unary::k_erfinv,
                         Unary::k_lgamma};
  constexpr int kCount = 4003;
  std::vector<double> x;
  for (int i = 0; i < kCount; ++i) x.push_back((i - 1500) * 0.0123 * (i % 7 == 0 ? 100 : 1));
  for (size_t i = 0; i < x.size(); i += 5) x[i] = double(i) / kCount;
  x[0] = std::nan("");
  x[1] = -std::numeric_limits<double>::infinity();
  x[2] = std::numeric_limits<double>::infinity();
  auto values = [&](int set, Unary name) {
    std::vector<double> y;
    for (const FastLoop& loop : usable_kernels(set)->plain_loops->unary) {
      if (loop.op != int(name) || loop.type != scriptlang::ScalarType::Float64) continue;
      y.resize(x.size());
      const void* in[1] = {x.data()};
      const int64_t step[1] = {1};
      const double params[kParams] = {1, 0, 0, 0};
      loop.loop(int64_t(x.size()), y.data(), in, step, params);
    }
    return y;
  };
  for (Unary name : names) {
    const std::vector<double> wanted = values(0, name);
    CHECK_EQ(wanted.size(), x.size());
    for (int set = 1; usable_kernels(set) != nullptr; ++set) {
      const std::vector<double> got = values(set, name);
      for (size_t i = 0; i < x.size(); ++i) {
        bool same = got[i] == wanted[i] || (got[i] != got[i] && wanted[i] != wanted[i]);
        if (!same) {
          test::fail(__FILE__, __LINE__,
                     scriptlang::concat(usable_kernels(set)->name, " operation ", int(name), "(",
                                        x[i], ") = ", got[i], ", not ", wanted[i]));
        }
      }
    }
  }
}
TEST(sums_of_rows_are_those_of_each_row) {
  for (int set = 0; usable_kernels(set) != nullptr; ++set) {
    const RowFunctions& rows = *usable_kernels(set)->rows;
    for (int64_t n : {0, 1, 7, 16, 40, 100, 333, 5000}) {
      constexpr int64_t kRows = 5;
      std::vector<float> x(size_t(kRows * n) + 1), cleaned, got(kRows);
      for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(float(i)) * 1000;
      cleaned = x;
      rows.sums(kRows, n, x.data(), got.data(), false);
      for (int64_t r = 0; r < kRows; ++r) CHECK_EQ(got[size_t(r)], rows.sum(n, x.data() + r * n));
      for (size_t i = 0; i < x.size(); i += 3) {
        x[i] = std::nanf("");
        cleaned[i] = 0;
      }
      rows.sums(kRows, n, x.data(), got.data(), true);
      for (int64_t r = 0; r < kRows; ++r) {
        CHECK_EQ(got[size_t(r)], rows.sum(n, cleaned.data() + r * n));
      }
    }
  }
}
TEST(exponentials) {
  check(Unary::k_exp, "exp", std::exp, -110, 95);
  check(Unary::k_exp2, "exp2", std::exp2, -155, 130);
}
TEST(logarithms) {
  check(Unary::k_log, "log", std::log, -1, 10);
  check(Unary::k_log, "log", std::log, 0.9f, 1.1f);
  check(Unary::k_log2, "log2", std::log2, 0, 1000);
  check(Unary::k_log10, "log10", std::log10, 0, 1000);
}
TEST(differences_from_one) {
  check(Unary::k_expm1, "expm1", std::expm1, -20, 95);
  check(Unary::k_expm1, "expm1", std::expm1, -1, 1);
  check(Unary::k_log1p, "log1p", std::log1p, -2, 100);
  check(Unary::k_log1p, "log1p", std::log1p, -0.1f, 0.1f);
}
TEST(activations) {
  // Where exp(x) has few bits left in float32, the result has no more of them.
  auto mish = [](double x) {
    double e = x < -87 ? double(float(std::exp(x))) : std::exp(x);
    return x * std::tanh(std::log1p(e));
  };
  check(Unary::k_mish, "mish", mish, -80, 100, 4.0);  // an exponential, a quotient, a product
  check(
      Unary::k_log_sigmoid, "log_sigmoid",
      [](double x) { return std::fmin(x, 0) - std::log1p(std::exp(-std::abs(x))); }, -80, 80);
}
TEST(sigmoids) {
  check(Unary::k_tanh, "tanh", std::tanh, -12, 12, 5.2);  // a quotient, for its speed
  check(Unary::k_tanh, "tanh", std::tanh, -1, 1, 5.2);
  // Where exp(-x) leaves float32 the result is zero, as the formula in float32 gives it.
  auto sigmoid = [](double x) { return 1 / (1 + double(float(std::exp(-x)))); };
  check(Unary::k_sigmoid, "sigmoid", sigmoid, -30, 30);
  check(Unary::k_erf, "erf", std::erf, -5, 5);
}
TEST(sines) {
  check(Unary::k_sin, "sin", std::sin, -3000, 3000);
  check(Unary::k_cos, "cos", std::cos, -3000, 3000);
  check(Unary::k_sin, "sin", std::sin, -3e7f, 3e7f);
  check(Unary::k_cos, "cos", std::cos, -20000, 20000);
}
TEST(roots) {
  check(Unary::k_sqrt, "sqrt", std::sqrt, -1, 1000);
  check(Unary::k_rsqrt, "rsqrt", [](double x) { return 1 / std::sqrt(x); }, 0.001f, 1000);
}
TEST(the_far_tail_of_gelu_is_zero) {
  float x = -3e38f, y = 1.0f;
  const void* in[1] = {&x};
  int64_t step[1] = {1};
  loops(Unary::k_gelu)[scriptlang::ScalarType::Float32](1, &y, in, step, nullptr);
  CHECK(y == 0.0f);
}
// The slopes pass zero, so their errors are measured in parts of one.
void check_slope(Binary op, double (*slope)(double), double allowed) {
  std::vector<float> x;
  for (int i = -40000; i <= 40000; ++i) x.push_back(static_cast<float>(i) * 5e-4f);
  std::vector<float> grad(x.size(), 2.0f), y(x.size());
  const double inf = std::numeric_limits<double>::infinity();
  for (int i = 0; usable_kernels(i) != nullptr; ++i) {
    Loop loop = usable_kernels(i)->loops->binary_f32[static_cast<int>(op)];
    const void* in[2] = {grad.data(), x.data()};
    const int64_t step[2] = {1, 1}, one[2] = {0, 1};
    loop(static_cast<int64_t>(x.size()), y.data(), in, step, nullptr);
    for (size_t j = 0; j < x.size(); ++j) {
      CHECK(std::abs(double(y[j]) - 2 * slope(double(x[j]))) < allowed);
    }
    for (int64_t n = 0; n < 70; ++n) {  // the last elements, and one gradient for all
      std::vector<float> few(size_t(n) + 1, 7.0f), same(size_t(n) + 1, 7.0f);
      loop(n, few.data(), in, step, nullptr);
      loop(n, same.data(), in, one, nullptr);
      for (size_t j = 0; j < size_t(n); ++j) {
        CHECK(few[j] == y[j]);
        CHECK(std::abs(double(same[j]) - double(y[j])) < allowed);
      }
      CHECK(few[size_t(n)] == 7.0f && same[size_t(n)] == 7.0f);
    }
    float far[] = {1e10f, -1e10f, static_cast<float>(inf), std::nanf("")}, got[4];
    const void* at[2] = {grad.data(), far};
    loop(4, got, at, step, nullptr);
    CHECK(got[0] == 2.0f && got[1] == 0.0f);
    CHECK(std::isnan(got[2]) && std::isnan(got[3]));
  }
}
TEST(slopes_of_gelu) {
  check_slope(
      Binary::k_gelu_back,
      [](double x) {
        return 0.5 * (1 + std::erf(x / std::sqrt(2.0))) +
               x * std::exp(-0.5 * x * x) / 2.5066282746310002;
      },
      6e-7);
  check_slope(
      Binary::k_gelu_tanh_back,
      [](double x) {
        double inner = std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
        double steep = 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
        return 0.5 * (1 + inner) + 0.5 * x * (1 - inner * inner) * steep;
      },
      4e-6);  // the cancellation of 1 - tanh^2
}
TEST(signs_of_zero_survive) {
  float zero = -0.0f, y = 1.0f;
  const void* in[1] = {&zero};
  int64_t step[1] = {1};
  for (Unary op : {Unary::k_tanh, Unary::k_erf, Unary::k_sin, Unary::k_atan, Unary::k_sinh,
                   Unary::k_asin, Unary::k_tan, Unary::k_asinh, Unary::k_atanh}) {
    loops(op)[scriptlang::ScalarType::Float32](1, &y, in, step, nullptr);
    CHECK(std::signbit(y));
  }
}

int main(int count, char** arguments) { return test::main(count, arguments); }
