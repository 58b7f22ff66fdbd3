// The Mersenne twister MT19937. The vector code that refills it is in isa/twister.cpp.
#include "twister.h"

#include <algorithm>

#include "kernel_set.h"

namespace scriptlang::kernels {

void Twister::seed(uint32_t seed) {
  state_[0] = seed;
  for (uint32_t i = 1; i < kWords; ++i) {
    state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  }
  next_ = kWords;
}

void Twister::set(const uint32_t* words, int position) {
  std::memcpy(state_, words, sizeof state_);
  next_ = position;
  kernels().twister->temper(state_, drawn_);
}

void Twister::refill() {
  kernels().twister->refill(state_, drawn_);
  next_ = 0;
}

void Twister::draw(int64_t n, uint32_t* to) {
  while (n > 0) {
    if (next_ == kWords) refill();
    int64_t count = std::min<int64_t>(n, kWords - next_);
    std::memcpy(to, drawn_ + next_, static_cast<size_t>(count) * sizeof(uint32_t));
    next_ += static_cast<int>(count);
    to += count;
    n -= count;
  }
}

}  // namespace scriptlang::kernels
