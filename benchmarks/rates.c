/* What one core does at most, by the clock: "GFLOP/s GB/s" of float32 multiply-adds that wait for
   nothing, and of reading memory that no cache holds.  Compiled by machine.py for the processor
   that is there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __AVX512F__
enum { LANES = 16 };
#elif defined(__AVX__)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
#ifdef __aarch64__
#define KEEP(x) __asm__ volatile("" : "+w"(x)) /* The compiler may not leave x out. */
#else
#define KEEP(x) __asm__ volatile("" : "+x"(x))
#endif
enum { ACCUMULATORS = 12, STEPS = 1 << 20 };
typedef float vec __attribute__((vector_size(LANES * sizeof(float))));

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Twelve sums that do not depend on each other: more than latency times throughput asks for. */
static double multiply_adds(void) {
  vec a = {0}, x, sums[ACCUMULATORS] = {0};
  for (int i = 0; i < LANES; ++i) a[i] = 0.5F;
  x = a;
  double best = 0.0;
  for (int round = 0; round < 9; ++round) {
    double start = now();
    for (int step = 0; step < STEPS; ++step) {
      for (int i = 0; i < ACCUMULATORS; ++i) {
        sums[i] = sums[i] * a + x;
        KEEP(sums[i]);
      }
    }
    double rate = 2.0 * LANES * ACCUMULATORS * STEPS / (now() - start);
    if (rate > best) best = rate;
  }
  return best;
}

static double reading(void) {
  size_t bytes = (size_t)256 << 20, count = bytes / sizeof(vec);
  vec *data = aligned_alloc(64, bytes);
  if (!data) return 0.0;
  memset(data, 1, bytes);
  double best = 0.0;
  for (int round = 0; round < 5; ++round) {
    vec sums[8] = {0};
    double start = now();
    for (size_t i = 0; i < count; i += 8) {
      for (int j = 0; j < 8; ++j) sums[j] += data[i + (size_t)j];
    }
    for (int j = 0; j < 8; ++j) KEEP(sums[j]);
    double rate = (double)bytes / (now() - start);
    if (rate > best) best = rate;
  }
  free(data);
  return best;
}

int main(void) {
  printf("%.2f %.2f\n", multiply_adds() * 1e-9, reading() * 1e-9);
  return 0;
}
