// Loops that compute two float32 operators at once: (x op y) op z, rounding after each.
#pragma once
#include "loops.h"

namespace scriptlang::kernels {

enum class PairFirst : int { kAdd, kSub, kMul, kCount };
// The second operator, applied to the result r of the first and z. kSubFrom is z - r, kDivInto is z
// / r.
enum class PairThen : int { kAdd, kSub, kSubFrom, kMul, kDiv, kDivInto, kNeg, kCount };

struct PairLoops {
  Loop at[static_cast<int>(PairFirst::kCount)][static_cast<int>(PairThen::kCount)];
};

// Returns the loop that computes `then` with the result of `first` as its operand number `place`.
// Its inputs are those of `first` and the other one of `then`. Null if there is none.
Loop pair_loop(Loop first, Loop then, int place);

}  // namespace scriptlang::kernels
