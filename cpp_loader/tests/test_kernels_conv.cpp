// Convolutions of every instruction set against plain loops in double.
#include <cmath>
#include <random>
#include <vector>

#include "../kernels/kernel_set.h"
#include "../kernels/parallel.h"
#include "harness.h"
#include "stops.h"

using namespace scriptlang::kernels;

namespace {

std::vector<float> noise(std::mt19937& random, int64_t n) {
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(static_cast<size_t>(n) + 1);
  for (float& v : values) v = uniform(random);
  return values;
}

double at(const ConvShape& s, const std::vector<float>& x, const std::vector<float>& w, int64_t o,
          int64_t d, int64_t h, int64_t v) {
  double sum = 0;
  for (int64_t c = 0; c < s.channels; ++c)
    for (int64_t i = 0; i < s.kernel[0]; ++i)
      for (int64_t j = 0; j < s.kernel[1]; ++j)
        for (int64_t k = 0; k < s.kernel[2]; ++k) {
          int64_t di = d * s.stride[0] - s.padding[0] + i * s.dilation[0];
          int64_t hi = h * s.stride[1] - s.padding[1] + j * s.dilation[1];
          int64_t wi = v * s.stride[2] - s.padding[2] + k * s.dilation[2];
          if (di < 0 || di >= s.in[0] || hi < 0 || hi >= s.in[1] || wi < 0 || wi >= s.in[2]) {
            continue;
          }
          int64_t tap = ((o * s.channels + c) * s.kernel[0] + i) * s.kernel[1] + j;
          sum += double(w[size_t(tap * s.kernel[2] + k)]) *
                 double(x[size_t(((c * s.in[0] + di) * s.in[1] + hi) * s.in[2] + wi)]);
        }
  return sum;
}

void check(const KernelSet& set, const ConvShape& s, bool with_bias) {
  std::mt19937 random(static_cast<unsigned>(s.channels * 31 + s.outputs + s.in[2]));
  std::vector<float> x = noise(random, s.channels * s.in_pixels());
  std::vector<float> w = noise(random, s.outputs * s.channels * s.taps());
  std::vector<float> bias = noise(random, s.outputs), y(size_t(s.outputs * s.out_pixels()), -7.0f);
  Conv<float> c;
  c.shape = s;
  c.x = x.data();
  c.w = w.data();
  c.bias = with_bias ? bias.data() : nullptr;
  c.y = y.data();
  set.conv_f32->convolve(c);
  double worst = 0;
  int64_t i = 0;
  for (int64_t o = 0; o < s.outputs; ++o)
    for (int64_t d = 0; d < s.out[0]; ++d)
      for (int64_t h = 0; h < s.out[1]; ++h)
        for (int64_t v = 0; v < s.out[2]; ++v, ++i) {
          double wanted = at(s, x, w, o, d, h, v) + (with_bias ? double(bias[size_t(o)]) : 0.0);
          double error = std::abs(double(y[size_t(i)]) - wanted);
          worst = std::max(worst, std::isnan(error) ? 1e30 : error);
        }
  if (worst > 4e-6 * std::sqrt(double(s.channels * s.taps()) + 1)) {
    test::fail(__FILE__, __LINE__,
               scriptlang::concat(set.name, ": ", s.channels, " -> ", s.outputs, ", in ", s.in[0],
                                  "x", s.in[1], "x", s.in[2]) +
                   scriptlang::concat(", kernel ", s.kernel[0], "x", s.kernel[1], "x", s.kernel[2],
                                      ", stride ", s.stride[2], ", dilation ", s.dilation[2],
                                      ": error ", worst));
  }
}

ConvShape shape(int64_t channels, int64_t outputs, int64_t depth, int64_t height, int64_t width,
                int64_t kernel, int64_t stride, int64_t padding, int64_t dilation) {
  ConvShape s;
  s.channels = channels;
  s.outputs = outputs;
  const int64_t in[3] = {depth, height, width};
  for (int d = 0; d < 3; ++d) {
    if (in[d] == 1) continue;
    s.in[d] = in[d];
    s.kernel[d] = kernel;
    s.stride[d] = stride;
    s.padding[d] = padding;
    s.dilation[d] = dilation;
    s.out[d] = (in[d] + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  }
  return s;
}

template <class F>
void for_sets(F f) {
  for (int i = 0; usable_kernels(i) != nullptr; ++i) f(*usable_kernels(i));
}

void check_many(const KernelSet& set, const int64_t (&sizes)[3]) {
  for (int64_t channels : {1, 3, 17})
    for (int64_t outputs : {1, 5, 33})
      for (int64_t kernel : {1, 2, 3})
        for (int64_t stride : {1, 2, 3})
          for (int64_t padding : {0, 1, 2})
            for (int64_t dilation : {1, 2}) {
              ConvShape s = shape(channels, outputs, sizes[0], sizes[1], sizes[2], kernel, stride,
                                  padding, dilation);
              bool fits = true;
              for (int64_t o : s.out) fits = fits && o > 0;
              if (fits) check(set, s, (channels + outputs) % 2 == 0);
            }
}

}  // namespace

TEST(sequences) {
  for_sets([](const KernelSet& set) { check_many(set, {1, 1, 41}); });
}
TEST(images) {
  for_sets([](const KernelSet& set) { check_many(set, {1, 9, 13}); });
}
TEST(volumes) {
  for_sets([](const KernelSet& set) { check_many(set, {5, 4, 7}); });
}
TEST(few_pixels) {
  for_sets([](const KernelSet& set) { check_many(set, {1, 3, 3}); });
}
TEST(wide_rows_and_many_channels) {
  for_sets([](const KernelSet& set) {
    check(set, shape(64, 40, 1, 20, 70, 3, 1, 1, 1), true);
    check(set, shape(300, 20, 1, 7, 7, 3, 1, 1, 1), true);
    check(set, shape(1, 2, 1, 30, 150, 3, 2, 1, 1), false);
    check(set, shape(1, 60, 1, 1, 640, 64, 32, 0, 1), false);
  });
}
TEST(one_channel_of_any_width) {
  for_sets([](const KernelSet& set) {
    for (int64_t width : {4, 5, 7, 8, 9, 14, 15, 16, 17, 31, 32, 33, 40, 63, 65, 100})
      for (int64_t height : {4, 6, 7, 13, 16})
        for (int64_t kernel : {3, 5, 7})
          for (int64_t stride : {1, 2, 3})
            for (int64_t padding : {kernel / 2, int64_t{1}, int64_t{3}}) {
              if (std::min(height, width) + 2 * padding < kernel) continue;
              check(set, shape(1, 2, 1, height, width, kernel, stride, padding, 1), true);
            }
  });
}
TEST(one_channel_under_windows_that_are_not_square) {
  for_sets([](const KernelSet& set) {
    for (int64_t rows : {1, 3, 4, 5, 7})
      for (int64_t columns : {1, 2, 3, 6})
        for (int64_t row_stride : {1, 2})
          for (int64_t row_dilation : {1, 2}) {
            ConvShape s = shape(1, 1, 1, 23, 21, 3, 1, 1, 1);
            s.kernel[1] = rows, s.kernel[2] = columns;
            s.stride[1] = row_stride, s.dilation[1] = row_dilation;
            s.out[1] = (23 + 2 - row_dilation * (rows - 1) - 1) / row_stride + 1;
            s.out[2] = 21 + 2 - columns + 1;
            check(set, s, true);
          }
  });
}
TEST(one_channel_with_an_activation) {
  for_sets([](const KernelSet& set) {
    for (int64_t height : {2, 4, 9}) {
      const ConvShape s = shape(1, 1, 1, height, 19, 3, 1, 1, 1);
      std::mt19937 random(3);
      const std::vector<float> x = noise(random, s.in_pixels());
      const std::vector<float> w(size_t(s.taps()), 4.0f);
      std::vector<float> plain(size_t(s.out_pixels())), y(size_t(s.out_pixels()));
      for (Activation activation : {Activation::kRelu, Activation::kRelu6}) {
        Conv<float> c;
        c.shape = s;
        c.x = x.data();
        c.w = w.data();
        c.y = plain.data();
        set.conv_f32->convolve(c);
        c.activation = activation;
        c.y = y.data();
        set.conv_f32->convolve(c);
        const float most = activation == Activation::kRelu ? INFINITY : 6.0f;
        bool same = true;
        for (size_t i = 0; i < y.size(); ++i) {
          same = same && y[i] == std::min(std::max(plain[i], 0.0f), most);
        }
        CHECK(same);
      }
    }
  });
}
TEST(one_channel_in_several_stretches_of_rows) {
  for_sets([](const KernelSet& set) {
    check(set, shape(1, 2, 1, 300, 700, 3, 1, 1, 1), true);
    check(set, shape(1, 1, 1, 20000, 9, 3, 1, 1, 1), false);
  });
}
TEST(one_channel_stops_in_a_long_row) {
  for_sets([](const KernelSet& set) {
    const ConvShape s = shape(1, 1, 1, 1, 40000, 20000, 1, 0, 1);
    const std::vector<float> x(size_t(s.in[2]), 1.0f), w(size_t(s.kernel[2]), 1.0f);
    std::vector<float> y(size_t(s.out[2]), 7.0f);
    Conv<float> c;
    c.shape = s;
    c.x = x.data();
    c.w = w.data();
    c.y = y.data();
    CHECK(test::stops([&] { set.conv_f32->convolve(c); }));
    CHECK(y.back() == 7.0f);
  });
}

TEST(groups_follow_each_other) {
  constexpr int64_t kGroups = 3;
  auto alike = [](const KernelSet& set, const ConvShape& s, bool with_bias) {
    std::mt19937 random(7);
    const int64_t in = s.channels * s.in_pixels(), out = s.outputs * s.out_pixels();
    const int64_t weights = s.outputs * s.channels * s.taps();
    const std::vector<float> x = noise(random, kGroups * in), w = noise(random, kGroups * weights);
    const std::vector<float> bias = noise(random, kGroups * s.outputs);
    std::vector<float> together(size_t(kGroups * out), -7.0f), apart(size_t(kGroups * out), -8.0f);
    Conv<float> c;
    c.shape = s;
    c.groups = kGroups;
    c.x = x.data();
    c.w = w.data();
    c.bias = with_bias ? bias.data() : nullptr;
    c.y = together.data();
    set.conv_f32->convolve(c);
    c.groups = 1;
    for (int64_t group = 0; group < kGroups; ++group) {
      c.x = x.data() + group * in;
      c.w = w.data() + group * weights;
      c.bias = with_bias ? bias.data() + group * s.outputs : nullptr;
      c.y = apart.data() + group * out;
      set.conv_f32->convolve(c);
    }
    CHECK(together == apart);
  };
  for_sets([&](const KernelSet& set) {
    for (bool with_bias : {false, true})
      for (int64_t stride : {1, 2, 3})
        for (int64_t outputs : {1, 2, 5}) {
          alike(set, shape(1, outputs, 1, 14, 14, 3, stride, 1, 1), with_bias);
          alike(set, shape(4, outputs, 1, 9, 11, 3, stride, 1, 2), with_bias);
          alike(set, shape(1, outputs, 1, 2, 3, 3, stride, 1, 1), with_bias);
        }
  });
}
TEST(rows_of_any_width_read_in_place) {
  for_sets([](const KernelSet& set) {
    for (int64_t width : {8, 9, 13, 16, 20, 24, 28, 31, 32, 40, 64})
      for (int64_t stride : {1, 2, 3})
        for (int64_t padding : {0, 1, 2})
          for (int64_t dilation : {1, 2}) {
            const int64_t height = 40 * stride;
            check(set, shape(5, 17, 1, height, width * stride, 3, stride, padding, dilation), true);
          }
    check(set, shape(5, 9, 6, 12, 16, 3, 1, 1, 1), true);
    for (int64_t width : {16, 20, 24, 28, 33, 44}) {  // more products than one block
      check(set, shape(40, 9, 1, 40, width, 3, 1, 1, 1), width % 3 == 0);
    }
  });
}
TEST(results_that_leave_a_part_of_the_input_out) {
  for_sets([](const KernelSet& set) {
    for (int64_t kernel : {1, 2, 3})
      for (int64_t padding : {int64_t{0}, kernel - 1})
        for (int64_t channels : {1, 6}) {
          ConvShape s = shape(channels, 5, 1, 30, 36, kernel, 1, padding, 1);
          s.out[1] -= 1;
          s.out[2] -= 3;
          check(set, s, true);
        }
  });
}
TEST(outputs_with_pages_of_their_own) {
  for_sets([](const KernelSet& set) { check(set, shape(1, 70, 1, 514, 514, 2, 1, 0, 1), true); });
}
TEST(images_follow_each_other) {
  constexpr int64_t kImages = 3, kApart = 5;
  const auto alike = [](const KernelSet& set, const ConvShape& s, int64_t groups) {
    std::mt19937 random(11);
    const int64_t in = groups * s.channels * s.in_pixels();
    const int64_t out = groups * s.outputs * s.out_pixels();
    const std::vector<float> x = noise(random, kImages * (in + kApart));
    const std::vector<float> w = noise(random, groups * s.outputs * s.channels * s.taps());
    const std::vector<float> bias = noise(random, groups * s.outputs);
    std::vector<float> together(size_t(kImages * (out + kApart)), -7.0f), apart = together;
    Conv<float> c;
    c.shape = s;
    c.groups = groups;
    c.images = kImages;
    c.x_image = in + kApart;
    c.y_image = out + kApart;
    c.x = x.data();
    c.w = w.data();
    c.bias = bias.data();
    c.y = together.data();
    set.conv_f32->convolve(c);
    c.images = 1;
    for (int64_t i = 0; i < kImages; ++i) {
      c.x = x.data() + i * c.x_image;
      c.y = apart.data() + i * c.y_image;
      set.conv_f32->convolve(c);
    }
    CHECK(together == apart);
  };
  for_sets([&](const KernelSet& set) {
    for (int64_t groups : {1, 2})
      for (int64_t channels : {1, 4})
        for (int64_t outputs : {1, 7})
          for (int64_t stride : {1, 2}) {
            alike(set, shape(channels, outputs, 1, 20, 24, 3, stride, 1, 1), groups);
            alike(set, shape(channels, outputs, 1, 9, 11, 3, stride, 0, 1), groups);
            alike(set, shape(channels, outputs, 1, 8, 8, 1, stride, 0, 1), groups);
            alike(set, shape(channels, outputs, 1, 3, 3, 3, stride, 1, 1), groups);
            alike(set, shape(channels, outputs, 1, 4, 4, 5, 1, 3, 1), groups);
          }
  });
}
TEST(weight_gradients) {
  constexpr int64_t kImages = 2;
  const auto right = [](const KernelSet& set, const ConvShape& s) {
    std::mt19937 random(13);
    const int64_t in = s.channels * s.in_pixels(), out = s.outputs * s.out_pixels();
    std::vector<float> x = noise(random, kImages * in);
    const std::vector<float> g = noise(random, kImages * out);
    std::vector<float> dw(size_t(s.outputs * s.channels * s.taps()), -7.0f);
    ConvWeights<float> c;
    c.shape = s;
    c.images = kImages;
    c.x_image = in;
    c.g_image = out;
    c.x = x.data();
    c.g = g.data();
    c.dw = dw.data();
    set.conv_f32->weight_gradient(c);
    // The gradient is linear: along a weight of one, it is the sum of g times what that gives.
    for (size_t i = 0; i < dw.size(); ++i) {
      std::vector<float> one(dw.size(), 0.0f);
      one[i] = 1;
      double sum = 0;
      for (int64_t image = 0; image < kImages; ++image) {
        const std::vector<float> part(x.begin() + image * in, x.begin() + (image + 1) * in);
        int64_t k = image * out;
        for (int64_t o = 0; o < s.outputs; ++o)
          for (int64_t d = 0; d < s.out[0]; ++d)
            for (int64_t h = 0; h < s.out[1]; ++h)
              for (int64_t v = 0; v < s.out[2]; ++v, ++k) {
                sum += double(g[size_t(k)]) * at(s, part, one, o, d, h, v);
              }
      }
      CHECK(std::abs(double(dw[i]) - sum) < 1e-4);
    }
  };
  for_sets([&](const KernelSet& set) {
    for (int64_t channels : {1, 3})
      for (int64_t kernel : {1, 3, 4})
        for (int64_t stride : {1, 2, 3})
          for (int64_t padding : {0, 2})
            for (int64_t dilation : {1, 2}) {
              right(set, shape(channels, 2, 1, 9, 11, kernel, stride, padding, dilation));
            }
    right(set, shape(1, 2, 4, 5, 9, 3, 1, 1, 1));
    right(set, shape(3, 2, 4, 5, 9, 3, 1, 1, 1));
  });
}
TEST(a_row_of_a_weight_gradient_does_not_read_the_next) {
  for_sets([](const KernelSet& set) {
    ConvShape s = shape(1, 1, 1, 2, 9, 3, 1, 0, 1);
    s.kernel[1] = 1;
    s.out[1] = 1;  // of two rows, one is used
    std::vector<float> x(18, 1.0f), dw(3, -7.0f);
    const std::vector<float> g(7, 1.0f);
    std::fill(x.begin() + 9, x.end(), INFINITY);
    ConvWeights<float> c;
    c.shape = s;
    c.images = 1;
    c.x = x.data();
    c.g = g.data();
    c.dw = dw.data();
    set.conv_f32->weight_gradient(c);
    for (float v : dw) CHECK(v == 7.0f);
  });
}
TEST(threads_share_a_convolution) {
  set_thread_count(3);
  for_sets([](const KernelSet& set) {
    check(set, shape(30, 70, 1, 33, 31, 3, 1, 1, 1), true);
    check(set, shape(200, 300, 1, 7, 7, 3, 1, 1, 1), true);
  });
  set_thread_count(1);
}

int main(int count, char** arguments) { return test::main(count, arguments); }
