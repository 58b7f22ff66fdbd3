// Reads the records of an archive. Storages are shared by name, code is read on demand.
#include "reader.h"

#include <algorithm>

namespace scriptlang {

constexpr int64_t kMaxPickle = int64_t(1) << 30;
constexpr int64_t kNewestVersion = 10;

ArchiveReader::ArchiveReader(std::shared_ptr<ZipArchive> zip) : zip_(std::move(zip)) {
  if (zip_->records().empty()) raise(ErrorKind::ArchiveError, "the zip file is empty");
  const std::string& first = zip_->records()[0].name;
  size_t slash = first.find('/');
  if (slash != std::string::npos) folder_ = first.substr(0, slash + 1);
}

ArchiveReader::~ArchiveReader() { close(); }

void ArchiveReader::close() noexcept {
  for (auto& [name, storage] : storages_) {
    if (storage) storage->release();
  }
  storages_.clear();
}

bool ArchiveReader::has_folder(const std::string& name) const {
  std::string prefix = folder_ + name + "/";
  return std::any_of(zip_->records().begin(), zip_->records().end(),
                     [&](const auto& r) { return r.name.compare(0, prefix.size(), prefix) == 0; });
}

std::unordered_set<std::string> ArchiveReader::folders_of_code() const {
  std::unordered_set<std::string> found{"code"};
  for (const auto& record : zip_->records()) {
    std::string name = record.name.substr(std::min(folder_.size(), record.name.size()));
    const bool is_source = name.compare(0, 5, "code/") == 0 && name.size() > 8 &&
                           name.compare(name.size() - 3, 3, ".py") == 0;
    if (!is_source) continue;
    name.resize(name.size() - 3);
    while (found.insert(name).second) name.resize(name.rfind('/'));
  }
  return found;
}

std::string ArchiveReader::text(const std::string& name) const {
  const ZipArchive::Record* record = find(name);
  if (!record || record->size > 4096) return "";
  std::string buffer;
  return std::string(zip_->read(*record, &buffer));
}

Value ArchiveReader::pickle(const std::string& name, const std::vector<std::string>& folders,
                            PickleHooks hooks) {
  const ZipArchive::Record* record = find(name);
  if (record->size > kMaxPickle) {
    raise(ErrorKind::ArchiveError, "the record ", name, " has ", record->size, " bytes");
  }
  if (!folders.empty()) {
    hooks.storage = [&](const std::string& key, ScalarType dtype) {
      return storage(key, folders, dtype);
    };
  }
  std::string buffer;
  return read_pickle(zip_->read(*record, &buffer), name, hooks);
}

namespace {

void check_bools(const Storage& storage, const std::string& name) {
  const uint8_t* at = static_cast<const uint8_t*>(storage.data());
  bool fits = std::all_of(at, at + storage.nbytes(), [](uint8_t b) { return b <= 1; });
  if (!fits) {
    raise(ErrorKind::ArchiveError, "the record ", name, " holds a bool that is neither 0 nor 1");
  }
}

}  // namespace

Storage* ArchiveReader::storage(const std::string& key, const std::vector<std::string>& folders,
                                ScalarType dtype) {
  for (const std::string& folder : folders) {
    std::string name = folder + "/" + key;
    const ZipArchive::Record* record = find(name);
    if (!record) continue;
    auto known = storages_.find(name);
    if (known == storages_.end()) { known = storages_.emplace(name, nullptr).first; }
    // The entry was added first, so that a storage cannot leak if adding it fails.
    if (!known->second) { known->second = zip_->storage(*record, itemsize(dtype)); }
    Storage* found = known->second;
    if (reinterpret_cast<uintptr_t>(found->data()) % uintptr_t(itemsize(dtype)) != 0) {
      raise(ErrorKind::ArchiveError, "the record ", name, " is used with two element types");
    }
    if (dtype == ScalarType::Bool && bools_.insert(name).second) check_bools(*found, name);
    found->retain();
    return found;
  }
  raise(ErrorKind::ArchiveError, "the record ", folders[0], "/", key, " is missing");
}

bool has_bytecode(const ArchiveReader& archive) {
  return archive.find("bytecode.pkl") || archive.find("scriptlang/program.pkl");
}

void check_kind(const ArchiveReader& archive) {
  if (!archive.find("data.pkl")) {
    raise(ErrorKind::ArchiveError, "a zip file, but no TorchScript archive: it has no data.pkl");
  }
  if (has_bytecode(archive) || archive.has_folder("code")) return;
  if (!archive.find("constants.pkl")) {
    raise(ErrorKind::ArchiveError,
          "a file of torch.save: it holds tensors, not a program; "
          "save the model with torch.jit.save");
  }
  raise(ErrorKind::ArchiveError, "the archive has neither code nor bytecode");
}

std::string version_text(const ArchiveReader& archive) {
  return archive.text(archive.find("version") ? "version" : ".data/version");
}

int check_format(const ArchiveReader& archive) {
  std::string order = archive.text("byteorder");
  if (!order.empty() && order != "little") {
    raise(ErrorKind::ArchiveError, "the archive is in '", order.substr(0, 20),
          "' byte order; save it again on a little-endian machine");
  }
  std::string version = version_text(archive);
  char* end = nullptr;
  long number = strtol(version.c_str(), &end, 10);
  if (!version.empty() && (end == version.c_str() || number < 1 || number > kNewestVersion)) {
    raise(ErrorKind::ArchiveError, "the archive has format version '", version.substr(0, 20),
          "'; 1 to ", kNewestVersion, " are supported");
  }
  return version.empty() ? 1 : int(number);
}

namespace {

// Limits the size of a source, because a parsed source takes much more memory than its text. The
// limits are the same in serialization/code_files.py.
void check_size(const ZipArchive::Record& record) {
  constexpr int64_t kMost = 16 << 20, kFloor = 256 << 10, kRatio = 40;
  if (record.size > std::min(kMost, kFloor + kRatio * record.compressed_size)) {
    raise(ErrorKind::ArchiveError, record.name, ": a source of ", record.size, " bytes, packed in ",
          record.compressed_size, ", is more than is read");
  }
}

}  // namespace

source::Sources CodeReader::sources(PickleHooks* hooks) {
  source::Sources made;
  made.read = [this](const std::string& record, std::string_view* text) {
    const ZipArchive::Record* found = archive_.find(record);
    if (!found) return false;
    check_size(*found);
    texts_.emplace_back();
    *text = archive_.bytes(*found, &texts_.back());
    return true;
  };
  made.has_folder = [this](const std::string& folder) {
    if (folders_.empty()) folders_ = archive_.folders_of_code();
    return folders_.count(folder) != 0;
  };
  made.constants = [this, hooks]() -> ValueSpan {
    if (!read_) {
      read_ = true;
      if (archive_.find("constants.pkl")) {
        constants_ = archive_.pickle("constants.pkl", {"constants"}, *hooks);
      }
    }
    if (constants_.is_tuple()) return constants_.as_tuple().items;
    return constants_.is_list() ? constants_.as_list().boxed() : ValueSpan();
  };
  return made;
}

}  // namespace scriptlang
