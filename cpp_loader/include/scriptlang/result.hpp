// Errors of the C++ interface, and results that may be one.
//
// What can fail has two forms: `try_f()` gives a Result; `f()` gives the value and throws the
// Error. Without exceptions (-fno-exceptions) `f()` prints the error and ends the process.
#pragma once

#include <cstdio>
#include <cstdlib>
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

// The library has classes of the same names inside: these must not be linked to those.
inline namespace api {

class Error : public std::runtime_error {
 public:
  Error(sl_status status, std::string class_name, const std::string& message, std::string stack)
      : std::runtime_error(message),
        status_(status),
        class_name_(std::move(class_name)),
        stack_(std::move(stack)) {}
  sl_status status() const { return status_; }
  // The exception's class: "RuntimeError", or what the program raised, "builtins.ValueError".
  const std::string& class_name() const { return class_name_; }
  std::string message() const { return what(); }
  const std::string& stack() const { return stack_; }  // script stack, innermost first

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

// A value, or the Error that came instead.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  // The value; throws the error where there is none.
  T& value() & { return check(), *value_; }
  const T& value() const& { return check(), *value_; }
  T value() && { return check(), std::move(*value_); }
  T value_or(T other) const { return ok() ? *value_ : std::move(other); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  // Only where there is no value.
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

// Of a call that failed; takes `error` over, which may be null.
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

// What a C function makes that takes a place for it and one for the error.
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
