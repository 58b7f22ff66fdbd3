// Convolutions, shared by the operators and their derivatives.
#pragma once

#include "../../kernels/conv.h"
#include "op.h"
#include "values/pooled.h"

namespace scriptlang::convolutions {

struct Settings {
  Sizes stride, padding, dilation, output_padding;
  bool transposed = false;
  int64_t groups = 1;
  kernels::Activation activation = kernels::Activation::kNone;  // of convolve_into, forward
};

// A setting for each of n dimensions; a single value applies to all.
Sizes spread(const Ints& given, int64_t n, const char* what);
void check_settings(const Settings& s, const Tensor& input, const Tensor& weight,
                    const Tensor& bias);
// The spatial sizes of the result; the settings must have been checked.
Sizes result_sizes(const Settings& s, const Tensor& input, const Tensor& weight);
// The shape for the kernels. `map`: spatial sizes of the (forward) convolution's input; `result`:
// those of its output.
kernels::ConvShape shape_of(const Settings& s, const int64_t* map, const int64_t* result,
                            const Tensor& weight);
// The memory format of the result: channels last where the input or the weight is.
int64_t result_format(const Tensor& input, const Tensor& weight, const Settings& s);
// Convolves contiguous, non-empty tensors of float32 or float64 whose sizes fit together.
void convolve_into(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias,
                   const Settings& s);
// Transposed convolutions of such tensors, whose elements are T; see conv_transposed.cpp.
template <class T>
void transposed(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias,
                const Settings& s);
// As convolve_into, for int64.
void convolve_integers(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias,
                       const Settings& s);
Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias,
                   const Settings& s);

}  // namespace scriptlang::convolutions
