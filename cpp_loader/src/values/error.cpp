// Names of error kinds, and formatting of messages.
#include "error.h"

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

void MessagePart::add_to(std::string* text) const {
  switch (kind_) {
    case kText: text->append(text_); break;
    case kCharacter: text->append(1, character_); break;
    case kReal: {
      char digits[32];
      text->append(digits, print_number(digits, sizeof digits, "%*.6g", 0, real_));
      break;
    }
    case kSigned: text->append(std::to_string(signed_)); break;
    case kUnsigned: text->append(std::to_string(unsigned_)); break;
  }
}

std::string concat_parts(std::initializer_list<MessagePart> parts) {
  std::string text;
  for (const MessagePart& part : parts) part.add_to(&text);
  return text;
}

void raise_parts(ErrorKind kind, std::initializer_list<MessagePart> parts) {
  throw Error(kind, concat_parts(parts));
}

}  // namespace scriptlang
