// Blocks for tensors, their headers and other small objects: per-thread free lists of size classes.
//
// A freed block is kept for the next request of its class, so that small results need no malloc and
// large ones cause no page faults. Nothing is kept where blocks are checked (guard.h).
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "kernels/aligned.h"
#include "kernels/scratch.h"
#include "kernels/scratch_limit.h"
#include "kernels/thread.h"
#include "kernels/thread_object.h"
#include "ops/scratch.h"
#include "arena.h"
#include "guard.h"
#include "small_blocks.h"
#include "zeros.h"

namespace scriptlang::memory {

// What the address space has room for: no block is larger, and no program needs more.
constexpr size_t kMostBytes = PTRDIFF_MAX;
constexpr int64_t kNoLimit = PTRDIFF_MAX;

namespace quick {
SL_THREAD_SHARED_WORD Small* small = nullptr;
SL_THREAD_SHARED_WORD bool runs_now = false;
SL_THREAD_SHARED_WORD int64_t used_bytes = 0;
SL_THREAD_SHARED_WORD int64_t limit_bytes = kNoLimit;
}  // namespace quick

namespace {

using quick::FreeBlock;
using quick::limit_bytes;
using quick::runs_now;
using quick::used_bytes;

constexpr size_t kSmallestLog2 = 7;  // smallest class: 128 bytes
constexpr size_t kLargestLog2 = 27;  // blocks above 128 MB are not kept
constexpr size_t kClasses = (kLargestLog2 - kSmallestLog2) * 4 + 1;
constexpr size_t kUncountedClasses = (14 - kSmallestLog2) * 4 + 1;  // up to 16 KB
constexpr int64_t kKeptBytes = 128 << 20;                           // of blocks that are not small
constexpr uint32_t kKeptPerClass = 256;

// Four classes per power of two: 128, 160, 192, 224, 256, 320...
size_t class_of(size_t bytes) {
  if (bytes <= (size_t(1) << kSmallestLog2)) return 0;
  size_t log2 = 63 - size_t(__builtin_clzll(bytes - 1));  // 2^log2 < bytes <= 2^(log2+1)
  size_t quarter = ((bytes - 1) >> (log2 - 2)) & 3;
  return (log2 - kSmallestLog2) * 4 + quarter + 1;
}

size_t class_bytes(size_t index) {
  if (index == 0) return size_t(1) << kSmallestLog2;
  size_t log2 = (index - 1) / 4 + kSmallestLog2, quarter = (index - 1) % 4;
  return ((size_t(5) + quarter) << log2) / 4;
}

// The free blocks of one thread.
struct Kept {
  struct Class {
    FreeBlock* head;
    uint32_t count;
  } classes[kClasses];
  quick::Small small;
  int64_t bytes;  // of kept blocks above 16 KB
};
SL_THREAD_WORD Kept* kept = nullptr;  // null before first use and when the thread ends
SL_THREAD_WORD bool is_over = false;  // the thread is ending and keeps nothing more

void free_all(FreeBlock* head, void (*free)(void*)) {
  while (head) free(std::exchange(head, head->next));
}

struct Drain {
  Kept* k = nullptr;
  ~Drain() {
    is_over = true;  // also where nothing was kept: no list made from now on would be freed
    if (!k) return;
    kept = nullptr;
    quick::small = nullptr;
    for (Kept::Class& c : k->classes) free_all(c.head, give_aligned);
    for (FreeBlock* head : k->small.head) free_all(head, std::free);
    std::free(k);
  }
};

// Allocates the thread's free lists. Returns null if it may not keep blocks.
__attribute__((noinline, cold)) Kept* start_keeping() {
  if (is_over || is_checked()) return nullptr;
  Drain& drain = thread_object<Drain>();
  Kept* fresh = static_cast<Kept*>(std::calloc(1, sizeof(Kept)));
  if (!fresh) return nullptr;
  kept = drain.k = fresh;
  quick::small = &fresh->small;
  return fresh;
}

// Asks for huge pages for large blocks: they cause fewer page faults and TLB misses.
void advise([[maybe_unused]] void* block, [[maybe_unused]] size_t bytes) {
#if defined(MADV_HUGEPAGE)
  constexpr size_t kWorth = size_t(4) << 20, kPage = 4096;
  if (bytes < kWorth) return;
  uintptr_t begin = (reinterpret_cast<uintptr_t>(block) + kPage - 1) & ~uintptr_t(kPage - 1);
  uintptr_t end = (reinterpret_cast<uintptr_t>(block) + bytes) & ~uintptr_t(kPage - 1);
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // a hint only
#endif
}

// A block of exactly this size, so that accesses beyond its end are detected.
void* take_exact(size_t bytes, size_t alignment) {
  if (bytes > kMostBytes) raise(ErrorKind::MemoryError, "cannot allocate ", bytes, " bytes");
  void* block = guard::is_on() ? guard::take(bytes, alignment) : take_aligned(alignment, bytes);
  if (!block) raise(ErrorKind::MemoryError, "cannot allocate ", bytes, " bytes");
  return block;
}

void* take_of_system(size_t bytes, size_t index) {
  if (is_checked()) return take_exact(bytes, kAlignment);
  if (index < kClasses) bytes = class_bytes(index);
  if (bytes > kMostBytes) raise(ErrorKind::MemoryError, "cannot allocate ", bytes, " bytes");
  void* block = take_aligned(kAlignment, (bytes + kAlignment - 1) & ~(kAlignment - 1));
  if (!block) raise(ErrorKind::MemoryError, "cannot allocate ", bytes, " bytes");
  advise(block, bytes);
  return block;
}

__attribute__((noinline, cold)) void* take_fresh(size_t bytes, size_t index) {
  Arena* arena = Arena::here();
  if (__builtin_expect(!arena, 1)) return take_of_system(bytes, index);
  if (!arena->is_recording()) {
    void* block = arena->take(bytes);
    return block ? block : take_of_system(bytes, index);
  }
  void* block = take_of_system(bytes, index);
  arena->note_take(block, bytes);
  return block;
}

// Free lists that are empty and full at once: while a call uses an arena, they stand in for the
// thread's own, so that nothing is taken from them or kept in them.
constexpr Kept aside() {
  Kept made = {};
  for (Kept::Class& c : made.classes) c.count = kKeptPerClass;
  return made;
}
Kept set_aside = aside();

}  // namespace

void* set_lists_aside() noexcept { return std::exchange(kept, &set_aside); }
void take_lists_back(void* lists) noexcept { kept = static_cast<Kept*>(lists); }

void* take(size_t bytes) {
  size_t index = class_of(bytes);
  Kept* k = kept;
  if (index >= kClasses || !k || !k->classes[index].head) return take_fresh(bytes, index);
  Kept::Class& c = k->classes[index];
  FreeBlock* block = c.head;
  c.head = block->next;
  --c.count;
  if (index >= kUncountedClasses) k->bytes -= int64_t(class_bytes(index));
  return block;
}

__attribute__((noinline, cold)) static bool give_to_arena(void* block) noexcept {
  Arena* arena = Arena::here();
  if (arena && arena->is_recording()) arena->note_give(block);
  return Arena::give(block);
}

void give(void* block, size_t bytes) noexcept {
  if (__builtin_expect(Arena::any(), 0) && give_to_arena(block)) return;
  size_t index = class_of(bytes);
  Kept* k = kept ? kept : start_keeping();
  if (k && index < kClasses) {
    Kept::Class& c = k->classes[index];
    int64_t size = index < kUncountedClasses ? 0 : int64_t(class_bytes(index));
    if (c.count < kKeptPerClass && (size == 0 || k->bytes + size <= kKeptBytes)) {
      FreeBlock* free_block = static_cast<FreeBlock*>(block);
      free_block->next = c.head;
      c.head = free_block;
      ++c.count;
      k->bytes += size;
      return;
    }
  }
  guard::is_on() ? guard::give(block, bytes) : give_aligned(block);
}

void* take_checked(size_t bytes) { return take_exact(bytes, kLeastAlignment); }

void* quick::take_fresh(size_t bytes) {
  size_t index = (bytes + kSmallStep - 1) / kSmallStep;
  if (index < kSmallClasses) bytes = index * kSmallStep;
  void* block = std::malloc(bytes);
  if (!block) raise(ErrorKind::MemoryError, "cannot allocate ", bytes, " bytes");
  return block;
}

void quick::give_far(void* block, size_t bytes) noexcept {
  if (!kept && start_keeping()) return give_small(block, bytes);
  std::free(block);
}

void* take_small(size_t bytes) { return quick::take_small(bytes); }
void give_small(void* block, size_t bytes) noexcept { quick::give_small(block, bytes); }

RunScope::RunScope(bool runs) noexcept : saved_(std::exchange(runs_now, runs)) {}
RunScope::~RunScope() { runs_now = saved_; }
bool in_run() noexcept { return runs_now; }

void quick::refuse(int64_t bytes) {
  if (limit_bytes == kNoLimit) {
    raise(ErrorKind::MemoryError, "cannot allocate ", bytes, " bytes: addresses have ",
          sizeof(void*) * 8, " bits here");
  }
  raise(ErrorKind::MemoryError, "the program needs more than its memory limit of ", limit_bytes,
        " bytes (", bytes, " more were asked for); raise the limit to run it");
}

void charge(int64_t bytes) { quick::charge(bytes); }
void uncharge(int64_t bytes) noexcept { quick::uncharge(bytes); }

void charge_items(size_t count, size_t bytes_each) {
  int64_t bytes;
  if (__builtin_mul_overflow(count, bytes_each, &bytes)) {
    bytes = std::numeric_limits<int64_t>::max();
  }
  charge(bytes);
}

void ask(int64_t count, int64_t bytes_each) {
  int64_t bytes;
  if (__builtin_mul_overflow(count, bytes_each, &bytes)) {
    bytes = std::numeric_limits<int64_t>::max();
  }
  charge(bytes);
  uncharge(bytes);
}

LimitScope::LimitScope(int64_t limit) : saved_limit_(limit_bytes), saved_used_(used_bytes) {
  limit_bytes = limit > 0 ? std::min(limit, kNoLimit) : kNoLimit;
  used_bytes = 0;
}

LimitScope::~LimitScope() {
  limit_bytes = saved_limit_;
  used_bytes = saved_used_;
}

}  // namespace scriptlang::memory

// Initialised as constants, so that no code runs when the library is loaded.
namespace scriptlang::kernels {

void (*count_scratch)(int64_t bytes) = [](int64_t bytes) {
  if (bytes > 0) memory::charge(bytes);
  else memory::uncharge(-bytes);
};
MemoryRoom (*room_here)() = [] {
  return MemoryRoom{memory::quick::limit_bytes, memory::quick::used_bytes};
};
void (*set_room)(MemoryRoom room) = [](MemoryRoom room) {
  memory::quick::limit_bytes = room.limit;
  memory::quick::used_bytes = room.used;
};

}  // namespace scriptlang::kernels

namespace scriptlang {

const Tensor& unwritten(const Tensor& t) {
  bool limited = memory::quick::limit_bytes != memory::kNoLimit;
  if (limited || t.dtype() == ScalarType::Bool) {
    write_zeros(t.storage()->data(), t.storage()->nbytes());
  }
  return t;
}

}  // namespace scriptlang
