// Random numbers as PyTorch's CPU generator draws them.
#pragma once

#include "op.h"

namespace scriptlang {

// Draws numbers from a generator whose mutex the caller holds.
class Draw {
 public:
  explicit Draw(Generator& generator) : generator_(generator) {}
  uint32_t bits32() { return generator_.engine(); }
  uint64_t bits64() {
    uint64_t high = bits32();
    return high << 32 | bits32();
  }
  // In [0, 1), with as many random bits as the type's significand holds.
  float uniform_float() { return float(bits32() & ((1u << 24) - 1)) * 0x1p-24f; }
  double uniform() { return double(bits64() & ((uint64_t{1} << 53) - 1)) * 0x1p-53; }
  // Same as n calls of the functions above.
  void bits32(int64_t n, uint32_t* to) { generator_.engine.draw(n, to); }
  void uniform(int64_t n, float* to);
  void uniform(int64_t n, double* to);
  // Box-Muller; the second number of a pair is kept in the generator.
  double normal(double mean, double std);

 private:
  Generator& generator_;
};

// Fills a tensor of a float type.
void fill_uniform(const Tensor& t, double from, double to, Generator& generator);
void fill_normal(const Tensor& t, double mean, double std, Generator& generator);
// 1 with probability p, else 0; any type.
void fill_bernoulli(const Tensor& t, double p, Generator& generator);
// The factors of dropout: 0 with probability p, else 1 / (1 - p).
Tensor dropout_noise(IntSpan sizes, ScalarType dtype, double p, Generator& generator);

}  // namespace scriptlang
