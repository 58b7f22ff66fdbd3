// Compiles special forms, which need the syntax of their arguments (annotate, isinstance, fork...),
// and functions of Python (int, len...).
#include <algorithm>

#include "emitter.h"

namespace scriptlang::source {

namespace {

// A conversion by a function of Python: its operator, and the method that objects have for it.
struct Cast {
  std::string_view name;
  TypeKind kind;
  const char *op, *method;
};
constexpr Cast kCasts[] = {
    {"int", TypeKind::Int, "aten::Int", "__int__"},
    {"float", TypeKind::Float, "aten::Float", "__float__"},
    {"bool", TypeKind::Bool, "aten::Bool", "__bool__"},
    {"str", TypeKind::String, "aten::str", "__str__"},
    {"complex", TypeKind::Complex, "aten::Complex", "__complex__"},
};

}  // namespace

Meaning Emitter::form(const std::string& name, const Node& node) {
  auto want = [&](size_t least, size_t most) {
    if (!node.more.empty() || node.items.size() < least || node.items.size() > most) {
      fail(node, name, " takes ", least, " to ", most, " arguments by position");
    }
  };
  if (name == "annotate") {
    want(2, 2);
    return annotate(node);
  }
  if (name == "uninitialized") {
    want(1, 1);
    code_.emit(Opcode::UN_INITIALIZED);
    return on_stack(declarations_.type_of(file_, *node.items[0]));
  }
  if (name == "unchecked_cast") {
    want(2, 2);
    T type = declarations_.type_of(file_, *node.items[0]);
    push(*node.items[1]);
    return on_stack(type);
  }
  if (name == "unchecked_unwrap_optional") {
    want(1, 1);
    return on_stack(types_.without_none(push(*node.items[0])));
  }
  if (name == "isinstance") {
    want(2, 2);
    return is_instance(node);
  }
  if (name == "getattr") {
    want(2, 2);
    return get_attribute(node);
  }
  if (name == "fork" || name == "awaitable") return fork(node, name == "fork");
  if (name == "len") {
    want(1, 1);
    return length(node);
  }
  if (name == "sorted") return call_operator("aten::sorted", arguments(node), node);
  if (name == "print") return call_operator("prim::Print", arguments(node), node);
  return cast(name, node);
}

Meaning Emitter::annotate(const Node& node) {
  T type = declarations_.type_of(file_, *node.items[0]);
  Meaning value = expression(*node.items[1], type);
  T actual = push(&value, *node.items[1]);
  if (value.unknown) return on_stack(type);
  actual = convert(actual, type, true, value.open);
  if (!types_.is_subtype(actual, type)) {
    fail(node, "a value of type ", Types::text(actual), " is no ", Types::text(type));
  }
  return on_stack(type);
}

Meaning Emitter::cast(const std::string& name, const Node& node) {
  for (const Cast& known : kCasts) {
    if (name != known.name) continue;
    if (node.items.size() != 1 || !node.more.empty()) {
      if (!node.items.empty()) return call_operator(known.op, arguments(node), node);
      fail(node, name, " takes a value");
    }
    Operand value = operand(*node.items[0]);
    if (value.type->kind == known.kind) return on_stack(value.type);
    if (Declared* declared = types_.declared(value.type)) {
      Routine* method = declared->method(known.method);
      if (!method) fail(node, declared->name, " has no method ", known.method);
      return call_routine(method, {std::move(value)}, node);
    }
    bool is_container = value.type->kind == TypeKind::List || value.type->kind == TypeKind::Dict ||
                        value.type == types_.string;
    if (known.kind == TypeKind::Bool && is_container) {
      to_bool(value.type, node);
      return on_stack(types_.boolean);
    }
    return call_operator(known.op, {std::move(value)}, node);
  }
  fail(node, "the function ", name, " is not part of the language of archives");
}

Meaning Emitter::length(const Node& node) {
  Operand value = operand(*node.items[0]);
  if (value.type->kind == TypeKind::Tuple || value.type->kind == TypeKind::NamedTuple) {
    code_.emit(Opcode::DROP);
    return constant_of(Value(int64_t(value.type->elements.size())), types_.integer);
  }
  if (Declared* declared = types_.declared(value.type)) {
    Routine* method = declared->method("__len__");
    if (!method) fail(node, declared->name, " has no method __len__");
    return call_routine(method, {std::move(value)}, node);
  }
  return call_operator("aten::len", {std::move(value)}, node);
}

// ---- isinstance

void Emitter::instance_types(const Node& node, std::vector<T>* out) {
  if (node.kind == NodeKind::Tuple || node.kind == NodeKind::List) {
    for (const Node* part : node.items) instance_types(*part, out);
    return;
  }
  T type = declarations_.type_of(file_, node);
  if (type->kind == TypeKind::Union) {
    for (const TypeRef& e : type->elements) out->push_back(e.get());
  } else if (type->kind == TypeKind::Optional) {
    out->push_back(type->elements[0].get());
    out->push_back(types_.none);
  } else {
    out->push_back(type);
  }
}

// isinstance(). It is a constant if the static type of the value decides it.
Meaning Emitter::is_instance(const Node& node) {
  const size_t begin = code_.size();
  T actual = push(*node.items[0]);
  std::vector<T> wanted, parts;
  instance_types(*node.items[1], &wanted);
  if (actual->kind == TypeKind::Union) {
    for (const TypeRef& e : actual->elements) parts.push_back(e.get());
  } else if (actual->kind == TypeKind::Optional) {
    T inner = actual->elements[0].get();
    if (inner->kind == TypeKind::Union) {
      for (const TypeRef& e : inner->elements) parts.push_back(e.get());
    } else {
      parts.push_back(inner);
    }
    parts.push_back(types_.none);
  } else {
    parts.push_back(actual);
  }
  auto fits = [&](T part) {
    return std::any_of(wanted.begin(), wanted.end(),
                       [&](T w) { return types_.is_subtype(part, w); });
  };
  bool open = std::find(parts.begin(), parts.end(), types_.any) != parts.end();
  size_t fitting = size_t(std::count_if(parts.begin(), parts.end(), fits));
  bool inside = std::any_of(wanted.begin(), wanted.end(), [&](T w) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](T p) { return !fits(p) && p != w && types_.is_subtype(w, p); });
  });
  if (!open && (fitting == parts.size() || (fitting == 0 && !inside))) {
    if (code_.size() == begin + 1) code_.erase(begin, code_.size());  // a single LOAD
    else code_.emit(Opcode::DROP);
    return constant_of(Value(fitting == parts.size()), types_.boolean);
  }
  code_.emit(Opcode::ISINSTANCE, code_.types(wanted), int64_t(wanted.size()));
  return on_stack(types_.boolean);
}

Meaning Emitter::get_attribute(const Node& node) {
  const Node& name = *node.items[1];
  if (name.kind != NodeKind::String) fail(node, "the name in getattr must be a literal str");
  Node made = node;
  made.kind = NodeKind::Attribute;
  made.text = name.text;
  made.a = node.items[0];
  return attribute(made);
}

// `x.tolist()`: the context says which type the list has.
Meaning Emitter::to_list(const Node& node, T wanted) {
  T owner = push(*node.a->a);
  T element = wanted;
  int64_t depth = 0;
  while (element->kind == TypeKind::List) {
    element = element->elements[0].get();
    ++depth;
  }
  int64_t code = element == types_.integer   ? 0
                 : element == types_.real    ? 1
                 : element == types_.boolean ? 2
                 : element == types_.complex ? 3
                                             : -1;
  if (owner != types_.tensor || code < 0 || !node.items.empty()) {
    fail(node, "tolist() of a ", Types::text(owner), " gives no ", Types::text(wanted));
  }
  code_.emit(Opcode::LOADC, code_.constant(Value(depth)));
  code_.emit(Opcode::LOADC, code_.constant(Value(code)));
  code_.emit(Opcode::TO_LIST);
  return on_stack(wanted);
}

// ---- forks

namespace {

// Collects the names in the body of a nested function, in the order of the source.
void collect(const Node* node, std::set<std::string_view>* met,
             std::vector<std::string_view>* out) {
  if (!node) return;
  if (node->kind == NodeKind::Name && met->insert(node->text).second) out->push_back(node->text);
  for (const Node* part : {node->a, node->b, node->c}) collect(part, met, out);
  for (const Row& row : {node->items, node->more}) {
    for (const Node* part : row) collect(part, met, out);
  }
}

}  // namespace

// Compiles a nested function, which has no arguments but reads variables around it. It becomes a
// function of its own, with these variables as arguments. Returns the type of its result.
T Emitter::fork_body(const Node& local, const std::vector<std::string_view>& captured,
                     Function* made) {
  Emitter inner(this, made);
  inner.frames_.emplace_back();
  made->file = file_.name;
  made->line_starts = file_.line_starts;
  made->is_raw = true;
  made->has_schema = true;
  made->results = 1;
  made->parameters = int(captured.size());
  const int first = captured.empty() ? 0 : inner.code_.fresh(int(captured.size()));
  inner.code_.line = local.at;
  for (size_t k = 0; k < captured.size(); ++k) {
    const Variable& outer = *find(captured[k]);
    Argument a;
    a.name = captured[k];
    a.type = Types::held(outer.type);
    made->arguments.push_back(std::move(a));
    inner.places_[captured[k]] = first + int(k);
    inner.note_type(first + int(k), outer.type);
    inner.frames_.back().values[captured[k]] = {outer.type, first + int(k), {}, nullptr};
  }
  for (const Frame& frame : frames_) {  // names of functions and others that are no values
    for (auto& [name, variable] : frame.values) {
      if (!variable.place && !variable.gone) inner.frames_.back().values.emplace(name, variable);
    }
  }
  if (captured.size() == 1) inner.code_.emit(Opcode::STORE, first);
  if (captured.size() > 1) inner.code_.emit(Opcode::STOREN, first, int64_t(captured.size()));
  inner.statements(local.more);
  if (!inner.code_.dead()) {
    if (!inner.result_) inner.result_ = types_.none;
    inner.code_.emit(Opcode::LOADC, inner.code_.constant(Value()));
    inner.code_.emit(Opcode::RET);
    inner.code_.die();
  }
  inner.code_.end_block(Assembler::kAlive);
  T result = inner.result_ ? inner.result_ : types_.none;
  Argument returned;
  returned.type = Types::held(result);
  made->returns.push_back(std::move(returned));
  inner.finish_types();
  return result;
}

Meaning Emitter::fork(const Node& node, bool at_once) {
  if (node.items.empty()) fail(node, "fork takes a function and its arguments");
  const Opcode op = at_once ? Opcode::FORK : Opcode::AWAITABLE;
  const Node& callee = *node.items[0];
  const Variable* variable = callee.kind == NodeKind::Name ? find(callee.text) : nullptr;
  if (variable && variable->local) {
    if (node.items.size() > 1) fail(node, "a function inside a function takes no arguments");
    const Node& local = *variable->local;
    std::vector<std::string_view> names, captured;
    std::set<std::string_view> met;
    for (const Node* s : local.more) collect(s, &met, &names);
    for (std::string_view name : names) {
      const Variable* outer = find(name);
      if (outer && outer->place) captured.push_back(name);
    }
    if (captured.size() > kMostArguments) fail(node, "a fork takes too many variables");
    Function* made = session_.make_function(f_.name + (at_once ? ".fork" : ".awaitable"));
    T result = fork_body(local, captured, made);
    for (std::string_view name : captured) code_.emit(Opcode::LOAD, find(name)->place);
    code_.line = node.at;
    code_.emit(op, code_.callee(made), int64_t(captured.size()));
    return on_stack(types_.make(TypeKind::Future, {result}));
  }
  const size_t begin = code_.size();
  Meaning meaning = expression(callee);
  Routine* routine = meaning.routine;
  std::vector<Operand> operands;
  if (meaning.kind == Meaning::Method) operands = one(meaning.type, begin);
  bool fits = meaning.kind == Meaning::Routine_ ||
              (meaning.kind == Meaning::Method && !types_.declared(meaning.type)->is_interface());
  if (!fits) fail(node, "fork takes a function");
  Node rest = node;
  ++rest.items.first;
  --rest.items.count;
  for (Operand& argument : arguments(rest)) operands.push_back(std::move(argument));
  Match match = matched({&routine->signature}, operands, node);
  int count = materialise(match, std::move(operands), true);
  code_.emit(op, code_.callee(session_.function_of(routine)), count);
  return on_stack(types_.make(TypeKind::Future, {match.returns[0]}));
}

}  // namespace scriptlang::source
