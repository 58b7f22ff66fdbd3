// The extra files of an archive, for the C API.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "archive/reader.h"

namespace scriptlang::capi {

// Any thread may call read().
class Extras {
 public:
  explicit Extras(const ArchiveReader& archive);
  const std::vector<std::string>& names() const { return names_; }
  // The contents of a file, which stay valid; null if there is no such file. Raises ArchiveError.
  const std::string* read(const ArchiveReader& archive, const std::string& name);

 private:
  std::vector<std::string> names_;
  std::mutex mutex_;
  std::map<std::string, std::string> known_;  // name -> contents, of files that were read
};

}  // namespace scriptlang::capi
