// Types in the source compiler. Each is made only once (interned), so equal types are equal
// pointers.
//
// They are types of values/type.h. Classes, interfaces and enums are of kind Class; Declared has
// what the code declares of them.
#pragma once

#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "syntax.h"
#include "values/schema.h"

namespace scriptlang {
struct OpEntry;
}

namespace scriptlang::source {

using T = const Type*;

struct Routine;

// An argument of an operator or a function.
struct Formal {
  std::string name;
  T type = nullptr;
  // by_name: keyword-only. written: an out argument.
  bool has_default = false, by_name = false, written = false;
  int repeat = 0;  // 2 for int[2], where a single number stands for a list of so many
  Value value;     // the default
};

// What a call is matched with: an overload of an operator, or a function of the archive.
struct Signature {
  std::string name, overload;
  std::vector<Formal> formals;
  std::vector<T> returns;
  bool variadic = false;
  bool has_variables = false;      // type variables
  bool plain_results = false;      // all results are tensors
  bool needs_body = false;         // an operator without a kernel, with a body in bodies.txt
  const OpEntry* entry = nullptr;  // the kernel of an operator, if there is one
  Routine* body = nullptr;         // the function, if it is none of an operator
};

// What an archive's code declares of a class, interface or enum, or of a class of PyTorch's C++
// library (Library).
struct Declared {
  enum Kind : uint8_t { Module, Class, Interface, ModuleInterface, Enum, Library };
  Kind kind = Class;
  bool filled = false;
  std::string refusal;  // why its declaration cannot be read; empty if it can
  std::string name;
  ClassRef cls;
  T type = nullptr;
  SourceFile* file = nullptr;
  Node* node = nullptr;
  std::vector<std::pair<std::string, T>> attributes;  // by slot
  std::vector<std::string_view> parameters, buffers;  // the names of attributes that are such
  std::unordered_map<std::string, int64_t> slots;
  std::unordered_map<std::string, Routine*> methods;  // those of interfaces have no body
  std::vector<Routine*> method_order;
  std::unordered_map<std::string, std::pair<Value, T>> constants;
  std::vector<std::pair<std::string, Value>> members;  // of an enum
  T member_type = nullptr;
  bool is_hooked = false;  // has forward hooks or forward pre-hooks
  bool is_module() const { return kind == Module || kind == ModuleInterface; }
  bool is_interface() const { return kind == Interface || kind == ModuleInterface; }
  Routine* method(std::string_view wanted) const {
    auto found = methods.find(std::string(wanted));
    return found == methods.end() ? nullptr : found->second;
  }
  int64_t slot(std::string_view wanted) const {
    auto found = slots.find(std::string(wanted));
    return found == slots.end() ? -1 : found->second;
  }
};

// A conversion of a value to another type; see Types::plan.
struct Step {
  // Operator: a call of `op`. EmptyList: the list literal gets its type. TupleToList: a list of the
  // items. Tuple: `parts` convert the items. Repeat: a list of `count` times the value.
  enum Kind : uint8_t { None, Operator, EmptyList, TupleToList, Tuple, Repeat };
  Kind kind = None;
  T type = nullptr;
  const char* op = nullptr;
  int count = 0;
  std::vector<Step> parts;
};

// Says whether a value is an empty list literal, whose element type is still open, or a tuple
// literal with such items.
struct Openness {
  bool open = false;
  size_t at = 0;                // the instruction that makes the list
  std::vector<Openness> parts;  // of a tuple literal
  bool any() const { return open || !parts.empty(); }
};

class Types {
 public:
  Types();
  // Makes a type, or finds the equal one.
  T intern(const Type& type);
  T make(TypeKind kind, std::vector<T> parts, const std::string& name = {});
  T named_tuple(const std::string& name, const std::vector<std::string>& fields,
                const std::vector<T>& parts);
  T of_class(Declared* declared);
  // The type of a class of PyTorch's C++ library. It is Opaque, since schemas know only its name.
  T of_library(Declared* declared);
  T list_of(T element) { return make(TypeKind::List, {element}); }
  T tuple_of(const std::vector<T>& parts) { return make(TypeKind::Tuple, parts); }
  T optional(T type);
  T union_of(const std::vector<T>& parts);

  // The declaration of a class; null for other types, and for classes without a declaration.
  Declared* declared(T type) const;
  bool is_subtype(T a, T b) const;
  T unify(T a, T b);  // the type of a name that has type a on one path and b on another; or null
  T without_none(T type);
  static bool may_be_none(T type);

  static bool has_variables(T type);
  using Variables = std::vector<std::pair<std::string_view, T>>;
  // Binds the type variables in the type of a formal to what fits the actual. False if it cannot.
  bool bind(T formal, T actual, Variables* variables);
  T substitute(T type, const Variables& variables);

  // The conversion of a value of type `actual` to type `wanted`. *after: the type after it, which
  // is not `wanted` if there is no conversion. `implicit`: allows implicit conversions of numbers
  // and tensors.
  Step plan(T actual, T wanted, bool implicit, const Openness& open, T* after);

  // A type as archives spell it.
  static std::string text(T type) { return to_string(*type); }
  // A type as the tables of bytecode hold it.
  static TypeRef held(T type) { return TypeRef::share(const_cast<Type*>(type)); }

  T any, none, boolean, integer, real, complex, number, string, device, tensor, generator;
  T any_list, any_tuple, any_class, any_enum;

 private:
  T keep(std::string key, TypeRef type);
  struct Measure {
    int64_t parts = 1;
    int depth = 0;
  };
  Measure measure_of(const std::vector<T>& parts);
  bool implements(T type, const Declared& interface) const;
  std::unordered_map<std::string, TypeRef> made_;
  std::unordered_map<T, Declared*> declared_;
  std::unordered_map<T, Measure> measures_;  // of types with parts
  int64_t parts_left_;                       // that all types together may have, written out
  mutable int implementing_ = 0;
};

}  // namespace scriptlang::source
