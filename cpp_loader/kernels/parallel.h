// Threads for big kernels: one pool per process, work handed out in chunks.
#pragma once
#include <cstdint>
#include <type_traits>

#include "stop.h"

namespace scriptlang::kernels {

// How many threads one kernel call may use, the caller included.
int thread_count() noexcept;
// Clamped to [1, 256]. Takes effect at the next call of a kernel.
void set_thread_count(int count) noexcept;

using ParallelBody = void (*)(void* context, int64_t begin, int64_t end);

// Calls body over disjoint ranges that cover [0, count), each at least `grain` long except the
// last. Runs on the caller alone when the work is one grain, when called from inside a body, or
// when another thread is using the pool: a kernel never waits for one of another program.
// An exception of a body is rethrown here once every chunk has ended. Long ranges come in slices of
// some grains, between which the thread looks whether its call is to stop (stop.h): what a body
// does for itself at its start should be little to a few grains. Where one element may be long, the
// body says itself what it has done.
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
