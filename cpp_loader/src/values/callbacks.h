// Callbacks of the host: those of an allocator, and those that release borrowed memory.
#pragma once

#include "kernels/thread.h"

namespace scriptlang::memory {

extern SL_THREAD_SHARED_WORD bool calls_host;

// Whether this thread is inside a callback. No program may start then: the operator that called
// back may be using the thread's scratch memory.
inline bool in_callback() noexcept { return calls_host; }

class CallbackScope {
 public:
  CallbackScope() noexcept : saved_(calls_host) { calls_host = true; }
  ~CallbackScope() { calls_host = saved_; }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

 private:
  bool saved_;
};

}  // namespace scriptlang::memory
