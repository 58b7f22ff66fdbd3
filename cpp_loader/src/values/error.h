// Errors inside the engine: one C++ exception type that carries what the caller needs to know.
//
// An Error has a kind (the Python class that it becomes), a message, and the script-level stack,
// innermost frame first. An exception that a program raised also has the class name that the
// program used. An Error never crosses the C API: capi.cpp turns it into a status and an error
// handle.
#pragma once

#include <cstdint>
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace scriptlang {

// clang-format off
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
  X(Cancelled, "Cancelled")                /* the caller cancelled the call */        \
  X(ArchiveError, "ArchiveError")          /* malformed, unsafe or unsupported file */ \
  X(MissingOperator, "MissingOperator")    /* an operator that is not implemented */  \
  X(Raised, "Raised")                      /* raised by the program; see class_name */
// clang-format on

enum class ErrorKind : uint8_t {
// clang-format off
#define X(name, text) name,
  SL_ERROR_KINDS(X)
#undef X
  // clang-format on
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

// A part of a message: text, a character or a number; reals are printed with six digits. It refers
// to the text and does not own it.
class MessagePart {
 public:
  MessagePart(const char* text) : MessagePart(std::string_view(text)) {}
  MessagePart(const std::string& text) : MessagePart(std::string_view(text)) {}
  MessagePart(std::string_view text) : kind_(kText), text_(text) {}
  MessagePart(char character) : kind_(kCharacter), character_(character) {}
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  MessagePart(T number) {
    if constexpr (std::is_floating_point_v<T>) {
      kind_ = kReal;
      real_ = number;
    } else if constexpr (std::is_signed_v<T>) {
      kind_ = kSigned;
      signed_ = number;
    } else {
      kind_ = kUnsigned;
      unsigned_ = number;
    }
  }

  void add_to(std::string* text) const;

 private:
  enum { kText, kCharacter, kReal, kSigned, kUnsigned } kind_;
  union {
    std::string_view text_;
    char character_;
    double real_;
    int64_t signed_;
    uint64_t unsigned_;
  };
};

std::string concat_parts(std::initializer_list<MessagePart> parts);
[[noreturn]] __attribute__((cold)) void raise_parts(ErrorKind kind,
                                                    std::initializer_list<MessagePart> parts);

// The type as which a part of type T is passed on. It is the same for all string literals and for
// all numbers of a kind, so that fewer instances of the templates below are compiled.
template <class T>
using PlainPart = std::conditional_t<
    std::is_array_v<T> || std::is_pointer_v<T>, const char*,
    std::conditional_t<
        std::is_floating_point_v<T>, double,
        std::conditional_t<std::is_same_v<T, char> || !std::is_arithmetic_v<T>, const T&,
                           std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>>>;

template <class... Plain>
__attribute__((noinline)) std::string concat_plain(Plain... parts) {
  return concat_parts({MessagePart(parts)...});
}
template <class... Plain>
[[noreturn]] __attribute__((noinline, cold)) void raise_plain(ErrorKind kind, Plain... parts) {
  raise_parts(kind, {MessagePart(parts)...});
}

template <class... Parts>
std::string concat(const Parts&... parts) {
  return concat_plain<PlainPart<Parts>...>(parts...);
}

// Throws an Error whose message is the concatenation of the parts.
template <class... Parts>
[[noreturn]] __attribute__((always_inline)) inline void raise(ErrorKind kind,
                                                              const Parts&... parts) {
  raise_plain<PlainPart<Parts>...>(kind, parts...);
}

#define SL_CHECK(condition, ...)                                               \
  do {                                                                         \
    if (__builtin_expect(!(condition), 0))                                     \
      ::scriptlang::raise(::scriptlang::ErrorKind::RuntimeError, __VA_ARGS__); \
  } while (0)

}  // namespace scriptlang
