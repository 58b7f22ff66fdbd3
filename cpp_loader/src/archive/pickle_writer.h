// Pickles of torch archives, written as PyTorch's Pickler writes them: protocol 2, the same opcodes
// and names. What is one object, list, dict or tensor stays one.
#pragma once

#include <functional>
#include <string>

#include "values/type.h"

namespace scriptlang {

struct PickleSource {
  // The name that the archive has for a class.
  std::function<const std::string&(const ClassType& cls)> class_name;
  // The key of the record that a tensor's storage is to be in.
  std::function<std::string(const Tensor& tensor)> storage_key;
  // What an object that restores itself is restored from, into *state; false for others.
  std::function<bool(const Value& object, Value* state)> state;
};

// Raises RuntimeError for values that archives have no place for, or that hold themselves.
std::string write_pickle(const Value& value, const PickleSource& source);

}  // namespace scriptlang
