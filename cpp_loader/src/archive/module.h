// A loaded archive: its objects and its program, with calls of methods.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "machine/arguments.h"
#include "machine/turns.h"
#include "machine/vm.h"
#include "reader.h"
#include "roles.h"

namespace scriptlang {

namespace source {
class Compiler;
}

// Options of reading an archive. The C API uses the defaults.
struct Reading {
  // Compiles the archive's code, even if it has bytecode. Raises ArchiveError if scriptlang wrote
  // the archive, or if it does not say its version.
  bool from_code = false;
  bool check_storages = false;                            // checks the checksums of tensors, too
  std::function<void(const source::Compiler&)> compiled;  // called when the code is compiled
};

// Any thread may call methods. Those that only read run at the same time, those that write to
// attributes (a recurrent state) one after the other; see machine/turns.h.
class Module {
 public:
  // These raise ArchiveError that says what the file is and what to do. They execute nothing of it.
  static std::shared_ptr<Module> load_file(const std::string& path);
  static std::shared_ptr<Module> load_memory(const void* data, size_t size);  // copies
  static std::shared_ptr<Module> load(std::shared_ptr<Bytes> bytes, const Reading& how = {});

  Value& root() { return root_; }
  bool is_pending() const { return !pending_.empty(); }  // whether a __setstate__ is still to run
  const Program& program() const { return *program_; }
  // The methods of a class, or of the root's class. Names are sorted; an unknown method is null.
  std::vector<std::string> method_names(const ClassType& cls) const;
  std::vector<std::string> method_names() const { return method_names(*root_.as_object().type); }
  const Function* method(const ClassType& cls, std::string_view name) const {
    return find(cls, name).function;
  }
  // The program that this method belongs to; null if there is no such method.
  const Program* program_of(const ClassType& cls, std::string_view name) const {
    return find(cls, name).program;
  }
  const Function* method(std::string_view name) const {
    return method(*root_.as_object().type, name);
  }
  const std::vector<MissingOperator>& missing_operators() const { return program_->missing(); }

  // Calls a method of the root. Arguments are those that a host passes, without self: see bind().
  // `turn` is taken and left to the caller, who may read what the result shares with the module
  // until the turn is given back.
  Value call(std::string_view method, std::vector<Value> arguments,
             std::vector<NamedArgument> named, Context& context, const Limits& limits, Turn* turn) {
    return call_on(root_, method, std::move(arguments), std::move(named), context, limits, turn);
  }
  // The same for any object of the module.
  Value call_on(const Value& object, std::string_view method, std::vector<Value> arguments,
                std::vector<NamedArgument> named, Context& context, const Limits& limits,
                Turn* turn);
  Value call(std::string_view method, std::vector<Value> arguments, Context& context,
             const Limits& limits) {
    Turn turn;
    return call(method, std::move(arguments), {}, context, limits, &turn);
  }
  Domain* domain() const { return domain_.get(); }

  // Runs the __setstate__ of all objects that have one, within limits, if that was not done yet.
  // The first call of a method does it, too. Raises Error. The caller must hold no turn.
  void restore();
  const ArchiveReader& archive() const { return *archive_; }
  // Bytecode may have only the methods of the root, with calls inlined. To be called before methods
  // of other objects are looked up: compiles the archive's code, once, which has them. The caller
  // must hold no turn.
  void complete();
  // Whether an attribute of a module is a parameter or a buffer; see Roles::of.
  Role role_of(const ClassType& cls, size_t slot, const Value& held);
  bool is_module(const ClassType& cls);
  // Makes a module whose root is a deep copy of an object of this one. Both share the program.
  std::shared_ptr<Module> clone(const Value& object);

 private:
  struct Pending {
    Value object, state;
  };
  struct Found {
    const Program* program = nullptr;
    const Function* function = nullptr;  // null: there is no such method
  };
  Found find(const ClassType& cls, std::string_view name) const;
  void read_bytecode(ArchiveReader& archive, int version);
  void compile_code(ArchiveReader& archive, int version, const Reading& how);
  void take_root(Value root);
  void restore_pending(Context& context, const Limits& limits);

  std::shared_ptr<ArchiveReader> archive_;
  std::shared_ptr<Roles> roles_;
  Value root_;
  DomainRef domain_{Domain::make()};
  std::shared_ptr<const Program> program_;
  // The program that complete() compiled. `beside_` points to it, so that readers need no mutex.
  std::shared_ptr<const Program> from_code_;
  std::atomic<const Program*> beside_{nullptr};
  std::mutex code_mutex_;
  // Objects with a __setstate__ that has not run yet, with their states.
  std::vector<Pending> pending_;
  std::mutex pending_mutex_;
};

}  // namespace scriptlang
