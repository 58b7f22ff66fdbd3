// Types of the language as the archive writes them, and the classes of a program.
//
// Types are immutable, refcounted trees. A class is identified by its qualified name. Within a
// program there is one ClassType object for it, shared by all types that name it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "value.h"

namespace scriptlang {

enum class TypeKind : uint8_t {
  Any,
  None,
  Bool,
  Int,
  Float,
  Complex,
  Number,
  String,
  Device,
  Tensor,
  Generator,
  List,
  Dict,
  Optional,
  Union,
  Tuple,
  NamedTuple,
  Class,
  Future,
  Variable,
  Opaque,  // an unknown name, which is kept; matches every value
};

class Type {
 public:
  mutable std::atomic<uint32_t> refs{1};
  TypeKind kind = TypeKind::Any;
  std::vector<TypeRef> elements;       // List 1, Dict 2, Optional 1, Union, Tuple, NamedTuple
  std::vector<std::string> fields;     // NamedTuple
  std::string name;                    // NamedTuple, Class, Variable, Opaque: as written
  ClassRef cls;                        // Class
  mutable std::shared_ptr<void> host;  // NamedTuple: the embedding language's class

  static TypeRef make(TypeKind kind, std::vector<TypeRef> elements = {}, std::string name = {});
};

struct ClassType : Counted {
  std::string name;                                    // "__torch__.M"
  std::vector<std::string> attributes;                 // attribute names by slot
  std::vector<TypeRef> types;                          // by slot; may be shorter than attributes
  std::vector<std::pair<std::string, Value>> members;  // members of an enum, if known
  std::shared_ptr<void> host;                          // the embedding language's class

  static ClassRef make(std::string name);
  int64_t slot(std::string_view attribute) const;  // -1 when absent
};

// The classes of PyTorch's C++ library, such as those of packed weights, have names that begin with
// this.
constexpr std::string_view kLibraryClasses = "__torch__.torch.classes.";
inline bool is_library_class(std::string_view name) {
  return name.substr(0, kLibraryClasses.size()) == kLibraryClasses;
}

// Finds or makes the class with a qualified name. Returns null if the name is not a class here.
using ClassResolver = std::function<ClassRef(const std::string& qualified_name)>;

// Parses "List[Tensor]", "Optional[Dict[str, int]]", "Tuple[int, str]", "__torch__.C",
// "X[NamedTuple, [[a, int], [b, Tensor]]]", and the schema spelling "Tensor(a!)[]", "int[2]?".
// Raises ArchiveError with the offending text, also if types are nested deeper than 64.
TypeRef parse_type(std::string_view text, const ClassResolver& classes);

// The same for one type inside a longer text: advances *position past it. `alias` gets the text of
// alias annotations ("a!") and `fixed_size` the size of the last list ("int[2]"); both may be null.
TypeRef parse_type_at(std::string_view text, size_t* position, const ClassResolver& classes,
                      std::string* alias, int64_t* fixed_size);

std::string to_string(const Type& type);

// Whether the value is an instance of the type. A list or dict is judged by its recorded element
// types if it has them, else by its elements. Raises RuntimeError if the value is nested too
// deeply.
bool matches(const Value& value, const Type& type, int depth = 0);
bool same_type(const Type& a, const Type& b, int depth = 0);

// The set of tags that values of a type may carry, as bits 1 << Tag.
using TagSet = uint32_t;
constexpr TagSet kAnyTag = ~TagSet(0);
constexpr TagSet tag_bit(Tag tag) { return TagSet(1) << uint32_t(tag); }
TagSet tags_of(const Type& type);
std::string to_string_tags(TagSet tags);

inline Tuple* Tuple::at(void* block, size_t count) noexcept {
  Tuple* tuple = ::new (block) Tuple;
  tuple->make_thread_local(true);
  tuple->items.size_ = count;
  return tuple;
}

}  // namespace scriptlang
