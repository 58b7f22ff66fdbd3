// The free lists of memory.cpp, inlined for the few files that allocate and free small objects all
// the time: with them, allocating a string, tuple or list needs no function call.
#pragma once

#include "kernels/thread.h"
#include "tensor.h"

namespace scriptlang::memory::quick {

struct FreeBlock {
  FreeBlock* next;
};

constexpr size_t kSmallStep = 16, kSmallClasses = 9;  // up to 128 bytes
constexpr uint32_t kKeptSmall = 8192;
struct Small {
  FreeBlock* head[kSmallClasses];
  uint32_t count[kSmallClasses];
};

extern SL_THREAD_SHARED_WORD Small* small;   // null before first use and when the thread ends
extern SL_THREAD_SHARED_WORD bool runs_now;  // whether this thread runs a program
extern SL_THREAD_SHARED_WORD int64_t used_bytes, limit_bytes;

[[noreturn]] void refuse(int64_t bytes);
void* take_fresh(size_t bytes);
void give_far(void* block, size_t bytes) noexcept;

// Inline versions of memory::charge, uncharge, take_small and give_small.
inline void charge(int64_t bytes) {
  int64_t sum;
  bool overflows = __builtin_add_overflow(used_bytes, bytes, &sum);
  if (__builtin_expect(overflows || sum > limit_bytes, 0)) refuse(bytes);
  used_bytes = sum;
}
inline void uncharge(int64_t bytes) noexcept { used_bytes -= bytes; }

inline void* take_small(size_t bytes) {
  size_t index = (bytes + kSmallStep - 1) / kSmallStep;
  Small* kept = small;
  if (__builtin_expect(index >= kSmallClasses || !kept || !kept->head[index], 0)) {
    return take_fresh(bytes);
  }
  FreeBlock* block = kept->head[index];
  kept->head[index] = block->next;
  --kept->count[index];
  return block;
}

// Takes a block from a free list and charges it. Returns null, without any effect, if the list is
// empty or the limit would be exceeded.
inline void* take_kept(size_t bytes) {
  size_t index = (bytes + kSmallStep - 1) / kSmallStep;
  Small* kept = small;
  if (index >= kSmallClasses || !kept) return nullptr;
  FreeBlock* block = kept->head[index];
  int64_t sum = used_bytes + int64_t(bytes);  // cannot overflow: the block is small
  if (__builtin_expect(!block || sum > limit_bytes, 0)) return nullptr;
  used_bytes = sum;
  kept->head[index] = block->next;
  --kept->count[index];
  return block;
}

inline void give_small(void* block, size_t bytes) noexcept {
  size_t index = (bytes + kSmallStep - 1) / kSmallStep;
  Small* kept = small;
  bool keeps = index < kSmallClasses && kept && kept->count[index] < kKeptSmall;
  if (__builtin_expect(!keeps, 0)) return give_far(block, bytes);
  FreeBlock* free_block = static_cast<FreeBlock*>(block);
  free_block->next = kept->head[index];
  kept->head[index] = free_block;
  ++kept->count[index];
}

}  // namespace scriptlang::memory::quick
