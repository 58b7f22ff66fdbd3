// Loops over very many elements that can end early when their call is to stop.
#pragma once

#include <algorithm>
#include <cstdint>

#include "../../kernels/stop.h"

namespace scriptlang {

// Calls f(begin, end) over pieces of [0, n), one after the other. Between them the thread checks
// whether the call is to stop.
template <class F>
void in_pieces(int64_t n, F&& f) {
  constexpr int64_t kPiece = 1 << 15;
  for (int64_t at = 0; at < n; at += kPiece) {
    const int64_t end = std::min(n, at + kPiece);
    f(at, end);
    kernels::worked(4 * (end - at));
  }
}

// A less-than for standard library sorts that may take long: it checks whether the call is to stop.
struct WorkedLess {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    kernels::worked(4);
    return a < b;
  }
};

constexpr int64_t kShortSort = 1 << 14;  // sorts of up to this many elements need no check

}  // namespace scriptlang
