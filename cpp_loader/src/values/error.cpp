// Names of kinds of errors, and the making of messages.
#include "error.h"

#include <sstream>

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

void MessagePart::print(std::ostream& to) const {
  switch (kind_) {
    case kText: to << text_; break;
    case kCharacter: to << character_; break;
    case kReal: to << real_; break;
    case kSigned: to << signed_; break;
    case kUnsigned: to << unsigned_; break;
  }
}

std::string concat_parts(std::initializer_list<MessagePart> parts) {
  std::ostringstream text;
  for (const MessagePart& part : parts) part.print(text);
  return text.str();
}

void raise_parts(ErrorKind kind, std::initializer_list<MessagePart> parts) {
  throw Error(kind, concat_parts(parts));
}

}  // namespace scriptlang
