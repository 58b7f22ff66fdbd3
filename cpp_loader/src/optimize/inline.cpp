// Inlining: replaces calls by the bodies of the callees.
//
// An instruction that came from a body remembers the call (Function::calls, Function::inlined), so
// that errors show the script stack. While code is copied, branches are decided by what is known of
// values: that they are constants, or cannot be None. What is known of a value is also known of a
// register that it is stored to, if that register is stored only once. An empty dict that is stored
// for one load is made at the load, and its length is 0: modules without hooks look whether they
// have some.
//
// A call stays if it is recursive, if it is nested in kMostDepth others, or if the function would
// get more than kMostCode instructions. The last limit matters for functions that call each other
// several times, whose code would grow exponentially.
#include <algorithm>
#include <unordered_map>

#include "optimize.h"

namespace scriptlang::optimize {

namespace {

constexpr size_t kMostCode = 8000;
constexpr int kMostRegisters = 6000;
constexpr size_t kMostDepth = 60;
// With more registers than this, bodies that are inlined one after the other share registers.
constexpr int kOwnRegisters = 128;

// What is known of a value.
struct Fact {
  int constant = -1;  // its index in the new function, or -1
  bool not_none = false;
  int64_t at = -1;  // the instruction that only pushes it, or -1
  int reg = -1;     // a register of the new function that is stored once and holds it, or -1
  bool empty_dict = false;  // a new one
};

class Inliner {
 public:
  Inliner(Function* out, bool inlines) : out_(*out), inlines_(inlines) {}

  void run(const Function& root) {
    std::vector<Fact> passed(size_t(root.parameters));
    for (size_t k = 0; k < passed.size() && root.has_schema; ++k) {
      passed[k].not_none = never_none(*root.arguments[k].type);
    }
    splice(root, -1, std::move(passed));
  }

 private:
  // What is shared by all copies of a function.
  struct Tables {
    std::vector<int> constants, types, operators, callees;  // index -> index in the new function
    std::vector<char> is_target;  // by instruction: whether some jump goes there
    std::vector<char> stores;     // by register: 0, 1, or 2 for several stores
    std::vector<char> loads;      // the same for loads
  };
  // One copy of a body.
  struct Copy {
    const Function& f;
    Tables& tables;
    int base;                     // what is added to its register numbers
    int32_t call;                 // its call, an index of Function::inlined; -1: the root
    std::vector<Fact> registers;  // by register: what is known of its value
    std::vector<int64_t> start;   // by instruction: where it is in the new function
    std::vector<char> wanted;     // by instruction: whether some copied jump goes there
    std::unordered_map<int, Instruction> delayed;  // by register: what makes its empty dict
    std::vector<std::pair<size_t, size_t>> jumps;  // (instruction of the new function, old target)
  };

  static bool is_number(const Type& type) {
    return type.kind == TypeKind::Int || type.kind == TypeKind::Float ||
           type.kind == TypeKind::Bool;
  }
  static bool never_none(const Type& type) { return !(tags_of(type) & tag_bit(Tag::None)); }

  Tables& tables_of(const Function& f) {
    auto [it, fresh] = tables_.try_emplace(&f);
    Tables& made = it->second;
    if (!fresh) return made;
    made.constants.assign(f.constants.size(), -1);
    made.types.assign(f.types.size(), -1);
    made.operators.assign(f.operators.size(), -1);
    made.callees.assign(f.callees.size(), -1);
    made.is_target.assign(f.code.size() + 1, 0);
    made.stores.assign(size_t(f.registers) + 1, 0);
    made.loads.assign(size_t(f.registers) + 1, 0);
    for (size_t pc = 0; pc < f.code.size(); ++pc) {
      const Instruction& i = f.code[pc];
      if (jumps(i.op)) made.is_target[pc + size_t(int64_t(i.x))] = 1;
      int count = i.op == Opcode::STORE ? 1 : i.op == Opcode::STOREN ? i.n : 0;
      for (int k = 0; k < count; ++k) {
        char& stores = made.stores[size_t(i.x + k)];
        stores = char(std::min(stores + 1, 2));
      }
      if (i.op == Opcode::MOVE || i.op == Opcode::DROPR) made.stores[size_t(i.x)] = 2;
      if (i.op == Opcode::LOAD) {
        char& loads = made.loads[size_t(i.x)];
        loads = char(std::min(loads + 1, 2));
      }
    }
    return made;
  }

  // The index in the new function's table `to` of an item of a table; adds it if it is new there.
  template <class Row>
  static int moved(std::vector<int>* known, int index, const Row& from, Row* to) {
    int& place = (*known)[size_t(index)];
    if (place < 0) {
      place = int(to->size());
      to->push_back(from[size_t(index)]);
    }
    return place;
  }

  int constant(Value value) {
    out_.constants.push_back(std::move(value));
    return int(out_.constants.size()) - 1;
  }

  void emit(Instruction i, const Copy& copy, size_t pc) {
    out_.code.push_back(i);
    out_.lines.push_back(copy.f.lines[pc]);
    out_.calls.push_back(copy.call);
  }
  void take_back(size_t count) {
    out_.code.resize(out_.code.size() - count);
    out_.lines.resize(out_.code.size());
    out_.calls.resize(out_.code.size());
  }

  // ---- facts

  Fact pop() {
    if (stack_.empty()) return {};
    Fact top = stack_.back();
    stack_.pop_back();
    return top;
  }
  bool is_none(const Fact& fact) const {
    return fact.constant >= 0 && out_.constants[size_t(fact.constant)].is_none();
  }
  bool not_none(const Fact& fact) const {
    return fact.not_none || (fact.constant >= 0 && !is_none(fact));
  }
  // Whether a value was pushed by the instruction `before` places before the last one, so that the
  // push can be taken back.
  bool pushed_last(const Fact& fact, size_t before) const {
    return fact.at >= 0 && size_t(fact.at) + before + 1 == out_.code.size();
  }

  void push_constant(int index, const Copy& copy, size_t pc) {
    Instruction i;
    i.op = Opcode::LOADC;
    i.x = index;
    stack_.push_back({index, false, int64_t(out_.code.size())});
    emit(i, copy, pc);
  }

  // Whether a register is only stored here, and only loaded soon afterwards, in the same block.
  static bool is_for_one_load(const Copy& copy, size_t pc) {
    constexpr size_t kFarthest = 8;
    const Function& f = copy.f;
    const int reg = f.code[pc].x;
    if (copy.tables.stores[size_t(reg)] != 1 || copy.tables.loads[size_t(reg)] != 1) return false;
    for (size_t k = pc + 1; k < std::min(pc + kFarthest, f.code.size()); ++k) {
      const Instruction& i = f.code[k];
      if (copy.tables.is_target[k]) return false;
      if (i.op == Opcode::LOAD && i.x == reg) return true;
      if (jumps(i.op) || ends_flow(i.op)) return false;
    }
    return false;
  }
  // Pushes what is known of the new empty dict that the last instruction pushes.
  void push_empty_dict() {
    Fact fact;
    fact.not_none = fact.empty_dict = true;
    fact.at = int64_t(out_.code.size()) - 1;
    stack_.push_back(fact);
  }

  // ---- copying

  bool may_inline(const Function& callee) const {
    return inlines_ && callee.is_raw && callee.refusal.empty() && callee.results == 1 &&
           chain_.size() < kMostDepth && out_.code.size() + callee.code.size() <= kMostCode &&
           top_ + callee.registers <= kMostRegisters &&
           std::find(chain_.begin(), chain_.end(), &callee) == chain_.end();
  }

  // Copies a body. Its arguments are on the stack; `passed` is what is known of them.
  void splice(const Function& f, int32_t call, std::vector<Fact> passed) {
    Copy copy{f, tables_of(f), top_, call, {}, {}, {}, {}, {}};
    chain_.push_back(&f);
    take_registers(f);
    copy.registers.resize(size_t(f.registers) + 1);
    copy.start.resize(f.code.size() + 1);
    copy.wanted.assign(f.code.size() + 1, 0);
    stack_ = std::move(passed);
    for (Fact& fact : stack_) fact.at = -1;
    bool dead = false;
    for (size_t pc = 0; pc < f.code.size(); ++pc) {
      if (dead && !copy.wanted[pc]) continue;
      dead = false;
      if (copy.tables.is_target[pc]) stack_.clear();
      copy.start[pc] = int64_t(out_.code.size());
      dead = !step(&copy, pc);
    }
    copy.start[f.code.size()] = int64_t(out_.code.size());
    for (auto [at, target] : copy.jumps) {
      out_.code[at].x = int32_t(copy.start[target] - int64_t(at));
    }
    stack_.clear();
    chain_.pop_back();
    // Nothing reads the registers of the body any more.
    if (out_.registers > kOwnRegisters) top_ = copy.base;
  }

  // Reserves registers for a body. Only the types of numbers are kept, and only if all bodies that
  // share a register declare the same.
  void take_registers(const Function& f) {
    const int base = top_;
    top_ += f.registers;
    const int known = out_.registers;
    out_.registers = std::max(out_.registers, top_);
    out_.register_types.resize(size_t(out_.registers));
    for (int k = 0; k < f.registers; ++k) {
      TypeRef type = size_t(k) < f.register_types.size() ? f.register_types[size_t(k)] : TypeRef();
      if (type && !is_number(*type)) type = TypeRef();
      TypeRef& held = out_.register_types[size_t(base + k)];
      if (base + k >= known) held = std::move(type);
      else if (held && held.get() != type.get()) held = TypeRef();
    }
  }

  void jump(Instruction i, Copy* copy, size_t pc, size_t target) {
    copy->wanted[target] = 1;
    copy->jumps.push_back({out_.code.size(), target});
    emit(i, *copy, pc);
  }

  // Copies one instruction. False if control does not go on behind it.
  bool step(Copy* copy, size_t pc) {
    const Function& f = copy->f;
    Instruction i = f.code[pc];
    switch (i.op) {
      case Opcode::CALL: {
        const Function& callee = *f.callees[size_t(i.x)];
        if (!may_inline(callee)) break;
        std::vector<Fact> passed(size_t(callee.parameters));
        for (size_t k = passed.size(); k-- > 0;) passed[k] = pop();
        for (size_t k = 0; k < passed.size(); ++k) {
          passed[k].not_none = not_none(passed[k]) || never_none(*callee.arguments[k].type);
        }
        out_.inlined.push_back({&callee, f.lines[pc], copy->call});
        splice(callee, int32_t(out_.inlined.size()) - 1, std::move(passed));
        return true;
      }
      case Opcode::RET: {
        if (copy->call < 0) break;
        if (pc + 1 == f.code.size()) return false;
        Instruction on;
        on.op = Opcode::JMP;
        jump(on, copy, pc, f.code.size());
        return false;
      }
      case Opcode::LOADC:
        push_constant(moved(&copy->tables.constants, i.x, f.constants, &out_.constants), *copy, pc);
        return true;
      case Opcode::LOAD: {
        auto delayed = copy->delayed.find(i.x);
        if (delayed != copy->delayed.end()) {
          emit(delayed->second, *copy, pc);
          return push_empty_dict(), true;
        }
        Fact fact = copy->registers[size_t(i.x)];
        if (fact.constant >= 0) return push_constant(fact.constant, *copy, pc), true;
        fact.at = int64_t(out_.code.size());
        if (fact.reg < 0 && copy->tables.stores[size_t(i.x)] == 1) fact.reg = i.x + copy->base;
        i.x = fact.reg >= 0 ? fact.reg : i.x + copy->base;
        emit(i, *copy, pc);
        stack_.push_back(fact);
        return true;
      }
      case Opcode::STORE:
      case Opcode::STOREN: {
        int count = i.op == Opcode::STORE ? 1 : i.n;
        const bool empty = !stack_.empty() && stack_.back().empty_dict;
        if (i.op == Opcode::STORE && empty && pushed_last(stack_.back(), 0) &&
            is_for_one_load(*copy, pc)) {
          pop();
          copy->delayed.emplace(i.x, out_.code.back());
          take_back(1);
          return true;
        }
        for (int k = count; k-- > 0;) {
          Fact fact = pop();
          fact.at = -1;
          fact.empty_dict = false;
          const size_t reg = size_t(i.x + k);
          if (copy->tables.stores[reg] != 1) continue;
          const TypeRef* type =
              reg <= f.register_types.size() ? &f.register_types[reg - 1] : nullptr;
          fact.not_none = not_none(fact) || (type && *type && never_none(**type));
          copy->registers[reg] = fact;
        }
        i.x += copy->base;
        if (pc > 0 || i.op == Opcode::STORE) return emit(i, *copy, pc), true;
        // The STOREN at the start stores the arguments. Single stores do not need registers side by
        // side, which leaves share_registers() more choice.
        i.op = Opcode::STORE;
        for (i.x += count - 1, i.n = 0; count-- > 0; --i.x) emit(i, *copy, pc);
        return true;
      }
      case Opcode::__NOT__: {
        Fact fact = pop();
        if (fact.constant < 0 || !out_.constants[size_t(fact.constant)].is_bool() ||
            !pushed_last(fact, 0)) {
          emit(i, *copy, pc);
          stack_.push_back({});
          return true;
        }
        take_back(1);
        push_constant(constant(Value(!out_.constants[size_t(fact.constant)].as_bool())), *copy, pc);
        return true;
      }
      case Opcode::__IS__:
      case Opcode::__ISNOT__: {
        Fact right = pop(), left = pop();
        const bool decided = (is_none(left) && (is_none(right) || not_none(right))) ||
                             (is_none(right) && not_none(left));
        if (!decided || !pushed_last(right, 0) || !pushed_last(left, 1)) {
          emit(i, *copy, pc);
          stack_.push_back({});
          return true;
        }
        const bool same = is_none(left) && is_none(right);
        take_back(2);
        push_constant(constant(Value(same == (i.op == Opcode::__IS__))), *copy, pc);
        return true;
      }
      case Opcode::TUPLE_CONSTRUCT:
        if (fold_tuple(i.x, *copy, pc)) return true;
        break;
      case Opcode::DICT_CONSTRUCT:
        if (i.n != 0) break;
        plain_step(copy, pc, i);
        pop();
        return push_empty_dict(), true;
      case Opcode::OP_ONE:
      case Opcode::OP: {
        const bool empty = !stack_.empty() && stack_.back().empty_dict;
        if (!empty || !pushed_last(stack_.back(), 0) ||
            f.operators[size_t(i.x)].name != "aten::len") {
          break;
        }
        pop();
        take_back(1);
        push_constant(constant(Value(int64_t(0))), *copy, pc);
        return true;
      }
      case Opcode::UNCHECKED_CAST: return true;  // it does nothing at run time
      case Opcode::JF: {
        Fact fact = pop();
        const size_t target = pc + size_t(int64_t(i.x));
        if (fact.constant < 0 || !out_.constants[size_t(fact.constant)].is_bool() ||
            !pushed_last(fact, 0) || target <= pc) {
          jump(i, copy, pc, target);
          return true;
        }
        take_back(1);
        if (out_.constants[size_t(fact.constant)].as_bool()) return true;
        i.op = Opcode::JMP;
        jump(i, copy, pc, target);
        return false;
      }
      default: break;
    }
    return plain_step(copy, pc, i);
  }

  // Replaces a tuple of immutable constants by a constant.
  bool fold_tuple(int count, const Copy& copy, size_t pc) {
    const size_t n = size_t(count);
    if (n == 0 || stack_.size() < n || out_.code.size() < n) return false;
    std::vector<Value> items;
    for (size_t k = 0; k < n; ++k) {
      const Fact& fact = stack_[stack_.size() - n + k];
      if (fact.constant < 0 || !pushed_last(fact, n - 1 - k)) return false;
      const Value& v = out_.constants[size_t(fact.constant)];
      if (!v.is_none() && !v.is_bool() && !v.is_int() && !v.is_double() && !v.is_string()) {
        return false;
      }
      items.push_back(v);
    }
    Value tuple = Tuple::make(std::move(items));
    tuple.publish();  // threads share it
    stack_.resize(stack_.size() - n);
    take_back(n);
    push_constant(constant(std::move(tuple)), copy, pc);
    return true;
  }

  bool plain_step(Copy* copy, size_t pc, Instruction i) {
    using bytecode::Operand;
    const Function& f = copy->f;
    const bytecode::OpcodeInfo& info = bytecode::info_of(i.op);
    const int64_t pops = pops_of(f, i), pushes = pushes_of(f, i);
    for (int64_t k = 0; k < pops; ++k) pop();
    const bool tensor =
        i.op == Opcode::OP_ONE &&
        schema_of(*f.operators[size_t(i.x)].entry).returns[0].type->kind == TypeKind::Tensor;
    for (int64_t k = 0; k < pushes; ++k) stack_.push_back({-1, tensor, -1});
    if (info.next != bytecode::Next::Next) stack_.clear();
    switch (info.x) {
      case Operand::Operator:
        i.x = moved(&copy->tables.operators, i.x, f.operators, &out_.operators);
        break;
      case Operand::Register:
      case Operand::Registers: i.x += copy->base; break;
      case Operand::Constant:
      case Operand::Method:
        i.x = moved(&copy->tables.constants, i.x, f.constants, &out_.constants);
        break;
      case Operand::Type:
      case Operand::ListType:
      case Operand::DictType:
      case Operand::NamedTupleType:
      case Operand::Class: i.x = moved(&copy->tables.types, i.x, f.types, &out_.types); break;
      case Operand::Types: {  // they must be side by side in the table
        const int first = int(out_.types.size());
        for (int k = 0; k < i.n; ++k) out_.types.push_back(f.types[size_t(i.x + k)]);
        i.x = first;
        break;
      }
      case Operand::Function: {
        const int before = i.x;
        i.x = moved(&copy->tables.callees, before, f.callees, &out_.callees);
        if (out_.callee_names.size() < out_.callees.size()) {
          out_.callee_names.push_back(f.callee_names[size_t(before)]);
        }
        break;
      }
      case Operand::Jump:
        jump(i, copy, pc, pc + size_t(int64_t(i.x)));
        return info.next != bytecode::Next::Jump;
      default: break;
    }
    emit(i, *copy, pc);
    return !ends_flow(i.op);
  }

  Function& out_;
  const bool inlines_;
  std::unordered_map<const Function*, Tables> tables_;
  std::vector<const Function*> chain_;
  int top_ = 0;              // how many registers the bodies have that are being copied
  std::vector<Fact> stack_;  // facts of the topmost values; nothing is known of those below
};

}  // namespace

std::unique_ptr<Function> inlined(const Function& function, bool inlines) {
  auto made = std::make_unique<Function>();
  made->name = function.name;
  made->file = function.file;
  made->line_starts = function.line_starts;
  made->arguments = function.arguments;
  made->returns = function.returns;
  made->has_schema = function.has_schema;
  made->results = function.results;
  made->parameters = function.parameters;
  Inliner(made.get(), inlines).run(function);
  restore_operators(made.get());
  return made;
}

}  // namespace scriptlang::optimize
