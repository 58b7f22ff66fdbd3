// What an archive's code declares: classes, interfaces, named tuples, enums and functions, by
// qualified name, found when they are first asked for. Bodies are compiled elsewhere.
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

constexpr size_t kMostArguments = 4096;  // of a function or call, elements that are converted

// A function or method of the archive.
struct Routine {
  std::string name;  // "__torch__.M.forward"
  SourceFile* file = nullptr;
  Node* node = nullptr;
  Declared* owner = nullptr;  // of a method
  Signature signature;
  Function* function = nullptr;  // once somebody calls it
  std::string_view short_name() const { return std::string_view(name).substr(name.rfind('.') + 1); }
};

// Where the code lies.
struct Sources {
  // The text of "code/__torch__/a.py", which stays; false where there is none.
  std::function<bool(const std::string& record, std::string_view* text)> read;
  std::function<bool(const std::string& folder)> has_folder;  // "code/__torch__/a"
  std::function<ValueSpan()> constants;                       // the table behind CONSTANTS.c0
};

class Declarations {
 public:
  Declarations(Sources sources, std::shared_ptr<ClassTable> classes, Types* types, Arena* arena,
               Budget* budget);

  // Null where there is none. Raise ArchiveError for code that is malformed.
  Declared* find_class(const std::string& name);
  T find_type(const std::string& name);  // a class, interface, enum or named tuple
  Routine* find_function(const std::string& name);
  bool has_folder(const std::string& name) const;
  const Value* find_constant(std::string_view name);  // "c0"
  T type_of_value(const Value& value, int depth = 0);
  const std::vector<Value>* defaults_of(const std::string& named_tuple) const;  // or null

  // The type that an annotation names.
  T type_of(const SourceFile& file, const Node& node, int depth = 0);
  // A constant expression: defaults, values of Final, of enums. wanted may be null.
  Value constant_of(const SourceFile& file, const Node& node, T wanted, int depth = 0);
  Value literal(const SourceFile& file, const Node& node);
  // Of `inf`, `nan`, `infj`, `nanj`.
  static std::optional<Value> named_number(std::string_view name);

  // Those that were found so far, in any order.
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
  // A function that is not in the archive's files, declared from its syntax.
  Routine* declare_function(const std::string& name, SourceFile* file, Node* node, Declared* owner);
  SourceFile* add_file(std::string_view name, std::string_view text);
  Node* find_in(SourceFile* file, std::string_view name);

 private:
  SourceFile* file_of(const std::string& qualifier);
  std::pair<SourceFile*, Node*> find(const std::string& name);
  void declare(const std::string& name, SourceFile* file, Node* node);
  void drain();
  void fill(Declared* declared);
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
  std::unordered_map<std::string, std::vector<Value>> tuple_defaults_;  // of the last fields
  std::unordered_map<std::string, Routine*> functions_;
  std::deque<std::unique_ptr<Routine>> routines_;
  std::deque<Declared*> queue_;
  std::vector<std::string> open_tuples_;
  bool draining_ = false;
};

}  // namespace scriptlang::source
