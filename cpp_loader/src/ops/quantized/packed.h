// Objects of PyTorch's C++ classes that hold the weights of quantized layers. The one slot of such
// an object is the state that archives have.
#pragma once

#include "quantized.h"

namespace scriptlang {

extern const char* const kLinearParams;  // (weight, bias)
extern const char* const kConv2dParams;  // of one dimension too
extern const char* const kConv3dParams;
extern const char* const kCellParams;  // of one direction of a recurrent layer
extern const char* const kEmbeddingParams;

Value packed_object(const char* class_name, std::vector<Value> state);
// The items of the state; raises RuntimeError for another class, or where there is none.
const Tuple::Items& state_of(const Value& params, const char* class_name);

// Weight and bias of a packed linear layer; the bias may be undefined.
struct LinearWeights {
  Tensor weight, bias;
};
LinearWeights linear_weights(const Value& params);

// x @ weight.T + bias, float32, for a packed weight: of codes, by which x is quantized by its own
// range, or of numbers.
Tensor dynamic_product(const Tensor& x, const LinearWeights& w, bool reduce_range,
                       bool relu = false);

}  // namespace scriptlang
