// Checks and converts the arguments of a call from outside, by the function's schema.
#include "arguments.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "ops/op.h"
#include "values/dict.h"
#include "values/list.h"
#include "values/plain_text.h"
#include "values/quantizer.h"

namespace scriptlang {

namespace {

// Whether nothing but the name of a class is known, so that its objects cannot be checked. That is
// so for interfaces, and for a NamedTuple inside of another type, which bytecode names without its
// fields.
bool is_name_only(const Program& program, const ClassType& cls) {
  if (!cls.attributes.empty() || !cls.members.empty()) return false;
  std::string prefix = cls.name + ".";
  return std::none_of(program.functions().begin(), program.functions().end(), [&](const auto& f) {
    return f->name.compare(0, prefix.size(), prefix) == 0;
  });
}

class Converter {
 public:
  explicit Converter(const Program& program) : program_(program) {}

  // Converts `value` to the type, into *out. False if it does not convert.
  bool convert(const Value& value, const TypeRef& type, Value* out, int depth = 0);
  // Copies a default, or a value that is passed as Any, with the containers in it, because the
  // program may change them.
  Value copied(const Value& value, int depth = 0);

  // The last failure: the innermost value that does not convert, and where it is in the argument
  // ("[2]['key']").
  Value misfit;
  std::string path;

 private:
  bool fail(const Value& value) {
    misfit = value;
    path.clear();
    return false;
  }
  bool fail_at(const std::string& place) {
    path = place + path;
    return false;
  }
  // Copies of containers, by original and type.
  struct Copy {
    Value original, copy;  // the original lives while its address is a key
  };
  Copy& copy_of(const Value& value, const Type* type) {
    Copy& copy = copies_[{value.bits(), type}];
    if (copy.original.is_none()) copy.original = value;
    return copy;
  }

  bool convert_atom(const Value& value, TypeKind kind, Value* out);
  bool convert_list(const Value& value, const TypeRef& type, Value* out, int depth);
  bool convert_dict(const Value& value, const TypeRef& type, Value* out, int depth);
  bool convert_tuple(const Value& value, const TypeRef& type, Value* out, int depth);
  bool convert_union(const Value& value, const Type& type, Value* out, int depth);
  bool convert_class(const Value& value, const Type& type, Value* out, int depth);

  const Program& program_;
  std::map<std::pair<uint64_t, const Type*>, Copy> copies_;
};

// Gets the number in a tensor without dimensions. False for other values.
bool scalar(const Value& value, Value* out) {
  if (!value.is_tensor()) return false;
  const Tensor& t = value.as_tensor();
  if (t.dim() != 0 || t.quantizer()) return false;
  Scalar s = Scalar::of(value);
  switch (s.kind) {
    case Scalar::Bool: *out = Value(s.i != 0); break;
    case Scalar::Int: *out = Value(s.i); break;
    case Scalar::Double: *out = Value(s.d); break;
    case Scalar::Complex: *out = Value(s.to_complex()); break;
  }
  return true;
}

// The int that int() of Python makes of the number in a tensor. False if there is none.
bool truncated(const Value& number, Value* out) {
  std::complex<double> v = number.is_double() ? number.as_double() : number.as_complex();
  if (v.imag() != 0 || !(std::abs(v.real()) < 0x1p63)) return false;
  *out = Value(int64_t(v.real()));
  return true;
}

bool Converter::convert_atom(const Value& value, TypeKind kind, Value* out) {
  Value number = value;
  bool was_tensor = scalar(value, &number);
  switch (kind) {
    case TypeKind::Int:
      if (number.is_bool()) *out = Value(int64_t(number.as_bool()));
      else if (number.is_int()) *out = number;
      else if (!was_tensor || !truncated(number, out)) break;
      return true;
    case TypeKind::Float:
      if (number.is_bool()) *out = Value(double(number.as_bool()));
      else if (number.is_int()) *out = Value(double(number.as_int()));
      else if (number.is_double()) *out = number;
      else if (was_tensor && number.as_complex().imag() == 0) *out = number.as_complex().real();
      else break;
      return true;
    case TypeKind::Complex:
      if (number.is_bool() && was_tensor) *out = Value(std::complex<double>(number.as_bool()));
      else if (number.is_int()) *out = Value(std::complex<double>(double(number.as_int())));
      else if (number.is_double()) *out = Value(std::complex<double>(number.as_double()));
      else if (number.is_complex()) *out = number;
      else break;
      return true;
    case TypeKind::Bool:
      if (number.is_bool()) *out = number;
      else if (number.is_int()) *out = Value(number.as_int() != 0);
      else if (number.is_double() && was_tensor) *out = Value(number.as_double() != 0);
      else if (number.is_complex() && was_tensor) *out = Value(number.as_complex() != 0.0);
      else break;
      return true;
    case TypeKind::Number:
      if (!was_tensor) break;
      *out = number;
      return true;
    case TypeKind::Device:
      if (!value.is_string()) break;
      *out = Value(parse_device(value.as_string()));
      return true;
    default: break;
  }
  return fail(value);
}

bool Converter::convert_list(const Value& value, const TypeRef& type, Value* out, int depth) {
  if (!value.is_list() && !value.is_tuple()) return fail(value);
  Copy& known = copy_of(value, type.get());
  if (!known.copy.is_none()) return *out = known.copy, true;
  const TypeRef& element = type->elements[0];
  Ref<List> list = List::make({}, element);
  auto add = [&](const Value& item) {
    Value made;
    if (!convert(item, element, &made, depth + 1)) {
      return fail_at(concat("[", list->size(), "]"));
    }
    list->push(std::move(made));
    return true;
  };
  if (value.is_list()) {
    const List& given = value.as_list();
    bool plain = (given.kind() == List::Kind::Ints && element->kind == TypeKind::Int) ||
                 (given.kind() == List::Kind::Floats && element->kind == TypeKind::Float) ||
                 (given.kind() == List::Kind::Bools && element->kind == TypeKind::Bool);
    if (plain) list->extend(given);
    for (size_t k = 0; !plain && k < given.size(); ++k) {
      if (!add(given.get(k))) return false;
    }
  } else {
    for (const Value& item : value.as_tuple().items) {
      if (!add(item)) return false;
    }
  }
  *out = Value(std::move(list));
  copy_of(value, type.get()).copy = *out;
  return true;
}

bool Converter::convert_dict(const Value& value, const TypeRef& type, Value* out, int depth) {
  if (!value.is_dict()) return fail(value);
  Copy& known = copy_of(value, type.get());
  if (!known.copy.is_none()) return *out = known.copy, true;
  Ref<Dict> dict = Dict::make(type->elements[0], type->elements[1]);
  const Dict::Entry* entry;
  for (size_t cursor = 0; value.as_dict().next(&cursor, &entry);) {
    Value key, held;
    std::string name = entry->key.is_string() ? "'" + to_text(entry->key) + "'" : "";
    if (name.empty() && !entry->key.is_tensor()) name = to_text(entry->key);
    if (!convert(entry->key, type->elements[0], &key, depth + 1)) {
      return fail_at(" key " + name);
    }
    if (!convert(entry->value, type->elements[1], &held, depth + 1)) {
      return fail_at("[" + name + "]");
    }
    dict->set(key, std::move(held));
  }
  *out = Value(std::move(dict));
  copy_of(value, type.get()).copy = *out;
  return true;
}

bool Converter::convert_tuple(const Value& value, const TypeRef& type, Value* out, int depth) {
  if (!value.is_tuple() && !value.is_list()) return fail(value);
  std::vector<Value> given = items_of(value), items;
  if (given.size() != type->elements.size()) return fail(value);
  items.reserve(given.size());
  for (size_t k = 0; k < given.size(); ++k) {
    items.emplace_back();
    if (!convert(given[k], type->elements[k], &items.back(), depth + 1)) {
      return fail_at(concat("[", k, "]"));
    }
  }
  bool is_named = type->kind == TypeKind::NamedTuple;
  *out = Value(Tuple::make(std::move(items), is_named ? type : TypeRef()));
  return true;
}

bool Converter::convert_union(const Value& value, const Type& type, Value* out, int depth) {
  for (const TypeRef& option : type.elements) {
    if (matches(value, *option)) return convert(value, option, out, depth + 1);
  }
  for (const TypeRef& option : type.elements) {
    if (convert(value, option, out, depth + 1)) return true;
  }
  return fail(value);
}

bool Converter::convert_class(const Value& value, const Type& type, Value* out, int depth) {
  const ClassRef* cls = value.is_object() ? &value.as_object().type
                        : value.is_enum() ? &value.as_enum().type
                                          : nullptr;
  if ((!cls || cls->get() != type.cls.get()) && !is_name_only(program_, *type.cls)) {
    return fail(value);
  }
  *out = cls ? value : copied(value, depth);
  return true;
}

bool Converter::convert(const Value& value, const TypeRef& type, Value* out, int depth) {
  if (depth > kMaxNesting) raise(ErrorKind::RuntimeError, "an argument is nested too deeply");
  switch (type->kind) {
    case TypeKind::None:
    case TypeKind::String:
    case TypeKind::Tensor:
    case TypeKind::Generator:
    case TypeKind::Future:
    case TypeKind::Bool:
    case TypeKind::Int:
    case TypeKind::Float:
    case TypeKind::Complex:
    case TypeKind::Number:
    case TypeKind::Device:
      if (tags_of(*type) & tag_bit(value.tag())) return *out = value, true;
      return convert_atom(value, type->kind, out);
    case TypeKind::Optional:
      if (value.is_none()) return *out = value, true;
      return convert(value, type->elements[0], out, depth + 1);
    case TypeKind::Union: return convert_union(value, *type, out, depth);
    case TypeKind::List: return convert_list(value, type, out, depth);
    case TypeKind::Dict: return convert_dict(value, type, out, depth);
    case TypeKind::Tuple:
    case TypeKind::NamedTuple: return convert_tuple(value, type, out, depth);
    case TypeKind::Class: return convert_class(value, *type, out, depth);
    case TypeKind::Any:
    case TypeKind::Variable:
    case TypeKind::Opaque:
      if (!(tags_of(*type) & tag_bit(value.tag()))) return fail(value);
      return *out = copied(value, depth), true;
  }
  return fail(value);
}

Value Converter::copied(const Value& value, int depth) {
  if (depth > kMaxNesting) raise(ErrorKind::RuntimeError, "an argument is nested too deeply");
  if (!value.is_list() && !value.is_dict() && !value.is_tuple()) return value;
  const Copy& known = copy_of(value, nullptr);
  if (!known.copy.is_none()) return known.copy;
  Value copy;
  if (value.is_list()) {
    const List& given = value.as_list();
    Ref<List> list = List::make({}, given.element);
    if (given.kind() != List::Kind::Values) list->extend(given);
    for (size_t k = list->size(); k < given.size(); ++k) {
      list->push(copied(given.get(k), depth + 1));
    }
    copy = Value(std::move(list));
  } else if (value.is_tuple()) {
    const Tuple& given = value.as_tuple();
    std::vector<Value> items;
    for (const Value& item : given.items) items.push_back(copied(item, depth + 1));
    copy = Value(Tuple::make(std::move(items), given.named));
  } else {
    const Dict& given = value.as_dict();
    Ref<Dict> dict = Dict::make(given.key_type, given.value_type);
    const Dict::Entry* entry;
    for (size_t cursor = 0; given.next(&cursor, &entry);) {
      dict->set(entry->key, copied(entry->value, depth + 1));
    }
    copy = Value(std::move(dict));
  }
  copy_of(value, nullptr).copy = copy;
  return copy;
}

// ---- texts

// How many values a message may print. Values that share parts can have a text of exponential size.
constexpr int kMostNamed = 2000;

std::string type_text(const Value& value, int* left);

// The type of the elements of a container: "int", or "Union[int, str]". "?" if there are none.
std::string common_text(const std::vector<Value>& values, int* left) {
  std::set<std::string> names;
  for (const Value& v : values) {
    if (*left <= 0) return "...";
    names.insert(type_text(v, left));
  }
  if (names.empty()) return "?";
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return names.size() == 1 ? text : "Union[" + text + "]";
}

std::string type_text(const Value& value, int* left) {
  if (--*left < 0) return "...";
  switch (value.tag()) {
    case Tag::None: return "None";
    case Tag::Object: return value.as_object().type->name;
    case Tag::Enum: return value.as_enum().type->name;
    case Tag::List: {
      const List& list = value.as_list();
      std::vector<Value> items;
      bool plain = list.kind() != List::Kind::Values && !list.empty();
      if (plain) items.push_back(list.get(0));
      else items = items_of(value);
      return "List[" + common_text(items, left) + "]";
    }
    case Tag::Dict: {
      std::vector<Value> keys, values;
      const Dict::Entry* entry;
      for (size_t cursor = 0; value.as_dict().next(&cursor, &entry);) {
        keys.push_back(entry->key);
        values.push_back(entry->value);
      }
      std::string text = "Dict[" + common_text(keys, left);
      return text + ", " + common_text(values, left) + "]";
    }
    case Tag::Tuple: {
      const Tuple& tuple = value.as_tuple();
      if (tuple.named) return tuple.named->name;
      std::string text;
      for (const Value& item : tuple.items) {
        if (*left <= 0) break;
        text += (text.empty() ? "" : ", ") + type_text(item, left);
      }
      return "Tuple[" + (text.empty() ? "()" : text) + "]";
    }
    default: return tag_name(value.tag());
  }
}

// The type as schemas spell it: "int[]?".
std::string schema_type(const Type& type) {
  auto joined = [&](const char* open, const char* close) {
    std::string text = open;
    for (size_t k = 0; k < type.elements.size(); ++k) {
      text += (k ? ", " : "") + schema_type(*type.elements[k]);
    }
    return text + close;
  };
  switch (type.kind) {
    case TypeKind::Optional: return schema_type(*type.elements[0]) + "?";
    case TypeKind::List: return joined("", "[]");
    case TypeKind::Dict: return joined("Dict(", ")");
    case TypeKind::Tuple: return joined("(", ")");
    case TypeKind::Union: return joined("Union(", ")");
    case TypeKind::NamedTuple: {
      std::string text = "NamedTuple(";
      for (size_t k = 0; k < type.elements.size() && k < type.fields.size(); ++k) {
        text += (k ? ", " : "") + type.fields[k] + " : " + schema_type(*type.elements[k]);
      }
      return text + ")";
    }
    default: return to_string(type);
  }
}

// A string as schemas spell it, in double quotes and with escapes.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    const char* plain = "\\\"\n\t\r\f\v\a\b";
    const char* found = c ? std::strchr(plain, c) : nullptr;
    if (found) out += {'\\', "\\\"ntrfvab"[found - plain]};
    else out += c;
  }
  return out + "\"";
}

std::string default_text(const Value& value) {
  if (value.is_string()) return quoted(value.as_string());
  if (value.is_list() || value.is_tuple()) {
    std::string text;
    for (const Value& item : items_of(value)) {
      text += (text.empty() ? "" : ", ") + default_text(item);
    }
    return "[" + text + "]";
  }
  std::string text = to_text(value);
  return value.is_double() && text.back() == '.' ? text + "0" : text;
}

std::string counted(size_t n) { return concat(n, n == 1 ? " argument" : " arguments"); }

}  // namespace

std::string type_text(const Value& value) {
  int left = kMostNamed;
  return type_text(value, &left);
}

std::string schema_text(const Function& function) {
  return schema_text(function.name, function, 0);
}

std::string schema_text(const std::string& name, const Function& function, size_t from) {
  std::string text = name + "(";
  for (size_t k = from; k < function.arguments.size(); ++k) {
    const Argument& a = function.arguments[k];
    text += (k > from ? ", " : "") + schema_type(*a.type) + " " + a.name;
    if (a.has_default) text += "=" + default_text(a.default_value);
  }
  text += ") -> ";
  if (function.returns.size() == 1) return text + schema_type(*function.returns[0].type);
  text += "(";
  for (size_t k = 0; k < function.returns.size(); ++k) {
    text += (k ? ", " : "") + schema_type(*function.returns[k].type);
  }
  return text + ")";
}

namespace {

// Binds the arguments of one call to a function that has a schema.
class Binder {
 public:
  Binder(const Program& program, const Function& function)
      : function_(function), short_(unqualified(function.name)), converter_(program) {}

  std::vector<Value> bind(std::vector<Value> positional, std::vector<NamedArgument> named) {
    const std::vector<Argument>& formal = function_.arguments;
    check_count(positional.size());
    named_ = std::move(named);
    std::vector<Value> values;
    for (size_t k = 0; k < formal.size(); ++k) {
      const NamedArgument* found = take(formal[k].name);
      if (k < positional.size()) {
        if (found) {
          fail("Argument '", formal[k].name, "' of ", short_,
               "() specified both as positional and keyword argument");
        }
        values.push_back(converted(k, positional[k]));
      } else if (found) {
        values.push_back(converted(k, found->value));
      } else if (formal[k].has_default) {
        values.push_back(converter_.copied(formal[k].default_value));
      } else {
        lacking_ += concat(lacking_.empty() ? "" : " and ", "'", formal[k].name, "' (",
                           to_string(*formal[k].type), ")");
      }
    }
    if (!lacking_.empty()) fail(short_, "() is missing value for argument ", lacking_);
    check_unknown();
    return values;
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) {
    std::string message = concat(parts...);
    raise(ErrorKind::RuntimeError, message, "\n  ", schema_text(function_));
  }

  void check_count(size_t given) {
    const std::vector<Argument>& formal = function_.arguments;
    if (given <= formal.size()) return;
    size_t bound = size_t(std::count_if(formal.begin(), formal.end(),
                                        [](const Argument& a) { return a.name == "self"; }));
    fail(short_, "() expected at most ", counted(formal.size() - bound), " but received ",
         counted(given - bound));
  }

  // The argument that was given by this name, or null. Counts it as known. Raises if it was given
  // twice.
  const NamedArgument* take(const std::string& name) {
    const NamedArgument* found = nullptr;
    for (size_t k = 0; k < named_.size(); ++k) {
      if (named_[k].name != name) continue;
      if (found) fail("Argument '", name, "' of ", short_, "() is given twice");
      found = &named_[k];
      ++known_;
    }
    return found;
  }

  void check_unknown() {
    if (known_ == named_.size()) return;
    std::string names;
    for (const NamedArgument& given : named_) {
      bool known = std::any_of(function_.arguments.begin(), function_.arguments.end(),
                               [&](const Argument& a) { return a.name == given.name; });
      if (!known) names += concat(names.empty() ? "" : ", ", "'", given.name, "'");
    }
    fail("Unknown keyword argument ", names, " for ", short_, "()");
  }

  Value converted(size_t k, const Value& value) {
    const Argument& a = function_.arguments[k];
    if (k == 0 && a.name == "self" && value.is_object()) return value;  // passed by the engine
    Value made;
    if (converter_.convert(value, a.type, &made)) return made;
    std::string inside = converter_.path;
    if (!inside.empty()) {
      inside = concat(": ", type_text(converter_.misfit), " at ", a.name, inside);
    }
    fail(short_, "() Expected a value of type '", to_string(*a.type), "' for argument '", a.name,
         "' but instead found type '", type_text(value), "'", inside, "\nPosition: ", k);
  }

  const Function& function_;
  std::string short_, lacking_;
  Converter converter_;
  std::vector<NamedArgument> named_;
  size_t known_ = 0;
};

}  // namespace

Value converted(const Program& program, const Value& value, const TypeRef& type,
                const std::string& what) {
  Converter converter(program);
  Value made;
  if (converter.convert(value, type, &made)) return made;
  std::string inside = converter.path;
  if (!inside.empty()) inside = concat(": ", type_text(converter.misfit), " at ", inside);
  raise(ErrorKind::RuntimeError, "Expected a value of type '", to_string(*type), "' for ", what,
        " but instead found type '", type_text(value), "'", inside);
}

std::vector<Value> bind(const Program& program, const Function& function,
                        std::vector<Value> positional, std::vector<NamedArgument> named) {
  if (function.has_schema) {
    return Binder(program, function).bind(std::move(positional), std::move(named));
  }
  std::string name = unqualified(function.name);
  if (!named.empty()) {
    raise(ErrorKind::RuntimeError, name, "() has no schema: its arguments have no names");
  }
  if (int64_t(positional.size()) != function.parameters) {
    raise(ErrorKind::RuntimeError, name, "() takes ", function.parameters - 1, " arguments but ",
          positional.size() - 1, " were given");
  }
  Converter converter(program);
  for (Value& value : positional) value = converter.copied(value);
  return positional;
}

}  // namespace scriptlang
