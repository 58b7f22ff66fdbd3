// Shared by the operators on strings.
#pragma once

#include <string_view>

#include "values/value.h"

namespace scriptlang::strings {

using Text = std::string_view;

inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// Eight bytes of 1. Multiplied by a byte, it repeats that byte eight times.
constexpr uint64_t kEach = 0x0101010101010101ull;

// Makes a string that `write` fills: it is given a buffer for `most` bytes and the few that put()
// may write behind a text, and returns the end of what it wrote.
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
