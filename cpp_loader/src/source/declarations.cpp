// Reads the declarations of an archive's code. A class is made empty when its name is first met,
// and filled later from a queue, so classes may name each other in any order.
#include "declarations.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "values/dict.h"
#include "values/list.h"

namespace scriptlang::source {

namespace {

constexpr size_t kMostTupleDepth = 50;
constexpr std::string_view kNameLists[] = {"__parameters__", "__buffers__", "__forward_hooks__",
                                           "__forward_pre_hooks__", "__annotations__"};

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// The type of an attribute _packed_params. In old archives some classes of torch.nn.quantized
// declare it as a tensor, but their __setstate__ stores an object with packed weights today.
T packed_type(Declarations* declarations, const Declared& declared, T type) {
  std::string_view name = declared.name;
  if (type != declarations->types().tensor) return type;
  if (!starts_with(name, "__torch__.torch.nn.")) return type;
  if (name.find("quantized.") == std::string_view::npos) return type;
  std::string_view short_name = name.substr(name.rfind('.') + 1);
  const char* packed =
      short_name == "Linear" || short_name == "LinearReLU" || short_name == "LinearPackedParams"
          ? "LinearPackedParamsBase"
      : short_name == "Conv2d" || short_name == "ConvReLU2d" ? "Conv2dPackedParamsBase"
      : short_name == "Conv3d" || short_name == "ConvReLU3d" ? "Conv3dPackedParamsBase"
                                                             : nullptr;
  if (!packed) return type;
  return declarations->find_type(concat(kLibraryClasses, "quantized.", packed));
}

}  // namespace

Declarations::Declarations(Sources sources, std::shared_ptr<ClassTable> classes, Types* types,
                           Arena* arena, Budget* budget)
    : sources_(std::move(sources)),
      classes_(std::move(classes)),
      types_(*types),
      arena_(*arena),
      budget_(*budget) {}

// ---- files and names

SourceFile* Declarations::add_file(std::string_view name, std::string_view text) {
  files_.push_back(std::make_unique<File>());
  File& file = *files_.back();
  file.source.name = name;
  file.source.text = text;
  auto starts = std::make_shared<LineStarts>(1, 0);
  for (size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '\n') starts->push_back(uint32_t(k + 1));
  }
  file.source.line_starts = std::move(starts);
  parse(&file.source, &arena_, &budget_);
  for (Node* node : file.source.top) {
    if (node->kind == NodeKind::Function || node->kind == NodeKind::Class) {
      if (!file.definitions.emplace(node->text, node).second) {
        refuse(name, node->line, node->text, " is defined twice");
      }
    } else if (node->kind != NodeKind::Assign || node->items[0]->text != "op_version_set") {
      refuse(name, node->line, "a statement outside of functions and classes");
    }
  }
  by_source_[&file.source] = &file;
  return &file.source;
}

SourceFile* Declarations::file_of(const std::string& qualifier) {
  auto known = by_qualifier_.find(qualifier);
  if (known != by_qualifier_.end()) return known->second;
  std::string record = "code/" + qualifier + ".py";
  std::replace(record.begin() + 5, record.end() - 3, '.', '/');
  std::string_view text;
  SourceFile* file = nullptr;
  if (sources_.read && sources_.read(record, &text)) file = add_file(arena_.copy(record), text);
  by_qualifier_.emplace(qualifier, file);
  return file;
}

Node* Declarations::find_in(SourceFile* file, std::string_view name) {
  const auto& definitions = by_source_.at(file)->definitions;
  auto found = definitions.find(name);
  return found == definitions.end() ? nullptr : found->second;
}

std::pair<SourceFile*, Node*> Declarations::find(const std::string& name) {
  size_t dot = name.rfind('.');
  if (dot == std::string::npos) return {};
  SourceFile* file = file_of(name.substr(0, dot));
  if (!file) return {};
  return {file, find_in(file, std::string_view(name).substr(dot + 1))};
}

bool Declarations::has_folder(const std::string& name) const {
  std::string folder = "code/" + name;
  std::replace(folder.begin() + 5, folder.end(), '.', '/');
  return sources_.has_folder && sources_.has_folder(folder);
}

Declared* Declarations::find_class(const std::string& name) {
  auto known = declared_.find(name);
  if (known != declared_.end()) return sound(known->second.get());
  if (is_library_class(name)) {
    auto made = std::make_unique<Declared>();
    made->kind = Declared::Library;
    made->name = name;
    made->cls = classes_->get(name);
    made->type = types_.of_library(made.get());
    return declared_.emplace(name, std::move(made)).first->second.get();
  }
  if (!starts_with(name, "__torch__.") || named_tuples_.count(name)) return nullptr;
  auto [file, node] = find(name);
  if (!node || node->kind != NodeKind::Class) return nullptr;
  declare(name, file, node);
  drain();
  known = declared_.find(name);
  return known == declared_.end() ? nullptr : sound(known->second.get());
}

// Raises the error of a class whose declaration could not be read, each time that it is named.
Declared* Declarations::sound(Declared* declared) {
  if (!declared->refusal.empty()) raise(ErrorKind::ArchiveError, declared->refusal);
  return declared;
}

T Declarations::find_type(const std::string& name) {
  if (Declared* found = find_class(name)) return found->type;
  auto tuple = named_tuples_.find(name);
  return tuple == named_tuples_.end() ? nullptr : tuple->second;
}

Routine* Declarations::find_function(const std::string& name) {
  auto known = functions_.find(name);
  if (known != functions_.end()) return known->second;
  auto [file, node] = find(name);
  Routine* made = nullptr;
  if (node && node->kind == NodeKind::Function) made = declare_function(name, file, node, nullptr);
  functions_.emplace(name, made);
  return made;
}

const Value* Declarations::find_constant(std::string_view name) {
  if (name.size() < 2 || name.size() > 10 || name[0] != 'c') return nullptr;
  size_t index = 0;
  for (char c : name.substr(1)) {
    if (c < '0' || c > '9') return nullptr;
    index = index * 10 + size_t(c - '0');
  }
  ValueSpan table = sources_.constants ? sources_.constants() : ValueSpan();
  return index < table.size() ? &table[index] : nullptr;
}

// ---- classes

void Declarations::declare(const std::string& name, SourceFile* file, Node* node) {
  std::string base;
  if (node->a && !dotted(*node->a, &base)) base = "?";
  if (base == "NamedTuple") {
    T made = named_tuple(name, file, *node);
    named_tuples_.emplace(name, made);
    return;
  }
  auto made = std::make_unique<Declared>();
  if (base.empty()) made->kind = Declared::Class;
  else if (base == "Module") made->kind = Declared::Module;
  else if (base == "Interface") made->kind = Declared::Interface;
  else if (base == "ModuleInterface") made->kind = Declared::ModuleInterface;
  else if (base == "Enum") made->kind = Declared::Enum;
  else refuse(file->name, node->line, node->text, " has a base that archives do not have");
  made->name = name;
  made->file = file;
  made->node = node;
  made->cls = classes_->get(name);
  made->type = types_.of_class(made.get());
  Declared* declared = made.get();
  declared_.emplace(name, std::move(made));
  if (declared->kind == Declared::Enum) fill(declared);  // at once: defaults may name its members
  else queue_.push_back(declared);
}

// Fills the classes of the queue. Types of attributes may add further ones. A class whose
// declaration is wrong gets a refusal; it does not matter for what names another one.
void Declarations::drain() {
  if (draining_) return;
  draining_ = true;
  try {
    while (!queue_.empty()) {
      Declared* next = queue_.front();
      queue_.pop_front();
      fill(next);
    }
  } catch (...) {
    draining_ = false;
    throw;
  }
  draining_ = false;
}

T Declarations::named_tuple(const std::string& name, SourceFile* file, const Node& node) {
  bool again = std::find(open_tuples_.begin(), open_tuples_.end(), name) != open_tuples_.end();
  if (again || open_tuples_.size() > kMostTupleDepth) {
    refuse(file->name, node.line, node.text, " contains itself, or too many named tuples");
  }
  // Taken back if an error is raised: the tuple may be named again.
  struct Open {
    std::vector<std::string>& names;
    Open(std::vector<std::string>& open, const std::string& name) : names(open) {
      names.push_back(name);
    }
    ~Open() { names.pop_back(); }
  } open(open_tuples_, name);
  std::vector<std::string> fields;
  std::vector<T> parts;
  std::vector<Value> defaults;
  for (const Node* s : node.more) {
    if (s->kind == NodeKind::Pass) continue;
    if (s->kind != NodeKind::Annotated || s->a->kind != NodeKind::Name) {
      refuse(file->name, s->line, "a named tuple has fields only");
    }
    if (std::find(fields.begin(), fields.end(), s->a->text) != fields.end()) {
      refuse(file->name, s->line, "named tuple ", node.text, " has a field twice");
    }
    fields.emplace_back(s->a->text);
    parts.push_back(type_of(*file, *s->b));
    if (s->c) {
      defaults.push_back(constant_of(*file, *s->c, parts.back()));
    } else if (!defaults.empty()) {
      refuse(file->name, s->line, "field ", s->a->text, " of named tuple ", node.text,
             " has no default, but one before it has");
    }
  }
  if (!defaults.empty()) tuple_defaults_[name] = std::move(defaults);
  return types_.named_tuple(name, fields, parts);
}

const std::vector<Value>* Declarations::defaults_of(const std::string& named_tuple) const {
  auto found = tuple_defaults_.find(named_tuple);
  return found == tuple_defaults_.end() ? nullptr : &found->second;
}

void Declarations::read_enum(Declared* declared) {
  const bool known = !declared->cls->members.empty();  // the archive's bytecode had them
  for (const Node* s : declared->node->more) {
    if (s->kind == NodeKind::Pass) continue;
    if (s->kind != NodeKind::Assign || s->items[0]->kind != NodeKind::Name) {
      refuse(declared->file->name, s->line, "an enum has members only");
    }
    Value value = constant_of(*declared->file, *s->a, nullptr);
    T type = type_of_value(value);
    bool fits = type == types_.integer || type == types_.real || type == types_.string;
    if (!fits || (declared->member_type && declared->member_type != type)) {
      refuse(declared->file->name, s->line, "the members of enum ", declared->node->text,
             " are not all int, float or str");
    }
    declared->member_type = type;
    std::string name(s->items[0]->text);
    if (!known) declared->cls->members.emplace_back(name, value);
    Value member = Enum::make(declared->cls, name, std::move(value));
    declared->members.emplace_back(std::move(name), std::move(member));
  }
}

void Declarations::fill(Declared* declared) {
  try {
    read(declared);
  } catch (const Error& error) {
    if (error.kind != ErrorKind::ArchiveError) throw;
    declared->refusal = error.message;
  }
}

void Declarations::read(Declared* declared) {
  if (declared->kind == Declared::Enum) {
    read_enum(declared);
  } else {
    for (Node* s : declared->node->more) {
      if (s->kind == NodeKind::Function) add_method(declared, s);
      else fill_statement(declared, *s);
    }
  }
  ClassType& cls = *declared->cls;
  std::vector<std::string> names;
  for (auto& [name, type] : declared->attributes) names.push_back(name);
  if (!cls.attributes.empty() && cls.attributes != names) {  // the archive's bytecode had others
    refuse(declared->file->name, declared->node->line, declared->name,
           " has other attributes than its objects");
  }
  cls.attributes = std::move(names);
  cls.types.clear();
  for (auto& [name, type] : declared->attributes) cls.types.push_back(Types::held(type));
  declared->filled = true;
}

void Declarations::fill_statement(Declared* declared, const Node& s) {
  const SourceFile& file = *declared->file;
  if (s.kind == NodeKind::Pass) return;
  if (declared->is_interface()) refuse(file.name, s.line, "an interface has methods only");
  if (s.kind == NodeKind::Assign) return assigned_name(declared, s);
  if (s.kind != NodeKind::Annotated) {
    refuse(file.name, s.line, "a class has attributes and methods only");
  }
  if (s.a->kind != NodeKind::Name) refuse(file.name, s.line, "a class declares plain names");
  T type = type_of(file, *s.b);
  if (!s.c) return add_attribute(declared, s.a->text, type, s);
  declared->constants[std::string(s.a->text)] = {constant_of(file, *s.c, type), type};
}

// Reads `__parameters__ = [...]`, or `__annotations__["0"] = T`, which declares an attribute whose
// name is no identifier of Python.
void Declarations::assigned_name(Declared* declared, const Node& s) {
  const SourceFile& file = *declared->file;
  const Node& target = *s.items[0];
  if (target.kind == NodeKind::Subscript && target.a->text == "__annotations__" &&
      target.b->kind == NodeKind::String) {
    return add_attribute(declared, target.b->text, type_of(file, *s.a), s);
  }
  bool known =
      target.kind == NodeKind::Name &&
      std::find(std::begin(kNameLists), std::end(kNameLists), target.text) != std::end(kNameLists);
  if (!known) refuse(file.name, s.line, "a class declares its names with their types");
  const bool hooks = target.text == "__forward_hooks__" || target.text == "__forward_pre_hooks__";
  if (hooks && !s.a->items.empty()) declared->is_hooked = true;
  auto* names = target.text == "__parameters__" ? &declared->parameters
                : target.text == "__buffers__"  ? &declared->buffers
                                                : nullptr;
  if (!names || s.a->kind != NodeKind::List) return;
  for (const Node* name : s.a->items) {
    if (name->kind == NodeKind::String) names->push_back(name->text);
  }
}

void Declarations::add_attribute(Declared* declared, std::string_view name, T type, const Node& s) {
  const int64_t slot = int64_t(declared->attributes.size());
  if (!declared->slots.emplace(std::string(name), slot).second) {
    refuse(declared->file->name, s.line, declared->name, " has two attributes '", name, "'");
  }
  if (name == "_packed_params") type = packed_type(this, *declared, type);
  declared->attributes.emplace_back(std::string(name), type);
}

void Declarations::add_method(Declared* declared, Node* s) {
  Routine* made =
      declare_function(declared->name + "." + std::string(s->text), declared->file, s, declared);
  if (!declared->methods.emplace(std::string(s->text), made).second) {
    refuse(declared->file->name, s->line, declared->name, " has two methods ", s->text);
  }
  declared->method_order.push_back(made);
}

Routine* Declarations::declare_function(const std::string& name, SourceFile* file, Node* node,
                                        Declared* owner) {
  routines_.push_back(std::make_unique<Routine>());
  Routine* made = routines_.back().get();
  made->name = name;
  made->file = file;
  made->node = node;
  made->owner = owner;
  if (node->items.size() > kMostArguments) {
    refuse(file->name, node->line, node->text, " has over ", kMostArguments, " arguments");
  }
  Signature& signature = made->signature;
  signature.name = name;
  signature.body = made;
  for (const Node* p : node->items) {
    Formal formal;
    formal.name = p->text;
    bool is_self = owner && signature.formals.empty();
    formal.type = is_self ? owner->type : p->a ? type_of(*file, *p->a) : types_.tensor;
    formal.by_name = p->sign == Sign::ByName;
    if (p->b) {
      formal.has_default = true;
      formal.value = constant_of(*file, *p->b, formal.type);
    }
    for (const Formal& other : signature.formals) {
      if (other.name == formal.name) {
        refuse(file->name, node->line, node->text, " has an argument twice");
      }
    }
    signature.formals.push_back(std::move(formal));
  }
  signature.returns.push_back(node->b ? type_of(*file, *node->b) : types_.tensor);
  return made;
}

}  // namespace scriptlang::source
