// Arrays of an .npz file, for a program that knows the library's interface alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct Array {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> floats;
  std::vector<int64_t> ints;  // one of both is empty
};

std::vector<Array> read_arrays(const char* path);
