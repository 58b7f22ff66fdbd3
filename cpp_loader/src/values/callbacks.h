// Functions of the host that the engine calls: an allocator's, and those that end loans of memory.
#pragma once

#include "kernels/thread.h"

namespace scriptlang::memory {

extern SL_THREAD_SHARED_WORD bool calls_host;

// Whether this thread is inside of one. An operator may have called it, whose scratch memory a
// program that began now would take.
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
