// Convolutions: what they and their derivatives share.
#pragma once

#include "../../kernels/conv.h"
#include "op.h"
#include "values/pooled.h"

namespace scriptlang::convolutions {

struct Settings {
  Sizes stride, padding, dilation, output_padding;
  bool transposed = false;
  int64_t groups = 1;
};

// A setting for each of n dimensions; one stands for all.
Sizes spread(const Ints& given, int64_t n, const char* what);
void check_settings(const Settings& s, const Tensor& input, const Tensor& weight,
                    const Tensor& bias);
// The spatial sizes of the result. Of settings that were checked.
Sizes result_sizes(const Settings& s, const Tensor& input, const Tensor& weight);
// `map`: sizes of the input of the forward convolution; `result`: of its output.
kernels::ConvShape shape_of(const Settings& s, const int64_t* map, const int64_t* result,
                            const Tensor& weight);
// Channels lie last in the result where they do in the input or the weight.
int64_t result_format(const Tensor& input, const Tensor& weight, const Settings& s);
// Of contiguous tensors of float32 or float64, with elements, that fit together.
void convolve_into(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias,
                   const Settings& s);
// The same of int64.
void convolve_integers(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& bias,
                       const Settings& s);
Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias,
                   const Settings& s);

}  // namespace scriptlang::convolutions
