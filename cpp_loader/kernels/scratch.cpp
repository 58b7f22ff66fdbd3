// Scratch memory of kernels: from the block that a thread keeps, otherwise freshly allocated.
#include "scratch.h"

#include <limits>
#include <new>
#include <utility>

#include "aligned.h"
#include "scratch_state.h"
#include "thread.h"
#include "thread_object.h"

namespace scriptlang::kernels {
namespace {

SL_THREAD_WORD void* known = nullptr;  // the Scratch::Block of this thread
constexpr std::size_t kAlign = 64;
constexpr std::size_t kKeep = std::size_t{64} << 20;  // a thread keeps at most this much

void* allocate(std::size_t bytes) {
  void* data = take_aligned(kAlign, bytes);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

}  // namespace

struct Scratch::Block : ScratchState {
  static Block& here() { return block_here(); }
  // A friend, because Scratch::Block is private; `used`, because only other files call it.
  __attribute__((used)) friend void swap_scratch(ScratchState* other) {
    std::swap(static_cast<ScratchState&>(here()), *other);
  }
  ~Block() {
    if (!is_lent) give_aligned(base);
    base = nullptr;
    size = 0;
    known = nullptr;
  }
};

__attribute__((noinline, cold)) Scratch::Block* Scratch::make_block() {
  return &thread_object<Block>();
}

Scratch::Block& Scratch::block_here() {
  if (__builtin_expect(known == nullptr, 0)) known = make_block();
  return *static_cast<Block*>(known);
}

Scratch::Scratch(std::uint64_t bytes) : block_(block_here()) {
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
  bytes_ = (static_cast<std::size_t>(bytes) + kAlign) / kAlign * kAlign;
  const bool counts = bytes_ > kCounted && count_scratch != nullptr;
  if (counts) count_scratch(static_cast<int64_t>(bytes_));
  try {
    take();
  } catch (...) {
    if (counts) count_scratch(-static_cast<int64_t>(bytes_));
    throw;
  }
}

void Scratch::take() {
  Block& b = block_;
  if (b.used == 0 && b.size < b.wanted + bytes_ && b.wanted + bytes_ <= kKeep && !b.is_lent) {
    // Grow the block while nothing points into it, by as much as was missing last time.
    std::size_t size = b.wanted + bytes_;
    char* base = static_cast<char*>(allocate(size));
    give_aligned(b.base);
    b.base = base;
    b.size = size;
    b.wanted = 0;
  }
  if (b.size - b.used >= bytes_) {
    data_ = b.base + b.used;
    b.used += bytes_;
  } else {
    data_ = allocate(bytes_);
    own_ = true;
    if (b.size + bytes_ <= kKeep) b.wanted = b.size + bytes_;
  }
}

Scratch::~Scratch() {
  if (bytes_ > kCounted && count_scratch != nullptr) count_scratch(-static_cast<int64_t>(bytes_));
  if (own_) give_aligned(data_);
  else block_.used -= bytes_;
}

}  // namespace scriptlang::kernels
