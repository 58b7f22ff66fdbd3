// The compiler of an archive's code: checks the values of its pickles, and compiles a queue of
// functions, each of them once.
#include "compiler.h"

#include <algorithm>

#include "packed.h"
#include "values/dict.h"
#include "values/list.h"

namespace scriptlang::source {

namespace {

constexpr int kMostNested = 80;

// An overload that did something else in files older than `version`.
struct Former {
  std::string_view name, overload;
  int version;
};
constexpr Former kFormer[] = {
#define SL_FORMER(name, overload, version) {name, overload, version},
#include "rules.def"
};

constexpr int newest() {
  int found = 0;
  for (const Former& known : kFormer) found = found < known.version ? known.version : found;
  return found;
}
constexpr int kNewest = newest();

// The name of a body in bodies.txt.
std::string body_name(const Signature& signature) {
  std::string name = signature.name + "__" + signature.overload;
  size_t colons = name.find("::");
  if (colons != std::string::npos) name.replace(colons, 2, "__");
  return name;
}

}  // namespace

Compiler::Compiler(Sources sources, std::shared_ptr<ClassTable> classes, int version)
    : classes_(classes),
      version_(version),
      declarations_(std::move(sources), std::move(classes), &types_, &arena_, &budget_),
      overloads_(&types_) {}

ClassRef Compiler::find_class(const std::string& name) {
  Declared* declared = declarations_.find_class(name);
  return declared ? declared->cls : ClassRef();
}

// ---- values of the pickle

// Checks a value against its declared type, and notes the objects in it. Raises ArchiveError that
// names `what`.
void Compiler::conform(Value* value, T type, const std::string& what, int depth) {
  if (depth > kMostNested) {
    raise(ErrorKind::ArchiveError, what, " is nested over ", kMostNested, " deep");
  }
  auto mismatch = [&] {
    raise(ErrorKind::ArchiveError, what, " is declared ", Types::text(type), ", the pickle has ",
          tag_name(value->tag()));
  };
  if (value->is_object()) objects_.push_back(*value);
  switch (type->kind) {
    case TypeKind::Optional:
      if (!value->is_none()) conform(value, type->elements[0].get(), what, depth);
      return;
    case TypeKind::List: {
      if (!value->is_list()) mismatch();
      List& list = value->as_list();
      if (!taken_.insert({value->bits(), type}).second) return;
      for (size_t k = 0; list.kind() == List::Kind::Values && k < list.size(); ++k) {
        conform(&list.values()[k], type->elements[0].get(), what, depth + 1);
      }
      if (list.kind() != List::Kind::Values && !list.empty()) {
        Value first = list.get(0);
        conform(&first, type->elements[0].get(), what, depth + 1);
      }
      list.element = type->elements[0];
      return;
    }
    case TypeKind::Dict: {
      if (!value->is_dict()) mismatch();
      Dict& dict = value->as_dict();
      if (!taken_.insert({value->bits(), type}).second) return;
      const Dict::Entry* entry;
      for (size_t cursor = 0; dict.next(&cursor, &entry);) {
        Value key = entry->key;
        conform(&key, type->elements[0].get(), what, depth + 1);
        conform(const_cast<Value*>(&entry->value), type->elements[1].get(), what, depth + 1);
      }
      dict.key_type = type->elements[0];
      dict.value_type = type->elements[1];
      return;
    }
    case TypeKind::Tuple:
    case TypeKind::NamedTuple: {
      if (!value->is_tuple()) mismatch();
      Tuple& tuple = value->as_tuple();
      if (tuple.items.size() != type->elements.size()) mismatch();
      if (!taken_.insert({value->bits(), type}).second) return;
      for (size_t k = 0; k < tuple.items.size(); ++k) {
        conform(&tuple.items[k], type->elements[k].get(), what, depth + 1);
      }
      if (type->kind == TypeKind::NamedTuple) tuple.named = Types::held(type);
      return;
    }
    case TypeKind::Union:
    case TypeKind::Any:
      if (!value->is_list() && !value->is_tuple() && !value->is_dict()) return;
      if (!taken_.insert({value->bits(), types_.any}).second) return;
      if (value->is_list()) {
        for (const Value& item : value->as_list()) {
          Value copy = item;
          conform(&copy, types_.any, what, depth + 1);
        }
      } else if (value->is_tuple()) {
        for (Value& item : value->as_tuple().items) conform(&item, types_.any, what, depth + 1);
      } else if (value->is_dict()) {
        const Dict::Entry* entry;
        for (size_t cursor = 0; value->as_dict().next(&cursor, &entry);) {
          conform(const_cast<Value*>(&entry->value), types_.any, what, depth + 1);
        }
      }
      return;
    case TypeKind::Class: {
      Declared* wanted = types_.declared(type);
      bool is_enum = wanted && wanted->kind == Declared::Enum;
      if (is_enum ? !value->is_enum() : !value->is_object()) mismatch();
      const ClassRef& cls = is_enum ? value->as_enum().type : value->as_object().type;
      if (cls.get() == type->cls.get()) return;
      Declared* have = declarations_.find_class(cls->name);
      if (!have || !types_.is_subtype(have->type, type)) mismatch();
      return;
    }
    default:
      if (!(tags_of(*type) & tag_bit(value->tag()))) mismatch();
  }
}

void Compiler::take_object(Object& object) {
  Declared* declared = declarations_.find_class(object.type->name);
  if (!declared || declared->kind == Declared::Library) return;
  makes(declared);
  // An object with __setstate__ has no slots yet; take_state() checks its state.
  for (size_t k = 0; k < object.slots.size() && k < declared->attributes.size(); ++k) {
    auto& [name, type] = declared->attributes[k];
    conform(&object.slots[k], type, declared->name + "." + name, 0);
  }
}

void Compiler::take_class(const std::string& name) {
  Declared* declared = declarations_.find_class(name);
  if (declared && !declared->is_interface()) makes(declared);
}

void Compiler::take_function(const std::string& name) {
  if (Routine* routine = declarations_.find_function(name)) function_of(routine);
}

bool Compiler::restores(const ClassType& cls) {
  Declared* declared = declarations_.find_class(cls.name);
  return declared && declared->method("__setstate__");
}

void Compiler::take_state(const Value& object, Value* state) {
  Declared* declared = declarations_.find_class(object.as_object().type->name);
  Routine* method = declared ? declared->method("__setstate__") : nullptr;
  const bool typed = method && method->signature.formals.size() == 2;
  conform(state, typed ? method->signature.formals[1].type : types_.any,
          "the state of " + object.as_object().type->name, 0);
  take_objects();
}

void Compiler::take(Value* root) {
  conform(root, types_.any, "the value", 0);
  take_objects();
}

void Compiler::take_objects() {
  while (!objects_.empty()) {
    Value next = std::move(objects_.back());
    objects_.pop_back();
    if (taken_.insert({next.bits(), types_.any}).second) take_object(next.as_object());
  }
}

// ---- functions

Function* Compiler::make_function(const std::string& name) {
  functions_.push_back(std::make_unique<Function>());
  functions_.back()->name = name;
  return functions_.back().get();
}

Function* Compiler::function_of(Routine* routine) {
  if (!routine->function) {
    routine->function = make_function(routine->name);
    queue_.push_back(routine);
  }
  return routine->function;
}

void Compiler::makes(Declared* declared) {
  if (declared->kind == Declared::Library || !made_.insert(declared).second) return;
  for (Routine* method : declared->method_order) function_of(method);
}

Routine* Compiler::body_named(std::string name) {
  if (!bodies_) bodies_ = declarations_.add_file("operators", bodies_text());
  return library_function(bodies_, std::move(name));
}

const Function* Compiler::derivative(const std::string& name) {
  if (!derivatives_) derivatives_ = declarations_.add_file("derivatives", derivatives_text());
  Routine* routine = library_function(derivatives_, name);
  return routine ? function_of(routine) : nullptr;
}

Routine* Compiler::library_function(SourceFile* file, std::string name) {
  auto [it, fresh] = body_routines_.try_emplace(name, nullptr);
  if (!fresh) return it->second;
  Node* node = declarations_.find_in(file, name);
  if (node) it->second = declarations_.declare_function(name, file, node, nullptr);
  return it->second;
}

Routine* Compiler::body_of(const Signature& signature) { return body_named(body_name(signature)); }

Routine* Compiler::helper(const SourceFile& file, std::string_view name) {
  if (&file == derivatives_) return library_function(derivatives_, std::string(name));
  if (&file == bodies_) return body_named(std::string(name));
  auto sorts = sorting_files_.find(&file);
  if (sorts == sorting_files_.end()) return nullptr;
  return comparison(sorts->second, std::string(name));
}

const Candidates& Compiler::candidates(const std::string& name) {
  const Candidates& today = overloads_.of(name);
  if (in_body_ || version_ >= kNewest) return today;
  auto [it, fresh] = former_.try_emplace(name, today);
  for (size_t k = 0; fresh && k < it->second.size(); ++k) {
    if (Routine* body = former(*it->second[k])) it->second[k] = &body->signature;
  }
  return it->second;
}

// The body of what an overload did in files of this version; null if it does the same today.
Routine* Compiler::former(const Signature& signature) {
  for (const Former& known : kFormer) {
    if (version_ >= known.version || signature.name != known.name ||
        signature.overload != known.overload) {
      continue;
    }
    return body_named("former__" + body_name(signature));
  }
  return nullptr;
}

void Compiler::compile(Routine* routine) {
  Function& f = *routine->function;
  in_body_ = routine->file == bodies_ || routine->file == derivatives_ ||
             sorting_files_.count(routine->file) != 0;
  try {
    Emitter(this, *routine, &f).run();
    return;
  } catch (const Error& error) {
    if (error.kind != ErrorKind::ArchiveError) throw;
    make_refused(&f, concat("reading ", routine->name, " of the archive: ", error.message));
  }
}

std::vector<std::unique_ptr<Function>> Compiler::functions() {
  while (!queue_.empty()) {
    Routine* next = queue_.back();
    queue_.pop_back();
    compile(next);
  }
  refuse_callers(functions_);
  return std::move(functions_);
}

std::shared_ptr<const Program> Compiler::program() {
  return Program::assemble(functions(), classes_);
}

bool Compiler::has_changed(std::string_view name, int version) {
  return version < kNewest && std::any_of(
                                  std::begin(kFormer), std::end(kFormer),
                                  [&](const Former& f) { return f.name == name; });
}

const Function* Compiler::body(const std::string& name, const std::string& overload,
                               const Signature** signature) {
  in_body_ = false;
  for (const Signature* s : overloads_.of(name)) {
    if (s->overload != overload) continue;
    Routine* routine = version_ < kNewest ? former(*s) : nullptr;
    *signature = routine ? &routine->signature : s;
    if (!routine && s->needs_body) routine = body_of(*s);
    return routine ? function_of(routine) : nullptr;
  }
  return nullptr;
}

}  // namespace scriptlang::source
