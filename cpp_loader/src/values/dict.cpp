// Dicts: hashing, search, insertion and removal.
#include "dict.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>

#include "type.h"

namespace scriptlang {

namespace {

uint32_t mix(uint64_t x) {
  x ^= x >> 32;
  x *= 0x9e3779b97f4a7c15ull;
  return uint32_t(x >> 32);
}

// Equal keys have equal hashes: 1, 1.0 and True are the same key.
uint32_t hash_of(const Value& key) {
  switch (key.tag()) {
    case Tag::Bool:
    case Tag::Int:
    case Tag::Text: return mix(key.bits());
    case Tag::Double: {
      double d = key.raw_double();
      bool whole = d >= -9.2e18 && d <= 9.2e18 && d == std::floor(d);
      return mix(whole ? uint64_t(int64_t(d)) : std::hash<double>()(d));
    }
    case Tag::Complex: {
      std::complex<double> c = key.as_complex();
      if (c.imag() == 0) return hash_of(Value(c.real()));
      return mix(std::hash<double>()(c.real()) * 31 + std::hash<double>()(c.imag()));
    }
    case Tag::String: return hash_of(key.raw_string());
    case Tag::Device:
    case Tag::Tensor: return mix(key.bits());
    case Tag::Enum: return hash_of(key.as_enum().value);
    default:
      raise(ErrorKind::RuntimeError, "Can't hash IValues with tag '", tag_name(key.tag()), "'");
  }
}

// Whether keys with this tag are equal if and only if their bits are.
inline bool is_bits(const Value& key) {
  constexpr uint32_t kBits = 1u << uint32_t(Tag::Int) | 1u << uint32_t(Tag::Text);
  return kBits >> uint32_t(key.tag()) & 1;
}

inline uint32_t quick_hash(const Value& key) {
  if (is_bits(key)) return mix(key.bits());
  return key.is_string() ? hash_of(key.raw_string()) : hash_of(key);
}

}  // namespace

Ref<Dict> Dict::make(TypeRef key, TypeRef value) {
  Ref<Dict> dict(new Dict);
  dict->make_thread_local();
  dict->key_type = std::move(key);
  dict->value_type = std::move(value);
  return dict;
}

Dict::~Dict() {
  release();
  memory::uncharge(charged_);
}

// Drops the entries and frees the block.
void Dict::release() noexcept {
  Entry* entries = std::exchange(entries_, nullptr);
  size_t count = std::exchange(count_, 0), buckets = size_t(mask_) + 1;
  room_ = 0;
  live_ = 0;
  if (!entries) return;
  for (size_t k = 0; k < count; ++k) entries[k].~Entry();
  memory::give(entries, bytes_of(buckets));
}

// Returns the bucket of a key. If the key is missing, returns null and sets `place` to the bucket
// in which it should be inserted.
template <class Same>
inline Dict::Bucket* Dict::search(uint32_t hash, const Same& same, Bucket** place) {
  uint32_t mask = mask_;
  Bucket *free = nullptr, *buckets = table();
  for (uint32_t at = hash & mask;; at = (at + 1) & mask) {
    Bucket& bucket = buckets[at];
    if (bucket == kFree) {
      *place = free ? free : &bucket;
      return nullptr;
    }
    if (bucket == kDeleted) {
      if (!free) free = &bucket;
    } else if (((bucket ^ hash) & ~mask) == 0 && same(entry_of(bucket).key)) {
      return &bucket;
    }
  }
}

inline Dict::Bucket* Dict::bucket_of(const Value& key, uint32_t hash, Bucket** place) {
  if (is_bits(key)) {
    return search(
        hash,
        [&](const Value& k) {
          return k.tag() == key.tag() ? k.bits() == key.bits() : key.is_int() && equal(k, key);
        },
        place);
  }
  if (key.is_string()) {
    return search(
        hash,
        [&](const Value& k) {
          return k.same(key) || (k.tag() == Tag::String &&
                                 same_text(k.raw_string().text(), key.raw_string().text()));
        },
        place);
  }
  return search(hash, [&](const Value& k) { return equal(k, key); }, place);
}

void Dict::rebuild(size_t buckets) {
  Entry *old = entries_, *fresh = static_cast<Entry*>(memory::take(bytes_of(buckets)));
  uint32_t live = 0, mask = uint32_t(buckets - 1);
  Bucket* table = reinterpret_cast<Bucket*>(fresh + room_of(buckets));
  std::fill_n(table, buckets, kFree);
  for (uint32_t k = 0; k < count_; ++k) {
    if (!old[k].live()) continue;
    std::memcpy(static_cast<void*>(fresh + live), old + k, sizeof(Entry));  // moved as bytes
    uint32_t hash = quick_hash(old[k].key), at = hash & mask;
    while (table[at] != kFree) at = (at + 1) & mask;
    table[at] = (hash & ~mask) | live++;
  }
  if (old) memory::give(old, bytes_of(size_t(mask_) + 1));
  entries_ = fresh;
  count_ = live;
  room_ = uint32_t(room_of(buckets));
  mask_ = mask;
}

// Fast path: the key is in the first bucket of its hash and is the same object or int.
Value* Dict::look_up(const Value& key) {
  uint32_t hash = is_bits(key)      ? mix(key.bits())
                  : key.is_string() ? key.raw_string().hash.load(std::memory_order_relaxed)
                                    : 0;
  if (__builtin_expect(hash == 0 || live_ == 0, 0)) return look_further(key);
  Bucket bucket = table()[hash & mask_];
  if (bucket == kFree) return nullptr;
  if (bucket == kDeleted || ((bucket ^ hash) & ~mask_)) return look_further(key);
  Entry& entry = entry_of(bucket);
  if (!entry.key.same(key)) return look_further(key);
  found(bucket);
  return &entry.value;
}

__attribute__((noinline)) Value* Dict::look_further(const Value& key) {
  uint32_t hash = quick_hash(key);
  if (live_ == 0) return nullptr;
  Bucket *place, *bucket = bucket_of(key, hash, &place);
  if (!bucket) return nullptr;
  found(*bucket);
  return &entry_of(*bucket).value;
}

void Dict::set(const Value& key, Value value) {
  if (!is_thread_local()) {
    key.publish();
    value.publish();
  }
  if (Entry* last = found_last(key)) return last->value.swap(value);
  uint32_t hash = quick_hash(key);
  Bucket *place = nullptr, *bucket = entries_ ? bucket_of(key, hash, &place) : nullptr;
  if (bucket) {
    entry_of(*bucket).value.swap(value);  // the old value is dropped last
    return;
  }
  // count_ includes erased entries, and each of those has at most one deleted bucket. So there is
  // always a free bucket at which a search ends.
  if (count_ == room_) {
    size_t buckets = 8;
    while (size_t(live_ + 1) * 3 > buckets) buckets *= 2;
    if (live_ >= (int64_t(1) << 30)) raise(ErrorKind::MemoryError, "a dict has too many entries");
    int64_t bytes = int64_t(buckets * (sizeof(Entry) + 8));
    if (bytes > charged_) {
      memory::charge(bytes - charged_);
      charged_ = bytes;
    }
    rebuild(buckets);
    bucket_of(key, hash, &place);
  }
  new (entries_ + count_) Entry{key, std::move(value)};
  *place = (hash & ~mask_) | count_;
  last_.store(count_++, std::memory_order_relaxed);
  ++live_;
}

bool Dict::erase(const Value& key) {
  uint32_t hash = hash_of(key);
  if (live_ == 0) return false;
  Bucket *place, *bucket = bucket_of(key, hash, &place);
  if (!bucket) return false;
  Entry& entry = entry_of(*bucket);
  *bucket = kDeleted;
  --live_;
  Value dead_key = std::move(entry.key), dead_value = std::move(entry.value);
  return true;
}

void Dict::clear() { release(); }

}  // namespace scriptlang
