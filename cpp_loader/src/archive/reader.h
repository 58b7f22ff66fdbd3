// The records of an archive: which there are, its storages, its pickles, its code.
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

// The records below the one top folder, and the storages opened so far: tensors that name one
// record share one storage.
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
  // Sources without their ".py", and the folders that they lie in: "code/__torch__/a".
  std::unordered_set<std::string> folders_of_code() const;

  std::string text(const std::string& name) const;  // of a small record; "" where there is none
  std::string_view bytes(const ZipArchive::Record& record, std::string* buffer) const {
    return zip_->read(record, buffer);
  }
  // folders: where its tensors may lie; none: it may hold none.
  Value pickle(const std::string& name, const std::vector<std::string>& folders, PickleHooks hooks);
  // Lets go of the storages: nothing more is read from pickles.
  void close() noexcept;

 private:
  Storage* storage(const std::string& key, const std::vector<std::string>& folders,
                   ScalarType dtype);

  std::shared_ptr<ZipArchive> zip_;
  std::string folder_;
  std::unordered_map<std::string, Storage*> storages_;
  std::unordered_set<std::string> bools_;  // names of storages that were checked
};

// Raise ArchiveError: for what is no TorchScript archive, or of another format. The version of the
// format is 1 where the file does not say.
void check_kind(const ArchiveReader& archive);
int check_format(const ArchiveReader& archive);
// What a file says of its version, in the older place or in the newer one; "" where it does not.
std::string version_text(const ArchiveReader& archive);
bool has_bytecode(const ArchiveReader& archive);

// The code of an archive, whose texts stay with it.
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
