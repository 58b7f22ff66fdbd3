// The C API: cancellers, and settings of the whole process (allocator, threads, print).
#include <algorithm>
#include <mutex>

#include "../../kernels/parallel.h"
#include "capi.h"
#include "values/callbacks.h"

using namespace scriptlang;
using namespace scriptlang::capi;

const char* sl_version(void) { return SCRIPTLANG_VERSION; }

// ---- cancellers

sl_canceller* sl_canceller_make(void) { return new (std::nothrow) sl_canceller; }
void sl_canceller_release(sl_canceller* canceller) { delete canceller; }
void sl_cancel(sl_canceller* canceller) {
  if (canceller) canceller->cancelled.store(true, std::memory_order_relaxed);
}
void sl_canceller_reset(sl_canceller* canceller) {
  if (canceller) canceller->cancelled.store(false, std::memory_order_relaxed);
}

// ---- print

namespace {

struct PrintHook {
  void (*print)(const char* text, size_t size, void* user) = nullptr;
  void* user = nullptr;
};
std::mutex print_mutex;
PrintHook print_hook;
std::atomic<bool> print_hooked{false};

void print_outside(const char* text, size_t size, void*) {
  PrintHook hook;
  {
    std::lock_guard<std::mutex> lock(print_mutex);
    hook = print_hook;
  }
  memory::CallbackScope inside;
  if (hook.print) hook.print(text, size, hook.user);
  else std::fwrite(text, 1, size, stdout);
}

}  // namespace

namespace scriptlang::capi {
Context call_context() {
  Context context;
  context.threads = kernels::thread_count();
  context.grad_enabled = records_here();
  if (print_hooked.load(std::memory_order_acquire)) context.print = print_outside;
  return context;
}
}  // namespace scriptlang::capi

void sl_set_print(void (*print)(const char* text, size_t size, void* user), void* user) {
  std::lock_guard<std::mutex> lock(print_mutex);
  print_hook = {print, user};
  print_hooked.store(print != nullptr, std::memory_order_release);
}

// ---- the process

sl_status sl_set_allocator(const sl_allocator* allocator) {
  if (!allocator) {
    memory::set_hook(nullptr);
    return SL_OK;
  }
  if (!allocator->allocate || !allocator->release) return SL_INVALID_ARGUMENT;
  memory::Hook hook{allocator->allocate, allocator->release, allocator->user};
  memory::set_hook(&hook);
  return SL_OK;
}
void sl_set_threads(int threads) { kernels::set_thread_count(threads); }
int sl_get_threads(void) { return kernels::thread_count(); }
