// The compiler of an archive's code. It declares the classes that the pickles of the archive name,
// and makes a program of all functions that can run.
//
// A class is declared when a pickle or the code names it. The methods of all classes that are
// reachable from the root object are compiled, with all functions that they call. A function that
// is refused keeps the reason (Function::refusal), and so do its callers; the other functions run.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>

#include "emitter.h"

namespace scriptlang::source {

class Compiler final : private Session {
 public:
  // `version`: that of the file's format. Some operators did something else in former versions.
  Compiler(Sources sources, std::shared_ptr<ClassTable> classes, int version);

  // The class of a name, which is declared now if it was not yet; null if the code has none.
  ClassRef find_class(const std::string& name);
  // Checks the values of a pickle against the types that their classes declare. Gives lists and
  // dicts their declared element types, and tuples their NamedTuple types. The methods of the
  // classes will be compiled.
  void take(Value* root);
  // Adds all methods of a class, or a function, to what will be compiled. Unknown names are
  // ignored.
  void take_class(const std::string& name);
  void take_function(const std::string& name);
  // Whether the class has a __setstate__.
  bool restores(const ClassType& cls);
  // Like take(), for a state that is passed to the object's __setstate__.
  void take_state(const Value& object, Value* state);
  std::shared_ptr<const Program> program();
  // The function that is called for an overload without a kernel, or for one that did something
  // else in files of this version; null if the kernel is called. *signature: its arguments.
  const Function* body(const std::string& name, const std::string& overload,
                       const Signature** signature);
  // A function of derivatives.txt; null if there is none of this name.
  const Function* derivative(const std::string& name);
  // Whether some overload of an operator did something else in files of a version. True may also be
  // a false alarm.
  static bool has_changed(std::string_view name, int version);
  // The declarations that were looked up so far.
  const Declarations& declared() const { return declarations_; }
  // Compiles and returns all functions that were asked for, with those that they call.
  std::vector<std::unique_ptr<Function>> functions();

 private:
  Function* function_of(Routine* routine) override;
  Function* make_function(const std::string& name) override;
  Routine* body_of(const Signature& signature) override;
  const Candidates& candidates(const std::string& name) override;
  Routine* helper(const SourceFile& file, std::string_view name) override;
  Routine* sorting(const std::string& name, T list) override;
  Routine* comparison(SourceFile* file, const std::string& name);
  void makes(Declared* declared) override;
  Declarations& declarations() override { return declarations_; }

  void compile(Routine* routine);
  void take_objects();
  void take_object(Object& object);
  void conform(Value* value, T type, const std::string& what, int depth);
  Routine* body_named(std::string name);
  Routine* library_function(SourceFile* file, std::string name);
  Routine* former(const Signature& signature);

  std::shared_ptr<ClassTable> classes_;
  int version_;
  Arena arena_;
  Budget budget_;
  Types types_;
  Declarations declarations_;
  Overloads overloads_;
  SourceFile *bodies_ = nullptr, *derivatives_ = nullptr;  // bodies.txt and derivatives.txt
  std::unordered_map<std::string, Routine*> body_routines_;
  std::unordered_map<std::string, Candidates> former_;     // by operator, for files of this version
  std::map<std::pair<std::string, T>, Routine*> sorting_;  // by operator and type of element
  std::map<std::pair<SourceFile*, std::string>, Routine*> comparisons_;
  std::unordered_map<const SourceFile*, SourceFile*> sorting_files_;  // -> the same
  std::vector<std::unique_ptr<Function>> functions_;
  std::vector<Routine*> queue_;
  std::unordered_set<const Declared*> made_;
  std::set<std::pair<uint64_t, T>> taken_;  // (value, type) that was checked already
  std::vector<Value> objects_;              // whose attributes are still to be checked
  // Whether the function that is compiled is part of the library, not of the archive. Its operators
  // have their present meaning, whatever the version of the file.
  bool in_body_ = false;
};

}  // namespace scriptlang::source
