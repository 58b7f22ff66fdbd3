// Best time of repeated runs: on a shared machine the least disturbed run is the honest one.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace bench {

// Seconds a call, the best of `rounds` rounds of about `round_seconds` each: short and many, so
// that some fall between what else a machine does.
template <class F>
double best_seconds(F&& f, int rounds = 50, double round_seconds = 0.003) {
  using Clock = std::chrono::steady_clock;
  auto once = [&](int64_t calls) {
    auto start = Clock::now();
    for (int64_t i = 0; i < calls; ++i) f();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  double first = std::max(once(1), 1e-7);
  int64_t calls = std::max<int64_t>(1, static_cast<int64_t>(round_seconds / first));
  double best = first;
  for (int i = 0; i < rounds; ++i) best = std::min(best, once(calls) / double(calls));
  return best;
}

// 64-byte aligned floats with small values that repeat after a prime number of elements.
class Floats {
 public:
  explicit Floats(int64_t n) {
    size_t bytes = (static_cast<size_t>(n) * 4 + 127) / 64 * 64;
    data_ = static_cast<float*>(std::aligned_alloc(64, bytes));
    if (!data_) throw std::bad_alloc();
    for (int64_t i = 0; i < n; ++i) data_[i] = static_cast<float>(i % 23) * 0.1f - 1.0f;
  }
  ~Floats() { std::free(data_); }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;
  float* get() const { return data_; }

 private:
  float* data_;
};

}  // namespace bench
