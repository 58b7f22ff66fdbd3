// Errors of the C++ interface, and Result, which is a value or an error.
//
// Functions that can fail have two variants: `try_f()` returns a Result; `f()` returns the value or
// throws the Error. Without exceptions (-fno-exceptions) `f()` prints the error and ends the
// process.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "scriptlang.h"

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define SCRIPTLANG_EXCEPTIONS 1
#else
#define SCRIPTLANG_EXCEPTIONS 0
#endif

namespace scriptlang {

// The library has internal classes of the same names, which the linker must not confuse with these.
inline namespace api {

class Error : public std::runtime_error {
 public:
  Error(sl_status status, std::string class_name, const std::string& message, std::string stack)
      : std::runtime_error(message),
        status_(status),
        class_name_(std::move(class_name)),
        stack_(std::move(stack)) {}
  sl_status status() const { return status_; }
  // The class of the exception: "RuntimeError", or "builtins.ValueError" if the program raised it.
  const std::string& class_name() const { return class_name_; }
  std::string message() const { return what(); }
  const std::string& stack() const { return stack_; }  // script stack, innermost first, by lines

 private:
  sl_status status_;
  std::string class_name_, stack_;
};

namespace detail {

[[noreturn]] inline void raise(const Error& error) {
#if SCRIPTLANG_EXCEPTIONS
  throw error;
#else
  std::fprintf(stderr, "scriptlang: %s: %s\n", error.class_name().c_str(), error.what());
  std::abort();
#endif
}

}  // namespace detail

// A value, or the Error of a function that failed.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  // The value; throws the error if there is no value.
  T& value() & { return check(), *value_; }
  const T& value() const& { return check(), *value_; }
  T value() && { return check(), std::move(*value_); }
  T value_or(T other) const { return ok() ? *value_ : std::move(other); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  // Only valid if there is no value.
  const Error& error() const { return *error_; }

 private:
  void check() const {
    if (!value_) detail::raise(*error_);
  }
  std::optional<T> value_;
  std::optional<Error> error_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}
  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  void value() const {
    if (error_) detail::raise(*error_);
  }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

namespace detail {

// The Error for a status. It takes ownership of `error`, which may be null; `otherwise` is then the
// message.
inline Error taken(sl_status status, sl_error* error, const char* otherwise = "") {
  std::unique_ptr<sl_error, void (*)(sl_error*)> held(error, sl_error_release);
  if (!error) {
    bool memory = status == SL_OUT_OF_MEMORY;
    return Error(status, memory ? "MemoryError" : "ValueError",
                 memory ? "out of memory" : otherwise, "");
  }
  return Error(status, sl_error_class(error), sl_error_message(error), sl_error_stack(error));
}

inline Error misused(const char* what, const char* class_name = "ValueError") {
  return Error(SL_INVALID_ARGUMENT, class_name, what, "");
}

// A handle of a new value. If it is null, raises what the caller did wrong, or that memory is
// exhausted if `wrong` is null.
inline sl_value* needed(sl_value* handle, const char* wrong = nullptr) {
  if (!handle) raise(wrong ? misused(wrong) : taken(SL_OUT_OF_MEMORY, nullptr));
  return handle;
}

inline bool has_field(const sl_value* value, const char* wanted) {
  for (size_t k = 0; const char* name = wanted ? sl_value_field(value, k) : nullptr; ++k) {
    if (std::strcmp(name, wanted) == 0) return true;
  }
  return false;
}

// The Error for an element that a C function did not return. is_there: whether the value has it, so
// that memory is exhausted; but the name of a member of an enum may not be known.
inline Error missing(const sl_value* value, bool is_there, const char* wrong) {
  is_there = is_there && sl_value_kind(value) != SL_ENUM;
  return is_there ? taken(SL_OUT_OF_MEMORY, nullptr) : misused(wrong);
}

// The handle that a C function makes. `call` passes it the places for the handle and for the error.
template <class Handle, class F>
Result<Handle*> made(F&& call) {
  Handle* handle = nullptr;
  sl_error* error = nullptr;
  sl_status status = call(&handle, &error);
  if (status != SL_OK) return taken(status, error);
  return handle;
}

template <class F>
Result<void> done(F&& call) {
  sl_error* error = nullptr;
  sl_status status = call(&error);
  if (status != SL_OK) return taken(status, error);
  return {};
}

}  // namespace detail

}  // namespace api
}  // namespace scriptlang
