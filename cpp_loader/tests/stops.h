// Whether work that may take minutes ends early when its call is cancelled.
#pragma once
#include <atomic>

#include "../kernels/parallel.h"
#include "../kernels/stop.h"

namespace test {

template <class F>
bool stops(F work) {
  using namespace scriptlang::kernels;
  set_thread_count(1);
  const std::atomic<bool> cancelled{true};
  Stop stop;
  stop.set_cancelled(&cancelled);
  try {
    StopScope scope(&stop);
    work();
  } catch (const Stopped&) { return true; }
  return false;
}

}  // namespace test
