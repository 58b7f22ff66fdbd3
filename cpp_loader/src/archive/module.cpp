// Loads an archive into a module: checks its records, unpickles, decodes its program.
#include "module.h"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <unordered_set>

#include "names.h"
#include "pickle.h"
#include "source/composites.h"

namespace scriptlang {

constexpr int64_t kMaxPickle = int64_t(1) << 30;
constexpr int64_t kNewestVersion = 10;

// The records of an archive below its one top folder, and the storages opened so far: tensors
// that name one record share one storage.
class ArchiveReader {
 public:
  explicit ArchiveReader(std::shared_ptr<ZipArchive> zip) : zip_(std::move(zip)) {
    if (zip_->records().empty()) raise(ErrorKind::ArchiveError, "the zip file is empty");
    const std::string& first = zip_->records()[0].name;
    size_t slash = first.find('/');
    if (slash != std::string::npos) folder_ = first.substr(0, slash + 1);
  }
  ~ArchiveReader() {
    for (auto& [name, storage] : storages_) {
      if (storage) storage->release();
    }
  }
  ArchiveReader(const ArchiveReader&) = delete;
  ArchiveReader& operator=(const ArchiveReader&) = delete;

  const ZipArchive::Record* find(const std::string& name) const {
    return zip_->find(folder_ + name);
  }
  bool has_folder(const std::string& name) const {
    std::string prefix = folder_ + name + "/";
    return std::any_of(zip_->records().begin(), zip_->records().end(), [&](const auto& r) {
      return r.name.compare(0, prefix.size(), prefix) == 0;
    });
  }

  // Sources without their ".py", and the folders that they lie in: "code/__torch__/a".
  std::unordered_set<std::string> folders_of_code() const {
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

  std::string text(const std::string& name) const {
    const ZipArchive::Record* record = find(name);
    if (!record || record->size > 4096) return "";
    std::string buffer;
    return std::string(zip_->read(*record, &buffer));
  }

  std::string_view bytes(const ZipArchive::Record& record, std::string* buffer) const {
    return zip_->read(record, buffer);
  }

  // folders: where its tensors may lie; none: it may hold none.
  Value pickle(const std::string& name, const std::vector<std::string>& folders,
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

 private:
  static void check_bools(const Storage& storage, const std::string& name) {
    const uint8_t* at = static_cast<const uint8_t*>(storage.data());
    bool fits = std::all_of(at, at + storage.nbytes(), [](uint8_t b) { return b <= 1; });
    if (!fits) {
      raise(ErrorKind::ArchiveError, "the record ", name, " holds a bool that is neither 0 nor 1");
    }
  }

  Storage* storage(const std::string& key, const std::vector<std::string>& folders,
                   ScalarType dtype) {
    for (const std::string& folder : folders) {
      std::string name = folder + "/" + key;
      const ZipArchive::Record* record = find(name);
      if (!record) continue;
      auto known = storages_.find(name);
      if (known == storages_.end()) {
        known = storages_.emplace(name, nullptr).first;
      }
      if (!known->second) {  // it has its place before it has to be given back
        known->second = zip_->storage(*record, itemsize(dtype));
      }
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

  std::shared_ptr<ZipArchive> zip_;
  std::string folder_;
  std::unordered_map<std::string, Storage*> storages_;
  std::unordered_set<std::string> bools_;  // names of storages that were checked
};

namespace {

bool has_bytecode(const ArchiveReader& archive) {
  return archive.find("bytecode.pkl") || archive.find("scriptlang/program.pkl");
}

void check_kind(const ArchiveReader& archive) {
  if (!archive.find("data.pkl")) {
    raise(ErrorKind::ArchiveError, "a zip file, but no TorchScript archive: it has no data.pkl");
  }
  if (has_bytecode(archive) || archive.has_folder("code")) return;
  if (!archive.find("constants.pkl")) {
    raise(ErrorKind::ArchiveError, "a file of torch.save: it holds tensors, not a program; "
          "save the model with torch.jit.save");
  }
  raise(ErrorKind::ArchiveError, "the archive has neither code nor bytecode");
}

// What a file says of its version, in the older place or in the newer one.
std::string version_text(const ArchiveReader& archive) {
  return archive.text(archive.find("version") ? "version" : ".data/version");
}

// The version of the format; 1 where the file does not say.
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

// The code of an archive, whose texts stay with it.
class CodeReader {
 public:
  explicit CodeReader(ArchiveReader* archive) : archive_(*archive) {}

  source::Sources sources(PickleHooks* hooks) {
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

 private:
  // A parsed source takes much more memory than its text; the same in serialization/code_files.py.
  static void check_size(const ZipArchive::Record& record) {
    constexpr int64_t kMost = 16 << 20, kFloor = 256 << 10, kRatio = 40;
    if (record.size > std::min(kMost, kFloor + kRatio * record.compressed_size)) {
      raise(ErrorKind::ArchiveError, record.name, ": a source of ", record.size,
            " bytes, packed in ", record.compressed_size, ", is more than is read");
    }
  }

  ArchiveReader& archive_;
  std::deque<std::string> texts_;
  std::unordered_set<std::string> folders_;
  Value constants_;
  bool read_ = false;
};

}  // namespace

std::shared_ptr<Module> Module::load_file(const std::string& path) {
  return load(Bytes::of_file(path));
}

std::shared_ptr<Module> Module::load_memory(const void* data, size_t size) {
  if (size == 0) raise(ErrorKind::ArchiveError, "the archive is empty");
  return load(Bytes::copy(data, size));
}

std::shared_ptr<Module> Module::load(std::shared_ptr<Bytes> bytes, const Reading& how) {
  ZipLimits limits;
  limits.check_storages = how.check_storages;
  ArchiveReader archive(ZipArchive::open(std::move(bytes), limits));
  check_kind(archive);
  int version = check_format(archive);
  if (how.from_code && (version_text(archive).empty() || archive.find("scriptlang/compiled"))) {
    raise(ErrorKind::ArchiveError, "the archive is none of plain code in a version that it says");
  }
  auto module = std::make_shared<Module>();
  if (has_bytecode(archive) && !how.from_code) module->read_bytecode(archive, version);
  else module->compile_code(archive, version, how);
  return module;
}

void Module::take_root(Value root) {
  if (!root.is_object()) {
    raise(ErrorKind::ArchiveError, "data.pkl holds a ", tag_name(root.tag()), ", not a module");
  }
  root_ = std::move(root);
}

void Module::read_bytecode(ArchiveReader& archive, int version) {
  auto classes = std::make_shared<ClassTable>();
  NoneDefaults defaults;
  if (archive.find(kNamesRecord)) {
    defaults = read_names(archive.pickle(kNamesRecord, {}, {}), classes.get());
  }
  PickleHooks hooks;
  hooks.classes = classes->resolver();
  hooks.pending = [this](Value object, Value state) {
    pending_.push_back({std::move(object), std::move(state)});
  };
  take_root(archive.pickle("data.pkl", {"data"}, hooks));
  bool own = archive.find("scriptlang/program.pkl") != nullptr;
  hooks.pending = nullptr;
  Value tree = archive.pickle(own ? "scriptlang/program.pkl" : "bytecode.pkl",
                              {"constants", "bytecode", "scriptlang"}, hooks);
  source::Composites bodies(version);
  program_ = Program::decode(tree, classes, defaults, &bodies);
}

// A plain archive: its code says what classes there are, and is compiled.
void Module::compile_code(ArchiveReader& archive, int version, const Reading& how) {
  auto classes = std::make_shared<ClassTable>();
  CodeReader code(&archive);
  PickleHooks hooks;
  source::Compiler compiler(code.sources(&hooks), classes, version);
  hooks.classes = [&](const std::string& name) { return compiler.find_class(name); };
  hooks.restores = [&](const ClassType& cls) { return compiler.restores(cls); };
  hooks.pending = [this](Value object, Value state) {
    pending_.push_back({std::move(object), std::move(state)});
  };
  Value root = archive.pickle("data.pkl", {"data"}, hooks);
  compiler.take(&root);
  for (Pending& pending : pending_) compiler.take_state(pending.object, &pending.state);
  program_ = compiler.program();
  if (how.compiled) how.compiled(compiler);
  take_root(std::move(root));
}

const Function* Module::method(std::string_view name) const {
  return program_->method(*root_.as_object().type, name);
}

std::vector<std::string> Module::method_names() const {
  std::string prefix = root_.as_object().type->name + ".";
  std::vector<std::string> names;
  for (const auto& function : program_->functions()) {
    const std::string& name = function->name;
    bool is_method = name.compare(0, prefix.size(), prefix) == 0 &&
                     name.find('.', prefix.size()) == std::string::npos && !function->is_part;
    if (is_method) names.push_back(name.substr(prefix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// What `__setstate__` may use where the caller sets no limit; the same in serialization/archive.py.
static Limits restore_limits(Limits limits) {
  if (!limits.instructions) limits.instructions = 10'000'000;
  if (!limits.milliseconds) limits.milliseconds = 10'000;
  if (!limits.memory_bytes) limits.memory_bytes = int64_t(4) << 30;
  return limits;
}

// A function whose code could not be compiled, or that calls one.
static void check_sound(const Function& function) {
  if (!function.refusal.empty()) raise(ErrorKind::ArchiveError, function.refusal);
}

void Module::restore_pending(Context& context, const Limits& limits) {
  std::lock_guard<std::mutex> lock(pending_mutex_);
  while (!pending_.empty()) {
    Pending next = pending_.back();
    const ClassType& cls = *next.object.as_object().type;
    const Function* function = program_->method(cls, "__setstate__");
    if (!function) {
      raise(ErrorKind::ArchiveError, "the class ", cls.name,
            " restores itself by __setstate__, which the bytecode lacks");
    }
    check_sound(*function);
    std::vector<Value> arguments;
    arguments.push_back(next.object);
    arguments.push_back(next.state);
    const Limits bounded = restore_limits(limits);
    Turn turn;
    turn.take(domain_.get(), effect_of(*program_, *function), {}, bounded.milliseconds);
    run(*program_, *function, std::move(arguments), context, bounded);
    pending_.pop_back();
  }
}

Value Module::call(std::string_view name, std::vector<Value> arguments,
                   std::vector<NamedArgument> named, Context& context, const Limits& limits,
                   Turn* turn) {
  const Function* function = method(name);
  if (!function) {
    std::string known;
    for (const std::string& m : method_names()) known += (known.empty() ? "" : ", ") + m;
    raise(ErrorKind::RuntimeError, "the module has no method '", std::string(name),
          "'; it has: ", known);
  }
  check_sound(*function);
  arguments.insert(arguments.begin(), root_);
  turn->look(domain_.get(), false);  // lists and dicts that the module has are copied
  arguments = bind(*program_, *function, std::move(arguments), std::move(named));
  turn->give();
  restore_pending(context, limits);
  turn->take(domain_.get(), effect_of(*program_, *function), {}, limits.milliseconds);
  return run(*program_, *function, std::move(arguments), context, limits);
}

}  // namespace scriptlang
