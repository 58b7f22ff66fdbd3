// Types: construction, parsing, printing, comparison with values, classes.
#include "type.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "dict.h"
#include "list.h"

namespace scriptlang {

void destroy(const Type* type) noexcept { delete type; }
void destroy(ClassType* type) noexcept { delete type; }

namespace {

// Types without elements and names are made once and shared; their references are not counted.
TypeRef simple_type(TypeKind kind) {
  constexpr size_t kKinds = size_t(TypeKind::List);
  static Type* const types = [] {
    Type* made = new Type[kKinds];
    for (size_t k = 0; k < kKinds; ++k) {
      made[k].kind = TypeKind(k);
      made[k].refs.store(kImmortal, std::memory_order_relaxed);
    }
    return made;
  }();
  return TypeRef(&types[size_t(kind)]);
}

}  // namespace

TypeRef Type::make(TypeKind kind, std::vector<TypeRef> elements, std::string name) {
  if (kind < TypeKind::List && elements.empty() && name.empty()) return simple_type(kind);
  Type* type = new Type;
  type->kind = kind;
  type->elements = std::move(elements);
  type->name = std::move(name);
  return TypeRef(type);
}

ClassRef ClassType::make(std::string name) {
  ClassRef cls(new ClassType);
  cls->name = std::move(name);
  return cls;
}

int64_t ClassType::slot(std::string_view attribute) const {
  for (size_t i = 0; i < attributes.size(); ++i) {
    if (attributes[i] == attribute) return int64_t(i);
  }
  return -1;
}

namespace {

constexpr int kMaxTypeDepth = 64;

struct SimpleType {
  const char* name;
  TypeKind kind;
};
constexpr SimpleType kSimpleTypes[] = {
    {"Tensor", TypeKind::Tensor},
    {"int", TypeKind::Int},
    {"float", TypeKind::Float},
    {"bool", TypeKind::Bool},
    {"complex", TypeKind::Complex},
    {"str", TypeKind::String},
    {"number", TypeKind::Number},
    {"Scalar", TypeKind::Number},
    {"NoneType", TypeKind::None},
    {"None", TypeKind::None},
    {"Any", TypeKind::Any},
    {"Device", TypeKind::Device},
    {"Generator", TypeKind::Generator},
    {"ScalarType", TypeKind::Int},
    {"Layout", TypeKind::Int},
    {"MemoryFormat", TypeKind::Int},
    {"QScheme", TypeKind::Int},
    {"SymInt", TypeKind::Int},
    {"Dimname", TypeKind::String},
};

class TypeParser {
 public:
  TypeParser(std::string_view text, size_t position, const ClassResolver& classes)
      : text_(text), position_(position), classes_(classes) {}

  size_t position() const { return position_; }
  std::string alias;
  int64_t fixed_size = 0;

  TypeRef parse(int depth) {
    if (depth > kMaxTypeDepth) fail("is nested too deeply");
    skip_space();
    TypeRef type = peek() == '(' ? parse_parenthesised(depth) : parse_named(depth);
    return parse_suffixes(std::move(type));
  }

  bool at_end() {
    skip_space();
    return position_ == text_.size();
  }

  [[noreturn]] void fail(const char* what) {
    raise(ErrorKind::ArchiveError, "the type '", std::string(text_.substr(0, 200)), "' ", what,
          " at column ", position_ + 1);
  }

 private:
  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  void skip_space() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\t') ++position_;
  }
  bool accept(char c) {
    skip_space();
    if (peek() != c) return false;
    ++position_;
    return true;
  }
  void expect(char c) {
    if (accept(c)) return;
    char message[] = "lacks ' '";
    message[7] = c;
    fail(message);
  }

  std::string_view word() {
    skip_space();
    size_t begin = position_;
    auto is_word = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '.' || (c & 0x80) != 0 || c == '$';
    };
    while (position_ < text_.size() && is_word(text_[position_])) ++position_;
    if (begin == position_) fail("lacks a name");
    return text_.substr(begin, position_ - begin);
  }

  std::vector<TypeRef> parse_arguments(int depth, char close) {
    std::vector<TypeRef> elements;
    if (accept(close)) return elements;
    do { elements.push_back(parse(depth + 1)); } while (accept(','));
    expect(close);
    return elements;
  }

  // "(int, int)" in schemas is a tuple.
  TypeRef parse_parenthesised(int depth) {
    expect('(');
    return Type::make(TypeKind::Tuple, parse_arguments(depth, ')'));
  }

  TypeRef parse_named(int depth) {
    std::string_view name = word();
    skip_space();
    bool subscripted = peek() == '[' && position_ + 1 < text_.size() &&
                       text_[position_ + 1] != ']' &&
                       !(text_[position_ + 1] >= '0' && text_[position_ + 1] <= '9');
    bool written = peek() == '(' && (name == "Dict" || name == "Future" || name == "Await");
    if (subscripted || written || name == "Tuple") {
      TypeRef generic = parse_generic(name, depth);
      if (generic) return generic;
    }
    for (const SimpleType& simple : kSimpleTypes) {
      if (name == simple.name) return Type::make(simple.kind);
    }
    return parse_other(name);
  }

  TypeRef parse_generic(std::string_view name, int depth) {
    struct Generic {
      const char* name;
      TypeKind kind;
      size_t least, most;
    };
    static const Generic kGenerics[] = {
        {"List", TypeKind::List, 1, 1},          {"Dict", TypeKind::Dict, 2, 2},
        {"Optional", TypeKind::Optional, 1, 1},  {"Union", TypeKind::Union, 1, 64},
        {"Tuple", TypeKind::Tuple, 0, SIZE_MAX}, {"Future", TypeKind::Future, 0, 1},
        {"Await", TypeKind::Future, 0, 1},       {"Await", TypeKind::Opaque, 0, 1},
        {"RRef", TypeKind::Opaque, 0, 1},        {"InferredType", TypeKind::Opaque, 0, 1},
    };
    for (const Generic& g : kGenerics) {
      if (name != g.name) continue;
      if (peek() == '(' && g.least <= 2 && name != "Tuple") {  // schemas: "Dict(str, t)"
        ++position_;
        std::vector<TypeRef> parts = parse_arguments(depth, ')');
        if (parts.size() < g.least || parts.size() > g.most) fail("has a wrong arity");
        return Type::make(g.kind, std::move(parts), std::string(name));
      }
      if (!accept('[')) return Type::make(g.kind, {}, std::string(name));  // a bare "Tuple"
      std::vector<TypeRef> elements;
      skip_space();
      if (text_.substr(position_, 2) == "()") {
        position_ += 2;
        expect(']');
      } else {
        elements = parse_arguments(depth, ']');
      }
      if (elements.size() < g.least || elements.size() > g.most) fail("has a wrong arity");
      return Type::make(g.kind, std::move(elements), std::string(name));
    }
    return parse_named_tuple(name, depth);
  }

  // X[NamedTuple, [[field, type], ...]]
  TypeRef parse_named_tuple(std::string_view name, int depth) {
    size_t start = position_;
    expect('[');
    std::string_view keyword = word();
    if (keyword != "NamedTuple") {
      position_ = start;
      fail("subscripts a type that takes no arguments");
    }
    std::vector<TypeRef> elements;
    std::vector<std::string> fields;
    if (accept(',')) {
      expect('[');
      if (!accept(']')) {
        do {
          expect('[');
          fields.emplace_back(word());
          expect(',');
          elements.push_back(parse(depth + 1));
          expect(']');
        } while (accept(','));
        expect(']');
      }
    }
    expect(']');
    TypeRef type = Type::make(TypeKind::NamedTuple, std::move(elements), std::string(name));
    const_cast<Type*>(type.get())->fields = std::move(fields);
    return type;
  }

  TypeRef parse_other(std::string_view name) {
    if (classes_ && name.find('.') != std::string_view::npos) {
      std::string qualified(name);
      if (ClassRef cls = classes_(qualified)) {
        TypeRef type = Type::make(TypeKind::Class, {}, std::move(qualified));
        const_cast<Type*>(type.get())->cls = std::move(cls);
        return type;
      }
    }
    bool is_variable =
        name.find('.') == std::string_view::npos && name[0] == 't' && name != "tuple";
    return Type::make(is_variable ? TypeKind::Variable : TypeKind::Opaque, {}, std::string(name));
  }

  // Parses suffixes: an alias annotation "(a!)", a list "[]" or "[2]", an optional "?", in any
  // number.
  TypeRef parse_suffixes(TypeRef type) {
    for (;;) {
      if (peek() == '(') {
        size_t close = text_.find(')', position_);
        if (close == std::string_view::npos) fail("lacks ')'");
        alias += text_.substr(position_ + 1, close - position_ - 1);
        position_ = close + 1;
      } else if (peek() == '[') {
        ++position_;
        int64_t size = 0;
        while (peek() >= '0' && peek() <= '9' && size < 1000000) {
          size = size * 10 + (text_[position_++] - '0');
        }
        expect(']');
        fixed_size = size;
        type = Type::make(TypeKind::List, {std::move(type)});
      } else if (peek() == '?') {
        ++position_;
        type = Type::make(TypeKind::Optional, {std::move(type)});
      } else {
        return type;
      }
      if (++suffixes_ > kMaxTypeDepth) fail("is nested too deeply");
    }
  }

  std::string_view text_;
  size_t position_;
  const ClassResolver& classes_;
  int suffixes_ = 0;
};

}  // namespace

TypeRef parse_type(std::string_view text, const ClassResolver& classes) {
  TypeParser parser(text, 0, classes);
  TypeRef type = parser.parse(0);
  if (!parser.at_end()) parser.fail("goes on after its end");
  return type;
}

TypeRef parse_type_at(std::string_view text, size_t* position, const ClassResolver& classes,
                      std::string* alias, int64_t* fixed_size) {
  TypeParser parser(text, *position, classes);
  TypeRef type = parser.parse(0);
  *position = parser.position();
  if (alias) *alias = parser.alias;
  if (fixed_size) *fixed_size = parser.fixed_size;
  return type;
}

std::string to_string(const Type& type) {
  auto joined = [&](const char* name) {
    std::string text = name;
    text += '[';
    for (size_t i = 0; i < type.elements.size(); ++i) {
      if (i) text += ", ";
      text += to_string(*type.elements[i]);
    }
    return text + "]";
  };
  switch (type.kind) {
    case TypeKind::Any: return "Any";
    case TypeKind::None: return "NoneType";
    case TypeKind::Bool: return "bool";
    case TypeKind::Int: return "int";
    case TypeKind::Float: return "float";
    case TypeKind::Complex: return "complex";
    case TypeKind::Number: return "Scalar";
    case TypeKind::String: return "str";
    case TypeKind::Device: return "Device";
    case TypeKind::Tensor: return "Tensor";
    case TypeKind::Generator: return "Generator";
    case TypeKind::List: return joined("List");
    case TypeKind::Dict: return joined("Dict");
    case TypeKind::Optional: return joined("Optional");
    case TypeKind::Union: return joined("Union");
    case TypeKind::Tuple: return joined("Tuple");
    case TypeKind::Future: return joined("Future");
    default: return type.name;
  }
}

bool same_type(const Type& a, const Type& b, int depth) {
  if (a.kind != b.kind || a.elements.size() != b.elements.size() || depth > kMaxTypeDepth) {
    return false;
  }
  if (a.kind == TypeKind::NamedTuple && a.name != b.name) return false;
  if (a.kind == TypeKind::Class && a.cls.get() != b.cls.get()) return false;
  for (size_t i = 0; i < a.elements.size(); ++i) {
    if (!same_type(*a.elements[i], *b.elements[i], depth + 1)) return false;
  }
  return true;
}

namespace {

// One isinstance check. The answer for a container with several references is cached per type: a
// list that holds one list twice, which holds one list twice, and so on, is small in memory but
// would take exponential time.
class Matching {
 public:
  bool matches(const Value& value, const Type& type, int depth) {
    if (depth > kMaxNesting) raise(ErrorKind::RuntimeError, "a value is nested too deeply");
    if (!(tags_of(type) & tag_bit(value.tag()))) return false;
    switch (type.kind) {
      case TypeKind::List: {
        const List& list = value.as_list();
        return once(!list.is_alone(), value, type, depth,
                    [&] { return of_list(list, type, depth); });
      }
      case TypeKind::Dict: {
        const Dict& dict = value.as_dict();
        return once(!dict.is_alone(), value, type, depth,
                    [&] { return of_dict(dict, type, depth); });
      }
      case TypeKind::Tuple:
      case TypeKind::NamedTuple: {
        const Tuple& tuple = value.as_tuple();
        return once(!tuple.is_alone(), value, type, depth,
                    [&] { return of_tuple(tuple, type, depth); });
      }
      case TypeKind::Optional:
        return value.is_none() || matches(value, *type.elements[0], depth + 1);
      case TypeKind::Union:
        return std::any_of(type.elements.begin(), type.elements.end(),
                           [&](const TypeRef& t) { return matches(value, *t, depth + 1); });
      case TypeKind::Class: {
        const ClassRef& cls = value.is_enum() ? value.as_enum().type : value.as_object().type;
        return cls.get() == type.cls.get();
      }
      default: return true;
    }
  }

 private:
  template <class Ask>
  bool once(bool shared, const Value& value, const Type& type, int depth, const Ask& ask) {
    if (!shared || depth == 0) return ask();
    std::pair<uint64_t, const Type*> key(value.bits(), &type);
    auto known = answers_.find(key);
    if (known != answers_.end()) return known->second;
    bool answer = ask();
    answers_.emplace(key, answer);
    return answer;
  }

  bool of_list(const List& list, const Type& type, int depth) {
    if (type.elements.empty()) return true;
    if (list.element) return same_type(*list.element, *type.elements[0]);
    for (const Value& item : list) {
      if (!matches(item, *type.elements[0], depth + 1)) return false;
    }
    return true;
  }

  bool of_dict(const Dict& dict, const Type& type, int depth) {
    if (type.elements.size() != 2) return true;
    if (dict.key_type && dict.value_type) {
      return same_type(*dict.key_type, *type.elements[0]) &&
             same_type(*dict.value_type, *type.elements[1]);
    }
    const Dict::Entry* entry;
    for (size_t cursor = 0; dict.next(&cursor, &entry);) {
      if (!matches(entry->key, *type.elements[0], depth + 1) ||
          !matches(entry->value, *type.elements[1], depth + 1)) {
        return false;
      }
    }
    return true;
  }

  bool of_tuple(const Tuple& tuple, const Type& type, int depth) {
    if (type.kind == TypeKind::NamedTuple && !(tuple.named && tuple.named->name == type.name)) {
      return false;
    }
    if (type.elements.empty() && type.kind == TypeKind::Tuple) return true;
    if (type.elements.size() != tuple.items.size()) return false;
    for (size_t i = 0; i < tuple.items.size(); ++i) {
      if (!matches(tuple.items[i], *type.elements[i], depth + 1)) return false;
    }
    return true;
  }

  std::map<std::pair<uint64_t, const Type*>, bool> answers_;
};

}  // namespace

bool matches(const Value& value, const Type& type, int depth) {
  return Matching().matches(value, type, depth);
}

TagSet tags_of(const Type& type) {
  switch (type.kind) {
    case TypeKind::None: return tag_bit(Tag::None);
    case TypeKind::Bool: return tag_bit(Tag::Bool);
    case TypeKind::Int: return tag_bit(Tag::Int);
    case TypeKind::Float: return tag_bit(Tag::Double);
    case TypeKind::Complex: return tag_bit(Tag::Complex);
    case TypeKind::Number:
      return tag_bit(Tag::Int) | tag_bit(Tag::Double) | tag_bit(Tag::Complex) | tag_bit(Tag::Bool);
    case TypeKind::String: return tag_bit(Tag::Text) | tag_bit(Tag::String);
    case TypeKind::Device: return tag_bit(Tag::Device);
    case TypeKind::Tensor: return tag_bit(Tag::Tensor);
    case TypeKind::Generator: return tag_bit(Tag::Generator);
    case TypeKind::Future: return tag_bit(Tag::Future);
    case TypeKind::List: return tag_bit(Tag::List);
    case TypeKind::Dict: return tag_bit(Tag::Dict);
    case TypeKind::Tuple:
    case TypeKind::NamedTuple: return tag_bit(Tag::Tuple);
    case TypeKind::Class: return tag_bit(Tag::Object) | tag_bit(Tag::Enum);
    case TypeKind::Opaque:  // isinstance may name bare "list" and "tuple"
      return type.name == "list"    ? tag_bit(Tag::List)
             : type.name == "tuple" ? tag_bit(Tag::Tuple)
                                    : kAnyTag;
    case TypeKind::Optional: return tags_of(*type.elements[0]) | tag_bit(Tag::None);
    case TypeKind::Union: {
      TagSet tags = 0;
      for (const TypeRef& element : type.elements) tags |= tags_of(*element);
      return tags;
    }
    default: return kAnyTag;
  }
}

std::string to_string_tags(TagSet tags) {
  std::string text;
  for (uint32_t t = 0; t <= uint32_t(Tag::Future); ++t) {
    if (!(tags >> t & 1) || (Tag(t) == Tag::Text && tags & tag_bit(Tag::String))) continue;
    if (!text.empty()) text += " or ";
    text += tag_name(Tag(t));
  }
  return text;
}

}  // namespace scriptlang
