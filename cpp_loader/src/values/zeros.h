// Zeroes memory. As this may take long for gigabytes, it checks between pieces whether the call is
// to stop.
#pragma once

#include <algorithm>
#include <cstring>

#include "../../kernels/stop.h"

namespace scriptlang {

inline void write_zeros(void* data, int64_t bytes) {
  constexpr int64_t kPiece = 16 << 20;
  for (int64_t at = 0; at < bytes; at += kPiece) {
    if (at > 0) kernels::worked(kernels::kBudget);
    std::memset(static_cast<char*>(data) + at, 0, size_t(std::min(kPiece, bytes - at)));
  }
}

}  // namespace scriptlang
