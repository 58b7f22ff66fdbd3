// The convolutions of three networks at batch 1, 224 x 224: GFLOP/s of each and the sum of times.
//
//   bench_conv [threads] [network]
#include <cstdio>
#include <cstring>
#include <vector>

#include "../kernels/kernel_set.h"
#include "../kernels/parallel.h"
#include "timing.h"

using namespace scriptlang::kernels;

namespace {

struct Layer {
  int64_t size, channels, outputs, kernel, stride, groups;
  int times;
};

struct Network {
  const char* name;
  std::vector<Layer> layers;
};

const Network kNetworks[] = {
    {"resnet18",
     {{224, 3, 64, 7, 2, 1, 1},
      {56, 64, 64, 3, 1, 1, 4},
      {56, 64, 128, 3, 2, 1, 1},
      {56, 64, 128, 1, 2, 1, 1},
      {28, 128, 128, 3, 1, 1, 3},
      {28, 128, 256, 3, 2, 1, 1},
      {28, 128, 256, 1, 2, 1, 1},
      {14, 256, 256, 3, 1, 1, 3},
      {14, 256, 512, 3, 2, 1, 1},
      {14, 256, 512, 1, 2, 1, 1},
      {7, 512, 512, 3, 1, 1, 3}}},
    {"resnet50",
     {{224, 3, 64, 7, 2, 1, 1},    {56, 64, 64, 1, 1, 1, 1},    {56, 64, 64, 3, 1, 1, 3},
      {56, 64, 256, 1, 1, 1, 4},   {56, 256, 64, 1, 1, 1, 2},   {56, 256, 128, 1, 1, 1, 1},
      {56, 128, 128, 3, 2, 1, 1},  {28, 128, 512, 1, 1, 1, 4},  {56, 256, 512, 1, 2, 1, 1},
      {28, 512, 128, 1, 1, 1, 3},  {28, 128, 128, 3, 1, 1, 3},  {28, 512, 256, 1, 1, 1, 1},
      {28, 256, 256, 3, 2, 1, 1},  {14, 256, 1024, 1, 1, 1, 6}, {28, 512, 1024, 1, 2, 1, 1},
      {14, 1024, 256, 1, 1, 1, 5}, {14, 256, 256, 3, 1, 1, 5},  {14, 1024, 512, 1, 1, 1, 1},
      {14, 512, 512, 3, 2, 1, 1},  {7, 512, 2048, 1, 1, 1, 3},  {14, 1024, 2048, 1, 2, 1, 1},
      {7, 2048, 512, 1, 1, 1, 2},  {7, 512, 512, 3, 1, 1, 2}}},
    {"mobilenetv2",
     {{224, 3, 32, 3, 2, 1, 1},     {112, 32, 32, 3, 1, 32, 1},   {112, 32, 16, 1, 1, 1, 1},
      {112, 16, 96, 1, 1, 1, 1},    {112, 96, 96, 3, 2, 96, 1},   {56, 96, 24, 1, 1, 1, 1},
      {56, 24, 144, 1, 1, 1, 2},    {56, 144, 144, 3, 1, 144, 1}, {56, 144, 24, 1, 1, 1, 1},
      {56, 144, 144, 3, 2, 144, 1}, {28, 144, 32, 1, 1, 1, 1},    {28, 32, 192, 1, 1, 1, 3},
      {28, 192, 192, 3, 1, 192, 2}, {28, 192, 32, 1, 1, 1, 2},    {28, 192, 192, 3, 2, 192, 1},
      {14, 192, 64, 1, 1, 1, 1},    {14, 64, 384, 1, 1, 1, 4},    {14, 384, 384, 3, 1, 384, 4},
      {14, 384, 64, 1, 1, 1, 3},    {14, 384, 96, 1, 1, 1, 1},    {14, 96, 576, 1, 1, 1, 3},
      {14, 576, 576, 3, 1, 576, 2}, {14, 576, 96, 1, 1, 1, 2},    {14, 576, 576, 3, 2, 576, 1},
      {7, 576, 160, 1, 1, 1, 1},    {7, 160, 960, 1, 1, 1, 3},    {7, 960, 960, 3, 1, 960, 3},
      {7, 960, 160, 1, 1, 1, 2},    {7, 960, 320, 1, 1, 1, 1},    {7, 320, 1280, 1, 1, 1, 1}}},
};

void run(const Layer& layer, const Conv<float>& first) {
  const auto& functions = kernels().conv<float>();
  int64_t groups = layer.groups,
          weights = first.shape.outputs * first.shape.channels * first.shape.taps();
  auto some = [&](int64_t begin, int64_t end) {
    for (int64_t g = begin; g < end; ++g) {
      Conv<float> c = first;
      c.x += g * c.shape.channels * c.shape.in_pixels();
      c.w += g * weights;
      c.y += g * c.shape.outputs * c.shape.out_pixels();
      functions.convolve(c);
    }
  };
  if (groups == 1) some(0, 1);
  else parallel_for(groups, 8, some);
}

}  // namespace

int main(int argc, char** argv) {
  int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  set_thread_count(threads);
  std::printf("%s, %d threads\n", kernels().name, threads);
  for (const Network& network : kNetworks) {
    if (argc > 2 && std::strcmp(argv[2], network.name) != 0) continue;
    double total = 0, work = 0;
    for (const Layer& l : network.layers) {
      Conv<float> c;
      ConvShape& s = c.shape;
      s.channels = l.channels / l.groups;
      s.outputs = l.outputs / l.groups;
      int64_t out = (l.size + 2 * (l.kernel / 2) - l.kernel) / l.stride + 1;
      for (int d = 1; d < 3; ++d) {
        s.in[d] = l.size;
        s.out[d] = out;
        s.kernel[d] = l.kernel;
        s.stride[d] = l.stride;
        s.padding[d] = l.kernel / 2;
      }
      int64_t weights = l.outputs * s.channels * s.taps();
      bench::Floats x(l.channels * l.size * l.size), w(weights), y(l.outputs * out * out);
      c.x = x.get();
      c.w = w.get();
      c.y = y.get();
      double seconds = bench::best_seconds([&] { run(l, c); }, 5, 0.01);
      double flop = 2.0 * double(weights) * double(out * out);
      std::printf("%4lld %5lld -> %5lld  k%lld s%lld g%-4lld %8.3f ms %7.1f GFLOP/s x%d\n",
                  (long long)l.size, (long long)l.channels, (long long)l.outputs,
                  (long long)l.kernel, (long long)l.stride, (long long)l.groups, seconds * 1e3,
                  flop / seconds * 1e-9, l.times);
      total += seconds * l.times;
      work += flop * l.times;
    }
    std::printf("%s: %.2f ms, %.1f GFLOP/s\n", network.name, total * 1e3, work / total * 1e-9);
  }
}
