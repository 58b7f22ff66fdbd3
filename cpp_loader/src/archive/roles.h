// Which attributes of modules are parameters and which are buffers: bytecode does not say, the code
// beside it does (`__parameters__`, `__buffers__`).
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "reader.h"

namespace scriptlang {

enum class Role : uint8_t { Other, Parameter, Buffer };

// Reads the code of an archive when it is first asked. Any thread may ask.
class Roles {
 public:
  explicit Roles(std::shared_ptr<ArchiveReader> archive);
  // Of the attribute that holds a value. `name` is the class's in the archive. Where the archive
  // has no code for it, tensors that require a gradient are parameters, other tensors buffers.
  Role of(const std::string& name, const ClassType& cls, size_t slot, const Value& held);
  // Whether a class is of modules. Without code all are but those of PyTorch's library.
  bool is_module(const std::string& name);

 private:
  const source::Declared* find(const std::string& name);
  // The archive's classes declared anew, for these names alone: the program's stay as they are.
  struct Declared {
    explicit Declared(ArchiveReader* archive);
    source::Arena arena;
    source::Budget budget;
    source::Types types;
    CodeReader code;
    PickleHooks hooks;
    source::Declarations declarations;
  };

  std::shared_ptr<ArchiveReader> archive_;
  std::mutex mutex_;
  std::unique_ptr<Declared> declared_;  // once somebody asked, if there is code
};

}  // namespace scriptlang
