// Arenas. Places are planned by size, the largest block first: each gets the smallest gap that is
// free during its lifetime. passes/memory_plan.py does the same.
#include "arena.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "kernels/thread.h"

namespace scriptlang::memory {

namespace {

constexpr size_t kAlign = 64;
constexpr int kMostArenas = 64;

size_t rounded(size_t bytes) { return (std::max<size_t>(bytes, 1) + kAlign - 1) & ~(kAlign - 1); }

SL_THREAD_WORD Arena* arena_here = nullptr;

// One entry of the list of arenas' blocks. Threads read it without a lock (a seqlock): an odd or
// changing version means that the entry is being written. Then its arena is being added or closed,
// and no block that is being freed lies in it.
struct Listed {
  std::atomic<uint32_t> version{0};
  std::atomic<char*> base{nullptr};
  std::atomic<size_t> size{0};
  std::atomic<Arena*> arena{nullptr};

  void write(Arena* who, char* from, size_t bytes) {
    version.fetch_add(1, std::memory_order_acq_rel);
    arena.store(who, std::memory_order_release);
    base.store(from, std::memory_order_release);
    size.store(bytes, std::memory_order_release);
    version.fetch_add(1, std::memory_order_acq_rel);
  }
  // The arena if `block` lies in this entry's memory, else null.
  Arena* holder(const void* block) const {
    const uint32_t before = version.load(std::memory_order_acquire);
    char* from = base.load(std::memory_order_acquire);
    const size_t bytes = size.load(std::memory_order_acquire);
    Arena* who = arena.load(std::memory_order_acquire);
    if (before % 2 || size_t(static_cast<const char*>(block) - from) >= bytes) return nullptr;
    return version.load(std::memory_order_acquire) == before ? who : nullptr;
  }
};
std::mutex arenas_mutex;
Listed arenas[kMostArenas];

}  // namespace

std::atomic<int> Arena::count_{0};

Arena* Arena::here() noexcept { return arena_here; }

Arena::Scope::Scope(Arena* arena) noexcept
    : before_(std::exchange(arena_here, arena)), kept_(set_lists_aside()) {
  if (arena) arena->begin_call();
}

Arena::Scope::~Scope() {
  take_lists_back(kept_);
  arena_here = before_;
}

void Arena::close(std::unique_ptr<Arena> arena, void (*end)(void* block)) {
  arena->end_ = end;
  arena.release()->drop();
}

void Arena::drop() noexcept {
  if (live_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  void (*end)(void*) = end_;
  void* block = base_;
  delete this;
  if (end && block) end(block);
}

Arena::~Arena() {
  if (!base_) return;
  std::lock_guard<std::mutex> lock(arenas_mutex);
  for (Listed& place : arenas) {
    if (place.arena.load(std::memory_order_relaxed) == this) place.write(nullptr, nullptr, 0);
  }
  count_.fetch_sub(1);
}

bool Arena::use(void* block) {
  std::lock_guard<std::mutex> lock(arenas_mutex);
  for (Listed& place : arenas) {
    if (place.arena.load(std::memory_order_relaxed)) continue;
    base_ = static_cast<char*>(block);
    place.write(this, base_, slots_end_);
    count_.fetch_add(1);
    return true;
  }
  return false;
}

// ---- recording

void Arena::record() {
  recording_ = true;
  count_.fetch_add(1);  // so that give() is called
}

void Arena::begin_call() noexcept {
  next_ = 0;
  broken_ = false;
  if (recording_) {
    ++call_;
    clock_ = 0;
    return;
  }
  // A block that the last call should have freed occupies its place.
  for (size_t k = 0; k < places_.size() && !broken_; ++k) {
    broken_ = lives_[k].load(std::memory_order_acquire);
  }
  if (broken_) miss();
}

void Arena::note_take(void* block, size_t bytes) {
  events_.push_back({block, bytes, call_, clock_++, -1, true});
}

void Arena::note_give(void* block) noexcept {
  for (size_t k = events_.size(); k-- > 0;) {
    Event& e = events_[k];
    if (e.block != block || !e.is_live) continue;
    e.is_live = false;
    if (e.call == call_ && arena_here == this) e.given = clock_;
    ++clock_;
    return;
  }
}

// ---- the plan

// Counts slots per size. At the same time there may be the blocks that one call leaves and those
// that the next call makes before it drops them, so two per block are enough for a state; results
// are dropped by the caller before the next call.
void Arena::count_slots(int from) {
  std::vector<std::pair<size_t, int>> wanted;  // size, number of blocks left by a call
  for (const Event& e : events_) {
    if (e.call != from || e.given >= 0) continue;
    auto it = std::find_if(wanted.begin(), wanted.end(),
                           [&](const auto& w) { return w.first == rounded(e.bytes); });
    if (it == wanted.end()) wanted.push_back({rounded(e.bytes), 1});
    else ++it->second;
  }
  std::sort(wanted.begin(), wanted.end());
  for (const auto& [bytes, count] : wanted) slot_sizes_.insert(slot_sizes_.end(), 2 * count, bytes);
}

void Arena::place_blocks(const std::vector<const Event*>& last) {
  places_.resize(last.size());
  std::vector<int> by_size;
  for (size_t k = 0; k < last.size(); ++k) {
    places_[k].bytes = last[k]->bytes;
    places_[k].at = -1;
    if (last[k]->given >= 0) by_size.push_back(int(k));
  }
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](int a, int b) { return last[size_t(a)]->bytes > last[size_t(b)]->bytes; });
  auto meet = [&](int a, int b) {
    const Event &x = *last[size_t(a)], &y = *last[size_t(b)];
    return x.taken < y.given && y.taken < x.given;
  };
  std::vector<int> placed;
  for (int k : by_size) {
    Place& mine = places_[size_t(k)];
    std::vector<std::pair<size_t, size_t>> taken;  // begin, end
    for (int other : placed) {
      const Place& o = places_[size_t(other)];
      if (meet(k, other)) taken.push_back({o.offset, o.offset + rounded(o.bytes)});
    }
    std::sort(taken.begin(), taken.end());
    size_t offset = 0, best = SIZE_MAX, best_room = SIZE_MAX;
    for (const auto& [begin, end] : taken) {
      if (begin > offset && begin - offset >= rounded(mine.bytes) && begin - offset < best_room) {
        best = offset;
        best_room = begin - offset;
      }
      offset = std::max(offset, end);
    }
    mine.offset = best == SIZE_MAX ? offset : best;
    planned_ = std::max(planned_, mine.offset + rounded(mine.bytes));
    placed.push_back(k);
    offsets_.push_back(mine.offset);
  }
  std::sort(offsets_.begin(), offsets_.end());
  offsets_.erase(std::unique(offsets_.begin(), offsets_.end()), offsets_.end());
  for (int k : by_size) {
    Place& mine = places_[size_t(k)];
    mine.at =
        int(std::lower_bound(offsets_.begin(), offsets_.end(), mine.offset) - offsets_.begin());
    for (int j = 0; j < k; ++j) {
      const Place& o = places_[size_t(j)];
      if (last[size_t(j)]->given < 0) continue;
      const bool apart = o.offset >= mine.offset + rounded(mine.bytes) ||
                         mine.offset >= o.offset + rounded(o.bytes);
      if (!apart) mine.others.push_back(j);
    }
  }
}

void Arena::plan(size_t scratch) {
  recording_ = false;
  count_.fetch_sub(1);
  std::vector<const Event*> last, before;
  for (const Event& e : events_) {
    if (e.call == call_) last.push_back(&e);
    if (e.call == call_ - 1) before.push_back(&e);
  }
  steady_ = last.size() == before.size();
  for (size_t k = 0; steady_ && k < last.size(); ++k) {
    steady_ = last[k]->bytes == before[k]->bytes && (last[k]->given < 0) == (before[k]->given < 0);
  }
  count_slots(call_);
  place_blocks(last);
  slots_.reset(new Slot[slot_sizes_.size()]);
  size_t end = planned_;
  for (size_t k = 0; k < slot_sizes_.size(); ++k) {
    slots_[k].bytes = slot_sizes_[k];
    slots_[k].offset = end;
    end += slot_sizes_[k];
  }
  slots_end_ = end;
  bytes_ = slots_end_ + rounded(scratch);
  occupants_.reset(new std::atomic<int>[offsets_.size() + 1]);
  for (size_t k = 0; k < offsets_.size(); ++k) occupants_[k].store(-1);
  lives_.reset(new std::atomic<bool>[places_.size() + 1]);
  for (size_t k = 0; k < places_.size(); ++k) lives_[k].store(false);
  events_.clear();
  events_.shrink_to_fit();
}

// ---- calls

void* Arena::take(size_t bytes) noexcept {
  if (broken_ || !base_) return nullptr;
  const size_t k = next_++;
  broken_ = k >= places_.size() || places_[k].bytes != bytes;
  char* found = nullptr;
  if (!broken_ && places_[k].at < 0) {
    for (size_t s = 0; s < slot_sizes_.size() && !found; ++s) {
      if (slots_[s].bytes != rounded(bytes)) continue;
      bool free = false;
      if (slots_[s].used.compare_exchange_strong(free, true)) found = base_ + slots_[s].offset;
    }
    if (!found) {  // blocks of earlier calls are still in use
      miss();
      return nullptr;
    }
  } else if (!broken_) {
    const Place& place = places_[k];
    for (int other : place.others) {
      broken_ = broken_ || lives_[size_t(other)].load(std::memory_order_acquire);
    }
    if (!broken_) {
      occupants_[size_t(place.at)].store(int(k), std::memory_order_release);
      lives_[k].store(true, std::memory_order_release);
      found = base_ + place.offset;
    }
  }
  if (broken_) {
    miss();
    return nullptr;
  }
  live_.fetch_add(1, std::memory_order_acq_rel);
  return found;
}

void Arena::give_here(size_t offset) noexcept {
  if (offset >= planned_) {
    for (size_t s = 0; s < slot_sizes_.size(); ++s) {
      if (slots_[s].offset == offset) slots_[s].used.store(false, std::memory_order_release);
    }
  } else {
    auto it = std::lower_bound(offsets_.begin(), offsets_.end(), offset);
    const int k = occupants_[size_t(it - offsets_.begin())].load(std::memory_order_acquire);
    lives_[size_t(k)].store(false, std::memory_order_release);
  }
  drop();
}

bool Arena::give(void* block) noexcept {
  for (const Listed& place : arenas) {
    if (Arena* arena = place.holder(block)) {
      arena->give_here(size_t(static_cast<char*>(block) - arena->base_));
      return true;
    }
  }
  return false;
}

}  // namespace scriptlang::memory
