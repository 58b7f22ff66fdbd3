// Convolutions with channels last, of every instruction set, against plain loops in double.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "../kernels/kernel_set.h"
#include "../kernels/parallel.h"
#include "harness.h"
#include "stops.h"

using namespace scriptlang::kernels;

namespace {

struct Case {
  int64_t channels, outputs, groups, height, width, kernel, stride, padding, dilation;
};

std::vector<float> noise(std::mt19937& random, int64_t n) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(n) + 1);
  for (float& v : values) v = uniform(random);
  return values;
}

ConvShape shape_of(const Case& k) {
  ConvShape s;
  s.channels = k.channels;
  s.outputs = k.outputs;
  const int64_t in[3] = {1, k.height, k.width};
  for (int d = 1; d < 3; ++d) {
    s.in[d] = in[d];
    s.kernel[d] = k.kernel;
    s.stride[d] = k.stride;
    s.padding[d] = k.padding;
    s.dilation[d] = k.dilation;
    s.out[d] = (in[d] + 2 * k.padding - k.dilation * (k.kernel - 1) - 1) / k.stride + 1;
  }
  return s;
}

// A convolution with everything it needs; the input is read through three strides.
struct Problem {
  ConvShape s;
  int64_t groups, channels, outputs, pixels;
  bool first;  // channels first in memory
  std::vector<float> x, w, bias, added, y;

  Problem(const Case& k, bool channels_first)
      : s(shape_of(k)),
        groups(k.groups),
        channels(k.channels * k.groups),
        outputs(k.outputs * k.groups),
        pixels(s.out_pixels()),
        first(channels_first) {
    std::mt19937 random(static_cast<unsigned>(k.channels * 31 + k.outputs + k.width));
    x = noise(random, channels * s.in_pixels());
    w = noise(random, outputs * s.channels * s.taps());
    bias = noise(random, outputs);
    added = noise(random, outputs * pixels);
    y.assign(static_cast<size_t>(outputs * pixels), -7.0f);
  }

  float input(int64_t c, int64_t h, int64_t v) const {
    if (h < 0 || h >= s.in[1] || v < 0 || v >= s.in[2]) return 0;
    int64_t at = first ? (c * s.in[1] + h) * s.in[2] + v : (h * s.in[2] + v) * channels + c;
    return x[size_t(at)];
  }

  double wanted(int64_t o, int64_t h, int64_t v) const {
    double sum = double(bias[size_t(o)]) + double(added[size_t((h * s.out[2] + v) * outputs + o)]);
    const float* weight = w.data() + o * s.channels * s.taps();
    for (int64_t c = 0; c < s.channels; ++c)
      for (int64_t i = 0; i < s.kernel[1]; ++i)
        for (int64_t j = 0; j < s.kernel[2]; ++j, ++weight) {
          int64_t from = o / s.outputs * s.channels + c;
          sum += double(*weight) *
                 double(input(from, h * s.stride[1] - s.padding[1] + i * s.dilation[1],
                              v * s.stride[2] - s.padding[2] + j * s.dilation[2]));
        }
    return sum < 0 ? 0 : sum;
  }
};

// Shows an element that is finished twice, or not at all.
void negate(const float* from, int64_t from_row, float* to, int64_t to_row, int64_t rows,
            int64_t columns) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to[i * to_row + j] = -from[i * from_row + j];
  }
}

void check(const KernelSet& set, const Case& k, bool channels_first, ConvWay way) {
  Problem p(k, channels_first);
  const LastConvFunctions& f = *set.last_conv;
  std::vector<float> packed(static_cast<size_t>(f.packed_size(p.s, p.groups, way)) + 32,
                            std::numeric_limits<float>::quiet_NaN());
  f.pack(p.s, p.groups, way, p.w.data(), packed.data());
  LastConv c;
  c.shape = p.s;
  c.groups = p.groups;
  c.way = way;
  c.x = p.x.data();
  c.x_channel = p.first ? p.s.in_pixels() : 1;
  c.x_row = p.s.in[2] * (p.first ? 1 : p.channels);
  c.x_column = p.first ? 1 : p.channels;
  c.packed = packed.data();
  c.bias = p.bias.data();
  c.added = p.added.data();
  c.y = p.y.data();
  c.activation = Activation::kRelu;
  bool finished = k.channels % 2 == 1;
  if (finished) c.finish = &negate;
  f.convolve(c);
  double worst = 0;
  for (int64_t pixel = 0; pixel < p.pixels; ++pixel)
    for (int64_t o = 0; o < p.outputs; ++o) {
      double y = p.y[size_t(pixel * p.outputs + o)];
      double error =
          std::abs((finished ? -y : y) - p.wanted(o, pixel / p.s.out[2], pixel % p.s.out[2]));
      worst = std::max(worst, std::isnan(error) ? 1e30 : error);
    }
  double limit = (way == ConvWay::kWinograd ? 8e-6 : 4e-6);
  if (worst > limit * std::sqrt(double(p.s.channels * p.s.taps()) + 1)) {
    test::fail(__FILE__, __LINE__,
               scriptlang::concat(set.name, " way ", int(way), ": ", k.channels, " -> ", k.outputs,
                                  " x ", k.groups, ", in ", k.height, "x", k.width) +
                   scriptlang::concat(", kernel ", k.kernel, ", stride ", k.stride, ", padding ",
                                      k.padding, ", dilation ", k.dilation, ": error ", worst));
  }
}

void check_all(const Case& k) {
  ConvShape s = shape_of(k);
  if (s.out[1] < 1 || s.out[2] < 1) return;
  for (int i = 0; usable_kernels(i) != nullptr; ++i) {
    const KernelSet& set = *usable_kernels(i);
    for (bool channels_first : {false, true}) {
      ConvWay way = set.last_conv->choose(s, k.groups);
      check(set, k, channels_first, way);
      if (way != ConvWay::kDirect) check(set, k, channels_first, ConvWay::kDirect);
    }
  }
}

}  // namespace

TEST(small_images) {
  for (int64_t channels : {1, 3, 17})
    for (int64_t outputs : {1, 5, 33})
      for (int64_t kernel : {1, 2, 3})
        for (int64_t stride : {1, 2, 3})
          for (int64_t padding : {0, 1, 2})
            for (int64_t dilation : {1, 2}) {
              check_all({channels, outputs, 1, 9, 13, kernel, stride, padding, dilation});
            }
}
TEST(winograd_with_odd_edges) {
  for (int64_t size : {1, 2, 3, 7, 8, 15})
    for (int64_t padding : {0, 1, 2}) check_all({64, 40, 1, size, size + 2, 3, 1, padding, 1});
  check_all({32, 100, 1, 20, 9, 3, 1, 1, 1});
}
TEST(depthwise) {
  for (int64_t groups : {2, 16, 33, 70})
    for (int64_t stride : {1, 2})
      for (int64_t kernel : {1, 3, 5}) {
        check_all({1, 1, groups, 11, 17, kernel, stride, kernel / 2, 1});
        check_all({1, 1, groups, 11, 17, kernel, stride, 0, 2});
      }
}
TEST(depthwise_in_bands_of_rows) {
  check_all({1, 1, 100, 60, 57, 3, 1, 1, 1});
  check_all({1, 1, 70, 61, 64, 5, 2, 2, 1});
}
TEST(groups) {
  check_all({4, 6, 3, 9, 9, 3, 1, 1, 1});
  check_all({16, 40, 2, 7, 8, 3, 2, 1, 1});
  check_all({8, 8, 5, 7, 8, 1, 1, 0, 1});
}
TEST(many_channels_and_wide_images) {
  check_all({512, 40, 1, 7, 7, 3, 2, 1, 1});
  check_all({512, 130, 1, 7, 7, 1, 1, 0, 1});
  check_all({512, 70, 1, 9, 10, 3, 2, 1, 1});
  check_all({3, 64, 1, 40, 70, 7, 2, 3, 1});
  check_all({20, 70, 1, 3, 2, 3, 1, 1, 1});
}
TEST(more_padding_than_image) { check_all({3, 5, 1, 1, 1, 3, 4, 6, 2}); }
TEST(threads_share_an_image) {
  set_thread_count(3);
  check_all({32, 64, 1, 33, 31, 3, 1, 1, 1});
  check_all({20, 300, 1, 7, 7, 3, 1, 1, 1});
  check_all({24, 96, 1, 40, 41, 3, 2, 1, 1});
  check_all({1, 1, 64, 40, 40, 3, 1, 1, 1});
  set_thread_count(1);
}
TEST(pooling_windows) {
  for (int i = 0; usable_kernels(i) != nullptr; ++i) {
    const PoolFunctions& f = *usable_kernels(i)->pool;
    const int64_t channels = 77;
    std::mt19937 random(5);
    std::vector<float> x = noise(random, 4 * 5 * channels), y(channels);
    x[channels + 3] = std::numeric_limits<float>::quiet_NaN();
    PoolWindow w{x.data(), 5 * channels, channels, 3, 2, channels, y.data()};
    f.maximum(w);
    for (int64_t c = 0; c < channels; ++c) {
      float best = -9;
      for (int64_t h = 0; h < 3; ++h)
        for (int64_t v = 0; v < 2; ++v) {
          float value = x[size_t((h * 5 + v) * channels + c)];
          best = std::isnan(best) || value <= best ? best : value;
        }
      CHECK(c == 3 ? std::isnan(y[size_t(c)]) : y[size_t(c)] == best);
    }
    f.sum(w, 6);
    float total = 0;
    for (int64_t h = 0; h < 3; ++h)
      for (int64_t v = 0; v < 2; ++v) total += x[size_t((h * 5 + v) * channels + 70)];
    CHECK(std::abs(y[70] - total / 6) < 1e-6f);
  }
}

TEST(rows_of_pools) {
  const float none = -std::numeric_limits<float>::infinity();
  std::mt19937 random(6);
  for (int i = 0; usable_kernels(i) != nullptr; ++i)
    for (int64_t width : {1, 2, 7, 9, 16, 17, 18, 31, 112})
      for (int64_t columns : {1, 2, 3, 5})
        for (int64_t rows : {2, 3})
          for (int64_t stride : {1, 2, 3})
            for (int64_t dilation : {1, 2})
              for (int64_t padding : {0, 1, 3}) {
                // Exactly as long as needed: a sanitizer sees what is read beyond.
                const std::vector<float> more = noise(random, rows * width);
                std::vector<float> x(more.begin(), more.begin() + rows * width);
                const bool has_nan = width % 2 != 0, numbers = width % 3 != 0;
                if (has_nan) x[size_t(width / 2)] = std::numeric_limits<float>::quiet_NaN();
                const int64_t results = (width + 2 * padding) / stride + 1;
                std::vector<float> maxima(size_t(results), 7.0f), sums(size_t(results), 7.0f);
                PoolRow r{x.data(), width,   rows,    width,         columns, stride,
                          dilation, padding, results, maxima.data(), numbers};
                const bool is_right = usable_kernels(i)->pool->maximum_row(r);
                CHECK(is_right || (has_nan && numbers));
                r.y = sums.data();
                usable_kernels(i)->pool->sum_row(r);
                for (int64_t o = 0; o < results; ++o) {
                  float best = none, sum = 0;
                  for (int64_t tap = 0; tap < columns; ++tap)
                    for (int64_t h = 0; h < rows; ++h) {
                      const int64_t at = o * stride + tap * dilation - padding;
                      if (at < 0 || at >= width) continue;
                      const float value = x[size_t(h * width + at)];
                      sum += value;
                      if (!std::isnan(best))
                        best = std::isnan(value) || value > best ? value : best;
                    }
                  const float maximum = maxima[size_t(o)], made = sums[size_t(o)];
                  const bool equal = std::isnan(best) ? std::isnan(maximum) : maximum == best;
                  CHECK(equal || !is_right);
                  CHECK(std::isnan(sum) ? std::isnan(made) : std::abs(made - sum) < 1e-5f);
                }
              }
}

TEST(wide_rows_of_pools) {
  std::mt19937 random(8);
  const int64_t width = 3000, rows = 2;
  const std::vector<float> x = noise(random, rows * width);
  for (int i = 0; usable_kernels(i) != nullptr; ++i)
    for (int64_t columns : {3, 400, 513, 1501})
      for (int64_t stride : {1, 2, 7, 1100})
        for (int64_t dilation : {1, 2}) {
          const int64_t results = (width - (columns - 1) * dilation - 1 + 2) / stride + 1;
          if (results < 1) continue;
          std::vector<float> maxima(size_t(results), 7.0f), sums(size_t(results), 7.0f);
          PoolRow r{x.data(), width, rows,    width,         columns, stride,
                    dilation, 1,     results, maxima.data(), true};
          CHECK(usable_kernels(i)->pool->maximum_row(r));
          r.y = sums.data();
          usable_kernels(i)->pool->sum_row(r);
          for (int64_t o = 0; o < results; o += 17) {
            double best = -9, sum = 0;
            for (int64_t tap = 0; tap < columns; ++tap) {
              const int64_t at = o * stride + tap * dilation - 1;
              if (at < 0 || at >= width) continue;
              for (int64_t h = 0; h < rows; ++h) {
                best = std::max(best, double(x[size_t(h * width + at)]));
                sum += double(x[size_t(h * width + at)]);
              }
            }
            CHECK(double(maxima[size_t(o)]) == best);
            CHECK(std::abs(double(sums[size_t(o)]) - sum) < 1e-3);
          }
        }
}

// One row may be the work of minutes: of windows that lie inside it, and of those that do not. It
// is left before its last result.
TEST(maxima_of_a_long_row_stop) {
  const int64_t width = 60000, columns = 30000;
  const std::vector<float> x(size_t(width), 1.0f);
  for (int i = 0; usable_kernels(i) != nullptr; ++i)
    for (int64_t stride : {1, 2, 3})
      for (int64_t padding : {int64_t{0}, columns / 2}) {
        std::vector<float> y(size_t((width + 2 * padding - columns) / stride + 1), 7.0f);
        const PoolRow row{x.data(),          0,        1,   width, columns, stride, 1, padding,
                          int64_t(y.size()), y.data(), true};
        CHECK(test::stops([&] { usable_kernels(i)->pool->maximum_row(row); }));
        CHECK(y.back() == 7.0f);
      }
}

TEST(depthwise_stops_in_a_long_row) {
  for (int i = 0; usable_kernels(i) != nullptr; ++i)
    for (int64_t padding : {0, 10000}) {
      ConvShape s;
      s.channels = s.outputs = 1;
      s.in[2] = 40000;
      s.kernel[2] = 20000;
      s.padding[2] = padding;
      s.out[2] = s.in[2] + 2 * padding - s.kernel[2] + 1;
      const LastConvFunctions& f = *usable_kernels(i)->last_conv;
      const int64_t groups = 4;
      const std::vector<float> x(size_t(groups * s.in[2]), 1.0f);
      const std::vector<float> w(size_t(groups * s.kernel[2]), 1.0f);
      std::vector<float> y(size_t(groups * s.out[2]), 7.0f);
      std::vector<float> packed(size_t(f.packed_size(s, groups, ConvWay::kDepthwise)));
      f.pack(s, groups, ConvWay::kDepthwise, w.data(), packed.data());
      LastConv c;
      c.shape = s;
      c.groups = groups;
      c.way = ConvWay::kDepthwise;
      c.x = x.data();
      c.x_channel = 1;
      c.x_row = groups * s.in[2];
      c.x_column = groups;
      c.packed = packed.data();
      c.y = y.data();
      CHECK(test::stops([&] { f.convolve(c); }));
      CHECK(y.back() == 7.0f);
    }
}

int main(int count, char** arguments) { return test::main(count, arguments); }
