// Reads `__parameters__` and `__buffers__` of the classes in an archive's code. See roles.h.
#include "roles.h"

#include <algorithm>

namespace scriptlang {

Roles::Roles(std::shared_ptr<ArchiveReader> archive) : archive_(std::move(archive)) {}

#if defined(SL_NO_SOURCE)

const source::Declared* Roles::find(const std::string&) { return nullptr; }

#else

Roles::Declared::Declared(ArchiveReader* archive)
    : code(archive),
      declarations(code.sources(&hooks), std::make_shared<ClassTable>(), &types, &arena, &budget) {
  hooks.classes = [this](const std::string& name) {
    source::Declared* found = declarations.find_class(name);
    return found ? found->cls : ClassRef();
  };
}

const source::Declared* Roles::find(const std::string& name) {
  if (!declared_ && archive_->has_folder("code")) {
    declared_ = std::make_unique<Declared>(archive_.get());
  }
  if (!declared_) return nullptr;
  try {
    return declared_->declarations.find_class(name);
  } catch (...) {
    declared_.reset();  // the declarations are incomplete, so the next call starts again
    throw;
  }
}

#endif

bool Roles::is_module(const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  const source::Declared* found = find(name);
  return found ? found->is_module() : !is_library_class(name);
}

Role Roles::of(const std::string& name, const ClassType& cls, size_t slot, const Value& held) {
  if (slot >= cls.attributes.size()) return Role::Other;
  std::lock_guard<std::mutex> lock(mutex_);
  const source::Declared* found = find(name);
  if (found && found->is_module()) {
    auto has = [&](const std::vector<std::string_view>& names) {
      return std::find(names.begin(), names.end(), cls.attributes[slot]) != names.end();
    };
    return has(found->parameters) ? Role::Parameter
           : has(found->buffers)  ? Role::Buffer
                                  : Role::Other;
  }
  if (!held.is_tensor()) return Role::Other;
  return held.as_tensor().requires_grad() ? Role::Parameter : Role::Buffer;
}

}  // namespace scriptlang
