// Matrix products of 16-bit floats of every instruction set against sums in double.
#include <cmath>
#include <random>
#include <vector>

#include "../kernels/half_product.h"
#include "../kernels/kernel_set.h"
#include "../kernels/parallel.h"
#include "harness.h"

using namespace scriptlang::kernels;
using scriptlang::ScalarType;

namespace {

struct Type {
  ScalarType type;
  double unit;  // half of a unit in the last place, of numbers from 1 to 2
};
constexpr Type kTypes[] = {{ScalarType::BFloat16, 1.0 / 256}, {ScalarType::Float16, 1.0 / 2048}};

std::vector<uint16_t> noise(std::mt19937& random, int64_t n, ScalarType type) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> wide(size_t(n) + 1);
  for (float& v : wide) v = uniform(random);
  std::vector<uint16_t> narrow(wide.size());
  converter(type, ScalarType::Float32)(n + 1, narrow.data(), 2, wide.data(), 4);
  return narrow;
}

std::vector<double> widened(const std::vector<uint16_t>& x, ScalarType type) {
  std::vector<double> wide(x.size());
  converter(ScalarType::Float64, type)(int64_t(x.size()), wide.data(), 8, x.data(), 2);
  return wide;
}

// How often the greatest error is what rounding may give.
double error_of(const HalfProductFunctions& functions, int64_t m, int64_t n, int64_t k, int way,
                const Type& t) {
  std::mt19937 random(static_cast<unsigned>(m * 131 + n * 17 + k));
  auto a = noise(random, m * k, t.type), b = noise(random, k * n, t.type);
  auto bias = noise(random, n, t.type), c = noise(random, m * n, t.type);
  HalfProduct p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.a = a.data();
  p.a_row = way & 1 ? 1 : k;
  p.a_column = way & 1 ? m : 1;
  p.b = b.data();
  p.b_row = way & 2 ? 1 : n;
  p.b_column = way & 2 ? k : 1;
  p.c = c.data();
  p.bias = way & 4 ? bias.data() : nullptr;
  p.bfloat = t.type == ScalarType::BFloat16;
  functions.multiply(p);
  auto left = widened(a, t.type), right = widened(b, t.type), first = widened(bias, t.type);
  auto result = widened(c, t.type);
  double worst = 0;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = way & 4 ? first[size_t(j)] : 0, all = std::abs(sum);
      for (int64_t q = 0; q < k; ++q) {
        double one = left[size_t(i * p.a_row + q * p.a_column)] *
                     right[size_t(q * p.b_row + j * p.b_column)];
        sum += one;
        all += std::abs(one);
      }
      double allowed = std::abs(sum) * t.unit + all * 1e-6 + 1e-7;
      double error = std::abs(result[size_t(i * n + j)] - sum) / allowed;
      worst = std::max(worst, std::isnan(error) ? 1e30 : error);
    }
  return worst;
}

template <class F>
void for_sets(F f) {
  for (int i = 0; usable_kernels(i) != nullptr; ++i) f(*usable_kernels(i));
}

void check_all(const KernelSet& set) {
  for (const Type& t : kTypes)
    for (int64_t m : {1, 2, 3, 8, 9, 14, 15, 33})
      for (int64_t n : {1, 15, 17, 32, 33, 97, 130})
        for (int64_t k : {0, 1, 2, 31, 32, 33, 64, 301})
          for (int way = 0; way < 8; ++way) {
            double error = error_of(*set.half_product, m, n, k, way, t);
            if (error > 1.05) {
              test::fail(__FILE__, __LINE__,
                         scriptlang::concat(set.name, " ", m, "x", n, "x", k, " way ", way,
                                            ": error ", error));
            }
          }
}

}  // namespace

TEST(products_of_halves) { for_sets(check_all); }

TEST(products_of_halves_by_threads) {
  set_thread_count(3);
  for_sets([](const KernelSet& set) {
    for (const Type& t : kTypes)
      for (int way = 0; way < 8; ++way) {
        CHECK(error_of(*set.half_product, 200, 333, 300, way, t) < 1.05);
        CHECK(error_of(*set.half_product, 1, 2000, 300, way, t) < 1.05);
      }
  });
  set_thread_count(1);
}

// Those of processors give the bits of the plain ones, which round halves to even.
TEST(halves_are_converted_as_numbers_one_by_one) {
  std::vector<uint16_t> halves;
  std::vector<float> floats;
  for (int bits = 0; bits <= 0xffff; ++bits) halves.push_back(static_cast<uint16_t>(bits));
  for (uint16_t half : halves) {
    const float x = scriptlang::half_to_float(half);
    const float next = scriptlang::half_to_float(static_cast<uint16_t>(half + 1));
    for (float y : {x, std::nextafterf(x, next), (x + next) / 2, x * 1e-9f, x * 3}) {
      floats.push_back(y);
    }
  }
  for_sets([&](const KernelSet& set) {
    if (set.halves->from_half == nullptr) return;
    std::vector<float> wide(halves.size());
    set.halves->from_half(int64_t(halves.size()), wide.data(), halves.data());
    int wrong = 0;
    for (size_t i = 0; i < halves.size(); ++i) {
      const float want = scriptlang::half_to_float(halves[i]);
      wrong += std::isnan(want) ? !std::isnan(wide[i])
                                : wide[i] != want || std::signbit(wide[i]) != std::signbit(want);
    }
    CHECK_EQ(wrong, 0);
    std::vector<uint16_t> narrow(floats.size());
    set.halves->to_half(int64_t(floats.size()), narrow.data(), floats.data());
    wrong = 0;
    for (size_t i = 0; i < floats.size(); ++i) {
      if (std::isnan(floats[i])) wrong += (narrow[i] & 0x7fff) <= 0x7c00;
      else wrong += narrow[i] != scriptlang::float_to_half(floats[i]);
    }
    CHECK_EQ(wrong, 0);
  });
}

TEST(nan_and_infinity_pass_through_products_of_halves) {
  constexpr uint16_t kOne = 0x3f80, kNan = 0x7fc0, kInfinity = 0x7f80;  // of bfloat16
  for_sets([&](const KernelSet& set) {
    for (int64_t m : {1, 20}) {
      std::vector<uint16_t> a(size_t(m * 3), kOne), b(3 * 40, kOne), c(size_t(m * 40), 0);
      a[1] = kInfinity;
      b[7] = kNan;
      HalfProduct p;
      p.m = m;
      p.n = p.b_row = 40;
      p.k = p.a_row = 3;
      p.a = a.data();
      p.b = b.data();
      p.c = c.data();
      p.bfloat = true;
      set.half_product->multiply(p);
      CHECK_EQ(c[0], kInfinity);
      CHECK((c[7] & 0x7fff) > kInfinity);
      if (m > 1) CHECK_EQ(c[40], uint16_t(0x4040));
    }
  });
}

int main(int count, char** arguments) { return test::main(count, arguments); }
