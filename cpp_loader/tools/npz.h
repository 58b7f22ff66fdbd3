// Arrays of numpy's .npz files: what sl_run reads and writes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "values/tensor.h"

namespace npz {

// The arrays of a file by name, in the file's order. Raises ArchiveError.
std::vector<std::pair<std::string, scriptlang::Tensor>> read(const std::string& path);
void write(const std::string& path,
           const std::vector<std::pair<std::string, scriptlang::Tensor>>& arrays);

}  // namespace npz
