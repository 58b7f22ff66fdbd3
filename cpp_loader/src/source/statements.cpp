// Compiles statements: assignments, returns, raises and assertions, and the binding of names.
#include <algorithm>

#include "emitter.h"

namespace scriptlang::source {

Emitter::Emitter(Session* session, const Routine& routine, Function* function)
    : session_(*session),
      declarations_(session->declarations()),
      types_(declarations_.types()),
      file_(*routine.file),
      routine_(&routine),
      f_(*function),
      code_(function, &declarations_.budget()),
      result_(routine.signature.returns[0]) {}

Emitter::Emitter(Emitter* outer, Function* function)
    : session_(outer->session_),
      declarations_(outer->declarations_),
      types_(outer->types_),
      file_(outer->file_),
      routine_(outer->routine_),
      f_(*function),
      code_(function, &declarations_.budget()),
      result_(nullptr) {}

void Emitter::run() {
  const Node& node = *routine_->node;
  f_.file = file_.name;
  f_.line_starts = file_.line_starts;
  f_.is_raw = true;
  f_.has_schema = true;
  f_.results = 1;
  f_.parameters = int(routine_->signature.formals.size());
  for (const Formal& formal : routine_->signature.formals) {
    Argument a;
    a.name = formal.name;
    a.type = Types::held(formal.type);
    a.has_default = formal.has_default;
    a.default_value = formal.value;
    a.keyword_only = formal.by_name;
    f_.arguments.push_back(std::move(a));
  }
  Argument returned;
  returned.type = Types::held(result_);
  f_.returns.push_back(std::move(returned));
  code_.line = node.at;
  frames_.emplace_back();
  begin();
  statements(node.more);
  if (!code_.dead()) {
    if (!types_.is_subtype(types_.none, result_)) {
      fail(node, "the result is declared as ", Types::text(result_),
           ", but the function may end without a return");
    }
    code_.emit(Opcode::LOADC, code_.constant(Value()));
    code_.emit(Opcode::RET);
    code_.die();
  }
  code_.end_block(Assembler::kAlive);
  finish_types();
}

// Stores the arguments, which are on the stack, in variables.
void Emitter::begin() {
  const auto& formals = routine_->signature.formals;
  if (formals.empty()) return;
  int first = code_.fresh(int(formals.size()));
  for (size_t k = 0; k < formals.size(); ++k) {
    int place = first + int(k);
    places_[formals[k].name] = place;
    note_type(place, formals[k].type);
    frames_.back().values[formals[k].name] = {formals[k].type, place, {}, nullptr};
  }
  if (formals.size() == 1) code_.emit(Opcode::STORE, first);
  else code_.emit(Opcode::STOREN, first, int64_t(formals.size()));
}

void Emitter::statements(Row body) {
  for (const Node* node : body) {
    code_.line = node->at;
    const size_t before = code_.size(), dead = code_.death();
    size_t loops = loops_.size(), frames = frames_.size(), entered = entered_.size();
    try {
      statement(*node);
    } catch (const Error& error) {
      // After a call of an operator without a schema, types of what follows are guesses. A
      // statement that does not compile because of that is replaced.
      if (unknown_.empty() || error.kind != ErrorKind::ArchiveError) throw;
      loops_.resize(loops);
      frames_.resize(frames);
      entered_.resize(entered);
      code_.revert(before, dead);
      leave_out();
    }
  }
}

// Emits code that raises the error that the operator is missing, in place of a statement.
void Emitter::leave_out() {
  code_.emit(Opcode::OP, code_.unknown_operation(unknown_));
  code_.die();
}

void Emitter::statement(const Node& node) {
  switch (node.kind) {
    case NodeKind::Pass: return;
    case NodeKind::Expression: {
      if (node.a->kind == NodeKind::String || node.a->kind == NodeKind::Ellipsis) return;
      Meaning value = expression(*node.a);
      if (value.kind == Meaning::OnStack) code_.emit(Opcode::DROP);
      for (size_t k = 0; value.kind == Meaning::Several && k < value.several.size(); ++k) {
        code_.emit(Opcode::DROP);
      }
      return;
    }
    case NodeKind::Assign: return assign(node);
    case NodeKind::Annotated: return annotated(node);
    case NodeKind::If: return conditional(node);
    case NodeKind::While: return while_loop(node);
    case NodeKind::For: return for_loop(node);
    case NodeKind::With: return with(node);
    case NodeKind::Return: return leave(node);
    case NodeKind::Break:
    case NodeKind::Continue: return leave_turn(node);
    case NodeKind::Raise: return raise_exception(node);
    case NodeKind::Assert: return assertion(node);
    case NodeKind::Function: {
      Variable local;
      local.local = &node;
      frames_.back().values[node.text] = local;
      return;
    }
    default: fail(node, "this statement is not part of the language of archives");
  }
}

// ---- names

const Variable* Emitter::find(std::string_view name) const {
  for (size_t k = frames_.size(); k-- > 0;) {
    auto found = frames_[k].values.find(name);
    if (found != frames_[k].values.end()) return found->second.gone ? nullptr : &found->second;
  }
  return nullptr;
}

const Variable* Emitter::find_outer(std::string_view name) const {
  for (size_t k = frames_.size() - 1; k-- > 0;) {
    auto found = frames_[k].values.find(name);
    if (found != frames_[k].values.end()) return found->second.gone ? nullptr : &found->second;
  }
  return nullptr;
}

int Emitter::place_of(std::string_view name) {
  int& place = places_[name];
  if (!place) place = code_.fresh();
  return place;
}

void Emitter::note_type(int place, T type) {
  if (held_.size() <= size_t(place)) held_.resize(size_t(place) + 1);
  T& known = held_[size_t(place)];
  known = !known || known == type ? type : types_.any;
}

void Emitter::finish_types() {
  f_.register_types.resize(size_t(f_.registers));
  for (size_t place = 1; place < held_.size(); ++place) {
    if (held_[place]) f_.register_types[place - 1] = Types::held(held_[place]);
  }
}

// Binds a name to what an expression stands for. A name of an outer block keeps its type; the value
// is converted to it, if there is a conversion.
void Emitter::bind(std::string_view name, Meaning value, const Node& node, T declared) {
  Variable made;
  if (!value.is_value()) {
    if (const Variable* outer = find_outer(name); outer && outer->place) {
      fail(node, "'", name, "' is a value in an outer block and cannot become something else");
    }
    made.meaning = std::move(value);
    frames_.back().values[name] = std::move(made);
    return;
  }
  T type = push(&value, node);
  if (const Variable* outer = find_outer(name)) {
    if (!outer->place) fail(node, "'", name, "' is no value in an outer block");
    if (value.unknown) type = outer->type;
    type = convert(type, outer->type, true, value.open);
    if (!types_.is_subtype(type, outer->type)) {
      fail(node, "variable '", name, "' previously had type ", Types::text(outer->type),
           " but is now assigned a value of type ", Types::text(type));
    }
  } else if (declared) {
    if (value.unknown) type = declared;
    if (value.open.open) type = convert(type, declared, false, value.open);
    if (!types_.is_subtype(type, declared)) {
      fail(node, "variable '", name, "' is annotated with type ", Types::text(declared),
           " but is assigned a value of type ", Types::text(type));
    }
    type = declared;
  }
  made.type = type;
  made.place = place_of(name);
  note_type(made.place, type);
  code_.emit(Opcode::STORE, made.place);
  frames_.back().values[name] = made;
}

// ---- assignments

void Emitter::assign(const Node& node) {
  if (node.items.size() != 1) {
    fail(node, "an assignment to several targets is not part of the language of archives");
  }
  const Node& target = *node.items[0];
  if (target.kind == NodeKind::Attribute) return set_attribute(target, *node.a);
  if (target.kind == NodeKind::Subscript) {
    std::vector<Operand> operands{operand(*target.a), operand(*target.b), operand(*node.a)};
    Meaning done = call_operator("aten::_set_item", std::move(operands), node);
    if (done.kind == Meaning::OnStack) code_.emit(Opcode::DROP);
    return;
  }
  bool literal = target.kind == NodeKind::Tuple && node.a->kind == NodeKind::Tuple &&
                 target.items.size() == node.a->items.size();
  if (literal) {  // all values are evaluated before any name changes
    std::vector<Meaning> values;
    for (const Node* item : node.a->items) {
      values.push_back(expression(*item));
      if (!values.back().is_value()) continue;
      T type = push(&values.back(), *item);
      bool unknown = values.back().unknown;
      Openness open = values.back().open;
      values.back() = on_stack(type);
      values.back().unknown = unknown;
      values.back().open = open;
    }
    for (size_t k = values.size(); k-- > 0;) {
      store_in(*target.items[k], std::move(values[k]), node);
    }
    return;
  }
  store_in(target, expression(*node.a), node);
}

void Emitter::annotated(const Node& node) {
  T type = declarations_.type_of(file_, *node.b);
  if (!node.c) fail(node, "a declaration without a value is not part of the language of archives");
  if (node.a->kind != NodeKind::Name) fail(node, "only names are annotated");
  if (const Variable* outer = find_outer(node.a->text); outer && outer->place) {
    fail(node, "'", node.a->text, "' is already defined in an outer block");
  }
  Meaning value = expression(*node.c, type);
  if (!value.is_value()) fail(node, "this is no value");
  bind(node.a->text, std::move(value), node, type);
}

void Emitter::store_in(const Node& target, Meaning value, const Node& node) {
  if (target.kind == NodeKind::Name) return bind(target.text, std::move(value), node);
  if (target.kind == NodeKind::Tuple || target.kind == NodeKind::List) {
    return unpack(target.items, std::move(value), node);
  }
  fail(target, "this cannot be assigned to");
}

void Emitter::unpack(Row targets, Meaning value, const Node& node) {
  const int count = int(targets.size());
  std::vector<T> parts;
  bool unknown = value.unknown;
  if (value.kind == Meaning::Several) {
    parts = value.several;
  } else {
    T type = push(&value, node);
    if (type->kind == TypeKind::Tuple || type->kind == TypeKind::NamedTuple) {
      for (const TypeRef& e : type->elements) parts.push_back(e.get());
      if (parts.empty()) {
        code_.emit(Opcode::DROP);
      } else {
        Signature unpacked;
        unpacked.name = "prim::TupleUnpack";
        unpacked.returns = parts;
        unpacked.formals.resize(1);
        code_.emit(Opcode::OP, code_.operation(unpacked, 1));
        // The verifier reads the number of parts from the STOREN that follows.
        int first = code_.fresh(int(parts.size()));
        code_.emit(Opcode::STOREN, first, int64_t(parts.size()));
        if (int(parts.size()) == count) {
          for (int k = 0; k < count; ++k) {
            const Node& target = *targets[size_t(k)];
            bool fresh = target.kind == NodeKind::Name && !places_.count(target.text);
            if (fresh) {  // a new variable takes over the register of the part
              places_[target.text] = first + k;
              note_type(first + k, parts[size_t(k)]);
              frames_.back().values[target.text] = {parts[size_t(k)], first + k, {}, nullptr};
              continue;
            }
            code_.emit(Opcode::LOAD, first + k);
            store_in(target, on_stack(parts[size_t(k)]), node);
          }
          return;
        }
      }
    } else if (type->kind == TypeKind::List) {
      code_.emit(Opcode::LIST_UNPACK, count);
      parts.assign(size_t(count), type->elements[0].get());
    } else if (unknown) {
      parts.assign(size_t(count), types_.tensor);  // a guess: this code never runs
    } else {
      fail(node, "a value of type ", Types::text(type), " cannot be taken apart");
    }
  }
  if (int(parts.size()) != count) { fail(node, parts.size(), " values for ", count, " targets"); }
  for (size_t k = parts.size(); k-- > 0;) store_in(*targets[k], on_stack(parts[k]), node);
}

void Emitter::set_attribute(const Node& target, const Node& value) {
  T owner = push(*target.a);
  Declared* declared = types_.declared(owner);
  int64_t slot = declared ? declared->slot(target.text) : -1;
  if (slot < 0) fail(target, Types::text(owner), " has no attribute '", target.text, "' to be set");
  T wanted = declared->attributes[size_t(slot)].second;
  Meaning made = expression(value, wanted);
  T type = push(&made, value);
  if (made.unknown) type = wanted;
  if (made.open.open) type = convert(type, wanted, false, made.open);
  if (!types_.is_subtype(type, wanted)) {
    fail(target, "the attribute '", target.text, "' keeps ", Types::text(wanted), ", not ",
         Types::text(type));
  }
  code_.emit(Opcode::SET_ATTR, slot);
}

// ---- the end of a function

void Emitter::leave(const Node& node) {
  Meaning value = node.a ? expression(*node.a, result_) : constant_of(Value(), types_.none);
  leave_with(node, std::move(value));
}

void Emitter::leave_with(const Node& node, Meaning value) {
  T type = push(&value, node);
  if (value.unknown && result_) type = result_;
  if (result_) type = convert(type, result_, true, value.open);
  if (!result_) result_ = type;  // in the body of a fork, the first return decides the type
  if (!types_.is_subtype(type, result_)) {
    fail(node, "the result is declared as ", Types::text(result_), ", this returns ",
         Types::text(type));
  }
  if (!loops_.empty() || !entered_.empty()) {
    int kept = code_.fresh();
    code_.emit(Opcode::STORE, kept);
    for (size_t k = entered_.size(); k-- > 0;) {
      Meaning owner = on_stack(entered_[k].type);
      code_.emit(Opcode::LOAD, entered_[k].place);
      call_method_of(owner, "__exit__", node);
      code_.emit(Opcode::DROP);
    }
    // Each open loop has its trip number and trip limit on the stack.
    for (size_t k = 0; k < 2 * loops_.size(); ++k) code_.emit(Opcode::DROP);
    code_.emit(Opcode::LOAD, kept);
  }
  code_.emit(Opcode::RET);
  code_.die();
}

void Emitter::raise_exception(const Node& node) {
  std::string name;
  const Node* value = node.a;
  const Node& callee = value->kind == NodeKind::Call ? *value->a : *value;
  if (!dotted(callee, &name)) fail(node, "this cannot be raised");
  if (value->kind == NodeKind::Call && !value->items.empty()) {
    if (push(*value->items[0]) != types_.string) fail(node, "the message of an exception is a str");
  } else {
    code_.emit(Opcode::LOADC, code_.constant(Value::of_text("")));
  }
  name = "builtins." + name;
  code_.emit(Opcode::LOADC, code_.constant(Value::of_text(name)));
  code_.emit(Opcode::RAISE_EXCEPTION);
  code_.die();
}

void Emitter::assertion(const Node& node) {
  condition(*node.a);
  size_t over = code_.emit(Opcode::JF);
  size_t on = code_.emit(Opcode::JMP);
  code_.land(over);
  size_t outer = code_.begin_block();
  if (node.b) {
    if (push(*node.b) != types_.string) fail(node, "the message of an assertion is a str");
  } else {
    code_.emit(Opcode::LOADC, code_.constant(Value::of_text("")));
  }
  code_.emit(Opcode::LOADC, code_.constant(Value::of_text("builtins.AssertionError")));
  code_.emit(Opcode::RAISE_EXCEPTION);
  code_.end_block(outer);
  code_.land(on);
}

}  // namespace scriptlang::source
