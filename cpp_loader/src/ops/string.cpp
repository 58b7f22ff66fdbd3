// Strings. As in TorchScript, a string is its UTF-8 bytes: len and indices count bytes, and
// character classes cover ASCII only.
#include <algorithm>
#include <cstring>
#include <utility>

#include "values/plain_text.h"
#include "values/type.h"
#include "language.h"
#include "scratch.h"
#include "string_parts.h"

namespace scriptlang {

using namespace strings;

namespace {

TypeRef string_type() {
  static const TypeRef kString = Type::make(TypeKind::String);
  return kString;
}

Ref<List> string_list() { return List::make({}, string_type()); }

[[noreturn]] void value_error(const char* what) {
  raise(ErrorKind::RuntimeError, "ValueError: ", what);
}

// The range [start, end) of a search. Negative positions count from the end; an end of -1 is the
// end.
struct Range {
  size_t begin, end;
};
inline Range range_of(Text text, int64_t start, int64_t end) {
  int64_t size = int64_t(text.size());
  if (start < 0) start = std::max<int64_t>(0, start + size);
  if (end < 0) end = std::max<int64_t>(0, end + size + 1);
  end = std::min(end, size);
  start = std::min(start, size);
  return {size_t(start), size_t(std::max(start, end))};
}

Value part(std::string_view text, size_t begin, size_t size = std::string_view::npos) {
  return Value::of_text(text.substr(begin, size));
}

Value split_spaces(Text text) {
  Ref<List> parts = string_list();
  for (size_t at = 0; at < text.size();) {
    if (is_space(text[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && !is_space(text[end])) ++end;
    parts->push(part(text, at, end - at));
    at = end;
  }
  return parts;
}

// Sets the highest bit of each byte that is 0, and clears all other bits.
inline uint64_t zeros(uint64_t bytes) {
  constexpr uint64_t kLow = 0x7f * kEach;
  return ~(((bytes & kLow) + kLow) | bytes | kLow);
}

// A search for longer texts may take long, so it checks whether the call is to stop.
constexpr size_t kLongText = 256;

// Finds the next occurrence of a non-empty text; null where there is none. The first bytes are
// searched eight places at once, comparing the first and last byte; the C library skips longer
// distances.
const char* next_of(std::string_view wanted, const char* at, const char* end) {
  size_t size = wanted.size();
  if (size_t(end - at) < size) return nullptr;
  const char* last = end - size;
  uint64_t front = kEach * uint8_t(wanted[0]), back = kEach * uint8_t(wanted[size - 1]);
  for (int near = 4; last - at >= 7; --near) {
    if (near == 0) {
      kernels::worked(64);
      at = static_cast<const char*>(std::memchr(at, wanted[0], size_t(last - at) + 1));
      if (!at || size == 1) return at;
      near = 4;
      continue;
    }
    uint64_t a, b;
    std::memcpy(&a, at, 8);
    std::memcpy(&b, at + size - 1, 8);
    for (uint64_t hits = zeros((a ^ front) | (b ^ back)); hits; hits &= hits - 1) {
      const char* place = at + __builtin_ctzll(hits) / 8;
      if (size > kLongText) kernels::worked(int64_t(size) / 8);
      if (size <= 2 || same_text({place, size}, wanted)) return place;
    }
    at += 8;
  }
  for (; at <= last; ++at) {
    if (*at == wanted[0] && same_text({at, size}, wanted)) return at;
  }
  return nullptr;
}

// The last occurrence of a text.
size_t last_of(Text text, Text wanted) {
  if (wanted.size() <= kLongText) {
    kernels::worked(int64_t(text.size()));
    return text.rfind(wanted);
  }
  for (size_t at = text.size() - std::min(text.size(), wanted.size()) + 1; at-- > 0;) {
    if (text[at] != wanted[0]) continue;
    kernels::worked(int64_t(wanted.size()) / 8);
    if (text.substr(at, wanted.size()) == wanted) return at;
  }
  return Text::npos;
}

int64_t find(Text text, Text wanted, Range r, bool backwards) {
  Text part = text.substr(r.begin, r.end - r.begin);
  if (backwards || wanted.empty()) {
    size_t at = backwards ? last_of(part, wanted) : 0;
    return at == Text::npos ? -1 : int64_t(at + r.begin);
  }
  const char* hit = next_of(wanted, part.data(), part.data() + part.size());
  return hit ? int64_t(hit - text.data()) : -1;
}

int64_t count(Text text, Text wanted, Range r) {
  if (wanted.empty()) return int64_t(r.end - r.begin) + 1;
  const char *at = text.data() + r.begin, *end = text.data() + r.end;
  int64_t n = 0;
  while ((at = next_of(wanted, at, end))) ++n, at += wanted.size();
  return n;
}

Value split(Text text, Text separator, int64_t most) {
  if (separator.empty()) value_error("empty separator");
  Ref<List> parts = string_list();
  const char *begin = text.data(), *end = begin + text.size();
  int64_t cuts = 0;
  if (separator.size() == 1 && most < 0) {  // counts eight bytes at a time; the last ones follow
    uint64_t wanted = kEach * uint8_t(separator[0]), bytes;
    for (const char* at = begin; end - at >= 8; at += 8) {
      std::memcpy(&bytes, at, 8);
      for (uint64_t hits = zeros(bytes ^ wanted); hits; hits &= hits - 1) {
        const char* cut = at + __builtin_ctzll(hits) / 8;
        parts->append(Value::of_piece(begin, size_t(cut - begin), end));
        begin = cut + 1;
      }
    }
  }
  for (; most < 0 || cuts < most; ++cuts) {
    const char* at = next_of(separator, begin, end);
    if (!at) break;
    parts->append(Value::of_piece(begin, size_t(at - begin), end));
    begin = at + separator.size();
  }
  parts->append(Value::of_piece(begin, size_t(end - begin), end));
  return parts;
}

Value rsplit(Text text, Text separator, int64_t most) {
  if (separator.empty()) value_error("empty separator");
  Ref<List> parts = string_list();
  size_t end = text.size();
  for (int64_t cuts = 0; most < 0 || cuts < most; ++cuts) {
    if (end < separator.size()) break;
    size_t at = last_of(text.substr(0, end), separator);
    if (at == std::string::npos) break;
    parts->push(part(text, at + separator.size(), end - at - separator.size()));
    end = at;
  }
  parts->push(part(text, 0, end));
  parts->reverse();
  return parts;
}

// Every line break is one character, so that "\r\n" gives an empty line between. With `keep`, the
// breaks are separate elements.
Value split_lines(Text text, bool keep) {
  Ref<List> lines = string_list();
  size_t begin = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    bool is_break = (c >= '\n' && c <= '\r') || (c >= '\x1c' && c <= '\x1e');
    if (!is_break) continue;
    lines->push(part(text, begin, at - begin));
    if (keep) lines->push(Value::of_character(c));
    begin = at + 1;
  }
  if (begin < text.size()) lines->push(part(text, begin));
  return lines;
}

Value strip(const Args& args, bool left, bool right) {
  Text text = args.string(0), characters = args.string(1);
  constexpr uint64_t kDefault = 0x020000'0b0c090a20;  // the bits of an inline value " \n\t\f\v"
  constexpr uint64_t kSpaces = uint64_t(1) << ' ' | uint64_t(15) << '\t';
  uint64_t low = 0;  // a bit for each of the first 64 characters: strip it
  if (args[1].is_text() && args[1].bits() == kDefault) {
    low = kSpaces;
    characters = Text();
  }
  for (char gone : characters) low |= uint8_t(gone) < 64 ? uint64_t(1) << gone : 0;
  auto goes = [&](char c) {
    if (uint8_t(c) < 64) return (low >> c & 1) != 0;
    return characters.find(c) != Text::npos;
  };
  const char *begin = text.data(), *end = begin + text.size(), *limit = end;
  while (left && begin != end && goes(*begin)) ++begin;
  while (right && begin != end && goes(end[-1])) --end;
  if (size_t(end - begin) == text.size()) return args[0];
  return Value::of_piece(begin, size_t(end - begin), limit);
}

// Writes a text, short ones without a call, and returns its end.
inline char* put(char* to, std::string_view text) {
  const char* from = text.data();
  size_t size = text.size();
  auto piece = [&](size_t at, auto word) {
    std::memcpy(&word, from + at, sizeof word);
    std::memcpy(to + at, &word, sizeof word);
  };
  if (size > 16) {
    std::memcpy(to, from, size);
  } else if (size >= 8) {
    piece(0, uint64_t()), piece(size - 8, uint64_t());
  } else if (size >= 4) {
    piece(0, uint32_t()), piece(size - 4, uint32_t());
  } else if (size > 0) {
    piece(0, char()), piece(size / 2, char()), piece(size - 1, char());
  }
  return to + size;
}

// The same for a string that may be inline in its value; then up to kInlineText bytes behind the
// text are overwritten.
inline char* put(char* to, const Value& text) {
  if (!text.is_text()) return put(to, text.as_string());
  uint64_t bytes = text.bits();
  std::memcpy(to, &bytes, 8);
  return to + text.as_string().size();
}

// Replaces an empty text: the new one is inserted between all characters.
std::string spread(Text text, Text fresh, int64_t most) {
  std::string out;
  memory::ask_to_grow(out, text.size());
  for (size_t at = 0;; ++at) {
    if (most < 0 || int64_t(at) < most) {
      memory::ask_to_grow(out, fresh.size());
      out += fresh;
    } else {
      return out.append(text.substr(at));
    }
    if (at == text.size()) return out;
    out += text[at];
  }
}

Value replace(Text text, Text old, const Value& by, int64_t most) {
  Text fresh = by.as_string();
  if (old.empty()) return spread(text, fresh, most);
  size_t size = text.size();
  if (fresh.size() > old.size()) {
    int64_t hits = count(text, old, {0, text.size()});
    if (most >= 0) hits = std::min(hits, most);
    memory::ask(hits, int64_t(fresh.size() - old.size()));
    size = as_size(int64_t(size) + hits * int64_t(fresh.size() - old.size()));
  }
  return written(size, [&](char* to) {
    const char *begin = text.data(), *end = begin + text.size();
    for (int64_t n = 0; most < 0 || n < most; ++n) {
      const char* hit = next_of(old, begin, end);
      if (!hit) break;
      to = put(put(to, Text(begin, size_t(hit - begin))), by);
      begin = hit + old.size();
    }
    return put(to, Text(begin, size_t(end - begin)));
  });
}

char one_character(Text text, int64_t index) {
  int64_t size = int64_t(text.size()), at = index < 0 ? index + size : index;
  if (at < 0 || at >= size) raise(ErrorKind::IndexError, "string index out of range");
  return text[size_t(at)];
}

}  // namespace

SL_OP(aten_add_str) {
  out[0].append(args[0], args[1]);  // appends to args[0] in place where nobody else holds it
}
SL_OP(aten_len_str) { out[0].set_int(int64_t(args.string(0).size())); }
SL_OP(aten___getitem___str) {
  out[0] = Value::of_character(one_character(args.string(0), args.integer(1)));
}
SL_OP(prim_StringIndex) { op_aten___getitem___str(ctx, args, out); }
SL_OP(aten_list) {
  Ref<List> letters = string_list();
  letters->reserve(args.string(0).size());
  for (char c : args.string(0)) letters->append(Value::of_character(c));
  out[0] = std::move(letters);
}

SL_OP(aten_slice_str) {
  Text text = args.string(0);
  int64_t size = int64_t(text.size()), step = args.integer(3);
  if (step == 0) raise(ErrorKind::RuntimeError, "List slice should have non-zero step");
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  auto clamp = [&](int64_t at) { return std::clamp(at < 0 ? at + size : at, low, high); };
  int64_t start = args.none(1) ? (step > 0 ? low : high) : clamp(args.integer(1));
  int64_t end = args.none(2) ? (step > 0 ? high : low) : clamp(args.integer(2));
  if (step == 1) {
    const char *begin = text.data(), *limit = begin + size;
    out[0] = Value::of_piece(begin + start, size_t(std::max<int64_t>(end - start, 0)), limit);
    return;
  }
  std::string taken;
  for (int64_t at = start; step > 0 ? at < end : at > end;) {
    taken += text[size_t(at)];
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  out[0] = Value(std::move(taken));
}

// ---- searching

namespace {
inline Range range_at(const Args& args) {
  return range_of(args.string(0), args.integer(2), args.integer(3));
}
int64_t must_find(const Args& args, bool backwards) {
  int64_t at = find(args.string(0), args.string(1), range_at(args), backwards);
  if (at < 0) value_error("substring not found");
  return at;
}
inline std::string_view part_of(const Args& args) {
  Range r = range_at(args);
  return args.string(0).substr(r.begin, r.end - r.begin);
}
}  // namespace

SL_OP(aten_find) { out[0].set_int(find(args.string(0), args.string(1), range_at(args), false)); }
SL_OP(aten_rfind) { out[0].set_int(find(args.string(0), args.string(1), range_at(args), true)); }
SL_OP(aten_index_str) { out[0].set_int(must_find(args, false)); }
SL_OP(aten_rindex) { out[0].set_int(must_find(args, true)); }
SL_OP(aten_count) { out[0].set_int(count(args.string(0), args.string(1), range_at(args))); }
SL_OP(aten_startswith) {
  std::string_view part = part_of(args);
  Text wanted = args.string(1);
  out[0].set_bool(same_text(part.substr(0, wanted.size()), wanted));
}
SL_OP(aten_endswith) {
  std::string_view part = part_of(args);
  Text wanted = args.string(1);
  bool fits = part.size() >= wanted.size();
  out[0].set_bool(fits && same_text(part.substr(part.size() - wanted.size()), wanted));
}

// ---- cutting and joining

SL_OP(aten_split_str) {
  out[0] = args.none(1) ? split_spaces(args.string(0))
                        : split(args.string(0), args.string(1), args.integer(2));
}
SL_OP(aten_rsplit) { out[0] = rsplit(args.string(0), args.string(1), args.integer(2)); }
SL_OP(aten_splitlines) { out[0] = split_lines(args.string(0), args.boolean(1)); }
SL_OP(aten_partition) {
  Text text = args.string(0), separator = args.string(1);
  size_t at = text.find(separator);
  bool found = at != std::string::npos;
  out[0] = part(text, 0, at);
  out[1] = Value::of_text(found ? separator : "");
  out[2] = found ? part(text, at + separator.size()) : Value("");
}
SL_OP(aten_rpartition) {
  Text text = args.string(0), separator = args.string(1);
  size_t at = text.rfind(separator);
  bool found = at != std::string::npos;
  out[0] = Value::of_text(found ? text.substr(0, at) : "");
  out[1] = Value::of_text(found ? separator : "");
  out[2] = Value::of_text(found ? text.substr(at + separator.size()) : text);
}
SL_OP(aten_join) {
  const Value& between = args[0];
  Text separator = between.as_string();
  const List& list = args.list(1);
  bool texts = list.kind() == List::Kind::Values;
  if (!texts && !list.empty()) {
    const Value first = list.get(0);
    first.as_string();  // raises: it is no string
  }
  ValueSpan parts(texts ? list.values() : nullptr, texts ? list.size() : 0);
  int64_t size = 0;  // one long string may be there many times
  for (const Value& part : parts) size += int64_t(part.as_string().size() + separator.size());
  if (!parts.empty()) size -= int64_t(separator.size());
  out[0] = written(as_size(size), [&](char* to) {
    for (const Value& part : parts) {
      if (&part != parts.begin()) to = put(to, between);
      to = put(to, part);
    }
    return to;
  });
}
SL_OP(aten_strip) { out[0] = strip(args, true, true); }
SL_OP(aten_lstrip) { out[0] = strip(args, true, false); }
SL_OP(aten_rstrip) { out[0] = strip(args, false, true); }
SL_OP(aten_replace) { out[0] = replace(args.string(0), args.string(1), args[2], args.integer(3)); }

}  // namespace scriptlang
