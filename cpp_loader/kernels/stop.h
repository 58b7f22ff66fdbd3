// Whether what a thread computes is still wanted: its call may be over its time, cancelled or
// interrupted while one operator runs.
//
// Whatever loops says how much it has done (`worked`), in operations on single elements. Every
// kBudget of them the thread looks, and leaves by an exception when the call is to stop. So loops
// that are short pay a subtraction, and nobody needs a thread or a signal to watch the clock.
// It is said between blocks of work, never inside of loops that are compiled without exceptions.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

#include "thread.h"

namespace scriptlang::kernels {

// What goes through a kernel that stops. It is no std::exception: only who started the call, and
// the pool of threads, which hands it to its caller, may catch it.
struct Stopped {};

class Stop {
 public:
  using Clock = std::chrono::steady_clock;
  enum Reason : int { kNone, kTime, kCancelled, kInterrupted };

  Stop() = default;
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  // Before the call starts.
  void set_deadline(Clock::time_point at) { has_deadline_ = true, deadline_ = at; }
  void set_cancelled(const std::atomic<bool>* flag) { cancelled_ = flag; }
  // Asked now and then, by the thread that made the call alone.
  void set_interrupted(bool (*ask)(void* user), void* user) { ask_ = ask, user_ = user; }
  bool is_watched() const { return has_deadline_ || cancelled_; }

  Reason reason() const { return Reason(reason_.load(std::memory_order_relaxed)); }
  // Looks at all that may end the call; may_ask: on the thread that made it.
  Reason look(bool may_ask) noexcept;

 private:
  std::atomic<int> reason_{kNone};
  const std::atomic<bool>* cancelled_ = nullptr;
  bool has_deadline_ = false, has_asked_ = false;
  Clock::time_point deadline_, next_ask_;
  bool (*ask_)(void*) = nullptr;
  void* user_ = nullptr;
};

constexpr int64_t kBudget = 1 << 19;

namespace stopping {
extern SL_THREAD_SHARED_WORD Stop* here;      // of the call that this thread works for, or null
extern SL_THREAD_SHARED_WORD bool is_helper;  // a worker of the pool
extern SL_THREAD_SHARED_WORD int64_t left;    // until the next look
void look();
// For loops that cannot throw: whether to leave at once, with any result. Who called them throws
// when it next says what was done.
bool is_over() noexcept;
}  // namespace stopping

// Throws Stopped where the call is to end.
inline void worked(int64_t operations) {
  if (__builtin_expect((stopping::left -= operations) < 0, 0)) stopping::look();
}

// The same of products that are added up: vectors of them take as long as one operation.
inline void multiplied(int64_t products) { worked(products / 8); }

// Of a loop over elements: whatever they cost, it looks now and then.
inline void worked_at(int64_t i) {
  if (__builtin_expect((i & 4095) == 0, 0)) worked(kBudget / 4);
}

// For work of an unknown size between two calls, which is not small.
inline void worked_long() { worked(kBudget / 2); }

// For the length of a call, or of a worker's part of it.
class StopScope {
 public:
  explicit StopScope(Stop* stop) : saved_(stopping::here) { stopping::here = stop; }
  ~StopScope() { stopping::here = saved_; }
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  Stop* saved_;
};

}  // namespace scriptlang::kernels
