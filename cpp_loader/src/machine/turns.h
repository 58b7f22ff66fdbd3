// Locks that decide which runs may happen at the same time.
//
// Objects, and the lists, dicts and tensors in them, have no locks of their own. All that one
// loaded module can reach is a Domain, with one reader-writer lock. A run holds the lock of its
// objects' domain, which is called its turn: shared if its program only reads, alone if it may
// write (effects.h). If a value of one domain is stored in another, both become one domain.
// Programs that give tensors another shape or memory run alone in the process, since domains may
// share memory.
//
// Locks are taken in this order: the process, one domain, the GIL. A thread that holds the GIL
// never waits for a turn. So there is no deadlock. Threads get a turn in the order in which they
// asked for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <utility>

#include "program/effects.h"

namespace scriptlang {

// The objects that one loaded module can reach, with their reader-writer lock. It is reference
// counted. `alone` means locked by a writer.
class Domain {
 public:
  static Domain* make() { return new Domain; }  // with one reference, which the caller owns
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;
  void retain() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  // The domain that this one has been joined to, directly or not, or itself. It lives at least as
  // long as this one.
  Domain* root() noexcept {
    Domain* at = this;
    while (Domain* next = at->joined_.load(std::memory_order_acquire)) at = next;
    return at;
  }

  bool try_lock(bool alone) noexcept;
  bool lock_for(bool alone, int milliseconds);  // false if the lock was not free in that time
  void unlock(bool alone) noexcept;

  // Joins two domains. False if neither of them becomes free within the time.
  static bool try_join(Domain* a, Domain* b, int milliseconds = 0);

 private:
  static constexpr uint32_t kWriter = 1u << 31, kQueue = 1u << 30;
  Domain() = default;
  ~Domain() {
    if (Domain* next = joined_.load(std::memory_order_relaxed)) next->release();
  }
  // Takes the lock if it is free and no flag of `refused` is set.
  bool enter(bool alone, uint32_t refused) noexcept;

  std::atomic<uint32_t> refs_{1};
  std::atomic<uint32_t> state_{0};  // number of readers, and the flags kWriter and kQueue
  std::atomic<Domain*> joined_{nullptr};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<int> queue_;  // an item for each thread that waits, in order
};

// A reference to a domain, or null.
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

// A callback that is called now and then while a thread waits for a turn. It may throw to give up.
struct Waiting {
  void (*look)(void* user) = nullptr;
  void* user = nullptr;
};

// Joins two domains. The caller must not hold a turn.
void join(Domain* a, Domain* b, const Waiting& waiting = {});

// A turn: the right of a thread to run a program or to use its objects, until give().
class Turn {
 public:
  Turn() noexcept = default;
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { give(); }

  // Takes the turn of a run: in the process, and in the domain, if it is not null. The caller keeps
  // the domain alive. Raises LimitError if that takes longer than `milliseconds`; 0 is no limit.
  void take(Domain* domain, Effect effect, const Waiting& waiting = {}, int64_t milliseconds = 0);

  // Takes a turn to read or change objects of a domain from outside of a run.
  void look(Domain* domain, bool alone, const Waiting& waiting = {});

  // Like take() and look(), without waiting. False if the turn is not free.
  bool try_take(Domain* domain, Effect effect);
  bool try_look(Domain* domain, bool alone);

  void give() noexcept;

  // Whether this thread has a turn.
  static bool is_inside() noexcept;

  // Gives the turn back while a callback runs, which may take turns itself. To be used only where
  // no value is borrowed.
  class Pause {
   public:
    explicit Pause(Turn* turn);
    void over(const Waiting& waiting = {});  // takes the turn again; the caller holds no lock

   private:
    Turn* turn_;
    Domain* domain_;
    Effect effect_;
  };

 private:
  bool is_nested(Domain* domain, bool alone) const;
  void lock(Domain* domain, bool alone, const Waiting& waiting, int64_t milliseconds);

  Domain* domain_ = nullptr;  // the domain that is locked: the root of `asked_`
  Domain* asked_ = nullptr;   // the domain that the caller named
  Effect effect_ = Effect::Reads;
  bool alone_ = false, in_process_ = false, held_ = false;
};

}  // namespace scriptlang
