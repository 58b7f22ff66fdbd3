// Steps of optimizers. Each element is read and written once.
#include "../updates.h"

#include <cmath>

#include "entry.h"
#include "fused.h"

namespace scriptlang::kernels::SL_ISA {
namespace {

// The same order of operations as lerp_, mul_, addcmul_, sqrt, div_, add_ and addcdiv_ after each
// other, so that a step gives the same numbers whether it is one operator or many.
template <bool kDecays, bool kMost, class T>
void adam_loop(int64_t n, const AdamStep<T>& s) {
  T* __restrict param = s.param;
  const T* __restrict grad = s.grad;
  T* __restrict mean = s.mean;
  T* __restrict square = s.square;
  T* __restrict most = s.most;
  const T sign = s.sign, decay = s.decay, keep = s.keep, near = s.near, far = T(1) - s.near;
  const T beta2 = s.beta2, rest2 = s.rest2, scale = s.scale, eps = s.eps, rate = s.rate;
  const bool is_near = near < T(0.5);  // else from the other end, so that 1 gives the gradient
  for (int64_t i = 0; i < n; ++i) {
    const T p = param[i];
    T g = sign * grad[i];
    if constexpr (kDecays) g = fused(decay, p, g);
    const T from = mean[i], way = g - from;
    const T m = is_near ? fused(near, way, from) : fused(-far, way, g);
    T v = fused(rest2 * g, g, beta2 * square[i]);
    mean[i] = m;
    square[i] = v;
    if constexpr (kMost) {  // NaN takes precedence
      const T before = most[i];
      v = (v > before) | (v != v) ? v : before;
      most[i] = v;
    }
    param[i] = fused(-rate, m / (std::sqrt(v) / scale + eps), keep * p);
  }
}

template <class T>
void adam(int64_t n, const AdamStep<T>& s) {
  if (s.decay != 0) {
    s.most ? adam_loop<true, true>(n, s) : adam_loop<true, false>(n, s);
  } else {
    s.most ? adam_loop<false, true>(n, s) : adam_loop<false, false>(n, s);
  }
}

}  // namespace

const UpdateFunctions updates{adam<float>, adam<double>};

}  // namespace scriptlang::kernels::SL_ISA
