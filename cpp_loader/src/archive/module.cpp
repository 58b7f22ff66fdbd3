// Loads an archive into a module: checks its records, reads its pickles, and decodes or compiles
// its program. Calls methods.
#include "module.h"

#include <algorithm>

#include "deep_copy.h"
#include "names.h"
#include "source/composites.h"

namespace scriptlang {

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
  auto archive = std::make_shared<ArchiveReader>(ZipArchive::open(std::move(bytes), limits));
  check_kind(*archive);
  int version = check_format(*archive);
  if (how.from_code && (version_text(*archive).empty() || archive->find("scriptlang/compiled"))) {
    raise(ErrorKind::ArchiveError, "the archive is none of plain code in a version that it says");
  }
  auto module = std::make_shared<Module>();
  if (has_bytecode(*archive) && !how.from_code) module->read_bytecode(*archive, version);
  else module->compile_code(*archive, version, how);
  archive->close();
  module->archive_ = archive;
  module->roles_ = std::make_shared<Roles>(std::move(archive));
  return module;
}

void Module::take_root(Value root) {
  if (!root.is_object()) {
    raise(ErrorKind::ArchiveError, "data.pkl holds a ", tag_name(root.tag()), ", not a module");
  }
  root_ = std::move(root);
}

void Module::read_bytecode(ArchiveReader& archive, [[maybe_unused]] int version) {
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
#if defined(SL_NO_SOURCE)
  program_ = Program::decode(tree, classes, defaults);
#else
  source::Composites bodies(version);
  program_ = Program::decode(tree, classes, defaults, &bodies);
#endif
}

Module::Found Module::find(const ClassType& cls, std::string_view name) const {
  if (const Function* found = program_->method(cls, name)) return {program_.get(), found};
  const Program* beside = beside_.load(std::memory_order_acquire);
  return {beside, beside ? beside->method(cls, name) : nullptr};
}

#if defined(SL_NO_SOURCE)

void Module::compile_code(ArchiveReader&, int, const Reading&) {
  raise(ErrorKind::ArchiveError,
        "this build of the library reads bytecode, and this archive has none: "
        "`scriptlang compile` makes an archive of it that has, or build with SCRIPTLANG_SOURCE=ON");
}

void Module::complete() {}

#else

// Reads a plain archive, which has no bytecode: compiles its code, which also declares its classes.
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

// Both programs share their classes, so objects that were loaded with the bytecode get the types
// that the code declares.
void Module::complete() {
  if (!has_bytecode(*archive_) || !archive_->has_folder("code")) return;
  restore();
  std::lock_guard<std::mutex> lock(code_mutex_);
  if (from_code_) return;
  Turn turn;
  turn.take(domain_.get(), Effect::Reshapes);  // it changes classes, which runs may be reading
  CodeReader code(archive_.get());
  PickleHooks hooks;
  source::Compiler compiler(code.sources(&hooks), program_->classes(), check_format(*archive_));
  hooks.classes = [&](const std::string& name) { return compiler.find_class(name); };
  Value root = root_;
  compiler.take(&root);
  from_code_ = compiler.program();
  archive_->close();
  beside_.store(from_code_.get(), std::memory_order_release);
}

#endif

std::vector<std::string> Module::method_names(const ClassType& cls) const {
  std::string prefix = program_->classes()->name_of(cls) + ".";
  std::vector<std::string> names;
  for (const Program* program : {program_.get(), beside_.load(std::memory_order_acquire)}) {
    if (!program) continue;
    for (const auto& function : program->functions()) {
      const std::string& name = function->name;
      bool is_method = name.compare(0, prefix.size(), prefix) == 0 &&
                       name.find('.', prefix.size()) == std::string::npos && !function->is_part;
      if (is_method) names.push_back(name.substr(prefix.size()));
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// The limits of a __setstate__ if the caller sets none. They are the same in
// serialization/archive.py.
static Limits restore_limits(Limits limits) {
  if (!limits.instructions) limits.instructions = 10'000'000;
  if (!limits.milliseconds) limits.milliseconds = 10'000;
  if (!limits.memory_bytes) limits.memory_bytes = int64_t(4) << 30;
  return limits;
}

// Raises ArchiveError if a function was refused because its code, or that of a callee, is not
// sound.
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

void Module::restore() {
  Context context;
  restore_pending(context, {});
}

Role Module::role_of(const ClassType& cls, size_t slot, const Value& held) {
  return roles_->of(program_->classes()->name_of(cls), cls, slot, held);
}

bool Module::is_module(const ClassType& cls) {
  return roles_->is_module(program_->classes()->name_of(cls));
}

std::shared_ptr<Module> Module::clone(const Value& object) {
  restore();
  auto made = std::make_shared<Module>();
  made->archive_ = archive_;
  made->roles_ = roles_;
  made->program_ = program_;
  {
    std::lock_guard<std::mutex> lock(code_mutex_);
    made->from_code_ = from_code_;
    made->beside_.store(from_code_.get());
  }
  Turn turn;
  turn.take(domain_.get(), Effect::Reads);  // others may give tensors of the module other memory
  made->root_ = deep_copy(object);
  return made;
}

Value Module::call_on(const Value& object, std::string_view name, std::vector<Value> arguments,
                      std::vector<NamedArgument> named, Context& context, const Limits& limits,
                      Turn* turn) {
  const ClassType& cls = *object.as_object().type;
  Found found = find(cls, name);
  if (!found.function && !object.same(root_)) {
    complete();
    found = find(cls, name);
  }
  if (!found.function) {
    std::string known;
    for (const std::string& m : method_names(cls)) known += (known.empty() ? "" : ", ") + m;
    raise(ErrorKind::RuntimeError, "the module has no method '", std::string(name),
          "'; it has: ", known);
  }
  const Function& function = *found.function;
  check_sound(function);
  arguments.insert(arguments.begin(), object);
  turn->look(domain_.get(), false);  // bind() may copy lists and dicts of the module
  arguments = bind(*found.program, function, std::move(arguments), std::move(named));
  turn->give();
  restore_pending(context, limits);
  turn->take(domain_.get(), effect_of(*found.program, function), {}, limits.milliseconds);
  return run(*found.program, function, std::move(arguments), context, limits);
}

}  // namespace scriptlang
