// Common subexpression elimination, for expressions whose result is an int, a float or a bool.
//
// It is value numbering: values with the same value number are equal. The value number of an
// expression that reads memory is only good until something may write to memory (the epoch). A
// block with one predecessor begins with what is known at the end of that one. A repeated
// expression is replaced if it is a contiguous sequence of instructions that only pushes its
// result; a LOAD of the register that holds the first result takes its place.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "lower/flow.h"
#include "optimize.h"
#include "program/facts.h"

namespace scriptlang::optimize {

namespace {

constexpr size_t kMostCode = 20000, kMostKnown = size_t(1) << 21;
constexpr size_t kNowhere = SIZE_MAX;

using Key = std::vector<int64_t>;

// A value on the stack.
struct Item {
  int number;                               // its value number
  size_t begin = kNowhere, end = kNowhere;  // the instructions that push it and do nothing else
};

// An expression that was computed.
struct Known {
  int number;  // its value number
  size_t pc;   // the instruction that gave it
};

// What is known at a place of the code.
struct State {
  std::map<Key, Known> table;
  std::unordered_map<int, int> registers;  // register -> value number
  int64_t epoch = 0;                       // changes when memory may be written
};

class Common {
 public:
  explicit Common(Function* f) : f_(*f), stores_(size_t(f->registers) + 1) {}

  void run() {
    if (f_.code.size() > kMostCode) return;
    for (const Instruction& i : f_.code) {
      const int count = i.op == Opcode::STORE ? 1 : i.op == Opcode::STOREN ? i.n : 0;
      for (int k = 0; k < count; ++k) ++stores_[size_t(i.x + k)];
    }
    const lower::Flow flow = lower::flow_of(f_);
    const size_t blocks = flow.starts.size();
    starts_.assign(f_.code.size() + 1, 0);
    for (int32_t start : flow.starts) starts_[size_t(start)] = 1;
    std::vector<int> before(blocks, -1), ways(blocks, 0), wanted(blocks, 0);
    for (size_t b = 0; b < blocks; ++b) {
      lower::for_successors(f_, flow, size_t(flow.lasts[b]), [&](int32_t next) {
        ++ways[size_t(next)];
        before[size_t(next)] = int(b);
      });
    }
    for (size_t b = 1; b < blocks; ++b) {
      if (ways[b] != 1 || before[b] >= int(b)) before[b] = -1;
      else ++wanted[size_t(before[b])];
    }
    before[0] = -1;
    std::unordered_map<size_t, State> kept;
    for (size_t b = 0; b < blocks; ++b) {
      State state;
      if (before[b] >= 0) {
        auto known = kept.find(size_t(before[b]));
        if (known != kept.end()) {
          if (--wanted[size_t(before[b])] == 0) {
            state = std::move(known->second);
            kept.erase(known);
          } else {
            state = known->second;
            work_ += state.table.size() + state.registers.size();
          }
        }
      }
      if (work_ > kMostKnown) break;
      read(flow, b, &state);
      if (wanted[b] > 0) kept.emplace(b, std::move(state));
    }
    if (!rows_.empty()) rebuild();
  }

 private:
  // Instructions begin, ..., end that are replaced by the result of instruction `source`.
  struct Row {
    size_t begin, end, source;
  };

  int number_of_constant(int index) {
    const Value& v = f_.constants[size_t(index)];
    const bool by_bits = v.is_int() || v.is_double() || v.is_bool();
    const Key key{by_bits ? int64_t(v.tag()) : -1, by_bits ? int64_t(v.bits()) : index};
    auto [it, fresh] = constants_.try_emplace(key, next_);
    if (fresh) ++next_;
    return it->second;
  }

  // Identifies what an instruction computes from its operands. Returns 0 if it may not be replaced;
  // otherwise its one result is an int, a float or a bool. *reads: whether the result depends on
  // memory.
  int64_t kind_of(const Instruction& i, bool* reads) const {
    *reads = true;
    if (i.op == Opcode::DIM || i.op == Opcode::DTYPE) return int64_t(i.op) + 1;
    *reads = false;
    if (i.op == Opcode::__NOT__ || i.op == Opcode::__IS__ || i.op == Opcode::__ISNOT__) {
      return int64_t(i.op) + 1;
    }
    if (i.op != Opcode::OP_ONE && i.op != Opcode::OP_ANY) return 0;
    const OperatorUse& use = f_.operators[size_t(i.x)];
    int switched;
    if (i.results != 1 || use.variadic || !only_gives(*use.entry, &switched) || switched >= 0) {
      return 0;
    }
    const Schema& schema = schema_of(*use.entry);
    const TypeKind kind = schema.returns[0].type->kind;
    const bool number = kind == TypeKind::Int || kind == TypeKind::Float || kind == TypeKind::Bool;
    // Other results are mostly elements of containers. The lowering borrows these, which costs less
    // than to keep them in a register.
    if (!number) return 0;
    for (const Argument& a : schema.arguments) *reads = *reads || !is_number(*a.type);
    return int64_t(reinterpret_cast<intptr_t>(use.entry));
  }
  static bool is_number(const Type& type) {
    return type.kind == TypeKind::Int || type.kind == TypeKind::Float ||
           type.kind == TypeKind::Bool || type.kind == TypeKind::Number;
  }

  // Whether an instruction never writes to memory.
  bool leaves_memory(const Instruction& i) const {
    if (i.op == Opcode::OP_ONE || i.op == Opcode::OP_ANY) {
      int switched;
      return only_gives(*f_.operators[size_t(i.x)].entry, &switched);
    }
    return bytecode::info_of(i.op).does != bytecode::Does::Acts;
  }

  // Numbers the values of a block, and notes repeated expressions in rows_.
  void read(const lower::Flow& flow, size_t block, State* state) {
    std::vector<Item> stack;
    auto pop = [&] {
      if (stack.empty()) return Item{next_++};
      Item top = stack.back();
      stack.pop_back();
      return top;
    };
    const size_t begin = size_t(flow.starts[block]), last = size_t(flow.lasts[block]);
    for (size_t pc = begin; pc <= last; ++pc) {
      const Instruction& i = f_.code[pc];
      ++work_;
      if (i.op == Opcode::LOADC) {
        stack.push_back({number_of_constant(i.x), pc, pc});
        continue;
      }
      if (i.op == Opcode::LOAD) {
        auto [it, fresh] = state->registers.try_emplace(i.x, next_);
        if (fresh) ++next_;
        stack.push_back({it->second, pc, pc});
        continue;
      }
      if (i.op == Opcode::STORE || i.op == Opcode::STOREN) {
        for (int k = i.op == Opcode::STORE ? 1 : i.n; k-- > 0;) {
          state->registers[i.x + k] = pop().number;
        }
        continue;
      }
      bool reads = false;
      const int64_t kind = kind_of(i, &reads);
      const int64_t pops = pops_of(f_, i), pushes = pushes_of(f_, i);
      std::vector<Item> taken(static_cast<size_t>(pops));
      for (size_t k = taken.size(); k-- > 0;) taken[k] = pop();
      if (!kind) {
        if (!leaves_memory(i)) ++state->epoch;
        for (int64_t k = 0; k < pushes; ++k) stack.push_back({next_++});
        continue;
      }
      stack.push_back(numbered(kind, reads, taken, pc, state));
    }
  }

  // The result of instruction `pc` with operands `taken`. It can be replaced if it is `whole`: the
  // instructions that push the operands and the instruction itself are a contiguous sequence.
  Item numbered(int64_t kind, bool reads, const std::vector<Item>& taken, size_t pc, State* state) {
    Key key{kind, reads ? state->epoch : -1};
    bool whole = !taken.empty();
    for (size_t k = 0; k < taken.size(); ++k) {
      key.push_back(taken[k].number);
      const size_t end = k + 1 < taken.size() ? taken[k + 1].begin : pc;
      whole = whole && taken[k].begin != kNowhere && taken[k].end + 1 == end;
    }
    const size_t begin = whole ? taken[0].begin : kNowhere;
    auto [it, fresh] = state->table.try_emplace(std::move(key), Known{next_, pc});
    if (fresh) {
      ++next_;
    } else if (whole) {
      rows_.push_back({begin, pc, it->second.pc});
    } else {
      it->second.pc = pc;  // it is computed again here, which is a nearer source from now on
    }
    return {it->second.number, begin, whole ? pc : kNowhere};
  }

  // The register in which the result of an instruction is kept: that of the variable to which it is
  // stored at once, if nothing else is stored there, else a new one.
  int place_of(size_t pc) {
    auto [it, fresh] = places_.try_emplace(pc, 0);
    if (!fresh) return it->second;
    const Instruction& next = f_.code[pc + 1];
    if (!starts_[pc + 1] && next.op == Opcode::STORE && stores_[size_t(next.x)] == 1) {
      return it->second = next.x;
    }
    keeps_.push_back(pc);
    return it->second = ++f_.registers;
  }

  // Writes the new code.
  void rebuild() {
    // Of nested rows only the outermost is replaced.
    std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    });
    std::vector<Row> rows;
    for (const Row& row : rows_) {
      if (rows.empty() || row.begin > rows.back().end) rows.push_back(row);
    }
    for (const Row& row : rows) place_of(row.source);
    std::sort(keeps_.begin(), keeps_.end());
    std::vector<Instruction> code;
    std::vector<uint32_t> lines;
    std::vector<int32_t> calls;
    std::vector<int64_t> moved(f_.code.size() + 1);
    std::vector<std::pair<size_t, size_t>> jumps_;
    auto put = [&](const Instruction& i, size_t from) {
      code.push_back(i);
      lines.push_back(f_.lines[from]);
      calls.push_back(f_.calls[from]);
    };
    auto make = [](Opcode op, int x) {
      Instruction i;
      i.op = op;
      i.x = x;
      return i;
    };
    size_t row = 0, keep = 0;
    for (size_t pc = 0; pc < f_.code.size(); ++pc) {
      moved[pc] = int64_t(code.size());
      if (row < rows.size() && rows[row].begin == pc) {
        put(make(Opcode::LOAD, places_.at(rows[row].source)), rows[row].end);
        pc = rows[row++].end;
        continue;
      }
      const Instruction& i = f_.code[pc];
      if (jumps(i.op)) jumps_.push_back({code.size(), pc + size_t(int64_t(i.x))});
      put(i, pc);
      if (keep < keeps_.size() && keeps_[keep] == pc) {
        put(make(Opcode::STORE, places_.at(pc)), pc);
        put(make(Opcode::LOAD, places_.at(pc)), pc);
        ++keep;
      }
    }
    for (auto [at, target] : jumps_) code[at].x = int32_t(moved[target] - int64_t(at));
    f_.code = std::move(code);
    f_.lines = std::move(lines);
    f_.calls = std::move(calls);
    f_.register_types.resize(size_t(f_.registers));
  }

  Function& f_;
  std::vector<int> stores_;   // by register: how many instructions store it
  std::vector<char> starts_;  // by instruction: a block begins with it
  int next_ = 0;              // the next value number
  size_t work_ = 0;
  std::map<Key, int> constants_;            // -> value number
  std::vector<Row> rows_;                   // repeated expressions
  std::unordered_map<size_t, int> places_;  // by instruction: the register with its result
  std::vector<size_t> keeps_;               // instructions whose result gets a new register
};

}  // namespace

void find_common(Function* function) { Common(function).run(); }

}  // namespace scriptlang::optimize
