// Kernels on codes, of every instruction set, against plain loops: the same bits.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "../kernels/kernel_set.h"
#include "harness.h"
#include "stops.h"

using namespace scriptlang::kernels;

namespace {

std::mt19937 generator(11);

template <class T>
std::vector<T> whole(int64_t n, int low, int high) {
  std::uniform_int_distribution<int> uniform(low, high);
  std::vector<T> values(static_cast<size_t>(n));
  for (T& v : values) v = static_cast<T>(uniform(generator));
  return values;
}

std::vector<float> numbers(int64_t n, float spread) {
  std::normal_distribution<float> normal(0, spread);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& v : values) v = normal(generator);
  return values;
}

int code_of(float scaled, const Encoding& e) {
  double zero = e.zero;
  double code = std::isnan(scaled) ? e.low : std::nearbyint(static_cast<double>(scaled)) + zero;
  return static_cast<int>(std::min<double>(std::max<double>(code, e.low), e.high));
}

int64_t padded(int64_t n) {
  return (n + kQuantizedColumns - 1) / kQuantizedColumns * kQuantizedColumns;
}

template <class F>
void every_set(F f) {
  for (int i = 0; usable_kernels(i) != nullptr; ++i) f(*usable_kernels(i));
}

struct Product {
  int64_t m, n, k, a_row;
  std::vector<uint8_t> a;
  std::vector<int8_t> b;
  std::vector<int32_t> offset, zeros;
  std::vector<float> bias, factor;

  Product(int64_t m, int64_t n, int64_t k)
      : m(m),
        n(n),
        k(k),
        a_row((k + 3) / 4 * 4),
        a(whole<uint8_t>(m * a_row + 8, 0, 255)),
        b(whole<int8_t>(k * n, -128, 127)),
        offset(whole<int32_t>(padded(n), -9999, 9999)),
        zeros(whole<int32_t>(padded(n), -5, 5)),
        bias(numbers(padded(n), 3000)),
        factor(numbers(padded(n), 1e-3f)) {}

  int32_t sum(int64_t i, int64_t j, bool moved) const {
    int32_t total = offset[static_cast<size_t>(j)];
    for (int64_t s = 0; s < k; ++s) {
      int32_t x = a[static_cast<size_t>(i * a_row + s)];
      int32_t zero = moved ? zeros[static_cast<size_t>(j)] : 0;
      total += x * (b[static_cast<size_t>(j * k + s)] - zero);
    }
    return total;
  }
};

// How many of the results differ from plain loops. Rows of a begin `lead` bytes further.
int64_t differences(const QuantizedProductFunctions& f, const Product& t, Sums sums, bool moved,
                    bool relu, int64_t lead = 0) {
  std::vector<char> packed(static_cast<size_t>(f.packed_size(t.k, t.n)) + 64);
  f.pack(t.k, t.n, t.b.data(), 1, t.k, packed.data());
  std::vector<char> c(static_cast<size_t>(t.m * t.n * 4));
  QuantizedProduct p;
  p.m = t.m;
  p.n = t.n;
  p.k = t.k;
  std::vector<uint8_t> moved_a(static_cast<size_t>(lead), 77);
  moved_a.insert(moved_a.end(), t.a.begin(), t.a.end());
  p.a = moved_a.data() + lead;
  p.a_row = t.a_row;
  p.packed = packed.data();
  p.offset = t.offset.data();
  p.b_zero = moved ? t.zeros.data() : nullptr;
  p.bias = t.bias.data();
  p.factor = t.factor.data();
  p.sums = sums;
  p.relu = relu;
  p.encoding = {1, 7, 0, 255};
  p.c = c.data();
  p.c_row = t.n;
  f.multiply(p);
  int64_t wrong = 0;
  for (int64_t i = 0; i < t.m; ++i) {
    for (int64_t j = 0; j < t.n; ++j) {
      size_t at = static_cast<size_t>(i * t.n + j), column = static_cast<size_t>(j);
      int32_t sum = t.sum(i, j, moved);
      if (sums == Sums::kPlain) {
        wrong += reinterpret_cast<int32_t*>(c.data())[at] != sum;
        continue;
      }
      float v = static_cast<float>(sum);
      if (sums == Sums::kCodes) v = (v + t.bias[column]) * t.factor[column];
      else v = v * t.factor[column] + t.bias[column];
      if (relu) v = std::max(v, 0.0f);
      if (sums == Sums::kNumbers) wrong += reinterpret_cast<float*>(c.data())[at] != v;
      else wrong += reinterpret_cast<uint8_t*>(c.data())[at] != code_of(v, p.encoding);
    }
  }
  return wrong;
}

}  // namespace

TEST(products_are_exact) {
  const int64_t sizes[][3] = {{1, 1, 1},    {1, 64, 32}, {1, 130, 777}, {2, 17, 9},    {3, 48, 4},
                              {5, 100, 63}, {6, 16, 5},  {7, 65, 128},  {13, 200, 31}, {48, 33, 9}};
  for (const auto& s : sizes) {
    Product t(s[0], s[1], s[2]);
    every_set([&](const KernelSet& set) {
      for (Sums sums : {Sums::kPlain, Sums::kNumbers, Sums::kCodes}) {
        for (bool moved : {false, true}) {
          CHECK_EQ(differences(*set.quantized_product, t, sums, moved, moved), 0);
          CHECK_EQ(differences(*set.quantized_product, t, sums, moved, moved, 1), 0);
        }
      }
    });
  }
}

// 255 * 128 * 70000 is more than an int32 holds; the sums are not.
TEST(sums_of_long_rows_are_exact) {
  Product t(2, 9, 70'000);
  std::fill(t.a.begin(), t.a.end(), uint8_t{255});
  for (int8_t& code : t.b) code = static_cast<int8_t>(code / 64);
  every_set([&](const KernelSet& set) {
    CHECK_EQ(differences(*set.quantized_product, t, Sums::kPlain, false, false), 0);
  });
}

TEST(numbers_become_codes_and_back) {
  std::vector<float> x = numbers(1000, 60);
  const float odd[] = {0.5f, 1.5f, -0.5f, 2.5f, 1e30f, -1e30f, NAN, INFINITY, -INFINITY, -0.0f};
  std::copy(std::begin(odd), std::end(odd), x.begin());
  for (size_t i = 10; i < 200; ++i) x[i] = std::floor(x[i]) + 0.5f;
  for (size_t i = 200; i < 400; ++i) x[i] = (std::floor(x[i]) + 0.5f) * 0.03f;
  every_set([&](const KernelSet& set) {
    for (bool is_signed : {false, true}) {
      for (int k = 0; k < 4; ++k) {
        bool moved_first = k % 2;
        Encoding e{k < 2 ? 1.0f : 1 / 0.03f, 3, is_signed ? -128 : 0, is_signed ? 127 : 255,
                   moved_first};
        std::vector<uint8_t> codes(x.size());
        set.quantized_rows->encode(int64_t(x.size()), x.data(), e, codes.data());
        std::vector<float> back(x.size());
        set.quantized_rows->decode(int64_t(x.size()), codes.data(), is_signed, 3, 0.3f,
                                   back.data());
        int wrong = 0;
        Encoding moved = e;
        moved.zero = 0;
        for (size_t i = 0; i < x.size(); ++i) {
          int code = is_signed ? static_cast<int8_t>(codes[i]) : codes[i];
          int want = moved_first ? code_of(std::fma(x[i], e.factor, 3.0f), moved)
                                 : code_of(x[i] * e.factor, e);
          wrong += code != want || back[i] != static_cast<float>(code - 3) * 0.3f;
        }
        CHECK_EQ(wrong, 0);
      }
    }
    float low, high;
    set.quantized_rows->range(900, x.data() + 100, &low, &high);
    CHECK_EQ(low, *std::min_element(x.begin() + 100, x.end()));
    CHECK_EQ(high, *std::max_element(x.begin() + 100, x.end()));
    set.quantized_rows->range(1000, x.data(), &low, &high);
    CHECK(std::isnan(low) && std::isnan(high));
  });
}

TEST(sums_and_products_of_codes) {
  constexpr int64_t n = 333;
  std::vector<uint8_t> a = whole<uint8_t>(n, 0, 255), b = whole<uint8_t>(n, 0, 255), c(n);
  Encoding e{7.7f, 11, 0, 255, false};
  Scaled as{0.031f, -0.031f * 20}, bs{0.017f, -0.017f * 100};
  every_set([&](const KernelSet& set) {
    int wrong = 0;
    set.quantized_rows->add(n, a.data(), as, b.data(), bs, false, true, e, c.data());
    for (size_t i = 0; i < size_t(n); ++i) {
      float v = std::fmaf(a[i], as.scale, as.shift) + std::fmaf(b[i], bs.scale, bs.shift);
      wrong += c[i] != code_of(std::max(v, 0.0f) * e.factor, e);
    }
    Encoding small{0.01f, 11, 0, 255, false};
    set.quantized_rows->multiply(n, a.data(), 20, b.data(), 100, false, false, small, c.data());
    for (size_t i = 0; i < size_t(n); ++i) {
      wrong += c[i] != code_of(static_cast<float>((a[i] - 20) * (b[i] - 100)) * 0.01f, small);
    }
    std::vector<uint8_t> larger = b;
    set.quantized_rows->larger(n, a.data(), true, larger.data());
    set.quantized_rows->clamp(n, a.data(), true, -30, 40, c.data());
    for (size_t i = 0; i < size_t(n); ++i) {
      int x = static_cast<int8_t>(a[i]), y = static_cast<int8_t>(b[i]);
      wrong += static_cast<int8_t>(larger[i]) != std::max(x, y);
      wrong += static_cast<int8_t>(c[i]) != std::min(std::max(x, -30), 40);
    }
    CHECK_EQ(wrong, 0);
  });
}

TEST(depthwise_rows) {
  constexpr int64_t channels = 83, pixels = 5, taps = 3, width = 96;
  std::vector<uint8_t> x = whole<uint8_t>(channels * (pixels + 2), 0, 255), y(channels * pixels);
  std::vector<float> w(taps * width), factor = numbers(128, 1e-2f), bias = numbers(128, 100);
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(static_cast<int>(i % 255) - 128);
  const uint8_t* at[taps] = {x.data(), nullptr, x.data() + 2 * channels};
  every_set([&](const KernelSet& set) {
    DepthwiseRow r;
    r.pixels = pixels;
    r.channels = r.step = r.y_row = channels;
    r.taps = taps;
    r.x = at;
    r.zero = 9;
    r.w = w.data();
    r.w_row = width;
    r.bias = bias.data();
    r.factor = factor.data();
    r.encoding = {1, 50, 0, 255, false};
    r.y = y.data();
    set.quantized_rows->depthwise(r);
    int wrong = 0;
    for (int64_t i = 0; i < pixels * channels; ++i) {
      size_t c = static_cast<size_t>(i % channels), p = static_cast<size_t>(i / channels);
      float sum = 0;
      for (size_t t = 0; t < size_t(taps); ++t) {
        if (at[t]) sum += static_cast<float>(at[t][p * channels + c] - 9) * w[t * width + c];
      }
      wrong += y[static_cast<size_t>(i)] != code_of((sum + bias[c]) * factor[c], r.encoding);
    }
    CHECK_EQ(wrong, 0);
  });
}

TEST(depthwise_stops_in_a_long_row) {
  constexpr int64_t pixels = 20000, taps = 20000, width = 96;
  const std::vector<uint8_t> x(size_t(pixels + taps), 1);
  const std::vector<float> w(size_t(taps * width), 1.0f), bias(128), factor(128, 1.0f);
  std::vector<const uint8_t*> at;
  for (int64_t tap = 0; tap < taps; ++tap) at.push_back(x.data() + tap);
  every_set([&](const KernelSet& set) {
    std::vector<uint8_t> y(size_t(pixels), 7);
    DepthwiseRow r;
    r.pixels = pixels;
    r.channels = r.step = r.y_row = 1;
    r.taps = taps;
    r.x = at.data();
    r.w = w.data();
    r.w_row = width;
    r.bias = bias.data();
    r.factor = factor.data();
    r.encoding = {1, 50, 0, 255, false};
    r.y = y.data();
    CHECK(test::stops([&] { set.quantized_rows->depthwise(r); }));
    CHECK_EQ(int(y.back()), 7);
  });
}

int main(int count, char** arguments) { return test::main(count, arguments); }
