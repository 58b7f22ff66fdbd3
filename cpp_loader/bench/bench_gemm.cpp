// Matrix product, GFLOP/s: B as rows, B as columns (a linear layer's weight), B packed ahead,
// and its share of what the processor's multiply-adds give.
//
//   bench_gemm [threads]
#include <cstdio>

#include "../kernels/kernel_set.h"
#include "../kernels/parallel.h"
#include "peak.h"
#include "timing.h"

using namespace scriptlang::kernels;

int main(int argc, char** argv) {
  int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  set_thread_count(threads);
  const auto& functions = kernels().gemm<float>();
  const double most = bench::peak(kernels().name) * threads;
  std::printf("%s, %d threads, multiply-adds alone %.1f GFLOP/s\n%20s %9s %9s %9s %9s\n",
              kernels().name, threads, most, "M,N,K", "rows", "columns", "packed", "share");
  const int64_t shapes[][3] = {
      {64, 64, 64},     {128, 128, 128},  {256, 256, 256}, {512, 512, 512}, {1024, 1024, 1024},
      {128, 3072, 768}, {128, 768, 3072}, {1, 4096, 4096}, {1, 3072, 768},  {8, 3072, 768},
      {32, 3072, 768},  {128, 768, 768},  {197, 768, 768}};
  for (const auto& s : shapes) {
    int64_t m = s[0], n = s[1], k = s[2];
    bench::Floats a(m * k), b(k * n), c(m * n), packed(functions.packed_size(k, n));
    functions.pack(k, n, b.get(), n, 1, packed.get());
    double rates[3];
    for (int way = 0; way < 3; ++way) {
      Gemm<float> g;
      g.m = m;
      g.n = n;
      g.k = k;
      g.a = a.get();
      g.a_row = k;
      g.b = b.get();
      g.b_row = way == 1 ? 1 : n;
      g.b_column = way == 1 ? k : 1;
      if (way == 2) g.packed_b = packed.get();
      g.c = c.get();
      g.c_row = n;
      rates[way] = 2e-9 * double(m * n * k) / bench::best_seconds([&] { functions.multiply(g); });
    }
    std::printf("%6lld,%6lld,%6lld %9.1f %9.1f %9.1f %8.0f%%\n", (long long)m, (long long)n,
                (long long)k, rates[0], rates[1], rates[2], 100 * rates[2] / most);
  }
}
