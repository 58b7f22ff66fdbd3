// Reads the records of an archive: its storages, its pickles and its code.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pickle.h"
#include "source/declarations.h"
#include "zip.h"

namespace scriptlang {

// The records of an archive, below its one top folder. Tensors that name the same record share one
// storage.
class ArchiveReader {
 public:
  explicit ArchiveReader(std::shared_ptr<ZipArchive> zip);
  ~ArchiveReader();
  ArchiveReader(const ArchiveReader&) = delete;
  ArchiveReader& operator=(const ArchiveReader&) = delete;

  const ZipArchive& zip() const { return *zip_; }
  const std::string& folder() const { return folder_; }  // "archive/", or ""
  const ZipArchive::Record* find(const std::string& name) const {
    return zip_->find(folder_ + name);
  }
  bool has_folder(const std::string& name) const;
  // The names of sources without ".py", and of all folders that they are in: "code/__torch__/a".
  std::unordered_set<std::string> folders_of_code() const;

  std::string text(const std::string& name) const;  // of a small record; "" if there is none
  std::string_view bytes(const ZipArchive::Record& record, std::string* buffer) const {
    return zip_->read(record, buffer);
  }
  // The value of a pickle, which must exist. `folders`: where its storages may be; if empty, it may
  // not have tensors.
  Value pickle(const std::string& name, const std::vector<std::string>& folders, PickleHooks hooks);
  // Releases the storages that were opened. To be called when no more pickles are read.
  void close() noexcept;

 private:
  Storage* storage(const std::string& key, const std::vector<std::string>& folders,
                   ScalarType dtype);

  std::shared_ptr<ZipArchive> zip_;
  std::string folder_;
  std::unordered_map<std::string, Storage*> storages_;
  std::unordered_set<std::string> bools_;  // names of storages that were checked
};

// Raises ArchiveError if this is no TorchScript archive.
void check_kind(const ArchiveReader& archive);
// Returns the version of the format; 1 if the archive does not say. Raises ArchiveError if it is
// not supported.
int check_format(const ArchiveReader& archive);
// The text of the version, in the older or the newer record; "" if there is none.
std::string version_text(const ArchiveReader& archive);
bool has_bytecode(const ArchiveReader& archive);

// The code of an archive. It keeps the texts of the sources that were read.
class CodeReader {
 public:
  explicit CodeReader(ArchiveReader* archive) : archive_(*archive) {}
  source::Sources sources(PickleHooks* hooks);

 private:
  ArchiveReader& archive_;
  std::deque<std::string> texts_;
  std::unordered_set<std::string> folders_;
  Value constants_;
  bool read_ = false;
};

}  // namespace scriptlang
