// The locks of turns.h: that of the process, those of domains, and turns, which hold both.
#include "turns.h"

#if defined(_WIN32) && !defined(__MINGW32__)
#include "values/wide_path.h"
#else
#include <pthread.h>
#endif

#include <algorithm>
#include <chrono>
#include <new>

#include "../../kernels/thread.h"
#include "values/error.h"

namespace scriptlang {

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLook = 50;  // milliseconds between two calls of Waiting

// ---- the process. It is a reader-writer lock in which each reader, a thread that runs, has a flag
// of its own, so that readers do not write to shared memory.

// The flag of one thread, on a cache line of its own.
struct alignas(64) Place {
  std::atomic<uint32_t> inside{0};  // 1 while the thread runs a program
  Turn* turn = nullptr;             // of the thread that uses this place
  bool used = true;                 // by a thread; guarded by Process::mutex
  Place* next = nullptr;
};

struct Process {
  std::mutex mutex;
  std::condition_variable changed;
  Place* places = nullptr;             // never freed, but reused
  std::atomic<bool> is_closed{false};  // a run is alone, or waits for the others to end
};

Process& process() {
  static Process* made = new Process;  // never freed: threads may end after statics
  return *made;
}

SL_THREAD_WORD Place* own_place = nullptr;

// Called when a thread ends. It is the destructor of a key of the system, since a thread_local
// object with a destructor would take static TLS, which is scarce (thread.h).
void leave_place(void* place) {
  std::lock_guard<std::mutex> lock(process().mutex);
  static_cast<Place*>(place)->used = false;
  own_place = nullptr;
}

#if defined(_WIN32) && !defined(__MINGW32__)
using Key = DWORD;
void WINAPI leave_key(void* place) { leave_place(place); }
bool make_key(Key* key) { return (*key = FlsAlloc(leave_key)) != FLS_OUT_OF_INDEXES; }
bool keep(Key key, void* place) { return FlsSetValue(key, place) != 0; }
#else
using Key = pthread_key_t;
bool make_key(Key* key) { return pthread_key_create(key, leave_place) == 0; }
bool keep(Key key, void* place) { return pthread_setspecific(key, place) == 0; }
#endif

// A place that no thread uses any more, or a new one.
Place* free_place(Process& p) {
  std::lock_guard<std::mutex> lock(p.mutex);
  for (Place* at = p.places; at; at = at->next) {
    if (!std::exchange(at->used, true)) return at;
  }
  Place* fresh = new Place;
  fresh->next = p.places;
  return p.places = fresh;
}

__attribute__((noinline)) Place* make_place() {
  static const Key key = [] {
    Key made;
    if (!make_key(&made)) throw std::bad_alloc();
    return made;
  }();
  Place* place = free_place(process());
  if (!keep(key, place)) {
    leave_place(place);
    throw std::bad_alloc();
  }
  return own_place = place;
}

Place* place_of_thread() {
  return __builtin_expect(own_place != nullptr, 1) ? own_place : make_place();
}

// The flag is set before `is_closed` is read, and close_process() sets `is_closed` before it reads
// the flags. So at least one of the two threads sees the other.
bool try_enter_process() {
  Place* place = place_of_thread();
  place->inside.exchange(1, std::memory_order_seq_cst);
  if (__builtin_expect(!process().is_closed.load(std::memory_order_seq_cst), 1)) return true;
  std::lock_guard<std::mutex> lock(process().mutex);
  place->inside.store(0, std::memory_order_seq_cst);
  process().changed.notify_all();
  return false;
}

void leave_process() noexcept {
  own_place->inside.exchange(0, std::memory_order_seq_cst);
  if (__builtin_expect(!process().is_closed.load(std::memory_order_seq_cst), 1)) return;
  std::lock_guard<std::mutex> lock(process().mutex);
  process().changed.notify_all();
}

bool others_inside(const Process& p) {
  for (Place* at = p.places; at; at = at->next) {
    if (at != own_place && at->inside.load(std::memory_order_seq_cst)) return true;
  }
  return false;
}

// What a thread does while it waits: it calls the callback now and then, and keeps a limit of time.
class Patience {
 public:
  Patience(const Waiting& waiting, int64_t milliseconds)
      : waiting_(waiting),
        milliseconds_(milliseconds),
        end_(Clock::now() + std::chrono::milliseconds(milliseconds)) {}
  // Calls the callback. Raises LimitError after the limit. The caller must hold no lock.
  void look() {
    if (waiting_.look) waiting_.look(waiting_.user);
    if (milliseconds_ > 0 && Clock::now() > end_) {
      raise(ErrorKind::LimitError, "the program waited longer than its limit of ", milliseconds_,
            " ms for runs that may not go beside it");
    }
  }
  // For how many milliseconds to wait until the next look().
  int next() const {
    if (milliseconds_ <= 0) return kLook;
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now());
    return int(std::min<int64_t>(kLook, std::max<int64_t>(left.count() + 1, 1)));
  }

 private:
  const Waiting& waiting_;
  int64_t milliseconds_;
  Clock::time_point end_;
};

void enter_process(Patience* patience) {
  Process& p = process();
  while (!try_enter_process()) {
    {
      std::unique_lock<std::mutex> lock(p.mutex);
      p.changed.wait_for(lock, std::chrono::milliseconds(patience->next()),
                         [&] { return !p.is_closed.load(); });
    }
    patience->look();
  }
}

// Waits until this thread is the only one that runs, and keeps others from entering.
void close_process(Patience* patience) {
  Process& p = process();
  place_of_thread();
  // With `closing`, waits until no other thread has closed the process, and closes it. Else waits
  // until all other runs have ended. False if that takes longer than patience->next().
  auto wait = [&](bool closing) {
    std::unique_lock<std::mutex> lock(p.mutex);
    bool done = p.changed.wait_for(lock, std::chrono::milliseconds(patience->next()), [&] {
      return closing ? !p.is_closed.load() : !others_inside(p);
    });
    if (done && closing) p.is_closed.store(true, std::memory_order_seq_cst);
    return done;
  };
  while (!wait(true)) patience->look();
  try {
    while (!wait(false)) patience->look();
  } catch (...) {
    std::lock_guard<std::mutex> lock(p.mutex);
    p.is_closed.store(false, std::memory_order_seq_cst);
    p.changed.notify_all();
    throw;
  }
}

void open_process() noexcept {
  Process& p = process();
  std::lock_guard<std::mutex> lock(p.mutex);
  p.is_closed.store(false, std::memory_order_seq_cst);
  p.changed.notify_all();
}

}  // namespace

// ---- domains

bool Domain::enter(bool alone, uint32_t refused) noexcept {
  uint32_t now = state_.load(std::memory_order_relaxed);
  for (;;) {
    uint32_t held = now & ~kQueue;
    if ((now & refused) || (alone ? held != 0 : (held & kWriter) != 0)) return false;
    uint32_t next = alone ? now | kWriter : now + 1;
    if (state_.compare_exchange_weak(now, next, std::memory_order_acq_rel)) return true;
  }
}

bool Domain::try_lock(bool alone) noexcept { return enter(alone, kQueue); }

bool Domain::lock_for(bool alone, int milliseconds) {
  if (try_lock(alone)) return true;
  std::unique_lock<std::mutex> lock(mutex_);
  auto place = queue_.insert(queue_.end(), 0);
  state_.fetch_or(kQueue, std::memory_order_acq_rel);
  bool done = changed_.wait_for(lock, std::chrono::milliseconds(milliseconds),
                                [&] { return place == queue_.begin() && enter(alone, 0); });
  queue_.erase(place);
  if (queue_.empty()) state_.fetch_and(~kQueue, std::memory_order_acq_rel);
  changed_.notify_all();
  return done;
}

void Domain::unlock(bool alone) noexcept {
  uint32_t before = alone ? state_.fetch_and(~kWriter, std::memory_order_acq_rel)
                          : state_.fetch_sub(1, std::memory_order_acq_rel);
  if (__builtin_expect(!(before & kQueue), 1)) return;
  std::lock_guard<std::mutex> lock(mutex_);
  changed_.notify_all();
}

// A thread that holds the lock of a domain alone may join it to another. Threads that wait for that
// lock notice it when they get the lock. The mutex prevents two joins from making a cycle.
bool Domain::try_join(Domain* a, Domain* b, int milliseconds) {
  static std::mutex joining;
  for (;;) {
    Domain *from = b->root(), *to = a->root();
    if (from == to) return true;
    if (!from->try_lock(true)) {
      std::swap(from, to);
      if (!from->try_lock(true)) {
        if (milliseconds == 0 || !from->lock_for(true, milliseconds)) return false;
      }
    }
    bool done = false;
    if (!from->joined_.load(std::memory_order_acquire)) {
      std::lock_guard<std::mutex> lock(joining);
      Domain* root = to->root();
      if (root != from) {
        root->retain();
        from->joined_.store(root, std::memory_order_release);
      }
      done = true;
    }
    from->unlock(true);
    if (done) return true;
  }
}

void join(Domain* a, Domain* b, const Waiting& waiting) {
  Patience patience(waiting, 0);
  while (!Domain::try_join(a, b, kLook)) patience.look();
}

// ---- turns

bool Turn::is_inside() noexcept { return own_place && own_place->turn; }

// Whether this thread has a turn already that allows as much. That happens if a finalizer of a
// Python object calls back. Raises RuntimeError if its turn allows less.
bool Turn::is_nested(Domain* domain, bool alone) const {
  if (!is_inside()) return false;
  const Turn& own = *own_place->turn;
  if (domain && own.domain_ == domain->root() && (own.alone_ || !alone)) return true;
  raise(ErrorKind::RuntimeError,
        "a program or an attribute of one was asked for while this thread "
        "finishes a run; a finalizer must not do so");
}

void Turn::lock(Domain* domain, bool alone, const Waiting& waiting, int64_t milliseconds) {
  Domain* root = domain->root();
  if (!root->try_lock(alone)) {
    Patience patience(waiting, milliseconds);
    while (!root->lock_for(alone, patience.next())) {
      patience.look();
      root = root->root();
    }
  }
  if (root->root() != root) {  // it was joined to another one meanwhile
    root->unlock(alone);
    return lock(root, alone, waiting, milliseconds);
  }
  domain_ = root;
  alone_ = alone;
}

void Turn::take(Domain* domain, Effect effect, const Waiting& waiting, int64_t milliseconds) {
  if (is_nested(domain, effect != Effect::Reads)) {
    raise(ErrorKind::RuntimeError, "a run was started while this thread finishes another one");
  }
  asked_ = domain;
  effect_ = effect;
  if (effect == Effect::Reshapes) {
    Patience patience(waiting, milliseconds);
    close_process(&patience);
  } else if (!try_enter_process()) {
    Patience patience(waiting, milliseconds);
    enter_process(&patience);
  }
  in_process_ = held_ = true;
  place_of_thread()->turn = this;
  try {
    if (domain) lock(domain, effect != Effect::Reads, waiting, milliseconds);
  } catch (...) {
    give();
    throw;
  }
}

bool Turn::try_take(Domain* domain, Effect effect) {
  if (effect == Effect::Reshapes || is_nested(nullptr, true) || !try_enter_process()) return false;
  effect_ = effect;
  asked_ = domain;
  bool alone = effect != Effect::Reads;
  Domain* root = domain ? domain->root() : nullptr;
  bool locked = !root || root->try_lock(alone);
  if (locked && root && root->root() != root) {
    root->unlock(alone);
    locked = false;
  }
  if (!locked) {
    leave_process();
    return false;
  }
  domain_ = root;
  alone_ = alone;
  in_process_ = held_ = true;
  place_of_thread()->turn = this;
  return true;
}

void Turn::look(Domain* domain, bool alone, const Waiting& waiting) {
  if (is_nested(domain, alone)) return;
  lock(domain, alone, waiting, 0);
  held_ = true;
  place_of_thread()->turn = this;
}

bool Turn::try_look(Domain* domain, bool alone) {
  if (is_nested(domain, alone)) return true;
  Domain* root = domain->root();
  if (!root->try_lock(alone)) return false;
  if (root->root() != root) {
    root->unlock(alone);
    return false;
  }
  domain_ = root;
  alone_ = alone;
  held_ = true;
  place_of_thread()->turn = this;
  return true;
}

void Turn::give() noexcept {
  if (!held_) return;
  if (domain_) domain_->unlock(alone_);
  if (in_process_) {
    if (effect_ == Effect::Reshapes) open_process();
    else leave_process();
  }
  domain_ = nullptr;
  held_ = in_process_ = false;
  own_place->turn = nullptr;
}

Turn::Pause::Pause(Turn* turn) : turn_(turn), domain_(turn->asked_), effect_(turn->effect_) {
  turn->give();
}

void Turn::Pause::over(const Waiting& waiting) { turn_->take(domain_, effect_, waiting); }

}  // namespace scriptlang
