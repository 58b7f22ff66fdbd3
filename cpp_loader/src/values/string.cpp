// How strings are made. A short one that the same thread made a moment ago is given again: programs
// that cut texts into words, or make keys, make the same ones over and over.
#include <algorithm>
#include <functional>
#include <memory>

#include "kernels/thread.h"
#include "ops/scratch.h"
#include "small_blocks.h"
#include "value.h"

namespace scriptlang {

namespace {

// The short strings that a thread made last, by their hash. A reference is held to each.
struct Recent {
  static constexpr size_t kPlaces = 1024;
  String* places[kPlaces] = {};
  ~Recent() {
    for (String* string : places) drop(string);
  }
  static void drop(String* string) noexcept {
    if (!string || !string->let_go()) return;
    memory::uncharge(charged_bytes(string->text.size()));
    delete string;
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
  String* made = ::new (memory::quick::take_small(sizeof(String))) String;
  made->make_own(memory::quick::runs_now);
  made->text.assign(text.data(), text.size());
  made->hash.store(hash, std::memory_order_relaxed);
  return made;
}

String* short_string(std::string_view text) {
  uint32_t hash = ShortText(text).hash();
  Recent* strings = recent ? recent : start_recent();
  if (!strings) return make_string(text, hash);
  String*& place = strings->places[(hash >> 1) % Recent::kPlaces];
  if (place) {
    bool same = place->hash.load(std::memory_order_relaxed) == hash && same_text(place->text, text);
    if (same) {
      if (!memory::quick::runs_now) place->refs.fetch_and(~kOwn, std::memory_order_relaxed);
      place->hold();
      return place;
    }
  }
  String* made = make_string(text, hash);
  String* old = std::exchange(place, made);
  made->hold();
  Recent::drop(old);
  return made;
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
  if (text.size() == 1) return of_character(text[0]);
  if (text.size() > kShortText) return Value(std::string(text));
  Value value;
  value.counted_ = short_string(text);
  value.tag_ = Tag::String;
  return value;
}

Value Value::of_text(std::string_view head, std::string_view tail) {
  size_t size = head.size() + tail.size();
  if (size <= kShortText) {
    char both[kShortText];
    std::copy(head.begin(), head.end(), both);
    std::copy(tail.begin(), tail.end(), both + head.size());
    return of_text({both, size});
  }
  std::string text;
  memory::ask_to_grow(text, size);
  text.reserve(size);
  text.append(head).append(tail);
  return Value(std::move(text));
}

Value Value::of_character(char c) noexcept {
  static String* const strings = [] {
    String* made = ::new String[256];
    for (int k = 0; k < 256; ++k) {
      made[k].text.assign(1, char(k));
      made[k].refs.store(kImmortal, std::memory_order_relaxed);
    }
    return made;
  }();
  Value value;
  value.tag_ = Tag::String;
  value.counted_ = &strings[static_cast<unsigned char>(c)];
  return value;
}

uint32_t make_hash(const String& string) {
  uint32_t hash;
  if (string.text.size() <= kShortText) {
    hash = ShortText(string.text).hash();
  } else {
    uint64_t full = std::hash<std::string>()(string.text);
    hash = uint32_t(full ^ (full >> 32)) | 1;
  }
  string.hash.store(hash, std::memory_order_relaxed);
  return hash;
}

}  // namespace scriptlang
