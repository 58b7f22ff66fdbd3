// Compiles branches, loops and `with`: their jumps, and what names stand for where paths meet.

#include <algorithm>

#include "emitter.h"

namespace scriptlang::source {

namespace {

constexpr int64_t kEndless = INT64_MAX;

}  // namespace

// ---- branches

void Emitter::condition(const Node& node) {
  Meaning test = expression(node);
  T type = push(&test, node);
  if (test.unknown) return;
  to_bool(type, node);
}

void Emitter::conditional(const Node& node) {
  Meaning test = expression(*node.a);
  // If the condition is a constant, only one branch is compiled, as in PyTorch.
  if (test.kind == Meaning::Constant && test.constant.is_bool()) {
    return statements(test.constant.as_bool() ? node.items : node.more);
  }
  T type = push(&test, *node.a);
  if (!test.unknown) to_bool(type, *node.a);
  size_t over_then = code_.emit(Opcode::JF);
  size_t outer = code_.begin_block();
  frames_.emplace_back();
  statements(node.items);
  Frame then = std::move(frames_.back());
  frames_.pop_back();
  bool then_on = code_.end_block(Assembler::kAlive);
  const size_t after_then = code_.size();
  size_t over_other = then_on ? code_.emit(Opcode::JMP) : 0;
  code_.land(over_then);
  const size_t start = code_.size();
  frames_.emplace_back();
  statements(node.more);
  Frame other = std::move(frames_.back());
  frames_.pop_back();
  bool other_on = code_.end_block(outer);
  if (then_on && code_.size() == start) {  // no else: the jump over it is removed
    code_.erase(after_then, start);
    code_.at(over_then).x -= 1;
  } else if (then_on) {
    code_.land(over_other);
  }
  if (!then_on && !other_on) return code_.die();
  merge(then, other, then_on, other_on);
}

const Variable* Emitter::find_in(const Frame& frame, std::string_view name) const {
  auto found = frame.values.find(name);
  if (found == frame.values.end()) return find(name);
  return found->second.gone ? nullptr : &found->second;
}

// Joins the names that two branches bind. `then_on`, `other_on`: whether control goes on behind the
// branch. A name that does not have one common meaning afterwards is gone.
void Emitter::merge(const Frame& then, const Frame& other, bool then_on, bool other_on) {
  std::vector<std::string_view> names;
  for (auto& [name, value] : then.values) names.push_back(name);
  for (auto& [name, value] : other.values) {
    if (!then.values.count(name)) names.push_back(name);
  }
  Frame& here = frames_.back();
  for (std::string_view name : names) {
    const Variable* a = then_on ? find_in(then, name) : nullptr;
    const Variable* b = other_on ? find_in(other, name) : nullptr;
    Variable joined;
    bool known = (a || !then_on) && (b || !other_on);
    if (known && a && b) {
      joined = *a;
      known = (a->place != 0) == (b->place != 0);
      if (known && a->place) {
        joined.type = types_.unify(a->type, b->type);
        const Variable* outer = find(name);
        if (!joined.type && outer && outer->place && types_.is_subtype(a->type, outer->type) &&
            types_.is_subtype(b->type, outer->type)) {
          joined.type = types_.union_of({a->type, b->type});
        }
        known = joined.type != nullptr;
      } else if (known) {
        known = a->local == b->local && a->meaning.kind == b->meaning.kind &&
                a->meaning.name == b->meaning.name && a->meaning.routine == b->meaning.routine &&
                a->meaning.declared == b->meaning.declared;
      }
    } else if (known) {
      joined = a ? *a : *b;
    }
    if (!known) joined = Variable();
    joined.gone = !known;
    here.values[name] = std::move(joined);
  }
}

Meaning Emitter::choice(const Node& node, T expected) {
  Meaning test = expression(*node.a);
  if (test.kind == Meaning::Constant && test.constant.is_bool()) {
    return expression(test.constant.as_bool() ? *node.b : *node.c, expected);
  }
  to_bool(push(&test, *node.a), *node.a);
  size_t over = code_.emit(Opcode::JF);
  T first = push(*node.b, expected);
  size_t on = code_.emit(Opcode::JMP);
  code_.land(over);
  T second = push(*node.c, expected);
  code_.land(on);
  T type = types_.unify(first, second);
  if (!type && expected && types_.is_subtype(first, expected) &&
      types_.is_subtype(second, expected)) {
    type = expected;
  }
  if (!type) {
    fail(node, "one branch of the if-expression is ", Types::text(first), ", the other ",
         Types::text(second));
  }
  return on_stack(type);
}

// `and`, `or`: the right operand is evaluated only if the left one does not decide the result.
Meaning Emitter::both(const Node& node) {
  condition(*node.a);
  size_t over = code_.emit(Opcode::JF);
  if (node.kind == NodeKind::And) {
    condition(*node.b);
  } else {
    code_.emit(Opcode::LOADC, code_.constant(Value(true)));
  }
  size_t on = code_.emit(Opcode::JMP);
  code_.land(over);
  if (node.kind == NodeKind::And) {
    code_.emit(Opcode::LOADC, code_.constant(Value(false)));
  } else {
    condition(*node.b);
  }
  code_.land(on);
  return on_stack(types_.boolean);
}

// ---- loops. The trip number and the trip limit are on the stack while a loop runs.

void Emitter::while_loop(const Node& node) {
  code_.emit(Opcode::LOADC, code_.constant(Value(0)));
  code_.emit(Opcode::LOADC, code_.constant(Value(kEndless)));
  condition(*node.a);
  size_t head = code_.emit(Opcode::LOOP, 0, 2);
  loop_body(node, head, node.a, nullptr, 0, nullptr);
}

// Pushes the trip limit of a `for`. *list is the register that holds its list, 0 for a range.
size_t Emitter::count_of(const Node& iterable, int* list, T* element) {
  const bool is_range = iterable.kind == NodeKind::Call && iterable.a->kind == NodeKind::Name &&
                        iterable.a->text == "range" && !find("range");
  if (is_range && iterable.items.size() == 1) {
    T type = push(*iterable.items[0]);
    type = convert(type, types_.integer, true, {});
    if (type != types_.integer) fail(iterable, "a range goes over ints");
    return code_.size();
  }
  if (is_range) fail(iterable, "a range with a start is not part of the language of archives");
  T type = push(iterable);
  if (type->kind != TypeKind::List) {
    fail(iterable, "a loop over ", Types::text(type), " is not part of the language of archives");
  }
  *element = type->elements[0].get();
  *list = code_.fresh();
  code_.emit(Opcode::STORE, *list);
  size_t begin = code_.size();
  code_.emit(Opcode::LOAD, *list);
  call_operator("aten::len", one(type, begin), iterable);
  return code_.size();
}

void Emitter::for_loop(const Node& node) {
  code_.emit(Opcode::LOADC, code_.constant(Value(0)));
  int list = 0;
  T element = nullptr;
  count_of(*node.b, &list, &element);
  code_.emit(Opcode::LOADC, code_.constant(Value(true)));
  size_t head = code_.emit(Opcode::LOOP, 0, 2);
  loop_body(node, head, nullptr, node.a, list, element);
}

void Emitter::loop_body(const Node& node, size_t head, const Node* test, const Node* target,
                        int list, T element) {
  size_t outer = code_.begin_block();
  frames_.emplace_back();
  loops_.push_back({head, test});
  if (!target) {
    code_.emit(Opcode::DROP);
  } else if (!list) {
    store_in(*target, on_stack(types_.integer), node);
  } else {
    int turn = code_.fresh();
    code_.emit(Opcode::STORE, turn);
    std::vector<Operand> operands(2);
    operands[0].type = types_.list_of(element);
    operands[0].begin = code_.emit(Opcode::LOAD, list);
    operands[1].type = types_.integer;
    operands[0].end = operands[1].begin = code_.emit(Opcode::LOAD, turn);
    operands[1].end = code_.size();
    store_in(*target, call_operator("aten::__getitem__", std::move(operands), node), node);
  }
  statements(node.items);
  if (!code_.dead()) {
    if (test) condition(*test);
    else code_.emit(Opcode::LOADC, code_.constant(Value(true)));
    code_.jump_to(head);
  }
  code_.end_block(outer);
  loops_.pop_back();
  frames_.pop_back();
  code_.land(head);
}

// `break`, `continue`: jumps to the LOOP with the condition that decides whether it goes on.
void Emitter::leave_turn(const Node& node) {
  if (loops_.empty()) fail(node, "this stands outside of a loop");
  if (!entered_.empty()) {
    fail(node, "break and continue inside of with are not part of the language of archives");
  }
  const Loop& loop = loops_.back();
  if (node.kind == NodeKind::Break) {
    code_.emit(Opcode::LOADC, code_.constant(Value(false)));
  } else if (loop.condition) {
    condition(*loop.condition);
  } else {
    code_.emit(Opcode::LOADC, code_.constant(Value(true)));
  }
  code_.jump_to(loop.head);
  code_.die();
}

// ---- with

void Emitter::call_method_of(const Meaning& owner, const char* method, const Node& node) {
  Declared* declared = types_.declared(owner.type);
  Routine* routine = declared ? declared->method(method) : nullptr;
  if (!routine) fail(node, Types::text(owner.type), " has no method ", method);
  std::vector<Operand> operands(1);
  operands[0].type = owner.type;
  operands[0].end = code_.size();
  operands[0].begin = operands[0].end - 1;
  for (size_t k = 1; k < routine->signature.formals.size(); ++k) {
    Operand none;
    none.type = types_.none;
    none.begin = code_.emit(Opcode::LOADC, code_.constant(Value()));
    none.end = code_.size();
    operands.push_back(none);
  }
  call_routine(routine, std::move(operands), node);
}

void Emitter::with(const Node& node) {
  const size_t outside = entered_.size();
  for (size_t k = 0; k < node.items.size(); k += 2) {
    T type = push(*node.items[k]);
    int place = code_.fresh();
    code_.emit(Opcode::STORE, place);
    code_.emit(Opcode::LOAD, place);
    Declared* declared = types_.declared(type);
    Routine* enter = declared ? declared->method("__enter__") : nullptr;
    Routine* exit = declared ? declared->method("__exit__") : nullptr;
    if (!enter || !exit || declared->is_interface()) {
      fail(node, "a value of type ", Types::text(type), " cannot stand after with");
    }
    if (enter->signature.formals.size() != 1) {
      fail(node, "__enter__ of ", Types::text(type), " takes arguments, which with does not give");
    }
    const std::vector<Formal>& given = exit->signature.formals;
    if (given.size() != 4 || std::any_of(given.begin() + 1, given.end(), [&](const Formal& formal) {
          return formal.type != types_.any;
        })) {
      fail(node, "__exit__ of ", Types::text(type), " does not take three values of any type");
    }
    call_method_of(on_stack(type), "__enter__", node);
    entered_.push_back({place, type});
    if (node.items[k + 1]) {
      store_in(*node.items[k + 1], on_stack(enter->signature.returns[0]), node);
    } else {
      code_.emit(Opcode::DROP);
    }
  }
  statements(node.more);
  while (entered_.size() > outside) {
    Entered last = entered_.back();
    entered_.pop_back();
    code_.emit(Opcode::LOAD, last.place);
    call_method_of(on_stack(last.type), "__exit__", node);
    code_.emit(Opcode::DROP);
  }
}

}  // namespace scriptlang::source
