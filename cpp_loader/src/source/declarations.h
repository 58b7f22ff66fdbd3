// The declarations of an archive's code: classes, interfaces, named tuples, enums and functions, by
// qualified name. They are read when they are first looked up. Bodies are compiled elsewhere.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "program/program.h"
#include "types.h"

namespace scriptlang::source {

// The most arguments of a function or call, and the most elements of a tuple that is converted.
constexpr size_t kMostArguments = 4096;

// A function or method of the archive.
struct Routine {
  std::string name;  // "__torch__.M.forward"
  SourceFile* file = nullptr;
  Node* node = nullptr;
  Declared* owner = nullptr;  // the class of a method
  Signature signature;
  Function* function = nullptr;  // made when something calls it
  std::string_view short_name() const { return std::string_view(name).substr(name.rfind('.') + 1); }
};

// How the code and the constants of the archive are read.
struct Sources {
  // Gets the text of "code/__torch__/a.py", which must stay in memory; false if there is none.
  std::function<bool(const std::string& record, std::string_view* text)> read;
  std::function<bool(const std::string& folder)> has_folder;  // "code/__torch__/a"
  std::function<ValueSpan()> constants;                       // the table that has CONSTANTS.c0
};

class Declarations {
 public:
  Declarations(Sources sources, std::shared_ptr<ClassTable> classes, Types* types, Arena* arena,
               Budget* budget);

  // These return null if there is nothing of this name. They raise ArchiveError for malformed code.
  Declared* find_class(const std::string& name);
  T find_type(const std::string& name);  // a class, interface, enum or named tuple
  Routine* find_function(const std::string& name);
  bool has_folder(const std::string& name) const;
  const Value* find_constant(std::string_view name);  // "c0"
  T type_of_value(const Value& value, int depth = 0);
  // The defaults of the last fields of a named tuple; null if it has none.
  const std::vector<Value>* defaults_of(const std::string& named_tuple) const;

  // The type that an annotation names.
  T type_of(const SourceFile& file, const Node& node, int depth = 0);
  // The value of a constant expression: a default, a Final attribute, a member of an enum. `wanted`
  // is the declared type, or null.
  Value constant_of(const SourceFile& file, const Node& node, T wanted, int depth = 0);
  Value literal(const SourceFile& file, const Node& node);
  // The value of `inf`, `nan`, `infj` and `nanj`.
  static std::optional<Value> named_number(std::string_view name);

  // Visits the declarations that were found so far, in any order.
  template <class F>
  void each_class(F see) const {
    for (const auto& [name, declared] : declared_) see(*declared);
  }
  template <class F>
  void each_named_tuple(F see) const {
    for (const auto& [name, type] : named_tuples_) see(name, type);
  }

  Types& types() { return types_; }
  const Types& types() const { return types_; }
  Budget& budget() { return budget_; }
  // Makes the routine of a function or method: reads its signature.
  Routine* declare_function(const std::string& name, SourceFile* file, Node* node, Declared* owner);
  // Parses a file of code. Raises ArchiveError, also for statements outside of definitions.
  SourceFile* add_file(std::string_view name, std::string_view text);
  // A definition of a file; null if there is none of this name.
  Node* find_in(SourceFile* file, std::string_view name);

 private:
  SourceFile* file_of(const std::string& qualifier);
  std::pair<SourceFile*, Node*> find(const std::string& name);
  void declare(const std::string& name, SourceFile* file, Node* node);
  void drain();
  void fill(Declared* declared);
  void read(Declared* declared);
  static Declared* sound(Declared* declared);
  void fill_statement(Declared* declared, const Node& s);
  void assigned_name(Declared* declared, const Node& s);
  void add_attribute(Declared* declared, std::string_view name, T type, const Node& s);
  void add_method(Declared* declared, Node* s);
  T named_tuple(const std::string& name, SourceFile* file, const Node& node);
  void read_enum(Declared* declared);
  T named(const SourceFile& file, const Node& node, const std::string& name);
  T generic(const SourceFile& file, const Node& node, int depth);
  Value constant_sequence(const SourceFile& file, const Node& node, T wanted, int depth);
  Value constant_call(const SourceFile& file, const Node& node, int depth);

  Sources sources_;
  std::shared_ptr<ClassTable> classes_;
  Types& types_;
  Arena& arena_;
  Budget& budget_;
  struct File {
    SourceFile source;
    std::unordered_map<std::string_view, Node*> definitions;
  };
  std::deque<std::unique_ptr<File>> files_;
  std::unordered_map<std::string, SourceFile*> by_qualifier_;
  std::unordered_map<const SourceFile*, File*> by_source_;
  std::unordered_map<std::string, std::unique_ptr<Declared>> declared_;
  std::unordered_map<std::string, T> named_tuples_;
  std::unordered_map<std::string, std::vector<Value>> tuple_defaults_;  // see defaults_of()
  std::unordered_map<std::string, Routine*> functions_;
  std::deque<std::unique_ptr<Routine>> routines_;
  std::deque<Declared*> queue_;
  std::vector<std::string> open_tuples_;
  bool draining_ = false;
};

}  // namespace scriptlang::source
