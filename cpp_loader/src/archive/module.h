// A loaded archive: its objects, its program, and how to call a method.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "machine/arguments.h"
#include "machine/turns.h"
#include "machine/vm.h"
#include "zip.h"

namespace scriptlang {

class ArchiveReader;
namespace source {
class Compiler;
}

// How an archive is read where that is not as C programs read it.
struct Reading {
  bool from_code = false;       // plain archives only; also those that have bytecode for others
  bool check_storages = false;  // the checksums of tensors, too
  std::function<void(const source::Compiler&)> compiled;  // sees what the code declares
};

// Any thread may call methods: those that only read go side by side, those whose programs write
// attributes (a recurrent state) one after the other; see machine/turns.h.
class Module {
 public:
  // Raises ArchiveError with what the file is and what to do. Executes nothing of it.
  static std::shared_ptr<Module> load_file(const std::string& path);
  static std::shared_ptr<Module> load_memory(const void* data, size_t size);  // copies

  static std::shared_ptr<Module> load(std::shared_ptr<Bytes> bytes, const Reading& how = {});

  Value& root() { return root_; }
  bool is_pending() const { return !pending_.empty(); }  // __setstate__ is still to run
  const Program& program() const { return *program_; }
  std::vector<std::string> method_names() const;  // of the root's class, sorted
  const Function* method(std::string_view name) const;  // null when absent
  const std::vector<MissingOperator>& missing_operators() const { return program_->missing(); }

  // Arguments as a host gives them: see bind(). Those of self are not among them. The turn is the
  // caller's: what the result shares with the module may be looked at until that is given back.
  Value call(std::string_view method, std::vector<Value> arguments,
             std::vector<NamedArgument> named, Context& context, const Limits& limits,
             Turn* turn);
  Value call(std::string_view method, std::vector<Value> arguments, Context& context,
             const Limits& limits) {
    Turn turn;
    return call(method, std::move(arguments), {}, context, limits, &turn);
  }
  Domain* domain() const { return domain_.get(); }

 private:
  struct Pending {
    Value object, state;
  };
  void read_bytecode(ArchiveReader& archive, int version);
  void compile_code(ArchiveReader& archive, int version, const Reading& how);
  void take_root(Value root);
  void restore_pending(Context& context, const Limits& limits);

  Value root_;
  DomainRef domain_{Domain::make()};
  std::shared_ptr<const Program> program_;
  // Objects that restore themselves by __setstate__: done at the first call, within its limits.
  std::vector<Pending> pending_;
  std::mutex pending_mutex_;
};

}  // namespace scriptlang
