// Steps of optimizers over the elements of a parameter.
#pragma once
#include <cstdint>

namespace scriptlang::kernels {

// A step of Adam, for elements [0, n) of a parameter and its state:
//   g = sign * grad + decay * param      mean += (g - mean) * (1 - beta1)
//   square = beta2 * square + (1 - beta2) * g * g      most = max(most, square)
//   param = keep * param - rate * mean / (sqrt(most or square) / scale + eps)
template <class T>
struct AdamStep {
  T* param = nullptr;
  const T* grad = nullptr;
  T* mean = nullptr;
  T* square = nullptr;
  T* most = nullptr;                                          // null: the square itself is used
  T sign, decay, keep, near, beta2, rest2, scale, eps, rate;  // near: 1 - beta1; rest2: 1 - beta2
};

struct UpdateFunctions {
  void (*adam_f32)(int64_t n, const AdamStep<float>& s);
  void (*adam_f64)(int64_t n, const AdamStep<double>& s);
};

}  // namespace scriptlang::kernels
