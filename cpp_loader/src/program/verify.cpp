// The verifier: proves that bytecode is safe to run. It has every check that the interpreter relies
// on, in this order:
//
// 1. each instruction alone: its operands are inside of their tables;
// 2. stack depths: the same on all paths to an instruction, and within limits;
// 3. types, as far as they can be known. The interpreter tests tags again where it uses a value, so
//    this only refuses bad code early.
#include <algorithm>

#include "program.h"

namespace scriptlang {

namespace {

constexpr int64_t kMaxStack = 1 << 20;
constexpr int64_t kMaxCode = 1 << 24;
constexpr int64_t kFewValues = 8, kMostValues = 1 << 24;  // that instructions pop and push
constexpr int64_t kTypeWork = 1 << 26;  // slots visited by the type analysis before it gives up

enum : int {
  kEffectN = -1, kEffectX = -2, kEffectNPlus1 = -3, kEffectNMinus2 = -4,
  kEffectOperator = -5, kEffectFunction = -6,
};

struct OpcodeInfo {
  char x, n;
  int pops, pushes;
};

OpcodeInfo info_of(Opcode op) {
  switch (op) {
#define SL_OPCODE(name, number, x, n, pops, pushes, runs, meaning) \
  case Opcode::name:                                               \
    return {x, n, pops, pushes};
#include "opcodes.def"
#undef SL_OPCODE
    default:
      return {'-', '-', 0, 0};
  }
}

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
    check_types();
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
    Instruction& i = code_[pc];
    OpcodeInfo info = info_of(i.op);
    if (info.n == 'I' && (i.n < 0 || i.n > kMaxStack)) fail(pc, "a count is ", i.n);
    check_operand(pc, i, info.x);
    switch (i.op) {
      case Opcode::STOREN:
        if (int64_t(i.x) + i.n - 1 > f_.registers) fail(pc, "a register is out of range");
        break;
      case Opcode::ISINSTANCE:
        if (int64_t(i.x) + i.n > int64_t(f_.types.size())) fail(pc, "a type is out of range");
        break;
      case Opcode::LOOP:
        if (i.n < 2) fail(pc, "a loop carries ", i.n - 2, " values");
        break;
      case Opcode::DICT_CONSTRUCT:
        if (i.n % 2) fail(pc, "a key has no value");
        break;
      case Opcode::INTERFACE_CALL:
        if (i.n < 1) fail(pc, "a method is called on nothing");
        break;
      case Opcode::FORK:
      case Opcode::AWAITABLE: check_deferred(pc); break;
      case Opcode::FUSED: {
        const Function& callee = *f_.callees[size_t(i.x)];
        if (callee.parameters != i.n) fail(pc, callee.name, " takes ", callee.parameters);
        break;
      }
      case Opcode::FORMAT:
        if (i.x < 1) fail(pc, "there is nothing to format");
        break;
      case Opcode::OP:
      case Opcode::OPN: lower_operator(pc); break;
      default: break;
    }
  }

  void check_operand(size_t pc, const Instruction& i, char kind) {
    int64_t x = i.x;
    switch (kind) {
      case 'O':
        if (x < 0 || x >= int64_t(f_.operators.size())) fail(pc, "an operator is out of range");
        break;
      case 'R':
        if (i.op == Opcode::STOREN && i.n == 0) break;
        if (x < 1 || x > f_.registers) fail(pc, "register ", x, " is out of range");
        break;
      case 'C':
        if (x < 0 || x >= int64_t(f_.constants.size())) fail(pc, "a constant is out of range");
        break;
      case 'M':
        if (x < 0 || x >= int64_t(f_.constants.size()) || !f_.constants[size_t(x)].is_string()) {
          fail(pc, "a method name is out of range");
        }
        break;
      case 'T': check_type_operand(pc, i); break;
      case 'F':
        if (x < 0 || x >= int64_t(f_.callees.size())) fail(pc, "a function is out of range");
        break;
      case 'P': {
        int64_t target = int64_t(pc) + x;
        if (target < 0 || target >= int64_t(code_.size())) fail(pc, "the jump leaves the code");
        break;
      }
      case 'S':
      case 'I':
        if (x < 0 || x > kMaxStack) fail(pc, "an operand is ", x);
        break;
      default: break;
    }
  }

  void check_type_operand(size_t pc, const Instruction& i) {
    // Old writers gave LIST_CONSTRUCT and DICT_CONSTRUCT no type table.
    if (i.x < 0 || i.x >= int64_t(f_.types.size())) fail(pc, "a type is out of range");
    const Type& type = *f_.types[size_t(i.x)];
    auto want = [&](TypeKind kind) {
      if (type.kind != kind) fail(pc, "the type ", to_string(type), " does not fit");
    };
    if (i.op == Opcode::CREATE_OBJECT) want(TypeKind::Class);
    if (i.op == Opcode::DICT_CONSTRUCT) want(TypeKind::Dict);
    if (i.op == Opcode::LIST_CONSTRUCT) want(TypeKind::List);
    if (i.op == Opcode::NAMED_TUPLE_CONSTRUCT && type.kind == TypeKind::NamedTuple &&
        type.elements.size() != size_t(i.n)) {
      fail(pc, "a tuple of type ", to_string(type), " is made of ", i.n, " values");
    }
  }

  // FORK and AWAITABLE: a call with all arguments and one result.
  void check_deferred(size_t pc) {
    const Function& callee = *f_.callees[size_t(code_[pc].x)];
    if (callee.parameters != code_[pc].n || callee.results != 1) {
      fail(pc, callee.name, " takes ", callee.parameters, " arguments and gives ", callee.results,
           " results");
    }
  }

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
  static bool is_call(Opcode op) {
    return op == Opcode::OP_ONE || op == Opcode::OP_ANY;
  }

  // TupleUnpack does not say how many elements it pushes. It is what the next instruction stores;
  // the interpreter compares the size of the tuple with it.
  void lower_tuple_unpack(size_t pc) {
    Instruction& i = code_[pc];
    int n = 1;
    if (pc + 1 < code_.size() && code_[pc + 1].op == Opcode::STOREN) n = code_[pc + 1].n;
    if (n < 0 || n > kMaxStack) fail(pc + 1, "a count is ", n);
    i.op = Opcode::TUPLE_UNPACK;
    i.n = n;
  }

  // ---- stack depths

  struct Effect {
    int64_t pops, pushes;
    int64_t room;  // scratch slots that the instruction needs above its results
  };

  Effect effect_of(size_t pc) {
    const Instruction& i = code_[pc];
    if (is_call(i.op)) {
      const OperatorUse& use = f_.operators[size_t(i.x)];
      int64_t filled = int64_t(use.defaults.size());
      return {i.arguments, i.results, i.arguments + filled};
    }
    switch (i.op) {
      case Opcode::OP_MISSING: return {0, 0, 0};
      case Opcode::TUPLE_UNPACK: return {1, i.n, 0};
      case Opcode::FUSED:
      case Opcode::CALL: {
        const Function& callee = *f_.callees[size_t(i.x)];
        return {callee.parameters, callee.results, 0};
      }
      case Opcode::ENTER:
      case Opcode::EXIT: return {i.op == Opcode::ENTER, 1, 4};
      default: break;
    }
    OpcodeInfo info = info_of(i.op);
    auto number = [&](int effect) -> int64_t {
      switch (effect) {
        case kEffectN: return i.n;
        case kEffectX: return i.x;
        case kEffectNPlus1: return int64_t(i.n) + 1;
        case kEffectNMinus2: return int64_t(i.n) - 2;
        default: return effect;
      }
    };
    return {number(info.pops), number(info.pushes), 0};
  }

  static bool ends(Opcode op) {
    return op == Opcode::RET || op == Opcode::RAISE_EXCEPTION || op == Opcode::OP_MISSING;
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
      Effect effect = effect_of(pc);
      int64_t depth = depth_[pc];
      if (effect.pops > depth) {
        fail(pc, "it takes ", effect.pops, " values of a stack of ", depth);
      }
      int64_t after = depth - effect.pops + effect.pushes;
      deepest = std::max({deepest, after + effect.room, depth + effect.pushes + effect.room});
      if (deepest > kMaxStack) fail(pc, "the stack grows too deep");
      many += std::max<int64_t>(effect.pops + effect.pushes - kFewValues, 0);
      if (many > kMostValues) fail(pc, "the code moves too many values");
      if (i.op == Opcode::RET && depth != f_.results) {
        fail(pc, "it returns ", depth, " values instead of ", f_.results);
      }
      if (ends(i.op)) continue;
      size_t target = pc + size_t(int64_t(i.x));
      if (i.op == Opcode::JMP) {
        reach(pc, target, after);
      } else if (i.op == Opcode::LOOP) {
        reach(pc, pc + 1, depth);
        reach(pc, target, after);
      } else {
        reach(pc, pc + 1, after);
        if (i.op == Opcode::JF) reach(pc, target, after);
      }
    }
    f_.max_stack = int(deepest);
  }

  // ---- types

  using State = std::vector<TagSet>;  // registers, then the stack

  // Runs to a fixed point: states only grow. If that is too much work it gives up, which is
  // harmless.
  void check_types() {
    std::vector<char> is_target(code_.size(), 0);
    for (size_t pc = 0; pc < code_.size(); ++pc) {
      Opcode op = code_[pc].op;
      if (op == Opcode::JMP || op == Opcode::JF || op == Opcode::LOOP) {
        is_target[pc + size_t(int64_t(code_[pc].x))] = 1;
        if (op == Opcode::LOOP) is_target[pc + 1] = 1;
      }
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
        Effect effect = effect_of(pc);
        left -= effect.pops + effect.pushes;
        step_types(pc, &state);
        if (ends(i.op)) break;
        size_t target = pc + size_t(int64_t(i.x));
        if (i.op == Opcode::JMP) {
          pc = target;
          continue;
        }
        if (i.op == Opcode::JF || i.op == Opcode::LOOP) {
          left -= int64_t(state.size());
          State other = state;
          if (i.op == Opcode::LOOP) leave_loop(i, &other);
          work.emplace_back(target, std::move(other));
        }
        if (i.op == Opcode::LOOP) enter_loop(i, &state);
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

  void leave_loop(const Instruction& i, State* state) {
    size_t first = state->size() - size_t(i.n) - 1;
    state->erase(state->begin() + long(first), state->begin() + long(first) + 3);
  }
  void enter_loop(const Instruction& i, State* state) {
    (*state)[state->size() - size_t(i.n) - 1 + 2] = tag_bit(Tag::Int);
  }

  void want(size_t pc, TagSet have, TagSet wanted, const char* what) {
    if (have & wanted) return;
    fail(pc, what, " is ", to_string_tags(have), " where ", to_string_tags(wanted), " is needed");
  }

  void step_types(size_t pc, State* state) {
    const Instruction& i = code_[pc];
    auto reg = [&](int64_t index) -> TagSet& { return (*state)[size_t(index - 1)]; };
    auto top = [&](int64_t k) -> TagSet& { return (*state)[state->size() - 1 - size_t(k)]; };
    switch (i.op) {
      case Opcode::LOAD: state->push_back(register_tags(i.x, reg(i.x))); return;
      case Opcode::MOVE: {
        TagSet tags = register_tags(i.x, reg(i.x));
        reg(i.x) = tag_bit(Tag::None);
        state->push_back(tags);
        return;
      }
      case Opcode::STORE:
        store(pc, i.x, top(0), &reg(i.x));
        state->pop_back();
        return;
      case Opcode::STOREN:
        for (int k = 0; k < i.n; ++k) store(pc, i.x + k, top(i.n - 1 - k), &reg(i.x + k));
        state->resize(state->size() - size_t(i.n));
        return;
      case Opcode::DROPR: reg(i.x) = tag_bit(Tag::None); return;
      case Opcode::LOADC:
        state->push_back(tag_bit(f_.constants[size_t(i.x)].tag()));
        return;
      case Opcode::JF:
        want(pc, top(0), tag_bit(Tag::Bool), "the condition");
        state->pop_back();
        return;
      case Opcode::LOOP:
        want(pc, top(i.n), tag_bit(Tag::Int), "the trip count");
        want(pc, top(i.n - 1), tag_bit(Tag::Int), "the maximal trip count");
        want(pc, top(i.n - 2), tag_bit(Tag::Bool), "the loop condition");
        return;
      case Opcode::GET_ATTR: want(pc, top(0), tag_bit(Tag::Object), "the object"); break;
      case Opcode::SET_ATTR: want(pc, top(1), tag_bit(Tag::Object), "the object"); break;
      case Opcode::WAIT: want(pc, top(0), tag_bit(Tag::Future), "what is waited for"); break;
      case Opcode::UNCHECKED_CAST: return;
      default: break;
    }
    if (is_call(i.op)) {
      operator_types(pc, state);
      return;
    }
    Effect effect = effect_of(pc);
    state->resize(state->size() - size_t(effect.pops));
    state->resize(state->size() + size_t(effect.pushes), result_tags(i.op));
  }

  TagSet register_tags(int index, TagSet flow) {
    if (f_.register_types.empty() || !f_.register_types[size_t(index - 1)]) return flow;
    TagSet narrowed = flow & tags_of(*f_.register_types[size_t(index - 1)]);
    return narrowed ? narrowed : flow;
  }

  void store(size_t pc, int index, TagSet tags, TagSet* known) {
    if (!f_.register_types.empty() && f_.register_types[size_t(index - 1)]) {
      // An uninitialised value is None, whatever its declared type.
      TagSet declared = tags_of(*f_.register_types[size_t(index - 1)]) | tag_bit(Tag::None);
      want(pc, tags, declared, "the value stored");
    }
    *known = tags;
  }

  static TagSet result_tags(Opcode op) {
    switch (op) {
      case Opcode::LIST_CONSTRUCT:
      case Opcode::TO_LIST:
        return op == Opcode::TO_LIST ? kAnyTag : tag_bit(Tag::List);
      case Opcode::DICT_CONSTRUCT: return tag_bit(Tag::Dict);
      case Opcode::TUPLE_CONSTRUCT:
      case Opcode::NAMED_TUPLE_CONSTRUCT:
      case Opcode::TUPLE_SLICE: return tag_bit(Tag::Tuple);
      case Opcode::CREATE_OBJECT: return tag_bit(Tag::Object);
      case Opcode::FORK:
      case Opcode::AWAITABLE: return tag_bit(Tag::Future);
      case Opcode::ISINSTANCE:
      case Opcode::__IS__:
      case Opcode::__ISNOT__:
      case Opcode::__NOT__:
      case Opcode::IS_CUDA: return tag_bit(Tag::Bool);
      case Opcode::FORMAT: return tag_bit(Tag::Text) | tag_bit(Tag::String);
      case Opcode::DEVICE: return tag_bit(Tag::Device);
      case Opcode::DTYPE:
      case Opcode::DIM: return tag_bit(Tag::Int);
      case Opcode::NUM_TO_TENSOR: return tag_bit(Tag::Tensor);
      default: return kAnyTag;
    }
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
      // Numbers convert, and one int stands for int[2]; a zero-dim tensor may stand for a number.
      if (accepted & (tag_bit(Tag::Double) | tag_bit(Tag::Int))) {
        accepted |= tag_bit(Tag::Int) | tag_bit(Tag::Double) | tag_bit(Tag::Tensor) |
                    tag_bit(Tag::Bool);
      }
      if (accepted & tag_bit(Tag::List)) accepted |= tag_bit(Tag::Int) | tag_bit(Tag::Double);
      if (!(have & accepted)) {
        fail(pc, "argument '", a.name, "' of ", use.qualified_name(), " is ",
             to_string_tags(have), " where ", to_string(*a.type), " is needed");
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
