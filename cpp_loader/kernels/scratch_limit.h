// The memory limit of a program, passed on to the threads that compute for it.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

struct MemoryRoom {
  int64_t limit, used;
};

// Set by the engine. They read and write the current thread's limit and use (see `count_scratch`).
// A worker starts a job with the caller's values, so each worker may take as much as the caller
// may.
extern MemoryRoom (*room_here)();
extern void (*set_room)(MemoryRoom room);

}  // namespace scriptlang::kernels
