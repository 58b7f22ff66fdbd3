// What the files behind the C interface share: handles, and the border that no exception crosses.
#pragma once

#include <scriptlang/scriptlang.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "../../kernels/stop.h"
#include "archive/module.h"
#include "extras.h"

// Whoever adds a tag, an error or an element type says here what it is outside.
#pragma GCC diagnostic error "-Wswitch"

// A loaded archive, and one of its objects: the root, a submodule, or what a program made.
struct sl_module {
  std::shared_ptr<scriptlang::Module> module;
  scriptlang::Value object;
  std::shared_ptr<scriptlang::capi::Extras> extras;
  // The names of its methods, once somebody asked.
  mutable std::once_flag asked;
  mutable std::vector<std::string> methods;
};
// The domain is that of the module which has the value too: of a container or object that came out
// of it, or null. What a host makes is copied where programs get it.
struct sl_value {
  scriptlang::Value value;
  scriptlang::DomainRef domain = {};
};
struct sl_signature {
  struct Part {
    std::string name, type;
    bool has_default;
    scriptlang::Value default_value;
  };
  std::string text;
  std::vector<Part> arguments, results;
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
  } catch (...) { return report_current(error); }
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
  } catch (...) { return nullptr; }
}

// For the functions that give null where they cannot make a value.
inline void need(const void* pointer, bool needed = true) {
  if (!pointer && needed) raise(ErrorKind::ValueError, "a null pointer");
}

// A handle of an object of a loaded archive.
sl_module* module_handle(std::shared_ptr<Module> module, const Value& object,
                         std::shared_ptr<Extras> extras);
// A handle of a value that a module has, or that its programs gave.
sl_value* value_of(const Module& module, Value value);

// The names of the methods of a module, sorted; those of a submodule may have to be compiled.
// Raises Error. Not to be called within a turn.
const std::vector<std::string>& methods_of(const sl_module& module);

// Null where the limits are good, else what is wrong with them.
const char* read_limits(const sl_limits* given, Limits* limits);

// Where a call prints to.
void take_print_hook(Context* context);

// Whether calls of this thread record derivatives.
bool records_here();

// A text of the caller's: of sl_text_release.
sl_status give_text(const std::string& printed, char** text, size_t* size);
// A list that holds one list twice, which holds one list twice, has a text without end.
constexpr int64_t kMostText = 1 << 27;  // counted twice: it grows by doubling

// The element type of a number that a host gives, which may be any: C checks no enum. Raises
// ValueError for one that hosts cannot make tensors of.
ScalarType type_of(const sl_dtype& dtype);
// Like it, outside.
sl_dtype dtype_of(ScalarType type);
sl_kind kind_of(Tag tag);
// A tensor over memory of a host's. Raises where there is none such; `release` is not called then.
Value lent_tensor(void* data, size_t bytes, ScalarType type, const int64_t* sizes,
                  const int64_t* strides, size_t ndim, void (*release)(void* user), void* user);

// Whether somebody may write to it.
bool is_open(const Value& v);

// Whether a container or object is what the value is or holds.
bool reaches(const Value& from, const Value& what);

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

// A part of a value, which may be looked into as long as that may.
template <class F>
sl_value* made_in(const sl_value* whole, F&& body) noexcept {
  sl_value* handle = made([&] {
    Look look(whole);
    return body();
  });
  if (handle && is_open(handle->value)) handle->domain = whole->domain;
  return handle;
}

}  // namespace scriptlang::capi
