// Reads types and constant expressions in the code of archives.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "declarations.h"
#include "values/dict.h"
#include "values/list.h"

namespace scriptlang::source {

namespace {

constexpr int kMostDepth = 100;

// A type without parts, by its name.
struct Spelled {
  std::string_view name;
  TypeKind kind;
};
constexpr Spelled kAtoms[] = {
#define SL_ATOM(text, kind) {text, TypeKind::kind},
#include "rules.def"
};

// Whether a constant may be the key of a dict; those of other types have no hash.
bool may_be_key(const Value& value) {
  return value.is_bool() || value.is_int() || value.is_double() || value.is_complex() ||
         value.is_string() || value.is_enum();
}

}  // namespace

// ---- types

T Declarations::named(const SourceFile& file, const Node& node, const std::string& name) {
  for (const Spelled& atom : kAtoms) {
    if (name != atom.name) continue;
    return types_.make(atom.kind, {}, atom.kind == TypeKind::Opaque ? name : std::string());
  }
  if (T found = find_type(name)) return found;
  refuse(file.name, node.line, "unknown type ", name.substr(0, 200));
}

T Declarations::generic(const SourceFile& file, const Node& node, int depth) {
  std::string name;
  if (!dotted(*node.a, &name)) refuse(file.name, node.line, "this is no type");
  name = name.substr(name.rfind('.') + 1);
  std::vector<T> parts;
  if (node.b->kind == NodeKind::Tuple) {
    for (const Node* part : node.b->items) parts.push_back(type_of(file, *part, depth + 1));
  } else {
    parts.push_back(type_of(file, *node.b, depth + 1));
  }
  auto want = [&](size_t count) {
    if (parts.size() != count) { refuse(file.name, node.line, "wrong number of parts of ", name); }
  };
  if (name == "Tuple" || name == "tuple") return types_.tuple_of(parts);
  if (name == "Union") {
    if (parts.empty()) want(1);
    return types_.union_of(parts);
  }
  if (name == "Dict" || name == "dict") {
    want(2);
    return types_.make(TypeKind::Dict, parts);
  }
  want(1);
  if (name == "List" || name == "list") return types_.list_of(parts[0]);
  if (name == "Optional") return types_.optional(parts[0]);
  if (name == "Future" || name == "Await") return types_.make(TypeKind::Future, parts);
  if (name == "RRef") return types_.make(TypeKind::Opaque, parts, "RRef");
  if (name == "Final") return parts[0];
  refuse(file.name, node.line, "unknown type ", name.substr(0, 200), "[...]");
}

T Declarations::type_of(const SourceFile& file, const Node& node, int depth) {
  if (depth > kMostDepth) refuse(file.name, node.line, "a type is nested too deep");
  switch (node.kind) {
    case NodeKind::None: return types_.none;
    case NodeKind::String: return named(file, node, std::string(node.text));
    case NodeKind::Tuple: {
      std::vector<T> parts;
      for (const Node* part : node.items) parts.push_back(type_of(file, *part, depth + 1));
      return types_.tuple_of(parts);
    }
    case NodeKind::Subscript: return generic(file, node, depth);
    default: break;
  }
  std::string name;
  if (!dotted(node, &name)) refuse(file.name, node.line, "this is no type");
  return named(file, node, name);
}

T Declarations::type_of_value(const Value& value, int depth) {
  if (depth > kMostDepth) raise(ErrorKind::ArchiveError, "a constant is nested too deep");
  switch (value.tag()) {
    case Tag::None: return types_.none;
    case Tag::Bool: return types_.boolean;
    case Tag::Int: return types_.integer;
    case Tag::Double: return types_.real;
    case Tag::Complex: return types_.complex;
    case Tag::Text:
    case Tag::String: return types_.string;
    case Tag::Device: return types_.device;
    case Tag::Tensor: return types_.tensor;
    case Tag::Generator: return types_.generator;
    case Tag::List: {
      const List& list = value.as_list();
      if (list.element) return types_.list_of(types_.intern(*list.element));
      return types_.list_of(list.empty() ? types_.tensor : type_of_value(list.get(0), depth + 1));
    }
    case Tag::Dict: {
      const Dict& dict = value.as_dict();
      if (dict.key_type && dict.value_type) {
        return types_.make(TypeKind::Dict,
                           {types_.intern(*dict.key_type), types_.intern(*dict.value_type)});
      }
      const Dict::Entry* entry;
      size_t cursor = 0;
      if (!dict.next(&cursor, &entry)) {
        return types_.make(TypeKind::Dict, {types_.string, types_.tensor});
      }
      return types_.make(TypeKind::Dict, {type_of_value(entry->key, depth + 1),
                                          type_of_value(entry->value, depth + 1)});
    }
    case Tag::Tuple: {
      const Tuple& tuple = value.as_tuple();
      if (tuple.named) return types_.intern(*tuple.named);
      std::vector<T> parts;
      for (const Value& item : tuple.items) parts.push_back(type_of_value(item, depth + 1));
      return types_.tuple_of(parts);
    }
    case Tag::Object:
      if (T found = find_type(value.as_object().type->name)) return found;
      return types_.any;
    case Tag::Enum:
      if (T found = find_type(value.as_enum().type->name)) return found;
      return types_.any;
    default: return types_.any;
  }
}

// ---- constants

std::optional<Value> Declarations::named_number(std::string_view name) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (name == "inf") return Value(kInf);
  if (name == "nan") return Value(kNan);
  if (name == "infj") return Value(std::complex<double>(0, kInf));
  if (name == "nanj") return Value(std::complex<double>(0, kNan));
  return std::nullopt;
}

Value Declarations::literal(const SourceFile& file, const Node& node) {
  switch (node.kind) {
    case NodeKind::None: return Value();
    case NodeKind::True: return Value(true);
    case NodeKind::False: return Value(false);
    case NodeKind::Int:
      if (node.sign == Sign::Invert) {
        refuse(file.name, node.line, "9223372036854775808 does not fit 64 bits");
      }
      return Value(node.integer);
    case NodeKind::Float: return Value(node.real);
    case NodeKind::Imaginary: return Value(std::complex<double>(0, node.real));
    case NodeKind::String: return Value::of_text(node.text);
    default: refuse(file.name, node.line, "this is no constant");
  }
}

Value Declarations::constant_sequence(const SourceFile& file, const Node& node, T wanted,
                                      int depth) {
  T type = wanted ? types_.without_none(wanted) : nullptr;
  std::vector<Value> values;
  if (node.kind == NodeKind::List) {
    T element = type && type->kind == TypeKind::List ? type->elements[0].get() : nullptr;
    for (const Node* item : node.items) {
      values.push_back(constant_of(file, *item, element, depth + 1));
    }
    return List::make(std::move(values), element ? Types::held(element) : TypeRef());
  }
  bool fits = type && (type->kind == TypeKind::Tuple || type->kind == TypeKind::NamedTuple) &&
              type->elements.size() == node.items.size();
  for (size_t k = 0; k < node.items.size(); ++k) {
    values.push_back(
        constant_of(file, *node.items[k], fits ? type->elements[k].get() : nullptr, depth + 1));
  }
  bool is_named = fits && type->kind == TypeKind::NamedTuple;
  return Tuple::make(std::move(values), is_named ? Types::held(type) : TypeRef());
}

Value Declarations::constant_call(const SourceFile& file, const Node& node, int depth) {
  std::string name;
  dotted(*node.a, &name);
  if (name == "annotate" && node.items.size() == 2) {
    return constant_of(file, *node.items[1], type_of(file, *node.items[0]), depth + 1);
  }
  if (name == "torch.device" && !node.items.empty()) {
    std::string text;
    for (const Node* item : node.items) {
      Value part = literal(file, *item);
      if (!part.is_string() && !part.is_int()) {
        refuse(file.name, node.line, "this is no constant");
      }
      text += (text.empty() ? "" : ":") + to_text(part);
    }
    try {
      return Value(parse_device(text));
    } catch (const Error& error) { refuse(file.name, node.line, error.message); }
  }
  if (name == "torch.sub" && node.items.size() == 2) {  // PyTorch writes the least int like this
    Value a = constant_of(file, *node.items[0], types_.integer, depth + 1);
    Value b = constant_of(file, *node.items[1], types_.integer, depth + 1);
    int64_t difference;
    if (a.is_int() && b.is_int() && !__builtin_sub_overflow(a.as_int(), b.as_int(), &difference)) {
      return Value(difference);
    }
  }
  refuse(file.name, node.line, "this is no constant");
}

Value Declarations::constant_of(const SourceFile& file, const Node& node, T wanted, int depth) {
  if (depth > kMostDepth) refuse(file.name, node.line, "a constant is nested too deep");
  Value value;
  T plain = wanted ? types_.without_none(wanted) : nullptr;
  switch (node.kind) {
    case NodeKind::List:
    case NodeKind::Tuple: return constant_sequence(file, node, wanted, depth);
    case NodeKind::Call: value = constant_call(file, node, depth); break;
    case NodeKind::Dict: {
      bool typed = plain && plain->kind == TypeKind::Dict;
      Ref<Dict> dict = Dict::make(typed ? plain->elements[0] : TypeRef(),
                                  typed ? plain->elements[1] : TypeRef());
      for (size_t k = 0; k < node.items.size(); k += 2) {
        Value key = constant_of(file, *node.items[k], nullptr, depth + 1);
        if (!may_be_key(key)) refuse(file.name, node.line, "the key of a dict is no constant");
        dict->set(key, constant_of(file, *node.items[k + 1],
                                   typed ? plain->elements[1].get() : nullptr, depth + 1));
      }
      return dict;
    }
    case NodeKind::Unary: {
      Value inner = constant_of(file, *node.a, wanted, depth + 1);
      if (node.sign == Sign::Negate && inner.is_double()) value = Value(-inner.as_double());
      else if (node.sign == Sign::Negate && inner.is_complex()) value = Value(-inner.as_complex());
      else refuse(file.name, node.line, "this is no constant");
      break;
    }
    case NodeKind::Binary: {  // `1.+2.j`
      auto number = [&](const Node& part) {
        Value v = constant_of(file, part, nullptr, depth + 1);
        if (v.is_int()) return std::complex<double>(double(v.as_int()));
        if (v.is_double()) return std::complex<double>(v.as_double());
        if (v.is_complex()) return v.as_complex();
        refuse(file.name, node.line, "this is no constant");
      };
      if (node.sign != Sign::Add && node.sign != Sign::Subtract) {
        refuse(file.name, node.line, "this is no constant");
      }
      std::complex<double> a = number(*node.a), b = number(*node.b);
      value = Value(node.sign == Sign::Add ? a + b : a - b);
      break;
    }
    case NodeKind::Name:
    case NodeKind::Attribute: {
      std::string name;
      if (!dotted(node, &name)) refuse(file.name, node.line, "this is no constant");
      if (std::optional<Value> number = named_number(name)) {
        value = *number;
        break;
      }
      size_t dot = name.rfind('.');
      std::string owner = name.substr(0, dot == std::string::npos ? 0 : dot);
      std::string_view last = std::string_view(name).substr(dot + 1);
      if (owner == "CONSTANTS") {
        if (const Value* found = find_constant(last)) return *found;
      } else if (Declared* found = find_class(owner)) {
        for (auto& [member, item] : found->members) {
          if (member == last) return item;
        }
      }
      refuse(file.name, node.line, "this is no constant");
    }
    default: value = literal(file, node);
  }
  if (value.is_int() && plain == types_.real) return Value(double(value.as_int()));
  if (value.is_int() && plain == types_.complex) {
    return Value(std::complex<double>(double(value.as_int())));
  }
  return value;
}

}  // namespace scriptlang::source
