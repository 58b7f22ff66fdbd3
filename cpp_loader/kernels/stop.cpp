// Ends a call early: checks its deadline, cancellation and interrupts from time to time.
#include "stop.h"

#include <algorithm>

namespace scriptlang::kernels {

namespace {

// How often interrupts are queried. A query may take a contended lock, so it may use only a small
// share of the time.
constexpr auto kAskEvery = std::chrono::milliseconds(40);
constexpr int kAskShare = 20;

}  // namespace

namespace stopping {
SL_THREAD_SHARED_WORD Stop* here = nullptr;
SL_THREAD_SHARED_WORD bool is_helper = false;
SL_THREAD_SHARED_WORD int64_t left = 0;

__attribute__((noinline, cold)) void look() {
  left = kBudget;
  if (here && here->look(!is_helper) != Stop::kNone) throw Stopped();
}

bool is_over() noexcept {
  if (!here || here->look(!is_helper) == Stop::kNone) return false;
  left = -1;
  return true;
}
}  // namespace stopping

Stop::Reason Stop::look(bool may_ask) noexcept {
  if (reason() != kNone) return reason();
  Reason found = kNone;
  if (cancelled_ && cancelled_->load(std::memory_order_relaxed)) {
    found = kCancelled;
  } else if (has_deadline_ || (ask_ && may_ask)) {
    Clock::time_point now = Clock::now();
    if (has_deadline_ && now > deadline_) {
      found = kTime;
    } else if (ask_ && may_ask && !has_asked_) {
      has_asked_ = true;
      next_ask_ = now + kAskEvery;
    } else if (ask_ && may_ask && now > next_ask_) {
      if (ask_(user_)) found = kInterrupted;
      Clock::time_point then = Clock::now();
      next_ask_ = then + std::max<Clock::duration>(kAskEvery, kAskShare * (then - now));
    }
  }
  if (found != kNone) reason_.store(found, std::memory_order_relaxed);
  return reason();
}

}  // namespace scriptlang::kernels
