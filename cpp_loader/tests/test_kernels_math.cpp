// Elementary functions of float32: within 3 units in the last place of double's results, for
// every instruction set, with C's special values.
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "../kernels/kernel_set.h"
#include "harness.h"

using namespace scriptlang::kernels;

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
      test::fail(__FILE__, __LINE__, scriptlang::concat(usable_kernels(i)->name, " ", name, "(",
                                                        where, "): ", worst, " units"));
    }
  }
}

}  // namespace

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
  check(Unary::k_log_sigmoid, "log_sigmoid",
        [](double x) { return std::fmin(x, 0) - std::log1p(std::exp(-std::abs(x))); }, -80, 80);
}
TEST(sigmoids) {
  check(Unary::k_tanh, "tanh", std::tanh, -12, 12);
  check(Unary::k_tanh, "tanh", std::tanh, -1, 1);
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
TEST(signs_of_zero_survive) {
  float zero = -0.0f, y = 1.0f;
  const void* in[1] = {&zero};
  int64_t step[1] = {1};
  for (Unary op : {Unary::k_tanh, Unary::k_erf, Unary::k_sin}) {
    loops(op)[scriptlang::ScalarType::Float32](1, &y, in, step, nullptr);
    CHECK(std::signbit(y));
  }
}

int main(int count, char** arguments) { return test::main(count, arguments); }
