// A loaded archive: its objects, its program, and how to call a method.
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
  // Of a class; else of the root's. Names are sorted; a method that is absent is null.
  std::vector<std::string> method_names(const ClassType& cls) const;
  std::vector<std::string> method_names() const { return method_names(*root_.as_object().type); }
  const Function* method(const ClassType& cls, std::string_view name) const {
    return find(cls, name).function;
  }
  // The program that this method is of; null as well.
  const Program* program_of(const ClassType& cls, std::string_view name) const {
    return find(cls, name).program;
  }
  const Function* method(std::string_view name) const {
    return method(*root_.as_object().type, name);
  }
  const std::vector<MissingOperator>& missing_operators() const { return program_->missing(); }

  // Arguments as a host gives them: see bind(). Those of self are not among them. The turn is the
  // caller's: what the result shares with the module may be looked at until that is given back.
  Value call(std::string_view method, std::vector<Value> arguments,
             std::vector<NamedArgument> named, Context& context, const Limits& limits, Turn* turn) {
    return call_on(root_, method, std::move(arguments), std::move(named), context, limits, turn);
  }
  // The same of any object of the program.
  Value call_on(const Value& object, std::string_view method, std::vector<Value> arguments,
                std::vector<NamedArgument> named, Context& context, const Limits& limits,
                Turn* turn);
  Value call(std::string_view method, std::vector<Value> arguments, Context& context,
             const Limits& limits) {
    Turn turn;
    return call(method, std::move(arguments), {}, context, limits, &turn);
  }
  Domain* domain() const { return domain_.get(); }

  // Runs __setstate__ of the objects that restore themselves, if it has not been done yet, within
  // limits; as the first call does. Raises Error. The caller holds no turn.
  void restore();
  const ArchiveReader& archive() const { return *archive_; }
  // Bytecode has the root's methods, with all that they call inside of them. Before others are
  // asked for: compiles the code that lies beside it, once. The caller holds no turn.
  void complete();
  // What an attribute of a module is: by the archive's code, else by what it holds.
  Role role_of(const ClassType& cls, size_t slot, const Value& held);
  bool is_module(const ClassType& cls);
  // One of its own around an object of this one, with the same program: objects and tensors are
  // copied, whole.
  std::shared_ptr<Module> clone(const Value& object);

 private:
  struct Pending {
    Value object, state;
  };
  struct Found {
    const Program* program = nullptr;
    const Function* function = nullptr;  // null where there is no such method
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
  // Of the code beside bytecode, once somebody asked: kept, and found without the mutex.
  std::shared_ptr<const Program> from_code_;
  std::atomic<const Program*> beside_{nullptr};
  std::mutex code_mutex_;
  // Objects that restore themselves by __setstate__: done at the first call, within its limits.
  std::vector<Pending> pending_;
  std::mutex pending_mutex_;
};

}  // namespace scriptlang
