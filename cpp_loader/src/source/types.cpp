// Types in the source compiler: interning, subtypes, unification, type variables and conversions.
#include "types.h"

#include <algorithm>
#include <cstdint>

#include "declarations.h"

namespace scriptlang::source {

constexpr int64_t kMostParts = 100'000, kMostOfAll = 1'000'000;  // as in scriptlang/types.py
constexpr int kMostDepth = 64;         // the depth to which the engine compares types
constexpr int kMostImplementing = 50;  // nested checks of interfaces whose methods take interfaces

Types::Types() : parts_left_(kMostOfAll) {
  auto plain = [this](TypeKind kind) { return intern(*Type::make(kind)); };
  any = plain(TypeKind::Any);
  none = plain(TypeKind::None);
  boolean = plain(TypeKind::Bool);
  integer = plain(TypeKind::Int);
  real = plain(TypeKind::Float);
  complex = plain(TypeKind::Complex);
  number = plain(TypeKind::Number);
  string = plain(TypeKind::String);
  device = plain(TypeKind::Device);
  tensor = plain(TypeKind::Tensor);
  generator = plain(TypeKind::Generator);
  any_list = make(TypeKind::Opaque, {}, "list");
  any_tuple = make(TypeKind::Opaque, {}, "tuple");
  any_class = make(TypeKind::Opaque, {}, "AnyClassType");
  any_enum = make(TypeKind::Opaque, {}, "AnyEnumType");
}

// Adds an address to a key. Interned types and classes are equal only if their addresses are.
static void append_address(std::string* key, const void* thing) {
  const auto bits = reinterpret_cast<uintptr_t>(thing);
  key->append(reinterpret_cast<const char*>(&bits), sizeof bits);
}

T Types::keep(std::string key, TypeRef type) {
  return made_.emplace(std::move(key), std::move(type)).first->second.get();
}

// The size of a type of these parts, written out. Raises beyond the limits. They are needed because
// types may share parts: a few lines of code can name a type with 2^60 parts.
Types::Measure Types::measure_of(const std::vector<T>& parts) {
  Measure measure;
  for (T part : parts) {
    auto found = measures_.find(part);
    Measure inner = found == measures_.end() ? Measure() : found->second;
    measure.parts += inner.parts;
    measure.depth = std::max(measure.depth, inner.depth + 1);
  }
  if (measure.parts > kMostParts || measure.depth > kMostDepth) {
    raise(ErrorKind::ArchiveError, "a type has over ", kMostParts, " parts, or is nested over ",
          kMostDepth, " deep");
  }
  if ((parts_left_ -= measure.parts) < 0) {
    raise(ErrorKind::LimitError, "the types of the archive's code have over ", kMostOfAll,
          " parts");
  }
  return measure;
}

T Types::make(TypeKind kind, std::vector<T> parts, const std::string& name) {
  if (kind < TypeKind::List) {
    TypeRef simple = Type::make(kind);  // there is one per process
    return simple.get();
  }
  std::string key(1, char(kind));
  for (T part : parts) append_address(&key, part);
  key.append(name);
  auto found = made_.find(key);
  if (found != made_.end()) return found->second.get();
  const Measure measure = measure_of(parts);
  std::vector<TypeRef> elements;
  for (T part : parts) elements.push_back(held(part));
  T made = keep(std::move(key), Type::make(kind, std::move(elements), name));
  measures_[made] = measure;
  return made;
}

T Types::named_tuple(const std::string& name, const std::vector<std::string>& fields,
                     const std::vector<T>& parts) {
  std::string key(1, char(TypeKind::NamedTuple));
  for (T part : parts) append_address(&key, part);
  key.append(name);
  for (const std::string& field : fields) key.append(1, '.').append(field);
  auto found = made_.find(key);
  if (found != made_.end()) return found->second.get();
  const Measure measure = measure_of(parts);
  std::vector<TypeRef> elements;
  for (T part : parts) elements.push_back(held(part));
  TypeRef type = Type::make(TypeKind::NamedTuple, std::move(elements), name);
  const_cast<Type*>(type.get())->fields = fields;
  T made = keep(std::move(key), std::move(type));
  measures_[made] = measure;
  return made;
}

T Types::of_class(Declared* declared) {
  std::string key(1, char(TypeKind::Class));
  const ClassType* cls = declared->cls.get();
  append_address(&key, cls);
  auto found = made_.find(key);
  if (found != made_.end()) return found->second.get();
  TypeRef type = Type::make(TypeKind::Class, {}, declared->name);
  const_cast<Type*>(type.get())->cls = declared->cls;
  T made = keep(std::move(key), std::move(type));
  declared_[made] = declared;
  return made;
}

T Types::of_library(Declared* declared) {
  T made = make(TypeKind::Opaque, {}, declared->name);
  declared_[made] = declared;
  return made;
}

T Types::intern(const Type& type) {
  if (type.kind < TypeKind::List) return make(type.kind, {});
  std::vector<T> parts;
  for (const TypeRef& element : type.elements) parts.push_back(intern(*element));
  switch (type.kind) {
    case TypeKind::Optional: return optional(parts[0]);
    case TypeKind::NamedTuple: return named_tuple(type.name, type.fields, parts);
    case TypeKind::Variable:
    case TypeKind::Opaque: return make(type.kind, parts, type.name);
    default: return make(type.kind, parts);
  }
}

Declared* Types::declared(T type) const {
  if (type->kind != TypeKind::Class && type->kind != TypeKind::Opaque) return nullptr;
  auto found = declared_.find(type);
  return found == declared_.end() ? nullptr : found->second;
}

static T part(T type, size_t k) { return type->elements[k].get(); }

// Optional[Any] is a type of its own, as in PyTorch: a program may only check it, not Any, for
// None.
T Types::optional(T type) {
  if (type->kind == TypeKind::Optional || type == none) return type;
  if (type->kind == TypeKind::Union) {
    std::vector<T> parts;
    for (const TypeRef& e : type->elements) parts.push_back(e.get());
    if (std::find(parts.begin(), parts.end(), none) != parts.end()) return type;
    parts.push_back(none);
    return make(TypeKind::Union, parts);
  }
  return make(TypeKind::Optional, {type});
}

// Unions are flat and have no member that is a subtype of another. A union of T and None is
// Optional[T].
T Types::union_of(const std::vector<T>& options) {
  std::vector<T> flat, kept;
  auto add = [&](T t) {
    if (std::find(flat.begin(), flat.end(), t) == flat.end()) flat.push_back(t);
  };
  for (T t : options) {
    if (t->kind == TypeKind::Union) {
      for (const TypeRef& e : t->elements) add(e.get());
    } else if (t->kind == TypeKind::Optional) {
      add(part(t, 0));
      add(none);
    } else {
      add(t);
    }
  }
  auto has = [](const std::vector<T>& in, T t) {
    return std::find(in.begin(), in.end(), t) != in.end();
  };
  if (has(flat, any)) return has(flat, none) ? optional(any) : any;
  for (T t : flat) {
    bool swallowed =
        std::any_of(flat.begin(), flat.end(), [&](T u) { return u != t && is_subtype(t, u); });
    if (!swallowed) kept.push_back(t);
  }
  if (kept.size() == 1) return kept[0];
  if (kept.size() == 2 && has(kept, none)) return optional(kept[0] == none ? kept[1] : kept[0]);
  return make(TypeKind::Union, kept);
}

bool Types::is_subtype(T a, T b) const {
  if (a == b || b == any) return true;
  auto all_of = [](T t, auto&& holds) {
    return std::all_of(t->elements.begin(), t->elements.end(),
                       [&](const TypeRef& e) { return holds(e.get()); });
  };
  if (b->kind == TypeKind::Optional) {
    if (a->kind == TypeKind::Optional) return is_subtype(part(a, 0), part(b, 0));
    if (a->kind == TypeKind::Union) return all_of(a, [&](T t) { return is_subtype(t, b); });
    return a == none || is_subtype(a, part(b, 0));
  }
  if (b->kind == TypeKind::Union) {
    auto fits = [&](T t) {
      return std::any_of(b->elements.begin(), b->elements.end(),
                         [&](const TypeRef& e) { return is_subtype(t, e.get()); });
    };
    if (a->kind == TypeKind::Union) return all_of(a, fits);
    if (a->kind == TypeKind::Optional) return fits(part(a, 0)) && fits(none);
    return fits(a);
  }
  if (a->kind == TypeKind::Union) return all_of(a, [&](T t) { return is_subtype(t, b); });
  if (a->kind == TypeKind::Tuple || a->kind == TypeKind::NamedTuple) {
    if (b == any_tuple) return true;
    bool is_tuple = b->kind == TypeKind::Tuple || b->kind == TypeKind::NamedTuple;
    if (!is_tuple || a->elements.size() != b->elements.size()) return false;
    if (b->kind == TypeKind::NamedTuple && (b->name != a->name || b->fields != a->fields)) {
      return false;
    }
    for (size_t k = 0; k < a->elements.size(); ++k) {
      if (!is_subtype(part(a, k), part(b, k))) return false;
    }
    return true;
  }
  if (a->kind == TypeKind::List && b == any_list) return true;
  if (b == number) return a == integer || a == real || a == complex;
  if (a->kind == TypeKind::Future && b->kind == TypeKind::Future) {
    return !a->elements.empty() && !b->elements.empty() && is_subtype(part(a, 0), part(b, 0));
  }
  const Declared* known = declared(a);
  if (b == any_class) return known && known->kind != Declared::Enum && !known->is_interface();
  if (b == any_enum) return known && known->kind == Declared::Enum;
  const Declared* wanted = declared(b);
  if (!wanted || !wanted->is_interface() || implementing_ > kMostImplementing) return false;
  ++implementing_;
  bool fits = implements(a, *wanted);
  --implementing_;
  return fits;
}

// Whether a class or interface has every method of another interface with a fitting signature.
bool Types::implements(T type, const Declared& interface) const {
  const Declared* known = declared(type);
  if (!known || known->kind == Declared::Enum || known->is_module() != interface.is_module()) {
    return false;
  }
  for (const Routine* want : interface.method_order) {
    const Routine* have = known->method(want->short_name());
    if (!have) return false;
    const auto& got = have->signature.formals;
    const auto& asked = want->signature.formals;
    if (got.size() != asked.size()) return false;
    for (size_t k = 1; k < got.size(); ++k) {
      if (got[k].name != asked[k].name || !is_subtype(asked[k].type, got[k].type)) return false;
    }
    if (!is_subtype(have->signature.returns[0], want->signature.returns[0])) return false;
  }
  return true;
}

T Types::unify(T a, T b) {
  if (is_subtype(a, b)) return b;
  if (is_subtype(b, a)) return a;
  if (a == none || b == none) return optional(a == none ? b : a);
  bool maybe_a = a->kind == TypeKind::Optional, maybe_b = b->kind == TypeKind::Optional;
  if (maybe_a || maybe_b) {
    T inner = unify(maybe_a ? part(a, 0) : a, maybe_b ? part(b, 0) : b);
    return inner ? optional(inner) : nullptr;
  }
  auto is_tuple = [](T t) { return t->kind == TypeKind::Tuple || t->kind == TypeKind::NamedTuple; };
  if (is_tuple(a) && is_tuple(b) && a->elements.size() == b->elements.size()) {
    std::vector<T> parts;
    for (size_t k = 0; k < a->elements.size(); ++k) {
      T joined = unify(part(a, k), part(b, k));
      if (!joined) return nullptr;
      parts.push_back(joined);
    }
    return tuple_of(parts);
  }
  if (a->kind == TypeKind::Union || b->kind == TypeKind::Union) return union_of({a, b});
  return nullptr;
}

T Types::without_none(T type) {
  if (type->kind == TypeKind::Optional) return part(type, 0);
  if (type->kind != TypeKind::Union) return type;
  std::vector<T> parts;
  for (const TypeRef& e : type->elements) {
    if (e.get() != none) parts.push_back(e.get());
  }
  return union_of(parts);
}

bool Types::may_be_none(T type) { return (tags_of(*type) & tag_bit(Tag::None)) != 0; }

// ---- variables of schemas

bool Types::has_variables(T type) {
  if (type->kind == TypeKind::Variable) return true;
  return std::any_of(type->elements.begin(), type->elements.end(),
                     [](const TypeRef& e) { return has_variables(e.get()); });
}

bool Types::bind(T formal, T actual, Variables* variables) {
  if (formal->kind == TypeKind::Variable) {
    for (auto& [name, bound] : *variables) {
      if (name == formal->name) return unify(bound, actual) != nullptr;
    }
    variables->emplace_back(formal->name, actual);
    return true;
  }
  if (!has_variables(formal)) return true;
  if (formal->kind == TypeKind::Optional) {
    T inner = actual->kind == TypeKind::Optional ? part(actual, 0) : actual;
    return inner == none || bind(part(formal, 0), inner, variables);
  }
  if (formal->kind == TypeKind::List && actual->kind == TypeKind::Tuple) {
    const auto& parts = actual->elements;
    bool alike = !parts.empty() && std::all_of(parts.begin(), parts.end(), [&](const TypeRef& e) {
      return e.get() == parts[0].get();
    });
    return alike && bind(part(formal, 0), part(actual, 0), variables);
  }
  if (formal->kind != actual->kind || formal->elements.size() != actual->elements.size()) {
    return false;
  }
  for (size_t k = 0; k < formal->elements.size(); ++k) {
    if (!bind(part(formal, k), part(actual, k), variables)) return false;
  }
  return true;
}

T Types::substitute(T type, const Variables& variables) {
  if (type->kind == TypeKind::Variable) {
    for (auto& [name, bound] : variables) {
      if (name == type->name) return bound;
    }
    return type;
  }
  if (type->elements.empty() || !has_variables(type)) return type;
  std::vector<T> parts;
  for (const TypeRef& e : type->elements) parts.push_back(substitute(e.get(), variables));
  return type->kind == TypeKind::Optional ? optional(parts[0]) : make(type->kind, parts);
}

// ---- conversions

namespace {

struct Implicit {
  TypeKind from, to;
  const char* op;
};
constexpr Implicit kImplicit[] = {
#define SL_IMPLICIT(from, to, op) {TypeKind::from, TypeKind::to, op},
#include "rules.def"
};

}  // namespace

Step Types::plan(T actual, T wanted, bool implicit, const Openness& open, T* after) {
  *after = actual;
  if (actual == wanted) return {};
  if (wanted->kind == TypeKind::Optional) {
    if (actual->kind == TypeKind::Optional || actual == none) return {};
    return plan(actual, part(wanted, 0), implicit, open, after);
  }
  if (open.open && wanted->kind == TypeKind::List) {
    *after = wanted;
    return {Step::EmptyList, wanted, nullptr, 0, {}};
  }
  if (actual->kind == TypeKind::Tuple || actual->kind == TypeKind::NamedTuple) {
    if (wanted->kind == TypeKind::List) {
      T element = part(wanted, 0);
      bool fits = std::all_of(actual->elements.begin(), actual->elements.end(),
                              [&](const TypeRef& e) { return is_subtype(e.get(), element); });
      if (!fits) return {};
      *after = wanted;
      return {Step::TupleToList, wanted, nullptr, 0, {}};
    }
    bool is_tuple = wanted->kind == TypeKind::Tuple || wanted->kind == TypeKind::NamedTuple;
    if (!is_tuple || is_subtype(actual, wanted) ||
        actual->elements.size() != wanted->elements.size()) {
      return {};
    }
    Step step{Step::Tuple, nullptr, nullptr, 0, {}};
    std::vector<T> parts;
    for (size_t k = 0; k < actual->elements.size(); ++k) {
      T made;
      step.parts.push_back(plan(part(actual, k), part(wanted, k), implicit,
                                k < open.parts.size() ? open.parts[k] : Openness(), &made));
      parts.push_back(made);
    }
    step.type = *after = wanted->kind == TypeKind::NamedTuple
                             ? named_tuple(wanted->name, wanted->fields, parts)
                             : tuple_of(parts);
    return step;
  }
  if (!implicit) return {};
  for (const Implicit& known : kImplicit) {
    if (known.from != actual->kind || known.to != wanted->kind) continue;
    *after = wanted;
    return {Step::Operator, wanted, known.op, 0, {}};
  }
  return {};
}

}  // namespace scriptlang::source
