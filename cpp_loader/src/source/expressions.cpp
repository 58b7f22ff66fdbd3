// Compiles expressions other than calls: names, attributes, indices, literals and operators.
#include <algorithm>

#include "emitter.h"
#include "values/list.h"

namespace scriptlang::source {

namespace {

// The operator that a sign means, and the method that objects have for it.
struct SignRow {
  Sign sign;
  const char *op, *method;
};
constexpr SignRow kBinary[] = {
#define SL_BINARY(sign, op, method) {Sign::sign, op, method},
#include "rules.def"
};
constexpr SignRow kUnary[] = {
#define SL_UNARY(sign, op) {Sign::sign, op, ""},
#include "rules.def"
};

constexpr std::string_view kForms[] = {
    "annotate",
    "uninitialized",
    "unchecked_cast",
    "unchecked_unwrap_optional",
    "isinstance",
    "getattr",
    "fork",
    "awaitable",
    "int",
    "float",
    "bool",
    "str",
    "complex",
    "print",
    "len",
    "sorted",
};

bool is_sequence(T type) {
  return type->kind == TypeKind::Tuple || type->kind == TypeKind::NamedTuple;
}

}  // namespace

Meaning Emitter::constant_of(Value value, T type) {
  Meaning made;
  made.kind = Meaning::Constant;
  made.constant = std::move(value);
  made.type = type;
  return made;
}

Meaning Emitter::on_stack(T type) {
  Meaning made;
  made.type = type;
  return made;
}

T Emitter::push(const Node& node, T expected) {
  Meaning meaning = expression(node, expected);
  return push(&meaning, node);
}

// Puts a value on the stack, if it is not there already. Returns its type.
T Emitter::push(Meaning* meaning, const Node& node) {
  switch (meaning->kind) {
    case Meaning::OnStack: return meaning->type;
    case Meaning::Nothing:
    case Meaning::Constant: code_.emit(Opcode::LOADC, code_.constant(meaning->constant)); break;
    case Meaning::Several:
      code_.emit(Opcode::TUPLE_CONSTRUCT, int64_t(meaning->several.size()));
      meaning->type = types_.tuple_of(meaning->several);
      break;
    default: fail(node, "this cannot be used as a value");
  }
  meaning->kind = Meaning::OnStack;
  return meaning->type;
}

Meaning Emitter::expression(const Node& node, T expected) {
  code_.line = node.at;
  switch (node.kind) {
    case NodeKind::Name: return name(node);
    case NodeKind::Attribute: return attribute(node);
    case NodeKind::Call: return call(node, expected);
    case NodeKind::Subscript: return subscript(node, expected);
    case NodeKind::Tuple: return tuple(node);
    case NodeKind::List: return list(node, expected);
    case NodeKind::Dict: return dict(node, expected);
    case NodeKind::Unary: return unary(node);
    case NodeKind::Binary: return binary(node);
    case NodeKind::Compare: return compare(node);
    case NodeKind::And:
    case NodeKind::Or: return both(node);
    case NodeKind::Not: {
      Meaning test = expression(*node.a);
      if (test.kind == Meaning::Constant && test.constant.is_bool()) {
        return constant_of(Value(!test.constant.as_bool()), types_.boolean);
      }
      to_bool(push(&test, *node.a), node);
      code_.emit(Opcode::__NOT__);
      return on_stack(types_.boolean);
    }
    case NodeKind::Choice: return choice(node, expected);
    case NodeKind::Slice:
    case NodeKind::Ellipsis: fail(node, "this stands only inside an index");
    default: {
      Value value = declarations_.literal(file_, node);
      T type = declarations_.type_of_value(value);
      return constant_of(std::move(value), type);
    }
  }
}

// ---- names

Meaning Emitter::name(const Node& node) {
  if (const Variable* variable = find(node.text)) {
    if (!variable->place) {
      if (variable->local) fail(node, "'", node.text, "' is a function, which only fork takes");
      return variable->meaning;
    }
    code_.emit(Opcode::LOAD, variable->place);
    return on_stack(variable->type);
  }
  if (auto number = Declarations::named_number(node.text)) {
    return constant_of(*number, number->is_double() ? types_.real : types_.complex);
  }
  Meaning made;
  made.name = node.text;
  if (node.text == "torch" || node.text == "ops" || node.text == "CONSTANTS" ||
      node.text == "__torch__") {
    made.kind = Meaning::Namespace;
    return made;
  }
  if (std::find(std::begin(kForms), std::end(kForms), node.text) != std::end(kForms)) {
    made.kind = Meaning::Form;
    return made;
  }
  if (Routine* helper = session_.helper(file_, node.text)) {
    made.kind = Meaning::Routine_;
    made.routine = helper;
    return made;
  }
  for (const Frame& frame : frames_) {
    auto found = frame.values.find(node.text);
    if (found != frame.values.end() && found->second.gone) {
      fail(node, "'", node.text, "' is not defined on every way that leads here");
    }
  }
  fail(node, "undefined name '", node.text, "'");
}

Meaning Emitter::attribute(const Node& node) {
  Meaning owner = expression(*node.a);
  if (owner.kind == Meaning::Namespace) return member(owner.name, node);
  if (owner.kind == Meaning::Class) return class_member(owner.declared, node);
  if (owner.kind == Meaning::Operator && owner.name == "aten::autograd") {
    Meaning made;
    made.kind = Meaning::Operator;
    made.name = concat("aten::", node.text);
    return made;
  }
  if (!owner.is_value()) fail(node, "this has no attribute '", node.text, "'");
  if (owner.kind == Meaning::Constant && owner.constant.is_enum()) {
    const Enum& item = owner.constant.as_enum();
    if (node.text == "name") return constant_of(Value::of_text(item.name), types_.string);
    if (node.text == "value") {
      return constant_of(item.value, declarations_.type_of_value(item.value));
    }
  }
  return value_member(push(&owner, *node.a), node);
}

Meaning Emitter::member(const std::string& space, const Node& node) {
  Meaning made;
  made.kind = Meaning::Operator;
  if (space == "torch") {
    made.name = concat("aten::", node.text);
    return made;
  }
  if (space == "ops") {
    made.kind = Meaning::Namespace;
    made.name = concat("ops.", node.text);
    return made;
  }
  if (space.compare(0, 4, "ops.") == 0) {
    made.name = concat(std::string_view(space).substr(4), "::", node.text);
    return made;
  }
  if (space == "CONSTANTS") {
    const Value* found = declarations_.find_constant(node.text);
    if (!found) fail(node, "there is no constant '", node.text, "'");
    return constant_of(*found, declarations_.type_of_value(*found));
  }
  std::string full = concat(space, ".", node.text);
  if (Declared* declared = declarations_.find_class(full)) {
    made.kind = Meaning::Class;
    made.declared = declared;
  } else if (T type = declarations_.find_type(full)) {
    made.kind = Meaning::TupleClass;
    made.type = type;
  } else if (Routine* routine = declarations_.find_function(full)) {
    made.kind = Meaning::Routine_;
    made.routine = routine;
  } else if (declarations_.has_folder(full)) {
    made.kind = Meaning::Namespace;
    made.name = full;
  } else {
    fail(node, "'", full, "' is not in the archive");
  }
  return made;
}

Meaning Emitter::class_member(Declared* declared, const Node& node) {
  for (auto& [name, value] : declared->members) {
    if (name == node.text) return constant_of(value, declared->type);
  }
  if (node.text == "__new__") {
    Meaning made;
    made.kind = Meaning::Form;
    made.name = "__new__";
    made.declared = declared;
    return made;
  }
  if (Routine* routine = declared->method(node.text)) {
    Meaning made;
    made.kind = Meaning::Routine_;
    made.routine = routine;
    return made;
  }
  auto found = declared->constants.find(std::string(node.text));
  if (found != declared->constants.end()) {
    return constant_of(found->second.first, found->second.second);
  }
  fail(node, declared->name, " has no static method or constant '", node.text, "'");
}

// The meaning of an attribute of the value on the stack.
Meaning Emitter::value_member(T type, const Node& node) {
  if (Declared* declared = types_.declared(type)) {
    if (declared->kind == Declared::Enum) {
      bool is_name = node.text == "name";
      if (!is_name && node.text != "value") fail(node, "an enum has no '", node.text, "'");
      T result = is_name ? types_.string : declared->member_type;
      for (const Signature* s :
           session_.candidates(is_name ? "prim::EnumName" : "prim::EnumValue")) {
        if (s->returns[0] != result) continue;
        code_.emit(Opcode::OP, code_.operation(*s, 1));
        return on_stack(result);
      }
    }
    int64_t slot = declared->slot(node.text);
    if (slot >= 0) {
      code_.emit(Opcode::GET_ATTR, slot);
      return on_stack(declared->attributes[size_t(slot)].second);
    }
    Meaning made;
    if (Routine* routine = declared->method(node.text)) {
      made.kind = Meaning::Method;
      made.routine = routine;
      made.type = type;
      return made;
    }
    auto constant = declared->constants.find(std::string(node.text));
    if (constant != declared->constants.end()) {
      code_.emit(Opcode::DROP);
      return constant_of(constant->second.first, constant->second.second);
    }
    if (Routine* getter = declared->method(concat("__", node.text, "_getter"))) {
      return call_routine(getter, one(type, code_.size() - 1), node);
    }
#define SL_LIBRARY_METHOD(cls, method, op)            \
  if (declared->name == cls && node.text == method) { \
    made.kind = Meaning::Operator;                    \
    made.name = op;                                   \
    made.bound = true;                                \
    made.type = type;                                 \
    return made;                                      \
  }
#include "rules.def"
  }
  if (type->kind == TypeKind::NamedTuple) {
    auto field = std::find(type->fields.begin(), type->fields.end(), node.text);
    if (field != type->fields.end()) {
      int64_t index = field - type->fields.begin();
      code_.emit(Opcode::LOADC, code_.constant(Value(index)));
      code_.emit(Opcode::TUPLE_INDEX);
      return on_stack(type->elements[size_t(index)].get());
    }
  }
  fail(node, "a value of type ", Types::text(type), " has no attribute '", node.text, "'");
}

// ---- elements

Meaning Emitter::slice(const Node& node, T owner) {
  const Node& part = *node.b;
  if (is_sequence(owner)) {
    const int64_t size = int64_t(owner->elements.size());
    auto bound = [&](const Node* n, int64_t missing) {
      if (!n) return missing;
      if (n->kind != NodeKind::Int) fail(*n, "a tuple is sliced by literals");
      const int64_t at = declarations_.literal(file_, *n).as_int();
      return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
    };
    if (part.c) fail(part, "a tuple is sliced without a step");
    int64_t begin = bound(part.a, 0), end = std::max(bound(part.b, size), begin);
    code_.emit(Opcode::TUPLE_SLICE, begin, end - begin);
    std::vector<T> parts;
    for (int64_t k = begin; k < end; ++k) parts.push_back(owner->elements[size_t(k)].get());
    return on_stack(types_.tuple_of(parts));
  }
  std::vector<Operand> operands = one(owner, code_.size() - 1);
  const Node* bounds[] = {part.a, part.b, part.c};
  for (int k = 0; k < 3; ++k) {
    if (bounds[k]) {
      operands.push_back(operand(*bounds[k]));
      continue;
    }
    Operand missing;
    missing.type = k == 2 ? types_.integer : types_.none;
    missing.begin = code_.emit(Opcode::LOADC, code_.constant(k == 2 ? Value(1) : Value()));
    missing.end = code_.size();
    operands.push_back(missing);
  }
  return call_operator("aten::slice", std::move(operands), node);
}

Meaning Emitter::subscript(const Node& node, T expected) {
  const size_t begin = code_.size();
  T owner = push(*node.a);
  if (node.b->kind == NodeKind::Slice) return slice(node, owner);
  if (is_sequence(owner)) {
    Meaning index = expression(*node.b);
    const int64_t size = int64_t(owner->elements.size());
    if (index.kind == Meaning::Constant && index.constant.is_int()) {
      int64_t at = index.constant.as_int();
      if (at < -size || at >= size) fail(node, "a tuple of ", size, " has no element ", at);
      if (at < 0) at += size;
      code_.emit(Opcode::LOADC, code_.constant(Value(at)));
      code_.emit(Opcode::TUPLE_INDEX);
      return on_stack(owner->elements[size_t(at)].get());
    }
    T type = push(&index, *node.b);
    bool alike = size > 0 &&
                 std::all_of(owner->elements.begin(), owner->elements.end(),
                             [&](const TypeRef& e) { return e.get() == owner->elements[0].get(); });
    if (type != types_.integer || !alike) {
      fail(node, "the index of a tuple of different types must be known");
    }
    code_.emit(Opcode::TUPLE_INDEX);
    return on_stack(owner->elements[0].get());
  }
  Declared* wanted = expected ? types_.declared(expected) : nullptr;
  Declared* declared = types_.declared(owner);
  if (wanted && wanted->kind == Declared::ModuleInterface && declared && declared->is_module()) {
    // The member of a container of modules at an index that is not constant. Its type is an
    // interface that all members implement.
    bool is_text = push(*node.b) == types_.string;
    for (const Signature* s : session_.candidates("prim::ModuleContainerIndex")) {
      if (s->overload != (is_text ? "dict" : "list")) continue;
      code_.emit(Opcode::OP, code_.operation(*s, 2));
      if (!s->entry) code_.die();
      return on_stack(expected);
    }
  }
  Operand first;
  first.type = owner;
  first.begin = begin;
  first.end = code_.size();
  std::vector<Operand> operands{first, operand(*node.b)};
  if (declared) {
    Routine* routine = declared->method("__getitem__");
    if (!routine) fail(node, declared->name, " has no method __getitem__");
    return call_routine(routine, std::move(operands), node);
  }
  if (owner == types_.tensor) {
    fail(node, "an index of a tensor is not part of the language of archives");
  }
  return call_operator("aten::__getitem__", std::move(operands), node);
}

// ---- literals

Meaning Emitter::tuple(const Node& node) {
  std::vector<T> parts;
  Openness open;
  for (const Node* item : node.items) {
    Meaning part = expression(*item);
    parts.push_back(push(&part, *item));
    open.parts.push_back(part.open);
  }
  bool any = std::any_of(open.parts.begin(), open.parts.end(),
                         [](const Openness& part) { return part.any(); });
  code_.emit(Opcode::TUPLE_CONSTRUCT, int64_t(parts.size()));
  Meaning made = on_stack(types_.tuple_of(parts));
  if (any) made.open = std::move(open);
  return made;
}

// The type of a kind that `expected` allows; null if it allows none or several.
static T option(Types* types, T expected, TypeKind kind) {
  if (!expected) return nullptr;
  if (expected->kind != TypeKind::Union) {
    T plain = types->without_none(expected);
    return plain->kind == kind ? plain : nullptr;
  }
  T found = nullptr;
  for (const TypeRef& e : expected->elements) {
    if (e->kind != kind) continue;
    if (found) return nullptr;
    found = e.get();
  }
  return found;
}

Meaning Emitter::list(const Node& node, T expected) {
  T hint = option(&types_, expected, TypeKind::List);
  T element = hint ? hint->elements[0].get() : nullptr;
  T common = nullptr;
  for (const Node* item : node.items) {
    Meaning part = expression(*item, element);
    T type = push(&part, *item);
    if (part.unknown && element) type = element;
    if (element && !types_.is_subtype(type, element)) {
      fail(*item, "a list of ", Types::text(element), " cannot hold ", Types::text(type));
    }
    T joined = common ? types_.unify(common, type) : type;
    common = joined ? joined : types_.union_of({common, type});
  }
  Meaning made = on_stack(types_.list_of(element ? element : common ? common : types_.tensor));
  size_t at = code_.emit(Opcode::LIST_CONSTRUCT, code_.type(made.type), node.items.size());
  if (!element && !common) {
    made.open.open = true;
    made.open.at = at;
  }
  return made;
}

Meaning Emitter::dict(const Node& node, T expected) {
  T hint = option(&types_, expected, TypeKind::Dict);
  T key = nullptr, value = nullptr;
  for (size_t k = 0; k < node.items.size(); ++k) {
    T& common = k % 2 ? value : key;
    T type = push(*node.items[k], hint ? hint->elements[k % 2].get() : nullptr);
    if (hint && !types_.is_subtype(type, hint->elements[k % 2].get())) {
      fail(*node.items[k], "a ", Types::text(hint), " cannot hold ", Types::text(type));
    }
    T joined = common ? types_.unify(common, type) : type;
    common = joined ? joined : types_.union_of({common, type});
  }
  T type = hint  ? hint
           : key ? types_.make(TypeKind::Dict, {key, value})
                 : types_.make(TypeKind::Dict, {types_.string, types_.tensor});
  code_.emit(Opcode::DICT_CONSTRUCT, code_.type(type), node.items.size());
  return on_stack(type);
}

// ---- signs

Meaning Emitter::unary(const Node& node) {
  for (const SignRow& row : kUnary) {
    if (row.sign != node.sign) continue;
    return call_operator(row.op, {operand(*node.a)}, node);
  }
  fail(node, "this operator is not part of the language of archives");
}

Meaning Emitter::binary(const Node& node) {
  const bool is_number = node.sign == Sign::Add || node.sign == Sign::Subtract;
  if (is_number && node.b->kind == NodeKind::Imaginary) {  // `1.+2.j`
    Value value = declarations_.constant_of(file_, node, nullptr);
    return constant_of(std::move(value), types_.complex);
  }
  for (const SignRow& row : kBinary) {
    if (row.sign != node.sign) continue;
    std::vector<Operand> operands{operand(*node.a), operand(*node.b)};
    if (Declared* declared = types_.declared(operands[0].type);
        declared && declared->method(row.method)) {
      return call_routine(declared->method(row.method), std::move(operands), node);
    }
    const char* op = row.op;
    if (node.sign == Sign::Modulo && operands[0].type == types_.string) op = "aten::percentFormat";
    return call_operator(op, std::move(operands), node);
  }
  fail(node, "this operator is not part of the language of archives");
}

Meaning Emitter::compare(const Node& node) {
  if (node.sign != Sign::In && node.sign != Sign::NotIn) return binary(node);
  Operand item = operand(*node.a);
  int kept = code_.fresh();
  code_.emit(Opcode::STORE, kept);
  std::vector<Operand> operands{operand(*node.b), item};
  operands[1].begin = code_.emit(Opcode::LOAD, kept);
  operands[1].end = code_.size();
  Meaning made = call_operator("aten::__contains__", std::move(operands), node);
  if (node.sign == Sign::NotIn) code_.emit(Opcode::__NOT__);
  return made;
}

// Converts the value on the stack to a bool.
void Emitter::to_bool(T type, const Node& node) {
  if (type == types_.boolean) return;
  size_t begin = code_.size() - 1;
  if (type == types_.number) {
    call_operator("aten::Int", one(type, begin), node);
    type = types_.integer;
  }
  if (type == types_.integer || type == types_.real || type == types_.tensor) {
    call_operator("aten::Bool", one(type, begin), node);
    return;
  }
  bool is_container = type->kind == TypeKind::List || type->kind == TypeKind::Dict;
  if (!is_container && type != types_.string) {
    fail(node, "a value of type ", Types::text(type), " is neither true nor false");
  }
  call_operator("aten::len", one(type, begin), node);
  std::vector<Operand> operands = one(types_.integer, code_.size() - 1);
  Operand zero;
  zero.type = types_.integer;
  zero.begin = code_.emit(Opcode::LOADC, code_.constant(Value(0)));
  zero.end = code_.size();
  operands.push_back(zero);
  call_operator("aten::gt", std::move(operands), node);
}

}  // namespace scriptlang::source
