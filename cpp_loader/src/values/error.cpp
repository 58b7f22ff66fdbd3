// Names of error kinds, and formatting of messages.
#include "error.h"

#include <cstdarg>

#include "plain_text.h"

namespace scriptlang {

const char* error_kind_name(ErrorKind kind) {
  switch (kind) {
    // clang-format off
#define X(name, text)   \
  case ErrorKind::name: \
    return text;
    SL_ERROR_KINDS(X)
#undef X
    // clang-format on
  }
  return "RuntimeError";
}

namespace message {

static std::string join(uint64_t parts, va_list list) {
  std::string text;
  for (parts >>= 4; parts; parts >>= 3) {
    switch (parts & 7) {
      case kText: text += va_arg(list, const char*); break;
      case kString: text += *va_arg(list, const std::string*); break;
      case kView: text += *va_arg(list, const std::string_view*); break;
      case kCharacter: text += char(va_arg(list, int)); break;
      case kSigned: text += std::to_string(va_arg(list, int64_t)); break;
      case kUnsigned: text += std::to_string(va_arg(list, uint64_t)); break;
      default: {
        char digits[32];
        const double real = va_arg(list, double);
        text.append(digits, print_number(digits, sizeof digits, "%*.6g", 0, real));
      }
    }
  }
  return text;
}

std::string joined(uint64_t parts, ...) {
  va_list list;
  va_start(list, parts);
  std::string text = join(parts, list);
  va_end(list);
  return text;
}

void raised(uint64_t parts, ...) {
  va_list list;
  va_start(list, parts);
  Error error(ErrorKind(parts & 15), join(parts, list));
  va_end(list);
  throw error;
}

}  // namespace message

}  // namespace scriptlang
