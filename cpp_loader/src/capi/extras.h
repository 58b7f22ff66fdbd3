// The files that lie beside a program in its archive, as the C interface shows them.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "archive/reader.h"

namespace scriptlang::capi {

// Any thread may read.
class Extras {
 public:
  explicit Extras(const ArchiveReader& archive);
  const std::vector<std::string>& names() const { return names_; }
  // The contents, which stay; null where there is no such file. Raises ArchiveError.
  const std::string* read(const ArchiveReader& archive, const std::string& name);

 private:
  std::vector<std::string> names_;
  std::mutex mutex_;
  std::map<std::string, std::string> known_;
};

}  // namespace scriptlang::capi
