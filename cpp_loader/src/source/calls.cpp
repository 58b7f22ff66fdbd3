// Compiles calls: chooses the overload by the types of the arguments, and converts these to what
// the callee takes.
#include <algorithm>

#include "emitter.h"
#include "ops/optable.h"
#include "values/list.h"

namespace scriptlang::source {

namespace {

// An operator that has an opcode of its own. `counted`: its operand is the number of arguments.
struct Promoted {
  std::string_view name;
  Opcode op;
  bool counted;
};
constexpr Promoted kPromoted[] = {
#define SL_PROMOTED(name, op) {name, Opcode::op, false},
#define SL_COUNTED(name, op) {name, Opcode::op, true},
#include "rules.def"
};

const Promoted* promoted(const Signature& signature) {
  for (const Promoted& known : kPromoted) {
    if (signature.name == known.name) return &known;
  }
  return nullptr;
}

// Operators whose second argument PyTorch's executor takes as a number if it is a constant tensor
// of rank 0. So int64 plus a constant of float64 is float32, as with a number. A trace has such
// constants for the numbers of Python.
constexpr std::string_view kTakeNumbers[] = {"aten::add", "aten::sub", "aten::mul", "aten::div"};

bool takes_number(std::string_view name, const Node& call) {
  const bool known =
      std::find(std::begin(kTakeNumbers), std::end(kTakeNumbers), name) != std::end(kTakeNumbers);
  return known && call.items.size() >= 2 && !(name == "aten::div" && !call.more.empty());
}

// Context managers of autocast for the CPU, and which arguments tell device and enabled.
struct Autocast {
  std::string_view name;
  int device, enabled;
};
constexpr Autocast kAutocasts[] = {{"__torch__.torch.amp.autocast_mode.autocast", 0, 2},
                                   {"__torch__.torch.cpu.amp.autocast_mode.autocast", -1, 0}};

constexpr size_t kMostListed = 64;  // the most elements of a default list that each call makes anew

}  // namespace

// ---- arguments

Operand Emitter::operand(const Node& node, T expected) {
  Operand made;
  made.begin = code_.size();
  Meaning meaning = expression(node, expected);
  made.type = push(&meaning, node);
  made.open = std::move(meaning.open);
  made.unknown = meaning.unknown;
  made.end = code_.size();
  return made;
}

// The second argument of an operator of kTakeNumbers: a constant tensor of rank 0 is a number.
Operand Emitter::second_operand(const Node& node) {
  Operand made;
  made.begin = code_.size();
  Meaning meaning = expression(node);
  if (meaning.kind == Meaning::Constant && meaning.constant.is_tensor() &&
      meaning.constant.as_tensor().defined()) {
    const Tensor& tensor = meaning.constant.as_tensor();
    const ScalarType type = tensor.dtype();
    if (tensor.dim() == 0 && (is_integral(type, false) || is_floating(type) || is_complex(type))) {
      Scalar number = Scalar::of(meaning.constant);
      if (number.kind == Scalar::Int) {
        meaning = constant_of(Value(number.i), types_.integer);
      } else if (number.kind == Scalar::Double) {
        meaning = constant_of(Value(number.d), types_.real);
      } else {
        meaning = constant_of(Value(number.to_complex()), types_.complex);
      }
    }
  }
  made.type = push(&meaning, node);
  made.open = std::move(meaning.open);
  made.unknown = meaning.unknown;
  made.end = code_.size();
  return made;
}

std::vector<Operand> Emitter::arguments(const Node& node, bool second_is_number) {
  std::vector<Operand> made;
  const size_t count = node.items.size() + node.more.size();
  if (count > kMostArguments) fail(node, "a call has over ", kMostArguments, " arguments");
  made.reserve(count);
  for (const Node* item : node.items) {
    const bool may_be_number =
        second_is_number && made.size() == 1 && made[0].type == types_.tensor;
    made.push_back(may_be_number ? second_operand(*item) : operand(*item));
  }
  for (const Node* keyword : node.more) {
    made.push_back(operand(*keyword->a));
    made.back().name = keyword->text;
  }
  return made;
}

std::vector<Operand> Emitter::one(T type, size_t begin) {
  std::vector<Operand> made(1);
  made[0].type = type;
  made[0].begin = begin;
  made[0].end = code_.size();
  return made;
}

// ---- calls, by the kind of callee

Meaning Emitter::call(const Node& node, T expected) {
  const size_t begin = code_.size();
  if (expected && node.a->kind == NodeKind::Attribute && node.a->text == "tolist") {
    return to_list(node, expected);
  }
  Meaning callee = expression(*node.a);
  code_.line = node.at;
  switch (callee.kind) {
    case Meaning::Form:
      if (callee.name == "__new__") {
        session_.makes(callee.declared);
        code_.emit(Opcode::CREATE_OBJECT, code_.type(callee.declared->type));
        return on_stack(callee.declared->type);
      }
      return form(callee.name, node);
    case Meaning::Operator: {
      std::vector<Operand> operands;
      if (callee.bound) operands = one(callee.type, begin);
      if (session_.candidates(callee.name).empty()) return call_unknown(callee.name, node);
      const bool number = !callee.bound && takes_number(callee.name, node);
      for (Operand& argument : arguments(node, number)) operands.push_back(std::move(argument));
      return call_operator(callee.name, std::move(operands), node);
    }
    case Meaning::Routine_: return call_routine(callee.routine, arguments(node), node);
    case Meaning::TupleClass: return make_named_tuple(callee.type, arguments(node), node);
    case Meaning::Method:
    case Meaning::OnStack: {
      Operand owner;
      owner.type = callee.type;
      owner.begin = begin;
      owner.end = code_.size();
      return call_value(std::move(callee), std::move(owner), node);
    }
    case Meaning::Class: {
      Declared* declared = callee.declared;
      session_.makes(declared);
      code_.emit(Opcode::CREATE_OBJECT, code_.type(declared->type));
      Routine* start = declared->method("__init__");
      if (!start) return on_stack(declared->type);
      check_autocast(Types::text(declared->type), node);
      int kept = code_.fresh();
      code_.emit(Opcode::STORE, kept);
      std::vector<Operand> operands(1);
      operands[0].type = declared->type;
      operands[0].begin = code_.emit(Opcode::LOAD, kept);
      operands[0].end = code_.size();
      for (Operand& argument : arguments(node)) operands.push_back(std::move(argument));
      call_routine(start, std::move(operands), node);
      code_.emit(Opcode::DROP);
      code_.emit(Opcode::LOAD, kept);
      return on_stack(declared->type);
    }
    default: fail(node, "this cannot be called");
  }
}

// Refuses an autocast object that would have an effect: the conversions are placed by a pass over
// graphs, which this compiler does not have. Code that PyTorch froze has them, and sets the
// object's attributes without `__init__`.
void Emitter::check_autocast(const std::string& type, const Node& node) {
  for (const Autocast& known : kAutocasts) {
    if (type != known.name) continue;
    auto literal = [&](int at) {
      return at >= 0 && size_t(at) < node.items.size() ? expression(*node.items[size_t(at)])
                                                       : Meaning();
    };
    Meaning device = literal(known.device);
    if (device.kind == Meaning::Constant && device.constant.is_string() &&
        device.constant.as_string() != "cpu") {
      return;
    }
    Meaning enabled = literal(known.enabled);
    if (enabled.kind == Meaning::Constant && enabled.constant.is_bool() &&
        !enabled.constant.as_bool()) {
      return;
    }
    fail(node,
         "autocast takes effect only where Python compiles the program; `scriptlang compile` "
         "writes an archive in which it has");
  }
}

// Calls a method of an object that is on the stack, or the object itself.
Meaning Emitter::call_value(Meaning callee, Operand owner, const Node& node) {
  Declared* declared = types_.declared(owner.type);
  Routine* routine = callee.routine;
  if (!routine && declared) {
    routine = declared->method(declared->is_module() ? "forward" : "__call__");
  }
  if (!routine) fail(node, "a value of type ", Types::text(owner.type), " cannot be called");
  if (routine->short_name() == "__init__") check_autocast(Types::text(owner.type), node);
  std::vector<Operand> operands{std::move(owner)};
  for (Operand& argument : arguments(node)) operands.push_back(std::move(argument));
  if (!declared->is_interface()) return call_routine(routine, std::move(operands), node);
  Match match = matched({&routine->signature}, operands, node);
  int count = materialise(match, std::move(operands), true);
  Value name = Value::of_text(routine->short_name());
  code_.line = node.at;
  code_.emit(Opcode::INTERFACE_CALL, code_.constant(name), count);
  return on_stack(match.returns[0]);
}

Meaning Emitter::call_routine(Routine* routine, std::vector<Operand> operands, const Node& node) {
  Match match = matched({&routine->signature}, operands, node);
  materialise(match, std::move(operands), true);
  code_.line = node.at;
  code_.emit(Opcode::CALL, code_.callee(session_.function_of(routine)));
  return on_stack(match.returns[0]);
}

Meaning Emitter::make_named_tuple(T type, std::vector<Operand> operands, const Node& node) {
  Signature made;
  made.name = type->name;
  const std::vector<Value>* defaults = declarations_.defaults_of(type->name);
  const size_t first = type->fields.size() - (defaults ? defaults->size() : 0);
  for (size_t k = 0; k < type->fields.size(); ++k) {
    Formal formal;
    formal.name = type->fields[k];
    formal.type = type->elements[k].get();
    formal.has_default = k >= first;
    if (formal.has_default) formal.value = (*defaults)[k - first];
    made.formals.push_back(std::move(formal));
  }
  made.returns.push_back(type);
  Match match = matched({&made}, operands, node);
  int count = materialise(match, std::move(operands), true);
  code_.emit(Opcode::NAMED_TUPLE_CONSTRUCT, code_.type(type), count);
  return on_stack(type);
}

// A call of an operator that is not in the table. It raises when it is reached, so code behind it
// never runs, but is still compiled.
Meaning Emitter::call_unknown(const std::string& name, const Node& node) {
  arguments(node);
  code_.emit(Opcode::OP, code_.unknown_operation(name));
  code_.die();
  unknown_ = name;
  Meaning made = on_stack(types_.tensor);
  made.unknown = true;
  return made;
}

// ---- operators

Match Emitter::matched(const Candidates& candidates, const std::vector<Operand>& operands,
                       const Node& node) {
  std::vector<Actual> actuals;
  actuals.reserve(operands.size());
  for (const Operand& o : operands) actuals.push_back({o.type, o.open, o.name});
  Match match;
  std::string why;
  if (!choose(&types_, candidates, actuals, &match, &why)) fail(node, why);
  return match;
}

Meaning Emitter::call_operator(const std::string& name, std::vector<Operand> operands,
                               const Node& node) {
  const Candidates& candidates = session_.candidates(name);
  if (candidates.empty()) fail(node, "there is no operator '", name, "'");
  Match match = matched(candidates, operands, node);
  return finish_operator(match, std::move(operands), node);
}

Meaning Emitter::finish_operator(const Match& match, std::vector<Operand> operands,
                                 const Node& node) {
  const Signature& signature = *match.signature;
  code_.line = node.at;
  auto result = [&]() -> Meaning {
    if (match.returns.size() == 1) return on_stack(match.returns[0]);
    Meaning made;
    made.kind = match.returns.empty() ? Meaning::Nothing : Meaning::Several;
    made.type = types_.none;
    made.several = match.returns;
    return made;
  };
  Routine* body = signature.needs_body ? session_.body_of(signature) : signature.body;
  if (!match.slots.empty() && match.slots[0].source >= 0) {
    T first = operands[size_t(match.slots[0].source)].type;
    if (Routine* sorts = session_.sorting(signature.name, first)) body = sorts;
  }
  if (body) {
    materialise(match, std::move(operands), true);
    code_.emit(Opcode::CALL, code_.callee(session_.function_of(body)));
    if (match.returns.size() == 1) return on_stack(match.returns[0]);
    if (match.returns.empty()) {
      code_.emit(Opcode::DROP);
      return result();
    }
    return on_stack(types_.tuple_of(match.returns));
  }
  if (const Promoted* known = promoted(signature)) {
    int count = materialise(match, std::move(operands), true);
    code_.emit(known->op, known->counted ? count : 0);
    if (known->op == Opcode::RAISE_EXCEPTION) code_.die();
    return result();
  }
  const bool variadic = signature.variadic;
  int count = materialise(match, std::move(operands), variadic);
  code_.line = node.at;
  if (variadic) code_.emit(Opcode::OPN, code_.variadic_operation(signature), count);
  else code_.emit(Opcode::OP, code_.operation(signature, count));
// An operator without a kernel raises, so code behind it is dead. A build for some programs keeps
// that code, so that it compiles programs as a full build does.
#if !defined(SL_SELECTED)
  if (!signature.entry) code_.die();
#endif
  return result();
}

// ---- arguments as the callee takes them

// If arguments that are given by name have another order than the formals, reorders them through
// registers.
void Emitter::reorder(const Match& match, std::vector<Operand>* operands) {
  int last = -1;
  bool ordered = true;
  for (const Slot& slot : match.slots) {
    if (slot.source < 0) continue;
    ordered = ordered && slot.source > last;
    last = slot.source;
  }
  if (ordered) return;
  const int first = code_.fresh(int(operands->size()));
  for (size_t k = operands->size(); k-- > 0;) code_.emit(Opcode::STORE, first + int(k));
  for (const Slot& slot : match.slots) {
    for (int k = 0; slot.source >= 0 && k < std::max(slot.gathered, 1); ++k) {
      Operand& o = (*operands)[size_t(slot.source + k)];
      o.begin = code_.emit(Opcode::LOAD, first + slot.source + k);
      o.end = code_.size();
    }
  }
}

int Emitter::materialise(const Match& match, std::vector<Operand> operands, bool all) {
  const Signature& signature = *match.signature;
  reorder(match, &operands);
  size_t given = match.slots.size();
  const bool ends_in_out = !signature.formals.empty() && signature.formals.back().written;
  if (!all && !ends_in_out) {
    while (given > 0 && match.slots[given - 1].source < 0) --given;
  }
  const size_t start =
      operands.empty()
          ? code_.size()
          : std::min_element(operands.begin(), operands.end(),
                             [](const Operand& a, const Operand& b) { return a.begin < b.begin; })
                ->begin;
  // From the last to the first, so that insertions do not move the code of those still to come.
  for (size_t k = given; k-- > 0;) {
    const Slot& slot = match.slots[k];
    if (slot.source < 0) {
      size_t at = start;
      for (size_t before = k; before-- > 0;) {
        const Slot& other = match.slots[before];
        if (other.source < 0) continue;
        at = operands[size_t(other.source + std::max(other.gathered, 1) - 1)].end;
        break;
      }
      push_default(at, signature.formals[k], signature.body != nullptr);
    } else if (slot.gathered > 0) {
      const Operand& last = operands[size_t(slot.source + slot.gathered - 1)];
      code_.insert(last.end, Opcode::LIST_CONSTRUCT,
                   code_.type(types_.without_none(signature.formals[k].type)), slot.gathered);
      const size_t end = last.end + 1;
      const size_t before = code_.size();
      for (int part = slot.gathered; part-- > 0;) {
        convert_at(operands[size_t(slot.source + part)], slot.steps[size_t(part)]);
      }
      if (signature.plain_results && before == code_.size()) {
        Operand whole;
        whole.begin = operands[size_t(slot.source)].begin;
        whole.end = end;
        fold_list(whole);
      }
    } else {
      const Operand& o = operands[size_t(slot.source)];
      convert_at(o, slot.step);
      bool as_is = slot.step.kind == Step::None || slot.step.kind == Step::EmptyList;
      if (as_is && signature.plain_results && o.type->kind == TypeKind::List) fold_list(o);
    }
  }
  size_t count = given;
  if (signature.variadic) count += operands.size() - match.extra;
  return int(count);
}

// Makes a list of constant numbers one constant. Only for arguments of operators whose results are
// all tensors, which neither write to the list nor keep it.
bool Emitter::fold_list(const Operand& operand) {
  const Instruction& last = code_.at(operand.end - 1);
  if (last.op != Opcode::LIST_CONSTRUCT || size_t(last.n) != operand.end - operand.begin - 1) {
    return false;
  }
  T list = f_.types[size_t(last.x)].get();
  T element = list->elements[0].get();
  if (element != types_.integer && element != types_.real && element != types_.boolean) {
    return false;
  }
  std::vector<Value> values;
  std::string key(1, '[');
  for (size_t pc = operand.begin; pc + 1 < operand.end; ++pc) {
    if (code_.at(pc).op != Opcode::LOADC) return false;
    values.push_back(f_.constants[size_t(code_.at(pc).x)]);
    const uint64_t bits = values.back().bits();
    key.append(1, char(values.back().tag())).append(reinterpret_cast<const char*>(&bits), 8);
  }
  Value& known = lists_[key.append(1, char(element->kind))];
  if (known.is_none()) known = List::make(std::move(values), Types::held(element));
  code_.at(operand.begin).op = Opcode::LOADC;
  if (operand.end - operand.begin > 1) code_.erase(operand.begin + 1, operand.end);
  code_.at(operand.begin).x = code_.constant(known);
  code_.at(operand.begin).n = 0;
  return true;
}

void Emitter::push_default(size_t at, const Formal& formal, bool fresh_lists) {
  const Value& value = formal.value;
  const bool is_list = value.is_list() && value.as_list().size() <= kMostListed;
  // The callee may write to the list, so each call makes a new one.
  if (is_list && (fresh_lists || value.as_list().empty())) {
    const List& list = value.as_list();
    T type = types_.without_none(formal.type);
    if (type->kind != TypeKind::List) type = declarations_.type_of_value(value);
    code_.insert(at, Opcode::LIST_CONSTRUCT, code_.type(type), int64_t(list.size()));
    for (size_t k = list.size(); k-- > 0;) {
      code_.insert(at, Opcode::LOADC, code_.constant(list.get(k)));
    }
    return;
  }
  code_.insert(at, Opcode::LOADC, code_.constant(value));
}

// Inserts the code of a conversion behind the code of an operand.
void Emitter::convert_at(const Operand& operand, const Step& step) {
  const size_t end = operand.end;
  switch (step.kind) {
    case Step::None: return;
    case Step::Operator: {
      Match match;
      std::string why;
      if (!choose(&types_, session_.candidates(step.op), {{operand.type, {}, {}}}, &match, &why)) {
        refuse(file_.name, line_of(*file_.line_starts, code_.line), why);
      }
      code_.insert(end, Opcode::OP, code_.operation(*match.signature, 1));
      return;
    }
    case Step::EmptyList: code_.at(operand.open.at).x = code_.type(step.type); return;
    case Step::Repeat: {
      code_.insert(end, Opcode::LIST_CONSTRUCT, code_.type(step.type), step.count);
      if (end - operand.begin == 1 && code_.at(operand.begin).op == Opcode::LOADC) {
        const int constant = code_.at(operand.begin).x;
        for (int k = 1; k < step.count; ++k) code_.insert(end, Opcode::LOADC, constant);
        return;
      }
      const int kept = code_.fresh();
      for (int k = 0; k < step.count; ++k) code_.insert(end, Opcode::LOAD, kept);
      code_.insert(end, Opcode::STORE, kept);
      return;
    }
    case Step::TupleToList: {
      const Instruction& last = code_.at(end - 1);  // there is one: the tuple is on the stack
      const int64_t count = int64_t(operand.type->elements.size());
      if (operand.whole && last.op == Opcode::TUPLE_CONSTRUCT && last.x == count) {
        code_.at(end - 1).op = Opcode::LIST_CONSTRUCT;
        code_.at(end - 1).x = code_.type(step.type);
        code_.at(end - 1).n = int32_t(count);
        return;
      }
      convert_parts(end, operand.type, step);
      return;
    }
    case Step::Tuple:
      for (size_t k = 0; k < step.parts.size(); ++k) {
        if (step.parts[k].kind == Step::EmptyList) {
          code_.at(operand.open.parts[k].at).x = code_.type(step.parts[k].type);
        }
      }
      convert_parts(end, operand.type, step);
      return;
  }
}

// Inserts code that unpacks the tuple on the stack, and makes a list or another tuple of its parts.
void Emitter::convert_parts(size_t at, T tuple, const Step& step) {
  const size_t count = tuple->elements.size();
  if (count == 0) {
    if (step.kind == Step::Tuple) return;
    code_.insert(at, Opcode::LIST_CONSTRUCT, code_.type(step.type), 0);
    code_.insert(at, Opcode::DROP);
    return;
  }
  if (count > kMostArguments) {
    refuse(file_.name, line_of(*file_.line_starts, code_.line), "a tuple of ", count,
           " values is converted");
  }
  const int first = code_.fresh(int(count));
  if (step.kind == Step::TupleToList) {
    code_.insert(at, Opcode::LIST_CONSTRUCT, code_.type(step.type), int64_t(count));
  } else if (step.type->kind == TypeKind::NamedTuple) {
    code_.insert(at, Opcode::NAMED_TUPLE_CONSTRUCT, code_.type(step.type), int64_t(count));
  } else {
    code_.insert(at, Opcode::TUPLE_CONSTRUCT, int64_t(count));
  }
  for (size_t k = count; k-- > 0;) {
    const bool converts = step.kind == Step::Tuple && step.parts[k].kind != Step::EmptyList;
    if (converts) {
      Operand part;
      part.type = tuple->elements[k].get();
      part.begin = part.end = at;
      part.whole = false;
      convert_at(part, step.parts[k]);
    }
    code_.insert(at, Opcode::LOAD, first + int(k));
  }
  code_.insert(at, Opcode::STOREN, first, int64_t(count));
  Signature unpacked;
  unpacked.name = "prim::TupleUnpack";
  unpacked.formals.resize(1);
  code_.insert(at, Opcode::OP, code_.operation(unpacked, 1));
}

T Emitter::convert(T actual, T wanted, bool implicit, const Openness& open) {
  T after;
  Step step = types_.plan(actual, wanted, implicit, open, &after);
  Operand top;
  top.type = actual;
  top.open = open;
  top.begin = top.end = code_.size();
  convert_at(top, step);
  return after;
}

}  // namespace scriptlang::source
