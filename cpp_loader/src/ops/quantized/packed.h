// Objects of PyTorch's C++ classes that hold the weights of quantized layers. The one slot of such
// an object holds the state that archives store.
#pragma once

#include "quantized.h"

namespace scriptlang {

extern const char* const kLinearParams;  // (weight, bias)
extern const char* const kConv2dParams;  // also for 1-d convolutions
extern const char* const kConv3dParams;
extern const char* const kCellParams;  // for one direction of a recurrent layer
extern const char* const kEmbeddingParams;

Value packed_object(const char* class_name, std::vector<Value> state);
// The items of the state; raises RuntimeError for objects of other classes or without state.
const Tuple::Items& state_of(const Value& params, const char* class_name);

// Weight and bias of a packed linear layer; the bias may be undefined.
struct LinearWeights {
  Tensor weight, bias;
};
LinearWeights linear_weights(const Value& params);

// x @ weight.T + bias in float32, for a packed weight. Where the weight is quantized, x is
// quantized too, by its own range.
Tensor dynamic_product(const Tensor& x, const LinearWeights& w, bool reduce_range,
                       bool relu = false);

}  // namespace scriptlang
