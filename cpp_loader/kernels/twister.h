// The Mersenne twister MT19937, as PyTorch's CPU generator has it.
#pragma once

#include <cstdint>
#include <cstring>

namespace scriptlang::kernels {

// The functions of one instruction set.
struct TwisterFunctions {
  // refill computes the next 624 words of the state. Both functions compute the tempered outputs.
  void (*refill)(uint32_t* state, uint32_t* drawn);
  void (*temper)(const uint32_t* state, uint32_t* drawn);
  // Numbers in [0, 1) with as many random bits as the significand holds, from n words or n pairs of
  // words (the high one first).
  void (*uniform_f32)(int64_t n, const uint32_t* words, float* to);
  void (*uniform_f64)(int64_t n, const uint32_t* words, double* to);
};

class Twister {
 public:
  static constexpr int kWords = 624;

  explicit Twister(uint32_t seed = 5489) { this->seed(seed); }
  void seed(uint32_t seed);
  uint32_t operator()() {
    if (next_ == kWords) refill();
    return drawn_[next_++];
  }
  void draw(int64_t n, uint32_t* to);

  // The words of the state, and the number of words drawn so far.
  const uint32_t* words() const { return state_; }
  int position() const { return next_; }
  void set(const uint32_t* words, int position);

  bool operator==(const Twister& other) const {
    return next_ == other.next_ && std::memcmp(state_, other.state_, sizeof state_) == 0;
  }

 private:
  void refill();

  uint32_t state_[kWords];
  uint32_t drawn_[kWords];  // the tempered output of each word
  int next_ = kWords;
};

}  // namespace scriptlang::kernels
