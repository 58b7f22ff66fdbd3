// Errors inside the engine: one C++ exception type that carries what a caller must know.
//
// An Error has a kind (which Python class it becomes), for exceptions that a program raises the
// class name the program gave, a message, and the script-level stack, innermost frame first.
// It never crosses the C API: capi.cpp turns it into a status and an error handle.
#pragma once

#include <cstdint>
#include <exception>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace scriptlang {

#define SL_ERROR_KINDS(X)                                                             \
  X(RuntimeError, "RuntimeError")          /* what PyTorch reports by TORCH_CHECK */  \
  X(ValueError, "ValueError")                                                         \
  X(TypeError, "TypeError")                                                           \
  X(IndexError, "IndexError")                                                         \
  X(KeyError, "KeyError")                                                             \
  X(NotImplementedError, "NotImplementedError")                                       \
  X(ZeroDivisionError, "ZeroDivisionError")                                           \
  X(MemoryError, "MemoryError")            /* the machine's or the caller's limit */  \
  X(LimitError, "LimitError")              /* instructions, depth or time used up */  \
  X(ArchiveError, "ArchiveError")          /* malformed, unsafe or unsupported file */ \
  X(MissingOperator, "MissingOperator")    /* reached an operator that we lack */     \
  X(Raised, "Raised")                      /* raised by the program; see class_name */

enum class ErrorKind : uint8_t {
#define X(name, text) name,
  SL_ERROR_KINDS(X)
#undef X
};

const char* error_kind_name(ErrorKind kind);

// One line of the script stack: a function's qualified name and the instruction reached in it.
struct ErrorFrame {
  std::string function;
  int64_t pc;
};

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind(kind), message(std::move(message)) {}

  ErrorKind kind;
  std::string message;
  std::string class_name;         // for Raised: as the program spells it, "builtins.ValueError"
  std::vector<ErrorFrame> stack;  // innermost first

  const char* what() const noexcept override { return message.c_str(); }
};

template <class... Parts>
std::string concat(const Parts&... parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

// Throws an Error whose message is the concatenation of the parts.
template <class... Parts>
[[noreturn]] __attribute__((noinline, cold)) void raise(ErrorKind kind, const Parts&... parts) {
  throw Error(kind, concat(parts...));
}

#define SL_CHECK(condition, ...)                                                      \
  do {                                                                                \
    if (__builtin_expect(!(condition), 0))                                            \
      ::scriptlang::raise(::scriptlang::ErrorKind::RuntimeError, __VA_ARGS__);        \
  } while (0)

}  // namespace scriptlang
