// The compiler of an archive's code: classes for its pickles, and a program of all that can run.
//
// A class is declared when a pickle or the code names it. Methods of all classes that the root
// reaches are compiled, and what they call. A function whose code is not sound keeps the reason
// (Function::refusal): who calls it gets that; others run.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <unordered_set>

#include "emitter.h"

namespace scriptlang::source {

class Compiler final : private Session {
 public:
  // version: of the file's format, which says what some operators mean.
  Compiler(Sources sources, std::shared_ptr<ClassTable> classes, int version);

  // Classes by name, declared when they are asked for; null for what the code has not.
  ClassRef find_class(const std::string& name);
  // Checks the values of a pickle against what their classes declare, gives tuples the names of
  // declared types, and has the methods of their classes compiled.
  void take(Value* root);
  // What else is to be compiled: all methods of a class, a function. No such name: nothing happens.
  void take_class(const std::string& name);
  void take_function(const std::string& name);
  // Whether objects of the class restore themselves by __setstate__.
  bool restores(const ClassType& cls);
  // What __setstate__ of an object will get.
  void take_state(const Value& object, Value* state);
  std::shared_ptr<const Program> program();
  // The function that an overload without a kernel, or with a former meaning, is; null where a
  // kernel does it. *signature is what it takes.
  const Function* body(const std::string& name, const std::string& overload,
                       const Signature** signature);
  // A function of derivatives.txt; null where there is none.
  const Function* derivative(const std::string& name);
  // Whether some overload of an operator meant something else in files of a version.
  static bool has_changed(std::string_view name, int version);
  // All that the code declares and somebody asked for.
  const Declarations& declared() const { return declarations_; }
  // All that were asked for, and what they call.
  std::vector<std::unique_ptr<Function>> functions();

 private:
  Function* function_of(Routine* routine) override;
  Function* make_function(const std::string& name) override;
  Routine* body_of(const Signature& signature) override;
  const Candidates& candidates(const std::string& name) override;
  Routine* helper(const SourceFile& file, std::string_view name) override;
  void makes(Declared* declared) override;
  Declarations& declarations() override { return declarations_; }

  void compile(Routine* routine);
  void refuse_callers();
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
  SourceFile *bodies_ = nullptr, *derivatives_ = nullptr;  // texts of the library
  std::unordered_map<std::string, Routine*> body_routines_;
  std::unordered_map<std::string, Candidates> former_;  // of old files
  std::vector<std::unique_ptr<Function>> functions_;
  std::vector<Routine*> queue_;
  std::unordered_set<const Declared*> made_;
  std::set<std::pair<uint64_t, T>> taken_;  // values that were looked at as of a type
  std::vector<Value> objects_;              // still to be looked into
  bool in_body_ = false;  // what is compiled is part of the library: operators as of today
};

}  // namespace scriptlang::source
