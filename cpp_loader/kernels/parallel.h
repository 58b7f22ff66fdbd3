// Threads for large kernels: one pool per process; work is distributed in chunks.
#pragma once
#include <cstdint>
#include <type_traits>

#include "stop.h"

namespace scriptlang::kernels {

// The number of threads that one kernel call may use, including the caller.
int thread_count() noexcept;
// Sets that number, clamped to [1, 256]. Takes effect at the next kernel call.
void set_thread_count(int count) noexcept;

using ParallelBody = void (*)(void* context, int64_t begin, int64_t end);

// Calls body over disjoint ranges that cover [0, count), each at least `grain` long except the
// last. Runs on the calling thread alone if the work is one grain, if called from inside a body, or
// if another thread is using the pool: a kernel never waits for that of another program. An
// exception of a body is rethrown here after all chunks have ended. Long ranges are split into
// slices of some grains, between which the thread checks whether its call is to stop (stop.h). So
// the setup at the start of a body should be cheap compared with a few grains. If a single element
// may take long, the body must call worked() itself.
void parallel_run(int64_t count, int64_t grain, ParallelBody body, void* context);

template <class F>
void parallel_for(int64_t count, int64_t grain, F&& f) {
  using Function = std::remove_reference_t<F>;
  parallel_run(
      count, grain,
      [](void* context, int64_t begin, int64_t end) {
        (*static_cast<Function*>(context))(begin, end);
      },
      const_cast<std::remove_const_t<Function>*>(&f));
}

}  // namespace scriptlang::kernels
