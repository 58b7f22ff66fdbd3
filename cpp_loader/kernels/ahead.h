// Rows that are read in order from far away are asked for before they are wanted: what a processor
// fetches ahead by itself ends with every page, and a row of 4 KB is one.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

class Ahead {
 public:
  // So many rows, of so many bytes, one after the other.
  Ahead(int64_t rows, int64_t bytes)
      : bytes_(rows * bytes > kFar && bytes <= kMost ? bytes : 0),
        distance_((kDistance / (bytes > 0 ? bytes : 1) + 1) * bytes) {}

  // Asks for what is wanted some rows after the one that begins here; it need not be there.
  void fetch(const void* row) const {
    constexpr int64_t kLine = 64;
    const char* at = static_cast<const char*>(row) + distance_;
    for (int64_t i = 0; i < bytes_; i += kLine) __builtin_prefetch(at + i);
  }

 private:
  static constexpr int64_t kFar = 4 << 20;    // more than a second cache holds
  static constexpr int64_t kMost = 16 << 10;  // less than a first cache holds
  static constexpr int64_t kDistance = 8 << 10;
  int64_t bytes_, distance_;
};

}  // namespace scriptlang::kernels
