// Two operators on float32 in one loop: the result of the first is rounded, but not stored.
#include "entry.h"
#include "vectors.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

using V = Vector<float>;

template <PairFirst op>
SL_INLINE V first_of(V x, V y) {
  if constexpr (op == PairFirst::kAdd) return x + y;
  else if constexpr (op == PairFirst::kSub) return x - y;
  else return x * y;
}
template <PairThen op>
SL_INLINE V then_of(V x, [[maybe_unused]] V z) {
  if constexpr (op == PairThen::kAdd) return x + z;
  else if constexpr (op == PairThen::kSub) return x - z;
  else if constexpr (op == PairThen::kSubFrom) return z - x;
  else if constexpr (op == PairThen::kMul) return x * z;
  else if constexpr (op == PairThen::kDiv) return x / z;
  else if constexpr (op == PairThen::kDivInto) return z / x;
  else return -x;
}

// Addresses of operands and the strides of their vectors. A scalar is replicated in a vector of its
// own, with stride 0.
struct Operands {
  alignas(V) float same[3][kLanes<float>];
  const float* at[3];
  int64_t step[3];
};
SL_NOINLINE void find_operands(const void* const* in, const int64_t* step, int count,
                               Operands& to) {
  for (int k = 0; k < count; ++k) {
    to.at[k] = static_cast<const float*>(in[k]);
    to.step[k] = step[k] * kLanes<float>;
    if (step[k] != 0) continue;
    store(to.same[k], splat(*to.at[k]));
    to.at[k] = to.same[k];
  }
}

template <PairFirst First, PairThen Then>
void pair_loop(int64_t n, void* out, const void* const* in, const int64_t* step, const double*) {
  constexpr int W = kLanes<float>;
  constexpr bool kUnary = Then == PairThen::kNeg;
  if (n <= 0) return;
  Operands operands;
  find_operands(in, step, kUnary ? 2 : 3, operands);
  const float *x = operands.at[0], *y = operands.at[1], *z = kUnary ? y : operands.at[2];
  const int64_t x_step = operands.step[0], y_step = operands.step[1];
  const int64_t z_step = kUnary ? y_step : operands.step[2];
  float* o = static_cast<float*>(out);
  for (; n >= W; n -= W, o += W, x += x_step, y += y_step, z += z_step) {
    store(o, then_of<Then>(first_of<First>(load(x), load(y)), load(z)));
  }
  if (n == 0) return;
  const Lanes<float> lanes = first_lanes<float>(static_cast<int>(n));
  V value = first_of<First>(load_lanes(x, lanes), load_lanes(y, lanes));
  store_lanes(o, then_of<Then>(value, load_lanes(z, lanes)), lanes);
}

template <PairFirst First, int... Then>
constexpr void fill(PairLoops& loops, std::integer_sequence<int, Then...>) {
  ((loops.at[static_cast<int>(First)][Then] = &pair_loop<First, static_cast<PairThen>(Then)>), ...);
}
constexpr PairLoops make_loops() {
  PairLoops loops{};
  constexpr auto all = std::make_integer_sequence<int, static_cast<int>(PairThen::kCount)>{};
  fill<PairFirst::kAdd>(loops, all);
  fill<PairFirst::kSub>(loops, all);
  fill<PairFirst::kMul>(loops, all);
  return loops;
}

}  // namespace

const PairLoops pair_loops = make_loops();

}  // namespace scriptlang::kernels::SL_ISA
