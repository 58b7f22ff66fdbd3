// The lookup of pair loops: which two float32 operations one loop can compute.
#include "pairs.h"

#include "kernel_set.h"

namespace scriptlang::kernels {

namespace {

Loop float_loop(Binary op) { return loops(op)[ScalarType::Float32]; }

}  // namespace

Loop pair_loop(Loop first, Loop then, int place) {
  static const Loop add = float_loop(Binary::k_add), sub = float_loop(Binary::k_sub);
  static const Loop mul = float_loop(Binary::k_mul), div = float_loop(Binary::k_div);
  static const Loop neg = loops(Unary::k_neg)[ScalarType::Float32];
  PairFirst one = first == add   ? PairFirst::kAdd
                  : first == sub ? PairFirst::kSub
                  : first == mul ? PairFirst::kMul
                                 : PairFirst::kCount;
  PairThen other = then == add   ? PairThen::kAdd
                   : then == mul ? PairThen::kMul
                   : then == sub ? (place == 0 ? PairThen::kSub : PairThen::kSubFrom)
                   : then == div ? (place == 0 ? PairThen::kDiv : PairThen::kDivInto)
                   : then == neg ? PairThen::kNeg
                                 : PairThen::kCount;
  if (one == PairFirst::kCount || other == PairThen::kCount) return nullptr;
  return kernels().pairs->at[static_cast<int>(one)][static_cast<int>(other)];
}

}  // namespace scriptlang::kernels
