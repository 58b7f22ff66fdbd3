// Loops over very many elements, which end early when their call is to stop.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../../kernels/stop.h"

namespace scriptlang {

// Calls f(begin, end) over pieces of [0, n), one after the other; the thread looks between them
// whether it is still wanted.
template <class F>
void in_pieces(int64_t n, F&& f) {
  constexpr int64_t kPiece = 1 << 15;
  for (int64_t at = 0; at < n; at += kPiece) {
    const int64_t end = std::min(n, at + kPiece);
    f(at, end);
    kernels::worked(4 * (end - at));
  }
}

// Before or after: which of two comes first, in a sort of the library that may take long.
struct WorkedLess {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    kernels::worked(4);
    return a < b;
  }
};

constexpr int64_t kShortSort = 1 << 14;  // elements whose sort nobody need end early

}  // namespace scriptlang
