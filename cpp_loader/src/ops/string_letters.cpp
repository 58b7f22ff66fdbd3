// Strings: padding, letters, and numbers as text.
#include <algorithm>
#include <cstring>
#include <utility>

#include "language.h"
#include "op.h"
#include "scratch.h"
#include "string_parts.h"
#include "values/plain_text.h"

namespace scriptlang {

using namespace strings;

namespace {

// The number of padding bytes. The width comes from the program, so memory is checked before it is
// allocated.
size_t padding(Text text, int64_t width) {
  if (width <= int64_t(text.size())) return 0;
  int64_t missing = width - int64_t(text.size());
  if (missing > int64_t(1) << 40) raise(ErrorKind::MemoryError, "a string of ", width, " bytes");
  memory::charge(missing);
  memory::uncharge(missing);
  return as_size(missing);
}

// The memory is counted whole, and taken once.
Value padded(size_t before, Text text, size_t after, char fill) {
  return written(before + text.size() + after, [&](char* to) {
    to = std::copy_n(text.data(), text.size(), std::fill_n(to, before, fill));
    return std::fill_n(to, after, fill);
  });
}

char fill_of(Text fill) {
  if (fill.size() != 1) {
    raise(ErrorKind::RuntimeError,
          "TypeError: The fill character must be exactly one character long");
  }
  return fill[0];
}

std::string expand_tabs(Text text, int64_t width) {
  std::string out;
  int64_t column = 0;
  for (char c : text) {
    if (c == '\t') {
      int64_t missing = width > 0 ? width - column % width : 0;
      memory::ask_to_grow(out, padding("", missing));
      out.append(as_size(missing), ' ');
      column += missing;
    } else {
      out += c;
      column = c == '\n' || c == '\r' ? 0 : column + 1;
    }
  }
  return out;
}

template <class F>
Value mapped(Text text, F f) {
  return written(text.size(), [&](char* to) {
    for (char c : text) *to++ = char(f(static_cast<unsigned char>(c)));
    return to;
  });
}

std::string title(std::string text) {
  bool inside = false;
  for (char& c : text) {
    unsigned char u = static_cast<unsigned char>(c);
    c = char(inside ? ascii_lower(u) : ascii_upper(u));
    inside = is_ascii_letter(u);
  }
  return text;
}

bool is_title(Text text) {
  bool inside = false, any = false;
  for (char c : text) {
    unsigned char u = static_cast<unsigned char>(c);
    if (is_ascii_upper(u) && inside) return false;
    if (is_ascii_lower(u) && !inside) return false;
    inside = is_ascii_letter(u);
    any = any || inside;
  }
  return any;
}

template <class F>
bool all_of(Text text, F f) {
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return f(static_cast<unsigned char>(c)) != 0; });
}
template <class F>
bool any_of(Text text, F f) {
  return !all_of(text, [&](unsigned char c) { return f(c) == 0; });
}

// Changes the case of the 26 letters from `first` on, eight bytes at once. Strings that are not
// inline have at least eight bytes.
Value other_case(const Value& value, char first) {
  auto flipped = [first](uint64_t bytes) {
    uint64_t low = bytes & (0x7f * kEach), from = low + (0x80 - uint8_t(first)) * kEach,
             behind = low + (0x7f - uint8_t(first + 25)) * kEach;
    return bytes ^ ((from ^ behind) & ~bytes & (0x80 * kEach)) >> 2;
  };
  if (value.is_text()) {
    Value text;
    text.set_text(flipped(value.bits()));
    return text;
  }
  Text text = value.as_string();
  return written(text.size(), [&](char* to) {
    const char *at = text.data(), *last = at + text.size() - 8;
    for (char* next = to;; next += 8, at += 8) {
      if (at > last) next -= at - last, at = last;
      uint64_t bytes;
      std::memcpy(&bytes, at, 8);
      bytes = flipped(bytes);
      std::memcpy(next, &bytes, 8);
      if (at == last) return next + 8;
    }
  });
}

constexpr auto upper = [](int c) { return c - (unsigned(c - 'a') < 26u ? 32 : 0); };
constexpr auto lower = [](int c) { return c + (unsigned(c - 'A') < 26u ? 32 : 0); };
constexpr auto swap_case = [](int c) { return unsigned((c | 32) - 'a') < 26u ? c ^ 32 : c; };
constexpr auto is_alnum = [](unsigned char c) { return is_ascii_word(c); };
constexpr auto is_alpha = [](unsigned char c) { return is_ascii_letter(c); };
constexpr auto is_digit = [](unsigned char c) { return c >= '0' && c <= '9'; };
constexpr auto is_lower = [](unsigned char c) { return is_ascii_lower(c); };
constexpr auto is_upper = [](unsigned char c) { return is_ascii_upper(c); };
constexpr auto is_print = [](unsigned char c) { return is_ascii_print(c); };

// Formats an int in a base that is a power of two, as Python does.
std::string digits(int64_t value, const char* prefix, int bits) {
  uint64_t rest = value < 0 ? 0 - uint64_t(value) : uint64_t(value);
  std::string out;
  do {
    out += "0123456789abcdef"[rest & ((1u << bits) - 1)];
    rest >>= bits;
  } while (rest);
  std::reverse(out.begin(), out.end());
  return (value < 0 ? "-" : "") + std::string(prefix) + out;
}

}  // namespace

// ---- padding

SL_OP(aten_center) {
  char fill = fill_of(args.string(2));
  size_t missing = padding(args.string(0), args.integer(1));
  size_t left = missing / 2 + (missing & size_t(args.integer(1)) & 1);
  out[0] = padded(left, args.string(0), missing - left, fill);
}
SL_OP(aten_ljust) {
  char fill = fill_of(args.string(2));
  size_t missing = padding(args.string(0), args.integer(1));
  out[0] = padded(0, args.string(0), missing, fill);
}
SL_OP(aten_rjust) {
  char fill = fill_of(args.string(2));
  size_t missing = padding(args.string(0), args.integer(1));
  out[0] = padded(missing, args.string(0), 0, fill);
}
SL_OP(aten_zfill) {
  size_t missing = padding(args.string(0), args.integer(1));
  out[0] = padded(missing, args.string(0), 0, '0');
}
SL_OP(aten_expandtabs) { out[0] = Value(expand_tabs(args.string(0), args.integer(1))); }

// ---- letters

SL_OP(aten_upper) { out[0] = other_case(args[0], 'a'); }
SL_OP(aten_lower) { out[0] = other_case(args[0], 'A'); }
SL_OP(aten_swapcase) { out[0] = mapped(args.string(0), swap_case); }
SL_OP(aten_title) { out[0] = Value(title(std::string(args.string(0)))); }
SL_OP(aten_capitalize) {
  bool first = true;
  out[0] = mapped(args.string(0),
                  [&](int c) { return std::exchange(first, false) ? upper(c) : lower(c); });
}

#define SL_ALL_ARE(symbol, predicate) \
  SL_OP(symbol) { out[0].set_bool(!args.string(0).empty() && all_of(args.string(0), predicate)); }
SL_ALL_ARE(aten_isalnum, is_alnum)
SL_ALL_ARE(aten_isalpha, is_alpha)
SL_ALL_ARE(aten_isdigit, is_digit)
SL_ALL_ARE(aten_isdecimal, is_digit)
SL_ALL_ARE(aten_isnumeric, is_digit)
SL_ALL_ARE(aten_isspace, is_space)
SL_OP(aten_isprintable) { out[0].set_bool(all_of(args.string(0), is_print)); }
SL_OP(aten_istitle) { out[0].set_bool(is_title(args.string(0))); }
SL_OP(aten_islower) {
  out[0].set_bool(any_of(args.string(0), is_lower) && !any_of(args.string(0), is_upper));
}
SL_OP(aten_isupper) {
  out[0].set_bool(any_of(args.string(0), is_upper) && !any_of(args.string(0), is_lower));
}
SL_OP(aten_isidentifier) {
  Text text = args.string(0);
  auto is_word = [](unsigned char c) { return c == '_' || is_ascii_word(c); };
  bool good = !text.empty() && is_alpha(static_cast<unsigned char>(text[0]));
  out[0].set_bool(good && all_of(text, is_word));
}

// ---- numbers as text

SL_OP(aten_hex) { out[0] = Value(digits(args.integer(0), "0x", 4)); }
SL_OP(aten_oct) { out[0] = Value(digits(args.integer(0), "0o", 3)); }
SL_OP(aten_bin) { out[0] = Value(digits(args.integer(0), "0b", 1)); }
// chr: one byte; the code must be in the range of Python's chr.
SL_OP(aten_chr) { out[0] = Value::of_character(language::character_of_code(args.integer(0))); }
SL_OP(aten_ord) { out[0].set_int(language::code_of_character(args.string(0))); }

}  // namespace scriptlang
