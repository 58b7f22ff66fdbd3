// Generation of blocks of random words, and of uniform numbers from words.
#include "../twister.h"

#include "entry.h"
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

constexpr int kWords = Twister::kWords, kMiddle = 397;
constexpr uint32_t kHighest = 0x80000000u, kLower = 0x7fffffffu;

SL_INLINE uint32_t twisted(uint32_t word, uint32_t next, uint32_t middle) {
  uint32_t both = (word & kHighest) | (next & kLower);
  return middle ^ (both >> 1) ^ ((0u - (both & 1)) & 0x9908b0dfu);
}

void temper(const uint32_t* state, uint32_t* drawn) {
  for (int i = 0; i < kWords; ++i) {
    uint32_t y = state[i];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    drawn[i] = y ^ (y >> 18);
  }
}

// A word depends on the next one and on one that is 397 further or 227 back, never on one computed
// in the same vector.
void refill(uint32_t* s, uint32_t* drawn) {
  constexpr int kRest = kWords - kMiddle;
  SL_INDEPENDENT
  for (int i = 0; i < kRest; ++i) s[i] = twisted(s[i], s[i + 1], s[i + kMiddle]);
  SL_INDEPENDENT
  for (int i = kRest; i < kWords - 1; ++i) s[i] = twisted(s[i], s[i + 1], s[i - kRest]);
  s[kWords - 1] = twisted(s[kWords - 1], s[0], s[kMiddle - 1]);
  temper(s, drawn);
}

void uniform_f32(int64_t n, const uint32_t* SL_RESTRICT words, float* SL_RESTRICT to) {
  for (int64_t i = 0; i < n; ++i) {
    to[i] = static_cast<float>(static_cast<int32_t>(words[i] & 0xffffffu)) * 0x1p-24f;
  }
}

void uniform_f64(int64_t n, const uint32_t* SL_RESTRICT words, double* SL_RESTRICT to) {
  for (int64_t i = 0; i < n; ++i) {
    int32_t high = static_cast<int32_t>(words[2 * i] & 0x1fffffu);
    double low = static_cast<double>(static_cast<int32_t>(words[2 * i + 1] ^ kHighest));
    to[i] = (high * 0x1p32 + (low + 0x1p31)) * 0x1p-53;
  }
}

}  // namespace

const TwisterFunctions twister{&refill, &temper, &uniform_f32, &uniform_f64};

}  // namespace scriptlang::kernels::SL_ISA
