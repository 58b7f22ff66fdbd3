// Blocks for tensors, their headers and other small objects: per-thread free lists of size classes.
//
// A freed block is kept for the next request of its class, so that small results cost no call
// of malloc and large ones no page faults. Under AddressSanitizer nothing is kept.
#include <cstdlib>
#include <limits>
#include <utility>

#include "ops/scratch.h"

namespace scriptlang::memory {

namespace {

constexpr size_t kSmallestLog2 = 7;    // smallest class: 128 bytes
constexpr size_t kLargestLog2 = 26;    // blocks above 64 MB are not kept
constexpr size_t kClasses = (kLargestLog2 - kSmallestLog2) * 4 + 1;
constexpr int64_t kKeptBytes = 128 << 20;
constexpr uint32_t kKeptPerClass = 256;

#if defined(__has_feature)  // clang
#if __has_feature(address_sanitizer)
#define SL_ADDRESS_SANITIZER 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SL_ADDRESS_SANITIZER 1
#endif
#if defined(SL_ADDRESS_SANITIZER)
constexpr bool kKeep = false;
#else
constexpr bool kKeep = true;
#endif

// Four classes a power of two: 128, 160, 192, 224, 256, 320...
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

struct FreeBlock {
  FreeBlock* next;
};

struct Lists {
  FreeBlock* head[kClasses];
  uint32_t count[kClasses];
  int64_t kept;
  bool ready;  // the thread's Drain exists
  bool dead;   // it has run: keep nothing more
};
thread_local Lists lists;

struct Drain {
  ~Drain() {
    lists.dead = true;
    for (FreeBlock*& head : lists.head) {
      while (head) {
        FreeBlock* next = head->next;
        std::free(head);
        head = next;
      }
    }
  }
};

void start_drain() {
  static thread_local Drain drain;
  (void)drain;
  lists.ready = true;
}

thread_local int64_t used_bytes = 0;
thread_local int64_t limit_bytes = std::numeric_limits<int64_t>::max();

}  // namespace

void* take(size_t bytes) {
  size_t index = class_of(bytes);
  if (index < kClasses) {
    if (FreeBlock* block = lists.head[index]) {
      lists.head[index] = block->next;
      --lists.count[index];
      lists.kept -= int64_t(class_bytes(index));
      return block;
    }
    bytes = class_bytes(index);
  }
  if (bytes > size_t(1) << 62) raise(ErrorKind::MemoryError, "cannot allocate ", bytes, " bytes");
  void* block = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) & ~(kAlignment - 1));
  if (!block) raise(ErrorKind::MemoryError, "cannot allocate ", bytes, " bytes");
  return block;
}

void give(void* block, size_t bytes) noexcept {
  size_t index = class_of(bytes);
  if (kKeep && index < kClasses && !lists.dead && lists.count[index] < kKeptPerClass &&
      lists.kept + int64_t(class_bytes(index)) <= kKeptBytes) {
    if (!lists.ready) start_drain();
    FreeBlock* free_block = static_cast<FreeBlock*>(block);
    free_block->next = lists.head[index];
    lists.head[index] = free_block;
    ++lists.count[index];
    lists.kept += int64_t(class_bytes(index));
    return;
  }
  std::free(block);
}

namespace {

constexpr size_t kSmallStep = 16, kSmallClasses = 9;  // up to 128 bytes
constexpr uint32_t kKeptSmall = 8192;

struct SmallLists {
  FreeBlock* head[kSmallClasses];
  uint32_t count[kSmallClasses];
  bool ready, dead;  // as in Lists
};
thread_local SmallLists small;

void start_small_drain() {
  struct SmallDrain {
    ~SmallDrain() {
      small.dead = true;
      for (FreeBlock* head : small.head) {
        while (head) std::free(std::exchange(head, head->next));
      }
    }
  };
  static thread_local SmallDrain drain;
  (void)drain;
  small.ready = true;
}

}  // namespace

void* take_small(size_t bytes) {
  size_t index = (bytes + kSmallStep - 1) / kSmallStep;
  if (index < kSmallClasses) {
    if (FreeBlock* block = small.head[index]) {
      small.head[index] = block->next;
      --small.count[index];
      return block;
    }
    bytes = index * kSmallStep;
  }
  void* block = std::malloc(bytes);
  if (!block) raise(ErrorKind::MemoryError, "cannot allocate ", bytes, " bytes");
  return block;
}

void give_small(void* block, size_t bytes) noexcept {
  size_t index = (bytes + kSmallStep - 1) / kSmallStep;
  if (kKeep && index < kSmallClasses && !small.dead && small.count[index] < kKeptSmall) {
    if (!small.ready) start_small_drain();
    FreeBlock* free_block = static_cast<FreeBlock*>(block);
    free_block->next = small.head[index];
    small.head[index] = free_block;
    ++small.count[index];
    return;
  }
  std::free(block);
}

void charge(int64_t bytes) {
  int64_t sum;
  if (__builtin_add_overflow(used_bytes, bytes, &sum) || sum > limit_bytes) {
    raise(ErrorKind::MemoryError, "the program needs more than its memory limit of ", limit_bytes,
          " bytes (", bytes, " more were asked for); raise the limit to run it");
  }
  used_bytes = sum;
}

void uncharge(int64_t bytes) noexcept { used_bytes -= bytes; }

void ask(int64_t count, int64_t bytes_each) {
  int64_t bytes;
  if (__builtin_mul_overflow(count, bytes_each, &bytes)) bytes = std::numeric_limits<int64_t>::max();
  charge(bytes);
  uncharge(bytes);
}

LimitScope::LimitScope(int64_t limit) : saved_limit_(limit_bytes), saved_used_(used_bytes) {
  limit_bytes = limit > 0 ? limit : std::numeric_limits<int64_t>::max();
  used_bytes = 0;
}

LimitScope::~LimitScope() {
  limit_bytes = saved_limit_;
  used_bytes = saved_used_;
}

}  // namespace scriptlang::memory

namespace scriptlang {

const Tensor& unwritten(const Tensor& t) {
  if (t.dtype() == ScalarType::Bool) {
    std::memset(t.storage()->data(), 0, size_t(t.storage()->nbytes()));
  }
  return t;
}

}  // namespace scriptlang
