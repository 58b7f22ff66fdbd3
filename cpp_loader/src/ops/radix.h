// Stable radix sort, of keys whose unsigned order is the wanted order.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../kernels/stop.h"
#include "pieces.h"
#include "scratch.h"

namespace scriptlang::radix {

template <class T>
using KeyOf = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

// An unsigned key with the order of the elements: NaN is the greatest, and both zeros are equal.
template <class T>
KeyOf<T> key_of(T x) {
  using Key = KeyOf<T>;
  constexpr Key kSign = Key(1) << (8 * sizeof(Key) - 1);
  if constexpr (std::is_floating_point_v<T>) {
    T y = x + T(0);  // -0.0 becomes 0.0
    Key bits;
    std::memcpy(&bits, &y, sizeof bits);
    const Key negative = Key(0) - (bits >> (8 * sizeof(Key) - 1)), nan = Key(0) - Key(x != x);
    return (bits ^ (negative | kSign)) | nan;
  } else if constexpr (std::is_signed_v<T>) {
    return Key(std::make_signed_t<Key>(x)) ^ kSign;
  } else {
    return Key(x);
  }
}

template <class T>
KeyOf<T> key_of(T x, bool descending) {
  return key_of(x) ^ (KeyOf<T>(0) - KeyOf<T>(descending));
}

template <class Key>
struct Keyed {
  Key key;
  uint32_t place;
};

// Sorts n < 2^32 items; `space` is scratch memory of the same size.
template <class Key>
__attribute__((noinline)) void sort(int64_t n, Keyed<Key>* items, Keyed<Key>* space) {
  constexpr int kDigits = sizeof(Key);
  constexpr int64_t kFew = 24;  // insertion sort is faster than counting digits
  if (n <= kFew) {
    for (int64_t i = 1; i < n; ++i) {
      Keyed<Key> item = items[i];
      int64_t at = i;
      for (; at > 0 && item.key < items[at - 1].key; --at) items[at] = items[at - 1];
      items[at] = item;
    }
    return;
  }
  uint32_t counts[kDigits][256] = {};
  in_pieces(n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int d = 0; d < kDigits; ++d) ++counts[d][items[i].key >> (8 * d) & 255];
    }
  });
  Keyed<Key>* from = items;
  for (int d = 0; d < kDigits; ++d) {
    uint32_t* count = counts[d];
    if (count[from[0].key >> (8 * d) & 255] == n) continue;  // all share this digit
    uint32_t next = 0;
    for (int v = 0; v < 256; ++v) {
      uint32_t here = count[v];
      count[v] = next;
      next += here;
    }
    constexpr int64_t kPiece = 1 << 16;
    for (int64_t done = 0; done < n; done += kPiece) {
      const int64_t end = n - done < kPiece ? n : done + kPiece;
      for (int64_t i = done; i < end; ++i) {
        space[count[from[i].key >> (8 * d) & 255]++] = from[i];
      }
      kernels::worked(4 * (end - done));
    }
    std::swap(from, space);
  }
  if (from == items) return;
  in_pieces(n, [&](int64_t begin, int64_t end) {
    std::memcpy(items + begin, from + begin, size_t(end - begin) * sizeof(Keyed<Key>));
  });
}

// The indices of x's elements in sorted order; equal elements keep their order.
template <class T>
class Order {
 public:
  explicit Order(int64_t n) : items_(n), space_(n) {
    // A sort writes all over the space, and the system makes pages at their first use, which may
    // take long. Touching them here one after the other lets the thread check in between whether it
    // is to stop.
    auto* bytes = reinterpret_cast<char*>(space_.data());
    in_pieces(n * int64_t(sizeof(*space_.data())),
              [&](int64_t begin, int64_t) { bytes[begin] = 0; });
  }
  void sort(const T* x, bool descending) {
    in_pieces(items_.size(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) items_[i] = {key_of(x[i], descending), uint32_t(i)};
    });
    if (items_.size() > 0) radix::sort(items_.size(), items_.data(), space_.data());
  }
  // Insertion sort, by comparisons: no element moves past a NaN, except to become the first.
  void insert(const T* x) {
    for (int64_t i = 0; i < items_.size(); ++i) {
      kernels::worked(i);
      const bool first = x[i] < x[items_[0].place];
      int64_t at = i;
      for (; at > 0 && (first || x[i] < x[items_[at - 1].place]); --at) items_[at] = items_[at - 1];
      items_[at].place = uint32_t(i);
    }
  }
  int64_t operator[](int64_t i) const { return items_[i].place; }

 private:
  WorkingBlock<Keyed<KeyOf<T>>> items_, space_;
};

}  // namespace scriptlang::radix
