#include "dict.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "type.h"

namespace scriptlang {

namespace {

uint32_t mix(uint64_t x) {
  x ^= x >> 32;
  x *= 0x9e3779b97f4a7c15ull;
  return uint32_t(x >> 32);
}

// Equal keys have equal hashes: 1, 1.0 and True are one key.
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
    case Tag::Enum: return mix(std::hash<std::string>()(key.as_enum().name));
    default:
      raise(ErrorKind::RuntimeError, "Can't hash IValues with tag '", tag_name(key.tag()), "'");
  }
}

// Whether equal bits make equal keys; in one test.
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
  dict->make_own();
  dict->key_type = std::move(key);
  dict->value_type = std::move(value);
  return dict;
}

// The bucket of a key; null when it is absent, and then `place` is where it would go.
template <class Same>
inline Dict::Bucket* Dict::search(uint32_t hash, const Same& same, Bucket** place) {
  size_t mask = table_.size() - 1;
  Bucket* free = nullptr;
  for (size_t at = hash & mask;; at = (at + 1) & mask) {
    Bucket& bucket = table_[at];
    if (bucket.index == kFree) {
      *place = free ? free : &bucket;
      return nullptr;
    }
    if (bucket.index == kDeleted) {
      if (!free) free = &bucket;
    } else if (bucket.hash == hash && same(entries_[size_t(bucket.index)].key)) {
      return &bucket;
    }
  }
}

inline Dict::Bucket* Dict::bucket_of(const Value& key, uint32_t hash, Bucket** place) {
  if (is_bits(key)) {
    return search(hash, [&](const Value& k) {
      return k.tag() == key.tag() ? k.bits() == key.bits() : key.is_int() && equal(k, key);
    }, place);
  }
  if (key.is_string()) {
    return search(hash, [&](const Value& k) {
      return k.same(key) ||
             (k.tag() == Tag::String && same_text(k.raw_string().text, key.raw_string().text));
    }, place);
  }
  return search(hash, [&](const Value& k) { return equal(k, key); }, place);
}

void Dict::rebuild(size_t buckets) {
  std::vector<Bucket> table(buckets, {0, kFree});
  entries_.reserve(buckets * 2 / 3 + 1);
  entries_.erase(std::remove_if(entries_.begin(), entries_.end(),
                                [](const Entry& e) { return !e.live(); }),
                 entries_.end());
  table_.swap(table);
  for (size_t i = 0; i < entries_.size(); ++i) {
    uint32_t hash = hash_of(entries_[i].key);
    size_t at = hash & (buckets - 1);
    while (table_[at].index != kFree) at = (at + 1) & (buckets - 1);
    table_[at] = {hash, int32_t(i)};
  }
}

// What lies in the first bucket of its hash, as the same object or int, needs no call.
Value* Dict::look_up(const Value& key) {
  uint32_t hash = is_bits(key)      ? mix(key.bits())
                  : key.is_string() ? key.raw_string().hash.load(std::memory_order_relaxed)
                                    : 0;
  if (__builtin_expect(hash == 0 || live_ == 0, 0)) return look_further(key);
  const Bucket& bucket = table_[hash & (table_.size() - 1)];
  if (bucket.index == kFree) return nullptr;
  if (bucket.index < 0 || bucket.hash != hash) return look_further(key);
  Entry& entry = entries_[size_t(bucket.index)];
  if (!entry.key.same(key)) return look_further(key);
  last_.store(uint32_t(bucket.index), std::memory_order_relaxed);
  return &entry.value;
}

__attribute__((noinline)) Value* Dict::look_further(const Value& key) {
  uint32_t hash = quick_hash(key);
  if (live_ == 0) return nullptr;
  Bucket* place;
  Bucket* found = bucket_of(key, hash, &place);
  if (!found) return nullptr;
  last_.store(uint32_t(found->index), std::memory_order_relaxed);
  return &entries_[size_t(found->index)].value;
}

void Dict::set(const Value& key, Value value) {
  if (!is_own()) {
    key.publish();
    value.publish();
  }
  if (Entry* last = found_last(key)) return last->value.swap(value);
  uint32_t hash = quick_hash(key);
  Bucket *place = nullptr, *found = table_.empty() ? nullptr : bucket_of(key, hash, &place);
  if (found) {
    entries_[size_t(found->index)].value.swap(value);  // what was there dies last
    return;
  }
  // entries_ counts dead ones too, and every dead entry has at most one deleted bucket: there is
  // always a free bucket to end a search at.
  if ((entries_.size() + 1) * 3 > table_.size() * 2) {
    size_t buckets = 8;
    while (size_t(live_ + 1) * 3 > buckets) buckets *= 2;
    if (live_ >= (int64_t(1) << 30)) raise(ErrorKind::MemoryError, "a dict has too many entries");
    int64_t bytes = int64_t(buckets * (sizeof(Entry) + sizeof(Bucket)));
    if (bytes > charged_) {
      memory::charge(bytes - charged_);
      charged_ = bytes;
    }
    rebuild(buckets);
    bucket_of(key, hash, &place);
  }
  entries_.push_back({key, std::move(value)});
  *place = {hash, int32_t(entries_.size() - 1)};
  last_.store(uint32_t(entries_.size() - 1), std::memory_order_relaxed);
  ++live_;
}

bool Dict::erase(const Value& key) {
  uint32_t hash = hash_of(key);
  if (live_ == 0) return false;
  Bucket* place;
  Bucket* found = bucket_of(key, hash, &place);
  if (!found) return false;
  Entry& entry = entries_[size_t(found->index)];
  found->index = kDeleted;
  --live_;
  Value dead_key = std::move(entry.key), dead_value = std::move(entry.value);
  return true;
}

bool Dict::pop_last(Value* key, Value* value) {
  for (size_t i = entries_.size(); i-- > 0;) {
    if (!entries_[i].live()) continue;
    *key = entries_[i].key;
    *value = entries_[i].value;
    return erase(*key);
  }
  return false;
}

void Dict::clear() {
  std::vector<Entry> dead = std::move(entries_);
  entries_.clear();
  table_.clear();
  live_ = 0;
}

bool Dict::next(size_t* cursor, const Entry** entry) const {
  while (*cursor < entries_.size()) {
    const Entry& candidate = entries_[(*cursor)++];
    if (candidate.live()) {
      *entry = &candidate;
      return true;
    }
  }
  return false;
}

}  // namespace scriptlang
