// Writes pickles as PyTorch's Pickler does: protocol 2, with the same opcodes and names. An object,
// list, dict or tensor that occurs several times is written once.
#pragma once

#include <functional>
#include <string>

#include "values/type.h"

namespace scriptlang {

// What the writer of a pickle needs from its caller.
struct PickleSource {
  // Returns the name that the archive has for a class.
  std::function<const std::string&(const ClassType& cls)> class_name;
  // Returns the key of the record that will have the tensor's storage.
  std::function<std::string(const Tensor& tensor)> storage_key;
  // Gets the state of an object whose class has a __setstate__. False for other objects.
  std::function<bool(const Value& object, Value* state)> state;
};

// Returns the pickle of a value. Raises RuntimeError for values that archives cannot hold, and for
// values that contain themselves.
std::string write_pickle(const Value& value, const PickleSource& source);

}  // namespace scriptlang
