// An allocator for numpy that charges arrays to the limits of the current call.
#include "numpy_memory.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/thread.h"

namespace nb = nanobind;

namespace scriptlang::python {

namespace {

// numpy's PyDataMem_Handler, version 1.
struct Handler {
  char name[127];
  uint8_t version;
  void* context;
  void* (*malloc)(void* context, size_t size);
  void* (*calloc)(void* context, size_t count, size_t size);
  void* (*realloc)(void* context, void* old, size_t size);
  void (*free)(void* context, void* block, size_t size);
};

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
constexpr int64_t kNever = kAny;

// The limits of this thread's run. `room` is the number of bytes that it may still allocate. Every
// block that it frees is added, even if another thread has allocated it.
SL_THREAD_WORD int64_t room = kAny;
SL_THREAD_WORD int64_t deadline = kNever;  // in nanoseconds of the steady clock
SL_THREAD_WORD int64_t refused = 0;        // bytes of the last request that was refused, or kLate
constexpr int64_t kLate = -1;

const Handler* numpys = nullptr;

int64_t now() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

bool grant(size_t size) {
  if (deadline != kNever && now() > deadline) {
    refused = kLate;
    return false;
  }
  if (size > size_t(std::max<int64_t>(room, 0))) {
    refused = size > size_t(kAny) ? kAny : int64_t(size);
    return false;
  }
  if (room != kAny) room -= int64_t(size);
  return true;
}

void give_back(size_t size) {
  if (room != kAny && size < size_t(kAny - std::max<int64_t>(room, 0))) room += int64_t(size);
}

// Undoes the counting if the allocation has failed.
void* counted(void* block, size_t size) {
  if (!block) give_back(size);
  return block;
}

void* limited_malloc(void*, size_t size) {
  if (!grant(size)) return nullptr;
  return counted(numpys->malloc(numpys->context, size), size);
}

void* limited_calloc(void*, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes) || !grant(bytes)) return nullptr;
  return counted(numpys->calloc(numpys->context, count, size), bytes);
}

// numpy does not pass the size of the old block, so that stays counted.
void* limited_realloc(void*, void* old, size_t size) {
  if (!grant(size)) return nullptr;
  return counted(numpys->realloc(numpys->context, old, size), size);
}

void limited_free(void*, void* block, size_t size) {
  give_back(size);
  numpys->free(numpys->context, block, size);
}

// The address of our handler, which calls numpy's own one at the address `theirs`. Both live as
// long as the process. 0 if numpy's has another version.
uintptr_t handler(uintptr_t theirs) {
  numpys = reinterpret_cast<const Handler*>(theirs);
  if (numpys->version != 1) return 0;
  static Handler ours = {"limited",       1,           nullptr, limited_malloc, limited_calloc,
                         limited_realloc, limited_free};
  return reinterpret_cast<uintptr_t>(&ours);
}

// Sets the limits of this thread, when a run begins or ends. Returns the previous ones.
nb::tuple limit(int64_t bytes, int64_t until) {
  nb::tuple before = nb::make_tuple(room, deadline);
  room = bytes;
  deadline = until;
  refused = 0;
  return before;
}

}  // namespace

void bind_numpy_memory(nb::module_& m) {
  m.attr("NUMPY_ANY") = kAny;
  m.def("numpy_handler", &handler, nb::arg("theirs"),
        "Address of a PyDataMem_Handler that counts and calls the one at that address; 0 where its "
        "version is another.");
  m.def("numpy_limit", &limit, nb::arg("room"), nb::arg("deadline"),
        "Let numpy take so many bytes in this thread, until that time of the steady clock in ns; "
        "what was set before.");
  m.def(
      "numpy_room", [](int64_t bytes) { room = bytes; }, nb::arg("room"),
      "The bytes that are left.");
  m.def(
      "numpy_refused", [] { return refused; },
      "Bytes of the last request that was refused in this run; -1: it came too late; or 0.");
}

}  // namespace scriptlang::python
