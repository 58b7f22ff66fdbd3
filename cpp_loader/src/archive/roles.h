// Finds which attributes of modules are parameters and which are buffers. Bytecode does not say, so
// they are read from the archive's code (`__parameters__`, `__buffers__`).
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "reader.h"

namespace scriptlang {

enum class Role : uint8_t { Other, Parameter, Buffer };

// Reads the code of an archive when that is first needed. Any thread may call it.
class Roles {
 public:
  explicit Roles(std::shared_ptr<ArchiveReader> archive);
  // The role of the attribute in a slot, which holds the value `held`. `name` is the name of the
  // class in the archive. If the archive has no code of the class, tensors that require a gradient
  // are parameters, and other tensors are buffers.
  Role of(const std::string& name, const ClassType& cls, size_t slot, const Value& held);
  // Whether a class is a module. Without code, all are, besides classes of PyTorch's C++ library.
  bool is_module(const std::string& name);

 private:
  const source::Declared* find(const std::string& name);
  // A second set of declarations of the archive's classes. It leaves the classes of the program as
  // they are.
#if defined(SL_NO_SOURCE)  // a build that cannot read code
  struct Declared {};
#else
  struct Declared {
    explicit Declared(ArchiveReader* archive);
    source::Arena arena;
    source::Budget budget;
    source::Types types;
    CodeReader code;
    PickleHooks hooks;
    source::Declarations declarations;
  };
#endif

  std::shared_ptr<ArchiveReader> archive_;
  std::mutex mutex_;
  std::unique_ptr<Declared> declared_;  // made when first needed, if there is code
};

}  // namespace scriptlang
