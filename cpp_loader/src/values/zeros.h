// Zeros in memory, of which there may be gigabytes: a call that is over its time ends meanwhile.
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
