// Loops of two operators on float32 at once: (x op y) op z, with a rounding after each.
#pragma once
#include "loops.h"

namespace scriptlang::kernels {

enum class PairFirst : int { kAdd, kSub, kMul, kCount };
// The second operator on the result of the first and z; kSubFrom: z less it.
enum class PairThen : int { kAdd, kSub, kSubFrom, kMul, kDiv, kDivInto, kNeg, kCount };

struct PairLoops {
  Loop at[static_cast<int>(PairFirst::kCount)][static_cast<int>(PairThen::kCount)];
};

// The loop that does what `then` does with the result of `first` as its operand `place`: its inputs
// are those of `first` and the other one of `then`. Null where there is none.
Loop pair_loop(Loop first, Loop then, int place);

}  // namespace scriptlang::kernels
