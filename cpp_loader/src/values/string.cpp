// Construction of strings. A short string that is not inline is reused if the same thread made it
// recently: programs that split texts into words, or build keys, make the same strings over and
// over.
#include <charconv>
#include <memory>

#include "kernels/thread.h"
#include "kernels/thread_object.h"
#include "small_blocks.h"
#include "value.h"
#include "wide.h"

namespace scriptlang {

namespace {

// A short text in two words, the first byte lowest, with its size in the highest byte. In this form
// texts are concatenated and compared in registers.
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
  // Appends another text; the result must be short.
  void append(Packed tail) {
    constexpr uint64_t kBytes = ~(uint64_t(255) << 56);
    const size_t total = size() + tail.size();
    const Wide behind = Wide{tail.low, tail.high & kBytes} << unsigned(8 * size());
    low |= behind.low;
    high = (high & kBytes) | behind.high | uint64_t(total) << 56;
  }
  uint32_t hash() const {
    const Wide both = Wide::product(low ^ 0x9e3779b97f4a7c15ull, high ^ 0xd6e8feb86659fd93ull);
    const uint64_t folded = both.low ^ both.high;
    return uint32_t(folded ^ folded >> 32) | 1;
  }
};

// The hash of a text of 16 bytes or more. It reads 16 bytes at a time; the last block may overlap
// the one before.
uint32_t hash_of_long(std::string_view text) {
  const char *at = text.data(), *last = at + text.size() - 16;
  uint64_t sum = text.size();
  auto add = [&](const char* from) {
    uint64_t low, high;
    std::memcpy(&low, from, 8);
    std::memcpy(&high, from + 8, 8);
    const Wide both =
        Wide::product(low ^ 0x9e3779b97f4a7c15ull ^ sum, high ^ 0xd6e8feb86659fd93ull);
    sum = both.low ^ both.high;
  };
  for (; at < last; at += 16) add(at);
  add(last);
  return uint32_t(sum ^ sum >> 32) | 1;
}

// A thread's cache of short strings that it made recently, indexed by hash. It holds a reference to
// each.
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
    if (string && string->let_go()) String::destroy(string);
  }
};
SL_THREAD_WORD Recent* recent = nullptr;

__attribute__((noinline, cold)) Recent* start_recent() {
  struct Owner {
    std::unique_ptr<Recent> strings = std::make_unique<Recent>();
    bool gone = false;
    ~Owner() {
      recent = nullptr;
      gone = true;  // strings made while the thread ends are not kept
      strings.reset();
    }
  };
  Owner& owner = thread_object<Owner>();
  return recent = owner.gone ? nullptr : owner.strings.get();
}

constexpr size_t kLargestSmall = memory::quick::kSmallStep * (memory::quick::kSmallClasses - 1);

String* make_string(std::string_view text) {
  String* made = String::make(text.size());
  std::memcpy(made->data(), text.data(), text.size());
  return made;
}

// The words are passed by value. A pair in memory would be written by two stores and read by one
// wider load, which cannot be forwarded and stalls.
__attribute__((noinline)) String* fresh_string(uint64_t low, uint64_t high, uint32_t hash) {
  String* made = String::make(size_t(high >> 56));
  high &= (uint64_t(1) << 56) - 1;
  std::memcpy(made->data(), &low, 8);
  std::memcpy(made->data() + 8, &high, 8);
  made->hash.store(hash, std::memory_order_relaxed);
  return made;
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
    if (!memory::quick::runs_now) {
      place.string->refs.fetch_and(~kThreadLocal, std::memory_order_relaxed);
    }
    place.string->hold();
    return place.string;
  }
  return keep_fresh(text.low, text.high, hash, &place);
}

}  // namespace

String* String::take(size_t room) {
  constexpr size_t kStep = memory::quick::kSmallStep;
  size_t bytes = (sizeof(String) + room + kStep) / kStep * kStep;  // including the final 0
  void* block = bytes <= kLargestSmall ? memory::quick::take_small(bytes) : memory::take(bytes);
  String* made = ::new (block) String;
  made->room = bytes - sizeof(String) - 1;
  return made;
}

String* String::make(size_t size) {
  memory::quick::charge(charged_bytes(size));
  String* made;
  try {
    made = take(size);
  } catch (...) {
    memory::quick::uncharge(charged_bytes(size));
    throw;
  }
  made->make_thread_local(memory::quick::runs_now);
  made->resize(size);
  return made;
}

void String::give() noexcept {
  size_t bytes = sizeof(String) + room + 1;
  if (bytes <= kLargestSmall) {
    memory::quick::give_small(this, bytes);
  } else {
    memory::give(this, bytes);
  }
}

void String::destroy(String* string) noexcept {
  memory::quick::uncharge(charged_bytes(string->size));
  string->give();
}

Value::Value(std::string v) : Value(of_text(v)) {}

Value Value::of_text(std::string_view text) {
  if (text.size() > kShortText) return Value(make_string(text));
  Packed packed(text);
  if (text.size() <= kInlineText) return of_bytes(packed.low, text.size());
  return Value(short_string(packed));
}

Value Value::of_text(std::string_view head, std::string_view tail) {
  size_t size = head.size() + tail.size();
  if (size <= kShortText) {
    Packed both(head);
    both.append(Packed(tail));
    return size <= kInlineText ? of_bytes(both.low, size) : Value(short_string(both));
  }
  String* sum = String::make(size);
  std::memcpy(sum->data(), head.data(), head.size());
  std::memcpy(sum->data() + head.size(), tail.data(), tail.size());
  return Value(sum);
}

Value Value::of_written(String* string, size_t size) noexcept {
  memory::quick::uncharge(charged_bytes(string->size) - charged_bytes(size));
  string->resize(size);
  if (size > kInlineText) return Value(string);
  Value text = of_bytes(Packed(string->text()).low, size);
  String::destroy(string);
  return text;
}

// Extends a string that has no other reference by `more` bytes, in front of its text or behind it,
// and returns where to write them. At least eight bytes are writable there. If there is no room,
// the string is moved first.
inline char* Value::grown(size_t more, bool in_front) {
  String* string = static_cast<String*>(counted_);
  size_t before = string->size, after = before + more;
  memory::quick::charge(charged_bytes(after) - charged_bytes(before));
  if (__builtin_expect(after + 8 > string->room, 0)) return moved(more, in_front);
  if (in_front) std::memmove(string->data() + more, string->data(), before);
  string->resize(after);
  string->hash.store(0, std::memory_order_relaxed);
  return string->data() + (in_front ? 0 : before);
}

__attribute__((noinline)) char* Value::moved(size_t more, bool in_front) {
  String *old = static_cast<String*>(counted_), *string;
  size_t before = old->size, after = before + more;
  try {
    string = String::take(std::max(old->room * 2, after + 8));
  } catch (...) {
    memory::quick::uncharge(charged_bytes(after) - charged_bytes(before));
    throw;
  }
  string->refs.store(old->refs.load(std::memory_order_relaxed), std::memory_order_relaxed);
  std::memcpy(string->data() + (in_front ? more : 0), old->data(), before);
  string->resize(after);
  old->give();
  counted_ = string;
  return string->data() + (in_front ? 0 : before);
}

void Value::append(Value& head, const Value& tail) {
  if (head.grows()) {
    std::string_view added = tail.as_string();
    char* to = head.grown(added.size(), false);
    if (tail.is_text()) {
      std::memcpy(to, &tail.bits_, 8);  // all eight bytes, with a 0 behind the text
    } else {
      std::memcpy(to, added.data(), added.size());
    }
    if (this != &head) *this = std::move(head);
    return;
  }
  std::string_view front = head.as_string(), back = tail.as_string();
  Value sum = this == &head ? of_growing(front, back) : of_text(front, back);
  *this = std::move(sum);
  if (this != &head) head.reset();
}

void Value::prepend(const Value& head, Value& tail) {
  std::string_view front = head.as_string();
  if (tail.grows()) {
    std::memcpy(tail.grown(front.size(), true), front.data(), front.size());
    if (this != &tail) *this = std::move(tail);
    return;
  }
  Value sum = of_text(front, tail.as_string());
  tail.reset();
  *this = std::move(sum);
}

// Converts eight digits at once, by splitting the number into halves of four, two and one digits;
// then drops leading zeros.
uint64_t Value::short_digits(int64_t number) noexcept {
  constexpr int64_t kMost = 9999999, kLeast = -999999;
  if (number < kLeast || number > kMost) return 0;
  if (uint64_t(number) < 10) return uint64_t('0' + number) | uint64_t(kInlineText - 1) << 56;
  uint64_t n = uint64_t(number < 0 ? -number : number);
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
  return size <= kInlineText ? of_bytes(both.low, size)
                             : Value(fresh_string(both.low, both.high, 0));
}

Value Value::of_fresh(const char* begin, size_t size, const char* limit) {
  if (size <= kInlineText || size > kShortText) return of_piece(begin, size, limit);
  return Value(make_string({begin, size}));
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
  std::string_view text = string.text();
  if (text.size() <= kShortText) {
    hash = Packed(text).hash();
  } else {
    hash = hash_of_long(text);
  }
  string.hash.store(hash, std::memory_order_relaxed);
  return hash;
}

}  // namespace scriptlang
