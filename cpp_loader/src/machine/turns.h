// Who may run beside whom.
//
// Objects, and the lists, dicts and tensors in them, have no locks of their own. What one loaded
// module can reach is a Domain; a run takes its turn in that of its objects: with all others that
// only read, or alone where its program may write there (effects.h). Where something of one domain
// comes into another, both become one. Programs that give tensors another shape or memory run alone
// in the process, since tensors share memory across domains.
//
// Order: the process, then one domain, and nothing else is waited for meanwhile but the GIL; nobody
// waits for a turn who holds the GIL. So there is no deadlock. Who comes first is served first.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <utility>

#include "program/effects.h"

namespace scriptlang {

class Domain {
 public:
  static Domain* make() { return new Domain; }
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;
  void retain() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  // The domain that it is a part of by now. It lives as long as this one.
  Domain* root() noexcept {
    Domain* at = this;
    while (Domain* next = at->joined_.load(std::memory_order_acquire)) at = next;
    return at;
  }

  bool try_lock(bool alone) noexcept;
  bool lock_for(bool alone, int milliseconds);  // false where it was not to be had so long
  void unlock(bool alone) noexcept;

  // Makes two domains one, if one of them is free at once, or within that time.
  static bool try_join(Domain* a, Domain* b, int milliseconds = 0);

 private:
  static constexpr uint32_t kWriter = 1u << 31, kQueue = 1u << 30;
  Domain() = default;
  ~Domain() {
    if (Domain* next = joined_.load(std::memory_order_relaxed)) next->release();
  }
  bool enter(bool alone, uint32_t refused) noexcept;

  std::atomic<uint32_t> refs_{1};
  std::atomic<uint32_t> state_{0};  // readers; whether there is a writer; whether somebody waits
  std::atomic<Domain*> joined_{nullptr};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<int> queue_;
};

class DomainRef {
 public:
  DomainRef() noexcept = default;
  explicit DomainRef(Domain* taken) noexcept : at_(taken) {}
  DomainRef(const DomainRef& o) noexcept : at_(o.at_) {
    if (at_) at_->retain();
  }
  DomainRef(DomainRef&& o) noexcept : at_(std::exchange(o.at_, nullptr)) {}
  DomainRef& operator=(DomainRef o) noexcept {
    std::swap(at_, o.at_);
    return *this;
  }
  ~DomainRef() {
    if (at_) at_->release();
  }
  Domain* get() const noexcept { return at_; }
  explicit operator bool() const noexcept { return at_ != nullptr; }

 private:
  Domain* at_ = nullptr;
};

// What is done while a turn is waited for: called every now and then, it may throw to give up.
struct Waiting {
  void (*look)(void* user) = nullptr;
  void* user = nullptr;
};

// Makes two domains one. The caller has no turn.
void join(Domain* a, Domain* b, const Waiting& waiting = {});

class Turn {
 public:
  Turn() noexcept = default;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { give(); }

  // Of a run: in the process, and in a domain where it has one, which the caller keeps. Raises
  // LimitError where the turn does not come within so many milliseconds, if they are not 0.
  void take(Domain* domain, Effect effect, const Waiting& waiting = {}, int64_t milliseconds = 0);

  // Of somebody outside who looks at what is in a domain, or changes it.
  void look(Domain* domain, bool alone, const Waiting& waiting = {});

  // The same where nobody has to be waited for; false where that is not so.
  bool try_take(Domain* domain, Effect effect);
  bool try_look(Domain* domain, bool alone);

  void give() noexcept;

  // Whether this thread has a turn.
  static bool is_inside() noexcept;

  // While something outside is called that may take turns itself: no value is borrowed meanwhile.
  class Pause {
   public:
    explicit Pause(Turn* turn);
    void over(const Waiting& waiting = {});  // to be called when nothing is held

   private:
    Turn* turn_;
    Domain* domain_;
    Effect effect_;
  };

 private:
  bool is_nested(Domain* domain, bool alone) const;
  void lock(Domain* domain, bool alone, const Waiting& waiting, int64_t milliseconds);

  Domain* domain_ = nullptr;  // which is locked
  Domain* asked_ = nullptr;   // what was asked for
  Effect effect_ = Effect::Reads;
  bool alone_ = false, in_process_ = false, held_ = false;
};

}  // namespace scriptlang
