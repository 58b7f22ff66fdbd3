// Packed forms of constants (weights), made at their first use and cached with their storage.
//
// Only operators made by the optimiser use them, on constants of a frozen module: if the contents
// changed later, the packed form would be stale.
#pragma once

#include <cstring>

#include "tensor.h"

namespace scriptlang {

class Prepared {
 public:
  // Identifies a packed form by the view of the storage that it was made from. `purpose` and
  // `details` distinguish several forms of one view.
  struct Key {
    int64_t purpose = 0, offset = 0;
    int64_t sizes[4] = {}, strides[4] = {}, details[12] = {};

    Key(const Tensor& t, int64_t purpose) : purpose(purpose), offset(t.storage_offset()) {
      SL_CHECK(t.dim() <= 4, "weights of more than four dimensions");
      for (int64_t i = 0; i < t.dim(); ++i) {
        sizes[i] = t.size(i);
        strides[i] = t.stride(i);
      }
    }
    bool operator==(const Key& o) const { return std::memcmp(this, &o, sizeof *this) == 0; }
  };

  // Returns the packed form for `key`, of `count` elements. If there is none yet, `make(float* to)`
  // writes it. It lives as long as the storage.
  template <class F>
  static const float* get(Storage* storage, const Key& key, int64_t count, F make) {
    if (const float* found = find(storage, key)) return found;
    Prepared* fresh = allocate(key, count);
    try {
      make(fresh->data_);
    } catch (...) {
      destroy_all(fresh);
      throw;
    }
    return add(storage, fresh);
  }

  static void destroy_all(Prepared* first) noexcept;

 private:
  explicit Prepared(const Key& key) : key_(key) {}
  static const float* find(Storage* storage, const Key& key);
  static Prepared* allocate(const Key& key, int64_t count);
  static const float* add(Storage* storage, Prepared* fresh);

  Prepared* next_ = nullptr;
  Key key_;
  float* data_ = nullptr;
};

}  // namespace scriptlang
