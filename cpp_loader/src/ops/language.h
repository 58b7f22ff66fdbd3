// Language semantics that instructions and operators share.
#pragma once

#include "op.h"

namespace scriptlang::language {

// str.format: replaces each "{}" in the first value, the format string, by the text of a further
// value.
Value format(const Value* values, int64_t count);
void format(Context& context, Args args, Value* out);
const Value& tuple_index(const Tuple& tuple, int64_t index);
const Value& dict_index(Dict& dict, const Value& key);  // raises KeyError
int64_t to_integer(const Scalar& number);  // raises RuntimeError where the value would change
[[noreturn]] void raise_exception(const Value& message, const Value& class_name);
// Nested lists of a tensor's elements. `element` is TorchScript's type code: 0 int, 1 float, 2
// bool, 3 complex.
Value to_list(const Tensor& tensor, int64_t dimensions, int64_t element);
Value number_to_tensor(const Value& number);
inline int64_t code_of_character(std::string_view text) {
  if (__builtin_expect(text.size() != 1, 0)) {
    raise(ErrorKind::RuntimeError, "String for ord() must be 1 character, found ", text.size());
  }
  return static_cast<unsigned char>(text[0]);
}
Value text_of(const Value& value);  // str()
inline char character_of_code(int64_t code) {
  SL_CHECK(code >= 0 && code < 0x110000, "chr() arg not in range(0x110000), found ", code);
  return char(code & 255);
}
void warn(Context& context, std::string_view message);

}  // namespace scriptlang::language
