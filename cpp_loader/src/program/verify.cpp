// The verifier: proves that bytecode is safe to run. It makes every check that the machine relies
// on, in this order:
//
// 1. each instruction alone: its operands are inside of their tables;
// 2. stack depths: the same on all paths to an instruction, and within limits;
// 3. types, as far as they can be known. The machine checks tags again when it uses a value, so
// this
//    only refuses bad code early.
#include <algorithm>

#include "program.h"

namespace scriptlang {

namespace {

using bytecode::info_of;
using bytecode::Kind;
using bytecode::Next;
using bytecode::OpcodeInfo;
using bytecode::Operand;

constexpr int kExitArguments = 4;       // the arguments of __exit__, with self
constexpr int64_t kTypeWork = 1 << 26;  // slots visited by the type analysis before it gives up

class Verifier {
 public:
  explicit Verifier(Function* function) : f_(*function), code_(function->code) {}

  void run() {
    if (code_.empty()) fail(0, "there is no code");
    if (int64_t(code_.size()) > kMaxCode) fail(0, "the code is too long");
    if (!f_.register_types.empty() && f_.register_types.size() != size_t(f_.registers)) {
      fail(0, "register_types has ", f_.register_types.size(), " entries for ", f_.registers,
           " registers");
    }
    for (size_t pc = 0; pc < code_.size(); ++pc) check_operands(pc);
    check_depths();
    // Code that was compiled from source has been type-checked by the compiler. In a branch that no
    // run takes it may still use None as a Tensor, which this analysis would refuse; steps check
    // tags when they run.
    if (f_.file.empty()) check_types();
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(size_t pc, const Parts&... parts) {
    raise(ErrorKind::ArchiveError, "the bytecode of ", f_.name, " is unsound at instruction ", pc,
          pc < code_.size() ? concat(" (", opcode_name(code_[pc].op), ")") : std::string(), ": ",
          parts...);
  }

  // ---- operands, and what OP becomes

  void check_operands(size_t pc) {
    const Instruction& i = code_[pc];
    const OpcodeInfo& info = info_of(i.op);
    check_operand(pc, info.x, i.x);
    check_operand(pc, info.n, i.n);
    bool is_deferred = i.op == Opcode::FORK || i.op == Opcode::AWAITABLE;
    if (is_deferred && f_.callees[size_t(i.x)]->results != 1) {
      fail(pc, f_.callees[size_t(i.x)]->name, " does not give one result");
    }
    if (info.x == Operand::Operator) lower_operator(pc);
  }

  // To be called for x first: the check of n may read what x names.
  void check_operand(size_t pc, Operand kind, int64_t value) {
    int64_t last = value + code_[pc].n - 1;  // the last of n registers or types
    switch (kind) {
      case Operand::None: return;
      case Operand::Operator: return check_index(pc, "an operator", value, f_.operators.size());
      case Operand::Function: return check_index(pc, "a function", value, f_.callees.size());
      case Operand::Constant: return check_index(pc, "a constant", value, f_.constants.size());
      case Operand::Method:
        check_index(pc, "a method's name", value, f_.constants.size());
        if (!f_.constants[size_t(value)].is_string()) fail(pc, "the method's name is no string");
        return;
      case Operand::Registers:
        if (last > f_.registers) fail(pc, "register ", last, " is out of range");
        [[fallthrough]];
      case Operand::Register:
        if (value < 1 || value > f_.registers) fail(pc, "register ", value, " is out of range");
        return;
      case Operand::Types: check_index(pc, "a type", last, f_.types.size()); [[fallthrough]];
      case Operand::Type: return check_index(pc, "a type", value, f_.types.size());
      case Operand::ListType: return check_type(pc, value, TypeKind::List);
      case Operand::DictType: return check_type(pc, value, TypeKind::Dict);
      case Operand::NamedTupleType: return check_type(pc, value, TypeKind::NamedTuple);
      case Operand::Class: return check_type(pc, value, TypeKind::Class);
      case Operand::Jump: return check_index(pc, "the jump", int64_t(pc) + value, code_.size());
      case Operand::Slot:
      case Operand::Count: return check_count(pc, value, 0);
      case Operand::CountFrom1: return check_count(pc, value, 1);
      case Operand::CountFrom2: return check_count(pc, value, 2);
      case Operand::EvenCount:
        if (value % 2) fail(pc, "a key has no value");
        return check_count(pc, value, 0);
      case Operand::Fields: {
        const Type& type = *f_.types[size_t(code_[pc].x)];
        if (int64_t(type.elements.size()) == value) return;
        fail(pc, "a tuple of type ", to_string(type), " is made of ", value, " values");
      }
      case Operand::Arguments: {
        const Function& callee = *f_.callees[size_t(code_[pc].x)];
        if (callee.parameters == value) return;
        fail(pc, callee.name, " takes ", callee.parameters, " arguments, not ", value);
      }
    }
  }

  void check_index(size_t pc, const char* what, int64_t index, size_t size) {
    if (index < 0 || index >= int64_t(size)) fail(pc, what, " is out of range");
  }
  void check_count(size_t pc, int64_t count, int64_t least) {
    if (count < least || count > kMaxStack) fail(pc, "a count is ", count);
  }
  void check_type(size_t pc, int64_t index, TypeKind kind) {
    check_index(pc, "a type", index, f_.types.size());
    const Type& type = *f_.types[size_t(index)];
    if (type.kind != kind) fail(pc, "the type ", to_string(type), " does not fit");
  }

  // Replaces OP or OPN by OP_ONE, OP_ANY, OP_MISSING or TUPLE_UNPACK.
  void lower_operator(size_t pc) {
    Instruction& i = code_[pc];
    const OperatorUse& use = f_.operators[size_t(i.x)];
    if (use.name == "prim::TupleUnpack") {
      lower_tuple_unpack(pc);
      return;
    }
    if (!use.entry) {
      i.op = Opcode::OP_MISSING;
      return;
    }
    const Schema& schema = schema_of(*use.entry);
    if (schema.variadic_returns) fail(pc, use.qualified_name(), " has no fixed results");
    int given = i.op == Opcode::OPN ? i.n : use.given;
    if (use.variadic) {
      if (given < 0) fail(pc, use.qualified_name(), " needs a number of arguments");
      if (given < int(schema.arguments.size())) fail(pc, "it lacks arguments");
    } else if (i.op == Opcode::OPN && given != use.given) {
      fail(pc, use.qualified_name(), " is given two different numbers of arguments");
    }
    if (given > UINT16_MAX || use.results > UINT8_MAX) fail(pc, "it has too many arguments");
    i.arguments = uint16_t(given);
    i.results = uint8_t(use.results);
    i.run = use.entry->run;
    bool simple = use.results == 1 && use.defaults.empty();
    i.op = simple ? Opcode::OP_ONE : Opcode::OP_ANY;
  }

  // Whether the instruction calls an operator, and says how many arguments and results it has.
  static bool is_call(Opcode op) { return op == Opcode::OP_ONE || op == Opcode::OP_ANY; }

  // TupleUnpack does not say how many elements it pushes. As many as the next instruction stores;
  // the machine compares the size of the tuple with that number.
  void lower_tuple_unpack(size_t pc) {
    Instruction& i = code_[pc];
    int n = 1;
    if (pc + 1 < code_.size() && code_[pc + 1].op == Opcode::STOREN) n = code_[pc + 1].n;
    if (n < 0 || n > kMaxStack) fail(pc + 1, "a count is ", n);
    i.op = Opcode::TUPLE_UNPACK;
    i.n = n;
  }

  // ---- stack depths

  // How many slots above its results an instruction uses while it runs.
  int64_t room_of(const Instruction& i) const {
    if (is_call(i.op)) return i.arguments + int64_t(f_.operators[size_t(i.x)].defaults.size());
    return i.op == Opcode::ENTER || i.op == Opcode::EXIT ? kExitArguments : 0;
  }

  void check_depths() {
    depth_.assign(code_.size(), -1);
    std::vector<size_t> work;
    int64_t deepest = f_.parameters, many = 0;
    auto reach = [&](size_t from, size_t pc, int64_t depth) {
      if (pc >= code_.size()) fail(from, "control runs off the end");
      if (depth > kMaxStack) fail(from, "the stack grows too deep");
      if (depth_[pc] == -1) {
        depth_[pc] = depth;
        work.push_back(pc);
      } else if (depth_[pc] != depth) {
        fail(pc, "the stack has ", depth_[pc], " values by one way and ", depth, " by another");
      }
    };
    reach(0, 0, f_.parameters);
    while (!work.empty()) {
      size_t pc = work.back();
      work.pop_back();
      const Instruction& i = code_[pc];
      int64_t depth = depth_[pc], pops = pops_of(f_, i), pushes = pushes_of(f_, i);
      if (pops > depth) fail(pc, "it takes ", pops, " values of a stack of ", depth);
      int64_t after = depth - pops + pushes, room = room_of(i);
      deepest = std::max({deepest, after + room, depth + pushes + room});
      if (deepest > kMaxStack) fail(pc, "the stack grows too deep");
      many += std::max<int64_t>(pops + pushes - kFreeMoves, 0);
      if (many > kMaxMoved) fail(pc, "the code moves too many values");
      if (i.op == Opcode::RET && depth != f_.results) {
        fail(pc, "it returns ", depth, " values instead of ", f_.results);
      }
      Next next = info_of(i.op).next;
      if (next >= Next::Return) continue;
      // At the start of its body, a LOOP has as many values on the stack as it found.
      if (next != Next::Jump) reach(pc, pc + 1, next == Next::Loop ? depth : after);
      if (next != Next::Next) reach(pc, pc + size_t(int64_t(i.x)), after);
    }
    f_.max_stack = int(deepest);
  }

  // ---- types

  using State = std::vector<TagSet>;  // registers, then the stack

  // Abstract interpretation with sets of tags, to a fixed point, which exists because sets only
  // grow. If it is too much work it gives up, which is harmless.
  void check_types() {
    std::vector<char> is_target(code_.size(), 0);
    for (size_t pc = 0; pc < code_.size(); ++pc) {
      Opcode op = code_[pc].op;
      if (!jumps(op)) continue;
      is_target[pc + size_t(int64_t(code_[pc].x))] = 1;
      if (info_of(op).next == Next::Loop) is_target[pc + 1] = 1;
    }
    std::unordered_map<size_t, State> merged;
    std::vector<std::pair<size_t, State>> work;
    work.emplace_back(0, entry_state());
    int64_t left = kTypeWork;
    while (!work.empty()) {
      auto [pc, state] = std::move(work.back());
      work.pop_back();
      for (;;) {
        left -= is_target[pc] ? 2 * int64_t(state.size()) + 8 : 8;
        if (left < 0) return;
        if (is_target[pc]) {
          auto [known, first] = merged.try_emplace(pc, state);
          if (!first && !join(&known->second, &state)) break;
        }
        const Instruction& i = code_[pc];
        left -= pops_of(f_, i) + pushes_of(f_, i);
        step_types(pc, &state);
        Next next = info_of(i.op).next;
        if (next >= Next::Return) break;
        size_t target = pc + size_t(int64_t(i.x));
        if (next == Next::Jump) {
          pc = target;
          continue;
        }
        if (next != Next::Next) {
          left -= int64_t(state.size());
          State other = state;
          if (next == Next::Loop) leave_loop(i, &other);
          work.emplace_back(target, std::move(other));
        }
        if (next == Next::Loop) enter_loop(i, &state);
        ++pc;
      }
    }
  }

  State entry_state() {
    State state(size_t(f_.registers), tag_bit(Tag::None));
    for (int i = 0; i < f_.parameters; ++i) {
      bool known = f_.has_schema;
      state.push_back(known ? tags_of(*f_.arguments[size_t(i)].type) : kAnyTag);
    }
    return state;
  }

  // Merges *state into *known; false if that changed nothing. Afterwards *state is the union.
  static bool join(State* known, State* state) {
    bool grew = false;
    for (size_t k = 0; k < known->size(); ++k) {
      TagSet sum = (*known)[k] | (*state)[k];
      grew = grew || sum != (*known)[k];
      (*known)[k] = (*state)[k] = sum;
    }
    return grew;
  }

  // LOOP has the trip number, the trip limit and the condition below the carried values. The edge
  // out of the loop drops the three; the body finds the trip number in place of the condition.
  void leave_loop(const Instruction& i, State* state) {
    size_t first = state->size() - size_t(i.n) - 1;
    state->erase(state->begin() + ptrdiff_t(first), state->begin() + ptrdiff_t(first) + 3);
  }
  void enter_loop(const Instruction& i, State* state) {
    (*state)[state->size() - size_t(i.n) - 1 + 2] = tag_bit(Tag::Int);
  }

  void step_types(size_t pc, State* state) {
    const Instruction& i = code_[pc];
    const OpcodeInfo& info = info_of(i.op);
    auto reg = [&](int64_t index) -> TagSet& { return (*state)[size_t(index - 1)]; };
    auto top = [&](int64_t k) -> TagSet& { return (*state)[state->size() - 1 - size_t(k)]; };
    int64_t pops = pops_of(f_, i), pushes = pushes_of(f_, i);
    for (int k = 0; k < info.pops.size; ++k) {
      TagSet wanted = tags_of(info.pops.kinds[k]);
      if (!(top(pops - 1 - k) & wanted)) fail_type(pc, k, top(pops - 1 - k), wanted);
    }
    if (is_call(i.op)) return operator_types(pc, state);
    if (i.op == Opcode::STORE || i.op == Opcode::STOREN) {
      for (int64_t k = 0; k < pops; ++k) {
        int index = int(i.x + k);
        store(pc, index, top(pops - 1 - k), &reg(index));
      }
    }
    bool reads = i.op == Opcode::LOAD || i.op == Opcode::MOVE;
    TagSet read = reads ? register_tags(i.x, reg(i.x)) : 0;
    if (i.op == Opcode::MOVE || i.op == Opcode::DROPR) reg(i.x) = tag_bit(Tag::None);
    // UNCHECKED_CAST leaves its operand as it is; enter_loop() and leave_loop() handle LOOP.
    if (i.op == Opcode::UNCHECKED_CAST || info.next == Next::Loop) return;
    state->resize(state->size() - size_t(pops));
    for (int64_t k = 0; k < pushes; ++k) {
      TagSet tags = k < info.pushes.size ? tags_of(info.pushes.kinds[k]) : kAnyTag;
      if (reads) tags = read;
      if (i.op == Opcode::LOADC) tags = tag_bit(f_.constants[size_t(i.x)].tag());
      state->push_back(tags);
    }
  }

  [[noreturn]] void fail_type(size_t pc, int k, TagSet have, TagSet wanted) {
    fail(pc, "value ", k, " is ", to_string_tags(have), " where ", to_string_tags(wanted),
         " is needed");
  }

  // The tags of a register, by what flowed into it and its declared type.
  TagSet register_tags(int index, TagSet flow) {
    if (f_.register_types.empty() || !f_.register_types[size_t(index - 1)]) return flow;
    TagSet narrowed = flow & tags_of(*f_.register_types[size_t(index - 1)]);
    return narrowed ? narrowed : flow;
  }

  void store(size_t pc, int index, TagSet tags, TagSet* known) {
    if (!f_.register_types.empty() && f_.register_types[size_t(index - 1)]) {
      // An uninitialised value is None, whatever its declared type.
      TagSet declared = tags_of(*f_.register_types[size_t(index - 1)]) | tag_bit(Tag::None);
      if (!(tags & declared)) fail_type(pc, 0, tags, declared);
    }
    *known = tags;
  }

  void operator_types(size_t pc, State* state) {
    const Instruction& i = code_[pc];
    const OperatorUse& use = f_.operators[size_t(i.x)];
    const Schema& schema = schema_of(*use.entry);
    size_t first = state->size() - i.arguments;
    for (size_t k = 0; k < i.arguments && !use.variadic; ++k) {
      bool is_out = k >= size_t(i.arguments - use.trailing_out);
      size_t index = is_out ? k + use.defaults.size() : k;
      const Argument& a = schema.arguments[index];
      TagSet have = (*state)[first + k], accepted = tags_of(*a.type);
      // Numbers convert to each other, one number stands for a list of them (int[2]), and a tensor
      // without dimensions may stand for a number.
      if (accepted & (tag_bit(Tag::Double) | tag_bit(Tag::Int))) {
        accepted |=
            tag_bit(Tag::Int) | tag_bit(Tag::Double) | tag_bit(Tag::Tensor) | tag_bit(Tag::Bool);
      }
      if (accepted & tag_bit(Tag::List)) accepted |= tag_bit(Tag::Int) | tag_bit(Tag::Double);
      if (!(have & accepted)) {
        fail(pc, "argument '", a.name, "' of ", use.qualified_name(), " is ", to_string_tags(have),
             " where ", to_string(*a.type), " is needed");
      }
    }
    state->resize(first);
    for (const Argument& r : schema.returns) state->push_back(tags_of(*r.type));
  }

  Function& f_;
  std::vector<Instruction>& code_;
  std::vector<int64_t> depth_;
};

}  // namespace

void verify(Function* function) { Verifier(function).run(); }

}  // namespace scriptlang
