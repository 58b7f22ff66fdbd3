// Packed parameters of quantized layers: objects and their saved state.
#include "packed.h"

#include <mutex>
#include <unordered_map>

#include "values/type.h"

namespace scriptlang {

#define SL_CLASSES "__torch__.torch.classes."
const char* const kLinearParams = SL_CLASSES "quantized.LinearPackedParamsBase";
const char* const kConv2dParams = SL_CLASSES "quantized.Conv2dPackedParamsBase";
const char* const kConv3dParams = SL_CLASSES "quantized.Conv3dPackedParamsBase";
const char* const kCellParams = SL_CLASSES "rnn.CellParamsBase";
const char* const kEmbeddingParams = SL_CLASSES "quantized.EmbeddingPackedParamsBase";
#undef SL_CLASSES

Value packed_object(const char* class_name, std::vector<Value> state) {
  static std::mutex mutex;
  static std::unordered_map<std::string, ClassRef>* classes =
      new std::unordered_map<std::string, ClassRef>;
  ClassRef cls;
  {
    std::lock_guard<std::mutex> lock(mutex);
    ClassRef& known = (*classes)[class_name];
    if (!known) known = ClassType::make(class_name);
    cls = known;
  }
  Ref<Object> made = Object::make(cls);
  made->slots.assign(1, Tuple::make(std::move(state)));
  made->slots[0].publish();  // as for every object's slots
  return made;
}

const Tuple::Items& state_of(const Value& params, const char* class_name) {
  SL_CHECK(params.is_object() && params.as_object().type->name == class_name,
           "expected an object of ", class_name);
  const std::vector<Value>& slots = params.as_object().slots;
  SL_CHECK(!slots.empty() && slots[0].is_tuple() && !slots[0].as_tuple().items.empty(),
           "an object of ", class_name,
           " has no weights: __setstate__ of its class has not given it a state");
  return slots[0].as_tuple().items;
}

LinearWeights linear_weights(const Value& params) {
  const Tuple::Items& state = state_of(params, kLinearParams);
  SL_CHECK(state.size() >= 2 && state[0].is_tensor() && state[0].as_tensor().dim() == 2 &&
               (state[1].is_none() || state[1].is_tensor()),
           "a packed linear layer is malformed");
  LinearWeights w;
  w.weight = state[0].as_tensor();
  if (state[1].is_tensor()) w.bias = state[1].as_tensor();
  return w;
}

}  // namespace scriptlang
