// What the files of the C API share: the handles, the conversion of exceptions to errors, and
// helpers.
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

// A new tag, kind of error or element type must get a counterpart in the C API: a switch without it
// does not compile.
#pragma GCC diagnostic error "-Wswitch"

// A loaded archive, and one of its objects: the root, a submodule, or what a program made.
struct sl_module {
  std::shared_ptr<scriptlang::Module> module;
  scriptlang::Value object;
  std::shared_ptr<scriptlang::capi::Extras> extras;
  // The names of its methods, found when first needed; see methods_of().
  mutable std::once_flag asked;
  mutable std::vector<std::string> methods;
};
// If a module can reach the value, too, `domain` is the domain of that module: its lock is needed
// to read the value. It is null for values that only the host has. Containers that a host makes are
// copied when programs get them.
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

// A scope for each call of the C API. A host may call from a callback in the middle of a run.
// Values that are made or dropped then do not belong to that run: their counts are atomic, and its
// limits are not charged.
class Outside {
  memory::RunScope runs_{false};
  memory::LimitScope limit_{0};
  kernels::StopScope stops_{nullptr};
};

// Sets *error, if `error` is not null and there is memory. Returns `status`.
sl_status report(sl_error** error, sl_status status, const char* class_name, const char* message,
                 const char* stack = "") noexcept;
// The same for a wrong argument: SL_INVALID_ARGUMENT.
sl_status misuse(sl_error** error, const char* what) noexcept;
// What a body of guarded() throws for a wrong argument, which leads to SL_INVALID_ARGUMENT.
struct Misuse {
  const char* what;
};
// Turns the exception that is being handled into a status and an error.
sl_status report_current(sl_error** error) noexcept;

// What is wrong with a call of a module from a function of the host that the library calls.
constexpr char kInCallback[] = "operators, print and other callbacks must not call modules";

// Calls a body, and turns an exception into a status and an error.
template <class F>
sl_status guarded(sl_error** error, F&& body) noexcept {
  if (error) *error = nullptr;
  try {
    Outside outside;
    body();
    return SL_OK;
  } catch (...) { return report_current(error); }
}

// A handle of the value that `body` returns; null if it throws. The handle is allocated first, so
// null always means that the body did not take over what the caller passed.
template <class F>
sl_value* made(F&& body) noexcept {
  try {
    Outside outside;
    auto handle = std::make_unique<sl_value>();
    handle->value = body();
    return handle.release();
  } catch (...) { return nullptr; }
}

// Raises ValueError if a pointer that is needed is null. For bodies of made().
inline void need(const void* pointer, bool needed = true) {
  if (!pointer && needed) raise(ErrorKind::ValueError, "a null pointer");
}

// A handle of an object of a loaded archive.
sl_module* module_handle(std::shared_ptr<Module> module, const Value& object,
                         std::shared_ptr<Extras> extras);
// A handle of a value of a module, with its domain.
sl_value* value_of(const Module& module, Value value);

// The names of the methods of a module, sorted. Methods of a submodule may have to be compiled for
// that. Raises Error. The caller must hold no turn.
const std::vector<std::string>& methods_of(const sl_module& module);

// Reads the limits of a caller. Returns null, or what is wrong with them.
const char* read_limits(const sl_limits* given, Limits* limits);

// The settings of a call that this thread makes: the number of threads, whether it records
// derivatives, and the function of sl_set_print.
Context call_context();

// Whether calls of this thread record derivatives.
bool records_here();

// Copies a text for the caller, who frees it by sl_text_release.
sl_status give_text(const std::string& printed, char** text, size_t* size);
// The memory that a text may take. A list that holds a list twice, which holds another one twice,
// and so on, has a text of exponential size. A string grows by doubling, so for a moment it takes
// memory for two.
constexpr int64_t kMostText = 1 << 27;

// The element type that a host passes. The number may be invalid, because C does not check enums.
// Raises ValueError if hosts cannot make tensors of this type.
ScalarType type_of(const sl_dtype& dtype);
// The element type and the kind of value in terms of the C API.
sl_dtype dtype_of(ScalarType type);
sl_kind kind_of(Tag tag);
// A tensor on memory of a host, which is released by `release`. If it raises, because there is no
// such tensor, `release` is not called.
Value lent_tensor(void* data, size_t bytes, ScalarType type, const int64_t* sizes,
                  const int64_t* strides, size_t ndim, void (*release)(void* user), void* user);

// Whether the value is or contains a list, dict, object or future, which programs may change.
bool is_open(const Value& v);

// Whether the container or object `what` is `from` itself or inside of it.
bool reaches(const Value& from, const Value& what);

// Joins the domain of a value to *to, or sets *to if it is null.
void join_domain(DomainRef* to, const sl_value* of);

// Holds the lock of a value for reading: while it exists, no program changes what the value holds,
// nor the shape of a tensor in it, unless this thread is in the middle of a run.
class Look {
 public:
  explicit Look(const sl_value* value) {
    if (!value || !value->domain) return;
    if (Turn::is_inside()) turn_.look(value->domain.get(), false);
    else turn_.take(value->domain.get(), Effect::Reads);
  }

 private:
  Turn turn_;
};

// Raises if there cannot be an array of so many handles. To be called before any of them is read.
inline void check_count(sl_value* const* items, size_t count) {
  need(items, count > 0);
  if (count > size_t(PTRDIFF_MAX) / sizeof(Value)) {
    raise(ErrorKind::MemoryError, "there is no array of ", count, " handles");
  }
}

// The values of handles. A null handle means None.
std::vector<Value> values_of(sl_value* const* items, size_t count);

// A handle of the part of `whole` that `body` returns. It gets the domain of `whole` if programs
// can change it.
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
