// Writes zip files. The data of each record begins at a multiple of 64 bytes, as in PyTorch's
// archives, so that readers can use tensors in place.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>

namespace scriptlang {

class ZipWriter {
 public:
  // `write` gets the bytes in order. It raises Error if it cannot write them.
  explicit ZipWriter(std::function<void(const void* data, size_t size)> write)
      : write_(std::move(write)) {}
  // Adds a stored record. Raises RuntimeError if there is one of this name.
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
