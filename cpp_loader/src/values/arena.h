// An arena: one block of memory for the calls of a method, in which each tensor of a call has a
// place.
//
// Some calls are recorded: which sizes they allocate and free, in which order. From the last one a
// plan is made, in which blocks that are never in use at the same time share a place. A block that
// outlives its call (a result, a state) gets a slot of its own. Later calls that allocate the same
// sizes in the same order get these places. A call that deviates gets its memory elsewhere from
// there on, and counts as a miss. A place is handed out only while it is free, so a call that keeps
// blocks that the recorded ones dropped is safe.
//
// The arena serves memory::take: data of tensors, frames, containers of more than 128 bytes.
// Smaller blocks come from the thread's free lists (small_blocks.h), which earlier calls have
// filled.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace scriptlang::memory {

class Arena {
 public:
  Arena() = default;
  ~Arena();
  // Deletes the arena once no block in it is in use, now or later, and then calls `end`.
  static void close(std::unique_ptr<Arena> arena, void (*end)(void* block));
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // While a Scope lives, allocations of its thread belong to one call of the arena.
  class Scope {
   public:
    explicit Scope(Arena* arena) noexcept;
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Arena* before_;
    void* kept_;
  };

  // Starts recording calls.
  void record();
  // Ends the recording and plans places from the last call. `scratch` is the number of bytes that
  // kernels need as scratch memory.
  void plan(size_t scratch);
  // Bytes that the plan needs: for blocks that live within a call, for those that outlive it, and
  // for both with scratch memory.
  size_t planned_bytes() const { return planned_; }
  size_t slot_bytes() const { return slots_end_ - planned_; }
  size_t bytes() const { return bytes_; }
  // Whether the last two recorded calls allocated the same sizes in the same order.
  bool is_steady() const { return steady_; }
  // Sets the memory block, aligned to 64 bytes; from now on give() recognises it. Returns false if
  // there are too many arenas. With null the arena serves nothing.
  bool use(void* block);
  void* scratch() const { return base_ + slots_end_; }
  size_t scratch_bytes() const { return bytes_ - slots_end_; }

  int64_t misses() const { return misses_.load(std::memory_order_relaxed); }
  void miss() { misses_.fetch_add(1, std::memory_order_relaxed); }
  size_t live() const { return size_t(live_.load(std::memory_order_acquire)) - 1; }

  // ---- for memory.cpp
  static Arena* here() noexcept;  // the arena of this thread's current call, or null
  void* take(size_t bytes) noexcept;
  void note_take(void* block, size_t bytes);  // only while recording
  void note_give(void* block) noexcept;
  bool is_recording() const noexcept { return recording_; }
  // any(): whether any arena has a block or is recording. give(): returns a block to the arena that
  // it lies in; false if it lies in none.
  static bool any() noexcept { return count_.load(std::memory_order_relaxed) != 0; }
  static bool give(void* block) noexcept;

 private:
  struct Event {
    void* block;
    size_t bytes;
    int call, taken, given;  // given is -1 if it was not freed within its call
    bool is_live;
  };
  struct Place {  // planned for the k-th allocation of a call
    size_t bytes, offset;
    int at;                   // index into offsets_; -1: the block outlives the call
    std::vector<int> others;  // earlier allocations whose bytes it reuses
  };
  struct Slot {
    size_t bytes, offset;
    std::atomic<bool> used{false};
  };

  void begin_call() noexcept;
  void count_slots(int from);
  void place_blocks(const std::vector<const Event*>& last);
  void give_here(size_t offset) noexcept;
  void drop() noexcept;

  bool recording_ = false, steady_ = true, broken_ = false;
  std::vector<Event> events_;
  int call_ = -1, clock_ = 0;

  std::vector<Place> places_;
  std::vector<size_t> offsets_;                    // distinct offsets of places, sorted
  std::unique_ptr<std::atomic<int>[]> occupants_;  // per offset: the allocation there; -1: none
  std::unique_ptr<std::atomic<bool>[]> lives_;     // per allocation: whether it is in use
  std::unique_ptr<Slot[]> slots_;
  std::vector<size_t> slot_sizes_;
  size_t planned_ = 0, slots_end_ = 0, bytes_ = 0;
  size_t next_ = 0;
  char* base_ = nullptr;
  void (*end_)(void* block) = nullptr;
  std::atomic<int64_t> live_{1}, misses_{0};  // live_ counts the arena itself

  static std::atomic<int> count_;
};

// Defined in memory.cpp: while an arena is active, the thread's free lists are set aside.
void* set_lists_aside() noexcept;
void take_lists_back(void* lists) noexcept;

}  // namespace scriptlang::memory
