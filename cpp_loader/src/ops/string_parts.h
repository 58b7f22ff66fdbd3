// What the operators on strings share.
#pragma once

#include <string_view>

#include "values/value.h"

namespace scriptlang::strings {

using Text = std::string_view;

inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Eight bytes of 1: times a byte, that byte at eight places.
constexpr uint64_t kEach = 0x0101010101010101ull;

// What `write` writes: it is given the room, which is large enough for `most` bytes and those that
// put() writes behind a text, and returns where it ends.
template <class Write>
Value written(size_t most, const Write& write) {
  constexpr size_t kNear = 64, kBehind = 8;
  char near[kNear + kBehind];
  if (most <= kNear) {
    char* end = write(near);
    return Value::of_fresh(near, size_t(end - near), near + sizeof near);
  }
  String* text = String::make(most + kBehind);
  return Value::of_written(text, size_t(write(text->data()) - text->data()));
}

}  // namespace scriptlang::strings
