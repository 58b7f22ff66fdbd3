// Ends a call early if its result is no longer wanted: it may exceed its time, be cancelled or
// interrupted while one operator runs.
//
// Loops report their progress (`worked`), in operations on single elements. After every kBudget of
// them the thread checks whether the call is to stop, and if so throws an exception. So short loops
// pay only a subtraction, and no thread or signal is needed to watch the clock. Progress is
// reported between blocks of work, never inside loops that are compiled without exceptions.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

#include "thread.h"

namespace scriptlang::kernels {

// Thrown inside a kernel to end it early. It does not derive from std::exception, so that only the
// code that started the call and the thread pool (which rethrows it in the calling thread) catch
// it.
struct Stopped {};

class Stop {
 public:
  using Clock = std::chrono::steady_clock;
  enum Reason : int { kNone, kTime, kCancelled, kInterrupted };

  Stop() = default;
  Stop(const Stop&) = delete;
  Stop& operator=(const Stop&) = delete;

  // These must be called before the call starts.
  void set_deadline(Clock::time_point at) { has_deadline_ = true, deadline_ = at; }
  void set_cancelled(const std::atomic<bool>* flag) { cancelled_ = flag; }
  // `ask` is called from time to time, only by the thread that made the call.
  void set_interrupted(bool (*ask)(void* user), void* user) { ask_ = ask, user_ = user; }
  bool is_watched() const { return has_deadline_ || cancelled_; }

  Reason reason() const { return Reason(reason_.load(std::memory_order_relaxed)); }
  // Checks everything that may end the call. may_ask: this is the thread that made it.
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
extern SL_THREAD_SHARED_WORD Stop* here;      // of the call that this thread works for; may be null
extern SL_THREAD_SHARED_WORD bool is_helper;  // this is a worker of the pool
extern SL_THREAD_SHARED_WORD int64_t left;    // operations until the next check
void look();
// For loops that cannot throw: whether to return at once, with any result. The caller's next
// worked() throws.
bool is_over() noexcept;
}  // namespace stopping

// Reports operations. Throws Stopped if the call is to end.
inline void worked(int64_t operations) {
  if (__builtin_expect((stopping::left -= operations) < 0, 0)) stopping::look();
}

// The same for multiply-adds: a vector of them takes as long as one operation.
inline void multiplied(int64_t products) { worked(products / 8); }

// For loops over elements of unknown cost: checks regularly.
inline void worked_at(int64_t i) {
  if (__builtin_expect((i & 4095) == 0, 0)) worked(kBudget / 4);
}

// For work of unknown, but not small, size between two calls.
inline void worked_long() { worked(kBudget / 2); }

// Sets the Stop of the current thread for the duration of a call, or of a worker's part of it.
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
