// Extra files. They are listed when an archive is loaded, and each is read when first needed.
#include "extras.h"

#include <algorithm>

namespace scriptlang::capi {

Extras::Extras(const ArchiveReader& archive) {
  const std::string prefix = archive.folder() + "extra/";
  for (const ZipArchive::Record& record : archive.zip().records()) {
    if (record.name.size() > prefix.size() && record.name.compare(0, prefix.size(), prefix) == 0) {
      names_.push_back(record.name.substr(prefix.size()));
    }
  }
  std::sort(names_.begin(), names_.end());
}

const std::string* Extras::read(const ArchiveReader& archive, const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  auto known = known_.find(name);
  if (known != known_.end()) return &known->second;
  if (!std::binary_search(names_.begin(), names_.end(), name)) return nullptr;
  std::string buffer;
  std::string_view bytes = archive.bytes(*archive.find("extra/" + name), &buffer);
  return &known_.emplace(name, std::string(bytes)).first->second;
}

}  // namespace scriptlang::capi
