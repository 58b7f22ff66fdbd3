// The engine's tool reads the file.
#include "arrays.h"

#include "tools/npz.h"

std::vector<Array> read_arrays(const char* path) {
  std::vector<Array> all;
  for (const auto& [name, tensor] : npz::read(path)) {
    Array array;
    array.name = name;
    array.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
    if (tensor.dtype() == scriptlang::ScalarType::Float32) {
      const float* values = static_cast<const float*>(tensor.raw());
      array.floats.assign(values, values + tensor.numel());
    } else if (tensor.dtype() == scriptlang::ScalarType::Int64) {
      const int64_t* values = static_cast<const int64_t*>(tensor.raw());
      array.ints.assign(values, values + tensor.numel());
    }
    all.push_back(std::move(array));
  }
  return all;
}
