// One block of memory for the calls of a method: each tensor of a call has its place in it.
//
// Some calls are recorded: how many bytes are taken when, and given back when. A plan gives blocks
// that are never needed at the same time the same place; a block that outlives its call (a result,
// a state) gets a slot of its own instead. Later calls that take the same sizes in the same order
// get these places. One that does not gets its memory elsewhere from there on, and is counted. A
// place is given only when it is free, so a call that keeps what the recorded ones dropped is safe.
//
// Blocks of memory::take go here: data of tensors, frames, containers of more than 128 bytes. What
// is smaller comes from the thread's lists (small_blocks.h), which earlier calls have filled.
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
  // Deletes the arena, now or when nothing lies in its block any more, and calls `end` then.
  static void close(std::unique_ptr<Arena> arena, void (*end)(void* block));
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // While it lives, what this thread takes belongs to a call of the arena.
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

  // Calls are recorded from here on.
  void record();
  // Ends the recording, and makes a plan of the last call. `scratch` is working memory of kernels.
  void plan(size_t scratch);
  // What the plan needs: tensors and what else lives within a call; what outlives it; scratch.
  size_t planned_bytes() const { return planned_; }
  size_t slot_bytes() const { return slots_end_ - planned_; }
  size_t bytes() const { return bytes_; }
  // Whether the recorded calls took the same sizes in the same order.
  bool is_steady() const { return steady_; }
  // The block, aligned to 64 bytes; the arena takes part in give() from now on. Null: none.
  bool use(void* block);
  void* scratch() const { return base_ + slots_end_; }
  size_t scratch_bytes() const { return bytes_ - slots_end_; }

  int64_t misses() const { return misses_.load(std::memory_order_relaxed); }
  void miss() { misses_.fetch_add(1, std::memory_order_relaxed); }
  size_t live() const { return size_t(live_.load(std::memory_order_acquire)) - 1; }

  // ---- for memory.cpp
  static Arena* here() noexcept;  // of this thread's call; null: none
  void* take(size_t bytes) noexcept;
  void note_take(void* block, size_t bytes);  // while it records
  void note_give(void* block) noexcept;
  bool is_recording() const noexcept { return recording_; }
  // Whether there are arenas with a block; and whether the block lies in one, which has it again.
  static bool any() noexcept { return count_.load(std::memory_order_relaxed) != 0; }
  static bool give(void* block) noexcept;

 private:
  struct Event {
    void* block;
    size_t bytes;
    int call, taken, given;  // given -1: not within its call
    bool is_live;
  };
  struct Place {  // of the k-th block that a call takes
    size_t bytes, offset;
    int at;                   // which of offsets_; -1: it outlives the call
    std::vector<int> others;  // earlier ones whose bytes it takes over
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
  std::vector<size_t> offsets_;                    // of places, sorted, each once
  std::unique_ptr<std::atomic<int>[]> occupants_;  // of each offset: which block; -1: none
  std::unique_ptr<std::atomic<bool>[]> lives_;     // of each block
  std::unique_ptr<Slot[]> slots_;
  std::vector<size_t> slot_sizes_;
  size_t planned_ = 0, slots_end_ = 0, bytes_ = 0;
  size_t next_ = 0;
  char* base_ = nullptr;
  void (*end_)(void* block) = nullptr;
  std::atomic<int64_t> live_{1}, misses_{0};  // the arena itself is one

  static std::atomic<int> count_;
};

}  // namespace scriptlang::memory
