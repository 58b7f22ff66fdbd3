// What the files behind the C interface share: handles, and the border that no exception crosses.
#pragma once

#include <scriptlang/scriptlang.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "../kernels/stop.h"
#include "archive/module.h"

// Whoever adds a tag, an error or an element type says here what it is outside.
#pragma GCC diagnostic error "-Wswitch"

struct sl_module {
  std::shared_ptr<scriptlang::Module> module;
  std::vector<std::string> methods;
};
// The domain is that of the module which has the value too: of a container or object that came out
// of it, or null. What a host makes is copied where programs get it.
struct sl_value {
  scriptlang::Value value;
  scriptlang::DomainRef domain = {};
};
struct sl_canceller {
  std::atomic<bool> cancelled{false};
};
struct sl_error {
  sl_status status;
  std::string class_name, message, stack;
};

namespace scriptlang::capi {

// A callback of the host may come here in the middle of a run: what is made and dropped then is
// not that run's, neither to count without atomic steps nor to charge.
class Outside {
  memory::RunScope runs_{false};
  memory::LimitScope limit_{0};
  kernels::StopScope stops_{nullptr};
};

// Fills *error, where it is wanted and memory suffices.
sl_status report(sl_error** error, sl_status status, const char* class_name, const char* message,
                 const char* stack = "") noexcept;
sl_status misuse(sl_error** error, const char* what) noexcept;
// Turns the exception that is being handled into a status and an error.
sl_status report_current(sl_error** error) noexcept;

template <class F>
sl_status guarded(sl_error** error, F&& body) noexcept {
  if (error) *error = nullptr;
  try {
    Outside outside;
    body();
    return SL_OK;
  } catch (...) {
    return report_current(error);
  }
}

// A handle of the value that `body` gives; null where it throws. The handle is there first: who has
// handed something over to the body knows by null that it was not taken.
template <class F>
sl_value* made(F&& body) noexcept {
  try {
    Outside outside;
    auto handle = std::make_unique<sl_value>();
    handle->value = body();
    return handle.release();
  } catch (...) {
    return nullptr;
  }
}

// For the functions that give null where they cannot make a value.
inline void need(const void* pointer, bool needed = true) {
  if (!pointer && needed) raise(ErrorKind::ValueError, "a null pointer");
}

// Whether somebody may write to it.
bool is_open(const Value& v);

// Lets two be of one domain, where both have one, or the first take that of the second.
void join_domain(DomainRef* to, const sl_value* of);

// While it lives nobody changes what a value holds.
class Look {
 public:
  explicit Look(const sl_value* value) {
    if (value && value->domain) turn_.look(value->domain.get(), false);
  }

 private:
  Turn turn_;
};

// An array of so many handles can be: before any of them is read.
inline void check_count(sl_value* const* items, size_t count) {
  need(items, count > 0);
  if (count > size_t(PTRDIFF_MAX) / sizeof(Value)) {
    raise(ErrorKind::MemoryError, "there is no array of ", count, " handles");
  }
}

// Null handles are None.
std::vector<Value> values_of(sl_value* const* items, size_t count);

}  // namespace scriptlang::capi
