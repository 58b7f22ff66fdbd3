// What a program may use of memory, as the threads that compute for it see it.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

struct MemoryRoom {
  int64_t limit, used;
};

// The engine sets both: they read and write what the thread counts (`count_scratch`). A worker
// counts what it takes for a job from where the caller is; so each may take what the caller may.
extern MemoryRoom (*room_here)();
extern void (*set_room)(MemoryRoom room);

}  // namespace scriptlang::kernels
