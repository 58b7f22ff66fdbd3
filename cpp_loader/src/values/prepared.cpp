// Cache of packed constants, kept with the storage that they were made from.
#include "prepared.h"

#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "kernels/aligned.h"

namespace scriptlang {

namespace {

constexpr size_t kHugePage = size_t(2) << 20;

// Large blocks use huge pages if the system has them, as weights are read from end to end.
float* allocate_block(int64_t count) {
  if (count < 0 || count > PTRDIFF_MAX / 8) throw std::bad_alloc();
  size_t bytes = size_t(count) * sizeof(float), step = bytes >= kHugePage ? kHugePage : kAlignment;
  bytes = (bytes / step + 1) * step;
  // Raises if the program's limit would be exceeded. The block stays uncharged: it belongs to the
  // storage, which outlives the call.
  memory::charge(int64_t(bytes));
  memory::uncharge(int64_t(bytes));
  void* block = take_aligned(step, bytes);
  if (!block) throw std::bad_alloc();
#if defined(__linux__)
  if (step == kHugePage) madvise(block, bytes, MADV_HUGEPAGE);
#endif
  return static_cast<float*>(block);
}

}  // namespace

const float* Prepared::find(Storage* storage, const Key& key) {
  for (Prepared* p = storage->prepared().load(std::memory_order_acquire); p; p = p->next_) {
    if (p->key_ == key) return p->data_;
  }
  return nullptr;
}

Prepared* Prepared::allocate(const Key& key, int64_t count) {
  Prepared* fresh = new Prepared(key);
  try {
    fresh->data_ = allocate_block(count);
  } catch (...) {
    delete fresh;
    throw;
  }
  return fresh;
}

// Two threads may pack the same constant at the same time: both forms are kept, and the later one
// is found.
const float* Prepared::add(Storage* storage, Prepared* fresh) {
  std::atomic<Prepared*>& first = storage->prepared();
  fresh->next_ = first.load(std::memory_order_relaxed);
  while (!first.compare_exchange_weak(fresh->next_, fresh, std::memory_order_acq_rel)) {}
  return fresh->data_;
}

void Prepared::destroy_all(Prepared* first) noexcept {
  while (first) {
    Prepared* next = first->next_;
    give_aligned(first->data_);
    delete first;
    first = next;
  }
}

}  // namespace scriptlang
