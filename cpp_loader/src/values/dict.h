// Dicts: entries in the order in which they came, found by a table of their hashes.
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
  ~Dict() { memory::uncharge(charged_); }

  int64_t size() const { return live_; }
  // Null when absent; valid until the next change. What was found last is found at once.
  Value* find(const Value& key) {
    Entry* last = found_last(key);
    return last ? &last->value : look_up(key);
  }
  void set(const Value& key, Value value);
  // The value where the key was found last, for the run that owns the dict to write over; or null.
  Value* found_again(const Value& key) {
    Entry* last = is_own() ? found_last(key) : nullptr;
    return last ? &last->value : nullptr;
  }
  bool erase(const Value& key);
  bool pop_last(Value* key, Value* value);
  void clear();
  // Live entries in insertion order, by a cursor that starts at 0; false at the end.
  bool next(size_t* cursor, const Entry** entry) const;

 private:
  struct Bucket {
    uint32_t hash;
    int32_t index;  // into entries_, or kFree, or kDeleted
  };
  static constexpr int32_t kFree = -1, kDeleted = -2;
  Value* look_up(const Value& key);
  Value* look_further(const Value& key);
  Entry* found_last(const Value& key) {
    uint32_t at = last_.load(std::memory_order_relaxed);
    bool same = (key.is_int() || key.is_string()) && at < entries_.size() &&
                entries_[at].key.same(key);
    return same ? &entries_[at] : nullptr;
  }
  template <class Same>
  Bucket* search(uint32_t hash, const Same& same, Bucket** place);
  Bucket* bucket_of(const Value& key, uint32_t hash, Bucket** place);
  void rebuild(size_t buckets);

  std::vector<Entry> entries_;  // those that were taken out have no key
  std::vector<Bucket> table_;   // a power of two; never full
  std::atomic<uint32_t> last_{0};  // what was found or set last, if it is there; any thread reads
  int64_t live_ = 0;
  int64_t charged_ = 0;  // bytes counted against the memory limit
};

inline Dict& Value::as_dict() const { return want(Tag::Dict), *static_cast<Dict*>(counted_); }
inline Value::Value(Ref<Dict> v) noexcept : tag_(Tag::Dict) { counted_ = v.release(); }

}  // namespace scriptlang
