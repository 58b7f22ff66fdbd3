// Errors inside the engine: one C++ exception type that carries what the caller needs to know.
//
// An Error has a kind (the Python class that it becomes), a message, and the script-level stack,
// innermost frame first. An exception that a program raised also has the class name that the
// program used. An Error never crosses the C API: capi.cpp turns it into a status and an error
// handle.
#pragma once

#include <cstdint>
#include <exception>
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

// Messages are joined from parts: text, characters and numbers; reals are printed with six digits.
// One function does that for all of them, so that a place that raises is a call and nothing else.
// It is told the parts by a number: four bits for the kind of the error, then three for each part.
namespace message {

enum Part : uint64_t { kEnd, kText, kString, kView, kCharacter, kSigned, kUnsigned, kReal };

template <class T>
constexpr Part part_of() {
  if constexpr (std::is_same_v<T, std::string>) {
    return kString;
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    return kView;
  } else if constexpr (std::is_same_v<T, char>) {
    return kCharacter;
  } else if constexpr (std::is_floating_point_v<T>) {
    return kReal;
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::is_signed_v<T> ? kSigned : kUnsigned;
  } else {
    static_assert(std::is_convertible_v<T, const char*>, "no part of a message");
    return kText;
  }
}

template <class... Parts>
constexpr uint64_t parts_of() {
  static_assert(sizeof...(Parts) <= 20, "more parts than the number has room for");
  uint64_t parts = 0, place = 4;
  for (Part part : {kEnd, part_of<Parts>()...}) {
    if (part == kEnd) continue;
    parts |= part << place;
    place += 3;
  }
  return parts;
}

// A part as what a function of variable arguments takes.
template <class T>
__attribute__((always_inline)) inline auto passed(const T& part) {
  constexpr Part kind = part_of<std::decay_t<T>>();
  if constexpr (kind == kString || kind == kView) {
    return &part;
  } else if constexpr (kind == kCharacter) {
    return int(part);
  } else if constexpr (kind == kSigned) {
    return int64_t(part);
  } else if constexpr (kind == kUnsigned) {
    return uint64_t(part);
  } else if constexpr (kind == kReal) {
    return double(part);
  } else {
    return static_cast<const char*>(part);
  }
}

std::string joined(uint64_t parts, ...);
[[noreturn]] __attribute__((cold)) void raised(uint64_t parts, ...);

}  // namespace message

template <class... Parts>
__attribute__((always_inline)) inline std::string concat(const Parts&... parts) {
  constexpr uint64_t kParts = message::parts_of<std::decay_t<Parts>...>();
  return message::joined(kParts, message::passed(parts)...);
}

// Throws an Error whose message is the concatenation of the parts.
template <class... Parts>
[[noreturn]] __attribute__((always_inline)) inline void raise(ErrorKind kind,
                                                              const Parts&... parts) {
  constexpr uint64_t kParts = message::parts_of<std::decay_t<Parts>...>();
  message::raised(kParts | uint64_t(kind), message::passed(parts)...);
}

#define SL_CHECK(condition, ...)                                               \
  do {                                                                         \
    if (__builtin_expect(!(condition), 0))                                     \
      ::scriptlang::raise(::scriptlang::ErrorKind::RuntimeError, __VA_ARGS__); \
  } while (0)

}  // namespace scriptlang
