// Dicts: entries in insertion order, and a hash table that finds them.
#pragma once

#include "type.h"

namespace scriptlang {

// Keys are int, float, bool, complex, str, device, enums or tensors (identity); never None.
struct Dict : Counted {
 public:
  struct Entry {
    Value key, value;
    bool live() const { return !key.is_none(); }
  };
  TypeRef key_type, value_type;  // may be null

  static Ref<Dict> make(TypeRef key = {}, TypeRef value = {});
  Dict() = default;
  Dict(const Dict&) = delete;
  Dict& operator=(const Dict&) = delete;
  ~Dict();

  int64_t size() const { return live_; }
  // Returns null if the key is absent; the pointer is valid until the next change. The entry that
  // was found last is tried first.
  Value* find(const Value& key) {
    Entry* last = found_last(key);
    return last ? &last->value : look_up(key);
  }
  void set(const Value& key, Value value);
  // If `key` is the key that was found last, returns its value, which only the run that owns the
  // dict may overwrite; otherwise null.
  Value* found_again(const Value& key) {
    Entry* last = is_thread_local() ? found_last(key) : nullptr;
    return last ? &last->value : nullptr;
  }
  bool erase(const Value& key);
  void clear();
  // Iterates over the live entries in insertion order; the cursor starts at 0. Returns false at the
  // end.
  bool next(size_t* cursor, const Entry** entry) const {
    while (*cursor < count_) {
      *entry = entries_ + (*cursor)++;
      if ((*entry)->live()) return true;
    }
    return false;
  }

 private:
  // The low bits, as many as a bucket number has, are the index of the entry; the other bits are
  // those of the key's hash. The number of entries is below the number of buckets by two at least,
  // so that no bucket looks like kFree or kDeleted.
  using Bucket = uint32_t;
  static constexpr Bucket kFree = ~Bucket(0), kDeleted = kFree - 1;
  Value* look_up(const Value& key);
  Value* look_further(const Value& key);
  Entry* found_last(const Value& key) {
    uint32_t at = last_.load(std::memory_order_relaxed);
    bool same = (key.is_int() || key.is_string()) && at < count_ && entries_[at].key.same(key);
    return same ? &entries_[at] : nullptr;
  }
  static constexpr size_t room_of(size_t buckets) { return buckets * 2 / 3; }
  static constexpr size_t bytes_of(size_t buckets) {
    return room_of(buckets) * sizeof(Entry) + buckets * sizeof(Bucket);
  }
  Bucket* table() const { return reinterpret_cast<Bucket*>(entries_ + room_); }
  Entry& entry_of(Bucket bucket) const { return entries_[bucket & mask_]; }
  void found(Bucket bucket) { last_.store(bucket & mask_, std::memory_order_relaxed); }
  template <class Same>
  Bucket* search(uint32_t hash, const Same& same, Bucket** place);
  Bucket* bucket_of(const Value& key, uint32_t hash, Bucket** place);
  void rebuild(size_t buckets);
  void release() noexcept;

  Entry* entries_ = nullptr;       // the block also holds the table; erased entries have no key
  uint32_t count_ = 0, room_ = 0;  // entries, including erased ones; and capacity
  uint32_t mask_ = 0;              // number of buckets (a power of two) minus one
  std::atomic<uint32_t> last_{0};  // index of the entry found or set last; read by any thread
  int64_t live_ = 0;
  int64_t charged_ = 0;  // bytes counted against the memory limit
};

inline Dict& Value::as_dict() const { return want(Tag::Dict), *static_cast<Dict*>(counted_); }
inline Value::Value(Ref<Dict> v) noexcept : tag_(Tag::Dict) { counted_ = v.release(); }

}  // namespace scriptlang
