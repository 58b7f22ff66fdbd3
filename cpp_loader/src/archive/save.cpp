// Writes the archive of a module: its pickle, its storages, and copies of all other records.
#include "save.h"

#include <cerrno>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "files.h"
#include "pickle_writer.h"
#include "values/dict.h"
#include "values/list.h"
#include "zip_writer.h"

namespace scriptlang {

namespace {

[[noreturn]] void changed() {
  raise(ErrorKind::RuntimeError, "the module was changed while it was saved");
}

// The storages that are written to data/, numbered in the order in which the pickle refers to them.
// It keeps them alive: a tensor may get another one before they are written.
class StorageTable {
 public:
  StorageTable() = default;
  StorageTable(const StorageTable&) = delete;
  StorageTable& operator=(const StorageTable&) = delete;
  ~StorageTable() {
    for (const Kept& kept : kept_) kept.storage->release();
  }
  std::string key(const Tensor& t) {
    Storage* storage = t.storage();
    auto [known, fresh] = keys_.emplace(storage, kept_.size());
    if (fresh) {
      kept_.push_back({storage, storage->nbytes()});
      storage->retain();
    }
    return std::to_string(known->second);
  }
  // Each is copied in a turn, so that no program moves it meanwhile, and written without one: what
  // writes may be a function of the host.
  void write(Domain* domain, const std::string& folder, ZipWriter* writer) const {
    std::string bytes;
    for (size_t k = 0; k < kept_.size(); ++k) {
      {
        Turn turn;
        turn.take(domain, Effect::Reads);
        const Storage& storage = *kept_[k].storage;
        if (storage.nbytes() != kept_[k].nbytes) changed();
        bytes.assign(static_cast<const char*>(storage.data()), size_t(storage.nbytes()));
      }
      writer->add(folder + std::to_string(k), bytes);
    }
  }

 private:
  struct Kept {
    Storage* storage;  // owns one reference
    int64_t nbytes;    // when the pickle was written
  };
  std::unordered_map<Storage*, size_t> keys_;
  std::vector<Kept> kept_;
};

// The states of all objects with a __setstate__: the results of their __getstate__. These are
// called before the pickle is written, because a thread that writes it holds a turn and cannot run
// methods.
class States {
 public:
  States(Module* module, const Value& root) : module_(*module) {
    gather(root);
    while (!asked_.empty()) {
      Value next = std::move(asked_.back());
      asked_.pop_back();
      gather(states_[next.bits()].second = state_of(next));
    }
  }

  bool find(const Value& object, Value* state) const {
    auto known = states_.find(object.bits());
    if (known != states_.end()) return *state = known->second.second, true;
    if (!restores(object)) return false;
    changed();
  }

 private:
  bool restores(const Value& object) const {
    return module_.method(*object.as_object().type, "__setstate__") != nullptr;
  }

  Value state_of(const Value& object) {
    const ClassType& cls = *object.as_object().type;
    if (!module_.method(cls, "__getstate__")) module_.complete();
    if (!module_.method(cls, "__getstate__")) {
      raise(ErrorKind::RuntimeError, "objects of ", cls.name,
            " restore themselves by "
            "__setstate__, and the archive has no __getstate__ for them: it cannot be saved");
    }
    Turn turn;
    Context context;
    return module_.call_on(object, "__getstate__", {}, {}, context, {}, &turn);
  }

  // Finds all objects in a value that have a __setstate__. Their attributes are not visited,
  // because the archive gets their states instead.
  void gather(const Value& root) {
    Turn turn;
    turn.look(module_.domain(), false);
    std::vector<Value> pending{root};
    while (!pending.empty()) {
      Value v = std::move(pending.back());
      pending.pop_back();
      bool holds = v.is_object() || v.is_list() || v.is_dict() || v.is_tuple();
      if (!holds || !seen_.insert(v.bits()).second) continue;
      kept_.push_back(v);
      if (v.is_object() && restores(v)) {
        states_[v.bits()].first = v;
        asked_.push_back(v);
      } else if (v.is_object()) {
        for (const Value& slot : v.as_object().slots) pending.push_back(slot);
      } else if (v.is_dict()) {
        const Dict::Entry* entry;
        for (size_t cursor = 0; v.as_dict().next(&cursor, &entry);) {
          pending.push_back(entry->value);
        }
      } else if (v.is_tuple() || v.as_list().kind() == List::Kind::Values) {
        for (const Value& item : items_of(v)) pending.push_back(item);
      }
    }
  }

  Module& module_;
  std::unordered_map<uint64_t, std::pair<Value, Value>> states_;  // object, state
  // asked_: objects whose state is still to be found. kept_: values that were visited, kept alive.
  std::vector<Value> asked_, kept_;
  std::unordered_set<uint64_t> seen_;  // the addresses of kept_
};

void copy_records(const ArchiveReader& archive, const ExtraFiles& extra, ZipWriter* writer) {
  const std::string& folder = archive.folder();
  for (const ZipArchive::Record& record : archive.zip().records()) {
    if (record.name.compare(0, folder.size(), folder) != 0) continue;
    std::string name = record.name.substr(folder.size());
    bool ours = name == "data.pkl" || name.compare(0, 5, "data/") == 0;
    for (const auto& [own, contents] : extra) ours = ours || name == "extra/" + own;
    if (ours || name.empty() || name.back() == '/') continue;
    // Stored records are used in place, so programs may have written to constants. Their checksums
    // are not checked.
    std::string buffer;
    writer->add(record.name, archive.zip().read(record, &buffer, record.method != 0));
  }
}

// A temporary file that replaces the file of `path` in finish(). Without finish() it is removed.
class Draft {
 public:
  explicit Draft(std::string path) : path_(std::move(path)) {
    files::Facts old;
    const bool exists = files::facts_of(path_, &old);
    if (exists && !old.is_regular) {
      raise(ErrorKind::RuntimeError, "'", path_, "' is no regular file");
    }
    path_ = files::real(path_);  // the target of a symbolic link is replaced, not the link
    for (int k = 0; fd_ < 0; ++k) {
      own_ = concat(path_, ".", files::process(), ".", k, ".part");
      fd_ = files::make(own_);
      if (fd_ < 0 && (errno != EEXIST || k == 1000)) fail();
    }
    if (exists) files::set_mode(fd_, old.mode);
  }
  ~Draft() {
    if (is_done_) return;
    if (fd_ >= 0) files::close(fd_);
    files::remove(own_);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  void write(const void* data, size_t size) {
    const char* at = static_cast<const char*>(data);
    while (size > 0) {
      const int64_t done = files::write(fd_, at, size);
      if (done < 0) fail();
      at += done;
      size -= size_t(done);
    }
  }
  void finish() {
    if (!files::flush(fd_)) fail();
    files::close(std::exchange(fd_, -1));
    if (!files::rename(own_, path_)) fail();
    is_done_ = true;
  }

 private:
  [[noreturn]] void fail() {
    raise(ErrorKind::RuntimeError, "cannot write '", path_, "': ", strerror(errno));
  }
  std::string path_, own_;
  int fd_ = -1;
  bool is_done_ = false;
};

}  // namespace

void save(Module* module, const Value& root, const ExtraFiles& extra, const WriteBytes& write) {
  module->restore();
  StorageTable data;
  const States states(module, root);
  PickleSource source;
  source.class_name = [&](const ClassType& cls) -> const std::string& {
    return module->program().classes()->name_of(cls);
  };
  source.storage_key = [&](const Tensor& t) { return data.key(t); };
  source.state = [&](const Value& object, Value* state) { return states.find(object, state); };
  std::string tree;
  {
    Turn turn;
    turn.take(module->domain(), Effect::Reads);
    tree = write_pickle(root, source);
  }
  const ArchiveReader& archive = module->archive();
  const std::string& folder = archive.folder();
  ZipWriter writer(write);
  writer.add(folder + "data.pkl", tree);
  data.write(module->domain(), folder + "data/", &writer);
  copy_records(archive, extra, &writer);
  for (const auto& [name, contents] : extra) writer.add(folder + "extra/" + name, contents);
  writer.finish();
}

void save_file(Module* module, const Value& root, const ExtraFiles& extra,
               const std::string& path) {
  Draft draft(path);
  save(module, root, extra, [&](const void* bytes, size_t size) { draft.write(bytes, size); });
  draft.finish();
}

}  // namespace scriptlang
