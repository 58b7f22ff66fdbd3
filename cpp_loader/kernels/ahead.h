// Prefetches rows that are read in order from distant memory. The hardware prefetcher stops at each
// page boundary, and a row of 4 KB fills a page.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

class Ahead {
 public:
  // Rows of `bytes` bytes that lie one after the other. Nothing is prefetched if they fit into the
  // second-level cache or one row exceeds the first-level cache.
  Ahead(int64_t rows, int64_t bytes)
      : bytes_(rows * bytes > kFar && bytes <= kMost ? bytes : 0),
        distance_((kDistance / (bytes > 0 ? bytes : 1) + 1) * bytes) {}

  // Prefetches the row that lies some rows after this one; it need not exist.
  void fetch(const void* row) const {
    constexpr int64_t kLine = 64;
    const char* at = static_cast<const char*>(row) + distance_;
    for (int64_t i = 0; i < bytes_; i += kLine) __builtin_prefetch(at + i);
  }

 private:
  static constexpr int64_t kFar = 4 << 20;    // more than a second-level cache holds
  static constexpr int64_t kMost = 16 << 10;  // less than a first-level cache holds
  static constexpr int64_t kDistance = 8 << 10;
  int64_t bytes_, distance_;
};

}  // namespace scriptlang::kernels
