// How strings are made. One that does not lie in its value, but is short and was made by the same
// thread a moment ago, is given again: programs that cut texts into words, or make keys, make the
// same ones over and over.
#include <charconv>
#include <functional>
#include <memory>

#include "kernels/thread.h"
#include "ops/scratch.h"
#include "small_blocks.h"
#include "value.h"

namespace scriptlang {

namespace {

// A short text in two words, the first byte lowest, with its size in the highest: texts are put
// together and compared without going through memory.
struct Packed {
  uint64_t low = 0, high = 0;

  explicit Packed(std::string_view text) {
    const char* at = text.data();
    size_t size = text.size();
    auto load = [](const char* from, auto word) {
      std::memcpy(&word, from, sizeof word);
      return uint64_t(word);
    };
    if (size > 8) {
      low = load(at, uint64_t());
      high = load(at + size - 8, uint64_t()) >> (8 * (16 - size));
    } else if (size >= 4) {
      low = load(at, uint32_t()) | load(at + size - 4, uint32_t()) << (8 * (size - 4));
    } else if (size > 0) {
      auto byte = [&](size_t k) { return load(at + k, uint8_t()) << (8 * k); };
      low = byte(0) | byte(size / 2) | byte(size - 1);
    }
    high |= uint64_t(size) << 56;
  }
  size_t size() const { return size_t(high >> 56); }
  // With another text behind it, where both are short together.
  void append(Packed tail) {
    using Both = unsigned __int128;
    size_t total = size() + tail.size();
    auto bytes = [](Packed p) { return Both(p.high & ~(uint64_t(255) << 56)) << 64 | p.low; };
    Both both = bytes(*this) | bytes(tail) << (8 * size());
    low = uint64_t(both);
    high = uint64_t(both >> 64) | uint64_t(total) << 56;
  }
  uint32_t hash() const {
    using Product = unsigned __int128;
    Product both = Product(low ^ 0x9e3779b97f4a7c15ull) * (high ^ 0xd6e8feb86659fd93ull);
    uint64_t folded = uint64_t(both) ^ uint64_t(both >> 64);
    return uint32_t(folded ^ folded >> 32) | 1;
  }
};

// The short strings that a thread made last, by their hash. A reference is held to each.
struct Recent {
  static constexpr size_t kPlaces = 1024;
  struct Place {
    uint64_t low = 0, high = 0;
    String* string = nullptr;
  } places[kPlaces];
  ~Recent() {
    for (Place& place : places) drop(place.string);
  }
  static void drop(String* string) noexcept {
    if (!string || !string->let_go()) return;
    memory::quick::uncharge(charged_bytes(string->text.size()));
    string->~String();
    memory::quick::give_small(string, sizeof(String));
  }
};
SL_THREAD_WORD Recent* recent = nullptr;

__attribute__((noinline, cold)) Recent* start_recent() {
  struct Owner {
    std::unique_ptr<Recent> strings = std::make_unique<Recent>();
    bool gone = false;
    ~Owner() {
      recent = nullptr;
      gone = true;  // what is made later, while the thread ends, is not kept
      strings.reset();
    }
  };
  static thread_local Owner owner;
  return recent = owner.gone ? nullptr : owner.strings.get();
}

String* make_string(std::string_view text, uint32_t hash) {
  memory::quick::charge(charged_bytes(text.size()));
  String* made = ::new (memory::quick::take_small(sizeof(String))) String(text.data(), text.size());
  made->make_own(memory::quick::runs_now);
  made->hash.store(hash, std::memory_order_relaxed);
  return made;
}

// Words by value: a pair that goes through memory is read as one there, which waits for both.
__attribute__((noinline)) String* fresh_string(uint64_t low, uint64_t high, uint32_t hash) {
  char bytes[16];
  std::memcpy(bytes, &low, 8);
  std::memcpy(bytes + 8, &high, 8);
  return make_string({bytes, size_t(high >> 56)}, hash);
}

__attribute__((noinline)) String* keep_fresh(uint64_t low, uint64_t high, uint32_t hash,
                                             Recent::Place* place) {
  String* made = fresh_string(low, high, hash);
  String* old = std::exchange(place->string, made);
  place->low = low;
  place->high = high;
  made->hold();
  Recent::drop(old);
  return made;
}

inline String* short_string(Packed text) {
  uint32_t hash = text.hash();
  Recent* strings = recent ? recent : start_recent();
  if (__builtin_expect(!strings, 0)) return fresh_string(text.low, text.high, hash);
  Recent::Place& place = strings->places[(hash >> 1) % Recent::kPlaces];
  if (place.string && place.low == text.low && place.high == text.high) {
    if (!memory::quick::runs_now) place.string->refs.fetch_and(~kOwn, std::memory_order_relaxed);
    place.string->hold();
    return place.string;
  }
  return keep_fresh(text.low, text.high, hash, &place);
}

}  // namespace

Value::Value(std::string v) : Value() {
  if (v.size() <= kShortText) {
    *this = of_text(v);
    return;
  }
  memory::charge(charged_bytes(v.size()));
  String* s = new String;
  s->make_own();
  s->text = std::move(v);
  counted_ = s;
  tag_ = Tag::String;
}

Value Value::of_text(std::string_view text) {
  if (text.size() > kShortText) return Value(std::string(text));
  Packed packed(text);
  if (text.size() <= kInlineText) return of_bytes(packed.low, text.size());
  Value value;
  value.counted_ = short_string(packed);
  value.tag_ = Tag::String;
  return value;
}

Value Value::of_text(std::string_view head, std::string_view tail) {
  size_t size = head.size() + tail.size();
  if (size <= kShortText) {
    Packed both(head);
    both.append(Packed(tail));
    if (size <= kInlineText) return of_bytes(both.low, size);
    Value value;
    value.counted_ = short_string(both);
    value.tag_ = Tag::String;
    return value;
  }
  std::string text;
  memory::ask_to_grow(text, size);
  text.reserve(size);
  text.append(head).append(tail);
  return Value(std::move(text));
}

// Eight digits at once, in pieces of four, two and one; zeros in front go.
uint64_t Value::short_digits(int64_t number) noexcept {
  constexpr int64_t kMost = 9999999, kLeast = -999999;
  if (number < kLeast || number > kMost) return 0;
  uint64_t n = uint64_t(number < 0 ? -number : number);
  if (n == 0) return '0' | uint64_t(kInlineText - 1) << 56;
  uint64_t fours = n / 10000 | (n % 10000) << 32;
  uint64_t hundreds = (fours * 10486) >> 20 & 0x0000007f0000007full;
  uint64_t twos = hundreds | (fours - hundreds * 100) << 16;
  uint64_t tens = (twos * 103) >> 10 & 0x000f000f000f000full;
  uint64_t ones = tens | (twos - tens * 10) << 8;
  size_t zeros = size_t(__builtin_ctzll(ones)) / 8, size = 8 - zeros;
  uint64_t bytes = (ones | 0x3030303030303030ull) >> 8 * zeros;
  if (number < 0) bytes = bytes << 8 | '-', ++size;
  return bytes | uint64_t(kInlineText - size) << 56;
}

Value Value::of_growing(std::string_view head, std::string_view tail) {
  size_t size = head.size() + tail.size();
  if (size > kShortText) return of_text(head, tail);
  Packed both(head);
  both.append(Packed(tail));
  if (size <= kInlineText) return of_bytes(both.low, size);
  Value value;
  value.counted_ = fresh_string(both.low, both.high, 0);
  value.tag_ = Tag::String;
  return value;
}

Value Value::of_fresh(const char* begin, size_t size, const char* limit) {
  if (size <= kInlineText || size > kShortText) return of_piece(begin, size, limit);
  Value value;
  value.counted_ = make_string({begin, size}, 0);
  value.tag_ = Tag::String;
  return value;
}

Value Value::of_digits(int64_t number) {
  Value value;
  if (uint64_t bits = short_digits(number)) {
    value.set_text(bits);
    return value;
  }
  char digits[24];
  char* end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  return of_text({digits, size_t(end - digits)});
}

uint32_t make_hash(const String& string) {
  uint32_t hash;
  if (string.text.size() <= kShortText) {
    hash = Packed(string.text).hash();
  } else {
    uint64_t full = std::hash<std::string>()(string.text);
    hash = uint32_t(full ^ (full >> 32)) | 1;
  }
  string.hash.store(hash, std::memory_order_relaxed);
  return hash;
}

}  // namespace scriptlang
