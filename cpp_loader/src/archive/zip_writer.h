// Writing zip containers: records whose data lies at multiples of 64 bytes, as PyTorch's does, so
// that tensors are used where they lie.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

namespace scriptlang {

class ZipWriter {
 public:
  // write: takes the bytes in order; it raises Error where it cannot.
  explicit ZipWriter(std::function<void(const void* data, size_t size)> write)
      : write_(std::move(write)) {}
  // Adds a stored record. A name twice is a RuntimeError.
  void add(const std::string& name, std::string_view contents);
  void finish();  // writes the directory

 private:
  void put(const std::string& bytes);
  std::function<void(const void*, size_t)> write_;
  uint64_t at_ = 0, count_ = 0;
  std::string directory_;
  std::unordered_set<std::string> names_;
};

}  // namespace scriptlang
