// Groups: runs of pointwise operators and row functions become one instruction FUSED.
//
// As passes/fuse_pointwise.py does, on basic blocks: an operator joins the groups of what it reads,
// where nothing that has to run in between keeps them apart. Nothing moves over an instruction that
// writes, draws a random number, or calls what is not seen here. An in-place operator on a tensor
// that nobody else holds becomes one that gives a new tensor.
#include <algorithm>

#include "block.h"
#include "facts.h"
#include "fusion/fused_group.h"
#include "lower/flow.h"
#include "optimize.h"

namespace scriptlang::optimize {

namespace {

// As passes/fuse_pointwise.py has them: engines keep all values of a group at once.
constexpr size_t kMostNodes = 40, kMostInputs = 16;
constexpr size_t kMostGroups = 256;    // of a row of instructions
constexpr size_t kMostInBlock = 4000;  // instructions; larger ones stay
constexpr int kMostRegisters = 20000;

using Set = std::vector<uint64_t>;  // of groups

void add(Set* to, const Set& other) {
  if (to->size() < other.size()) to->resize(other.size());
  for (size_t w = 0; w < other.size(); ++w) (*to)[w] |= other[w];
}
void add(Set* to, size_t g) {
  if (to->size() <= g / 64) to->resize(g / 64 + 1);
  (*to)[g / 64] |= uint64_t(1) << (g % 64);
}
bool has(const Set& set, size_t g) { return g / 64 < set.size() && (set[g / 64] >> (g % 64) & 1); }

// Whether an instruction may run elsewhere between others of its kind.
bool is_free(Opcode op) {
  switch (op) {
    case Opcode::GET_ATTR:
    case Opcode::LIST_UNPACK:
    case Opcode::TUPLE_CONSTRUCT:
    case Opcode::NAMED_TUPLE_CONSTRUCT:
    case Opcode::LIST_CONSTRUCT:
    case Opcode::DICT_CONSTRUCT:
    case Opcode::ISINSTANCE:
    case Opcode::TUPLE_SLICE:
    case Opcode::TUPLE_INDEX:
    case Opcode::DICT_INDEX:
    case Opcode::UNCHECKED_CAST:
    case Opcode::__IS__:
    case Opcode::__ISNOT__:
    case Opcode::FORMAT:
    case Opcode::DEVICE:
    case Opcode::DTYPE:
    case Opcode::DIM:
    case Opcode::__NOT__:
    case Opcode::TO_LIST:
    case Opcode::NUM_TO_TENSOR:
    case Opcode::IS_CUDA:
    case Opcode::TUPLE_UNPACK:
    case Opcode::UN_INITIALIZED: return true;
    default: return false;
  }
}

// Whether a constant is held by a group itself.
bool is_plain(const Value& v) {
  if (v.is_none() || v.is_bool() || v.is_int() || v.is_double() || v.is_string()) return true;
  if (!v.is_list() || v.as_list().empty()) return false;
  const List::Kind kind = v.as_list().kind();
  return kind == List::Kind::Ints || kind == List::Kind::Floats || kind == List::Kind::Bools;
}

bool may_enter(const Type& type) {
  switch (type.kind) {
    case TypeKind::Tensor:
    case TypeKind::Int:
    case TypeKind::Float:
    case TypeKind::Bool:
    case TypeKind::Number: return true;
    case TypeKind::Optional: return may_enter(*type.elements[0]);
    default: return false;
  }
}

class Block {
 public:
  Block(Function* f, size_t begin, size_t end) : f_(*f), begin_(begin), end_(end) {}

  template <class Live>
  bool run(const Live& live) {
    read_.read(f_, begin_, end_, live);
    const size_t count = read_.nodes.size();
    fusible_.resize(count);
    group_.assign(count, -1);
    depends_.resize(count);
    for (size_t k = 0; k < count; ++k) make_new(k);
    for (size_t k = 0; k < count; ++k) fusible_[k] = is_fusible_node(k);
    bool any = false;
    for (size_t from = 0; from < count;) {
      size_t to = from;
      while (to < count && may_move(to)) ++to;
      if (to > from) any = group(from, to) || any;
      from = std::max(to, from + 1);
    }
    return any;
  }

  // The block's code as it is now, and where each instruction came from.
  std::vector<Instruction> code;
  std::vector<size_t> origin;
  void write();

 private:
  BlockNode& node(size_t k) { return read_.nodes[k]; }
  const BlockValue& value(int v) const { return read_.values[size_t(v)]; }
  const OperatorUse& use_of(const BlockNode& n) const {
    return f_.operators[size_t(n.instruction.x)];
  }
  static bool calls_operator(const BlockNode& n) {
    return n.instruction.op == Opcode::OP_ONE || n.instruction.op == Opcode::OP_ANY;
  }
  const Value* constant(int v) const {
    return value(v).kind == BlockValue::Constant ? &f_.constants[size_t(value(v).index)] : nullptr;
  }

  bool may_move(size_t k) {
    const BlockNode& n = node(k);
    if (!calls_operator(n)) return is_free(n.instruction.op);
    const OperatorUse& use = use_of(n);
    int switched;
    if (!use.entry || !only_gives(*use.entry, &switched)) return false;
    if (switched < 0) return true;
    const int given = n.instruction.arguments;
    const Value* v = switched < given ? constant(n.inputs[size_t(switched)])
                     : switched - given < int(use.defaults.size())
                         ? &use.defaults[size_t(switched - given)]
                         : nullptr;
    return v && ((v->is_bool() && !v->as_bool()) || (v->is_double() && v->as_double() == 0.0));
  }

  bool is_fusible_node(size_t k) {
    const BlockNode& n = node(k);
    if (!calls_operator(n) || n.count != 1 || !is_fusible(use_of(n))) return false;
    const OperatorUse& use = use_of(n);
    if (use.variadic || use.trailing_out) return false;
    const Schema& schema = schema_of(*use.entry);
    bool tensor = false;
    for (size_t a = 0; a < n.inputs.size(); ++a) {
      const Type& type = *schema.arguments[a].type;
      const Value* known = constant(n.inputs[a]);
      if (known && is_plain(*known)) continue;
      if (!may_enter(type)) return false;
      tensor = tensor || type.kind == TypeKind::Tensor;
    }
    return tensor && schema.returns[0].type->kind == TypeKind::Tensor;
  }

  // ---- in-place operators on tensors of their own

  bool is_fresh(int v, size_t before) {
    const BlockValue& made = value(v);
    if (made.kind != BlockValue::Result) return false;
    auto fresh = [&](const BlockNode& n) {
      return calls_operator(n) && use_of(n).entry && gives_fresh(*use_of(n).entry);
    };
    if (!fresh(node(size_t(made.node)))) return false;
    for (size_t k = size_t(made.node) + 1; k < before; ++k) {
      const BlockNode& n = node(k);
      bool uses = std::find(n.inputs.begin(), n.inputs.end(), v) != n.inputs.end();
      if (uses && !fresh(n)) return false;
    }
    const BlockNode& writer = node(before);
    return std::count(writer.inputs.begin(), writer.inputs.end(), v) == 1;
  }

  void make_new(size_t k) {
    BlockNode& n = node(k);
    if (!calls_operator(n) || n.count != 1 || n.inputs.empty()) return;
    const OperatorUse& use = use_of(n);
    const OpEntry* other = use.entry ? out_of_place(*use.entry) : nullptr;
    if (!other || !is_fresh(n.inputs[0], k)) return;
    const int old = n.inputs[0], made = n.first;
    OperatorUse changed = use;
    const std::string_view name = other->qualified_name();
    changed.name = name.substr(0, name.find('.'));
    changed.overload = name.find('.') == name.npos ? "" : name.substr(name.find('.') + 1);
    changed.entry = other;
    n.instruction.x = int32_t(f_.operators.size());
    n.instruction.run = other->run;
    f_.operators.push_back(std::move(changed));
    auto replace = [&](int* v) {
      if (*v != old) return;
      *v = made;
      --read_.values[size_t(old)].uses;
      ++read_.values[size_t(made)].uses;
    };
    for (size_t later = k + 1; later < read_.nodes.size(); ++later) {
      for (int& v : node(later).inputs) replace(&v);
    }
    for (auto& [reg, v] : read_.bindings) replace(&v);
    for (int& v : read_.left) replace(&v);
  }

  // ---- grouping, of the instructions from..to

  size_t find(size_t g) const {
    while (root_[g] != g) g = root_[g];
    return g;
  }
  template <class F>
  void for_producers(size_t k, size_t from, F f) {
    for (int v : node(k).inputs) {
      if (value(v).kind == BlockValue::Result && size_t(value(v).node) >= from) {
        f(size_t(value(v).node));
      }
    }
  }
  // The groups that must run before any instruction behind k.
  void add_reached(Set* to, size_t k) const {
    if (group_[k] < 0) return add(to, depends_[k]);
    add(to, size_t(group_[k]));
    add(to, outside_[find(size_t(group_[k]))]);
  }
  Set closure(const Set& set) const {
    Set found;
    std::vector<size_t> pending;
    auto visit = [&](const Set& more) {
      for (size_t g = 0; g < more.size() * 64; ++g) {
        if (has(more, g)) pending.push_back(find(g));
      }
    };
    visit(set);
    while (!pending.empty()) {
      size_t g = pending.back();
      pending.pop_back();
      if (has(found, g)) continue;
      add(&found, g);
      visit(outside_[g]);
    }
    return found;
  }

  // Whether groups and instruction k may become one, which then does not depend on itself.
  bool may_be_one(const std::vector<size_t>& groups, size_t k, size_t from) {
    Set outside;
    std::vector<size_t> members{k};
    auto inside = [&](size_t g) {
      return std::find(groups.begin(), groups.end(), g) != groups.end();
    };
    for_producers(k, from, [&](size_t d) {
      if (group_[d] < 0 || !inside(find(size_t(group_[d])))) add_reached(&outside, d);
    });
    for (size_t g : groups) {
      add(&outside, outside_[g]);
      members.insert(members.end(), members_[g].begin(), members_[g].end());
    }
    if (members.size() > kMostNodes) return false;
    const Set all = closure(outside);
    if (std::any_of(groups.begin(), groups.end(), [&](size_t g) { return has(all, g); })) {
      return false;
    }
    return inputs_of(members).size() <= kMostInputs;
  }

  void place(size_t k, size_t from) {
    std::vector<size_t> near, joined;
    for_producers(k, from, [&](size_t d) {
      if (group_[d] >= 0) near.push_back(find(size_t(group_[d])));
    });
    std::sort(near.rbegin(), near.rend());
    near.erase(std::unique(near.begin(), near.end()), near.end());
    for (size_t g : near) {
      joined.push_back(g);
      if (!may_be_one(joined, k, from)) joined.pop_back();
    }
    if (joined.empty()) {
      if (root_.size() >= kMostGroups) return;
      joined.push_back(root_.size());
      root_.push_back(root_.size());
      members_.emplace_back();
      outside_.emplace_back();
    }
    const size_t first = joined[0];
    for (size_t j = 1; j < joined.size(); ++j) {
      root_[joined[j]] = first;
      auto& others = members_[joined[j]];
      members_[first].insert(members_[first].end(), others.begin(), others.end());
      add(&outside_[first], Set(outside_[joined[j]]));
    }
    group_[k] = int(first);
    members_[first].push_back(k);
    for_producers(k, from, [&](size_t d) {
      if (group_[d] < 0 || find(size_t(group_[d])) != first) {
        Set reached;
        add_reached(&reached, d);
        add(&outside_[first], reached);
      }
    });
  }

  bool group(size_t from, size_t to) {
    root_.clear();
    members_.clear();
    outside_.clear();
    for (size_t k = from; k < to; ++k) {
      for_producers(k, from, [&](size_t d) { add_reached(&depends_[k], d); });
      if (fusible_[k]) place(k, from);
    }
    bool any = false;
    for (size_t k = from; k < to; ++k) {
      if (group_[k] < 0) continue;
      const size_t g = find(size_t(group_[k]));
      std::sort(members_[g].begin(), members_[g].end());
      any = any || members_[g].size() > 1;
    }
    if (any) order(from, to);
    for (size_t k = from; k < to; ++k) {
      if (any || group_[k] < 0) continue;
      group_[k] = -1;
    }
    if (!any) {
      for (size_t k = from; k < to; ++k) units_.push_back({k});
    }
    return any;
  }

  // Groups and single instructions, in an order that keeps every dependence.
  void order(size_t from, size_t to) {
    struct Visit {
      std::vector<size_t> unit, before;  // before: what still has to run first, the first one last
    };
    std::vector<char> done(to - from);
    std::vector<Visit> open;
    auto visit = [&](size_t k) {
      Visit made;
      made.unit.push_back(k);
      if (group_[k] >= 0) made.unit = members_[find(size_t(group_[k]))];
      for (size_t m : made.unit) {
        done[m - from] = 1;
        for_producers(m, from, [&](size_t d) { made.before.push_back(d); });
      }
      std::sort(made.before.rbegin(), made.before.rend());
      open.push_back(std::move(made));
    };
    for (size_t k = from; k < to; ++k) {
      const bool last = group_[k] < 0 || members_[find(size_t(group_[k]))].back() == k;
      if (last && !done[k - from]) visit(k);
      while (!open.empty()) {
        if (open.back().before.empty()) {
          units_.push_back(std::move(open.back().unit));
          open.pop_back();
          continue;
        }
        const size_t next = open.back().before.back();
        open.back().before.pop_back();
        if (!done[next - from]) visit(next);
      }
    }
  }

  // What instructions use of others, but for the constants that a group holds itself.
  std::vector<int> inputs_of(const std::vector<size_t>& members) {
    std::vector<int> found;
    for (size_t m : members) {
      for (int v : node(m).inputs) {
        const BlockValue& read = value(v);
        if (read.kind == BlockValue::Constant && is_plain(*constant(v))) continue;
        if (read.kind == BlockValue::Result &&
            std::find(members.begin(), members.end(), size_t(read.node)) != members.end()) {
          continue;
        }
        if (std::find(found.begin(), found.end(), v) == found.end()) found.push_back(v);
      }
    }
    return found;
  }

  // ---- writing

  void emit(Opcode op, int64_t x, int64_t n, size_t pc) {
    Instruction i;
    i.op = op;
    i.x = int32_t(x);
    i.n = int32_t(n);
    code.push_back(i);
    origin.push_back(pc);
  }
  int fresh(int count) {
    const int first = f_.registers + 1;
    f_.registers += count;
    return first;
  }
  void push(int v, size_t pc) {
    const BlockValue& read = value(v);
    if (read.kind == BlockValue::Constant) emit(Opcode::LOADC, read.index, 0, pc);
    else if (read.kind == BlockValue::Register) emit(Opcode::LOAD, read.index, 0, pc);
    else emit(Opcode::LOAD, place_[size_t(v)], 0, pc);
  }
  void store(int first, int count, size_t pc) {
    if (count == 1) emit(Opcode::STORE, first, 0, pc);
    else emit(Opcode::STOREN, first, count, pc);
  }
  void write_single(size_t k);
  void write_group(const std::vector<size_t>& unit);
  void keep(const std::vector<int>& made, size_t pc);
  int home_of(int v);
  void flush();

  Function& f_;
  const size_t begin_, end_;
  BlockValues read_;
  std::vector<char> fusible_;
  std::vector<int> group_;    // of an instruction; -1: none
  std::vector<Set> depends_;  // the groups that must run before an instruction
  std::vector<size_t> root_;  // of a group that was merged into others
  std::vector<std::vector<size_t>> members_;
  std::vector<Set> outside_;  // the groups that must run before a group
  std::vector<std::vector<size_t>> units_;
  std::vector<int> place_;           // of a value: its register
  std::vector<char> settled_;        // of a binding: its value lies there already
  std::vector<char> read_at_start_;  // of a register: what it had before the block is used
  std::vector<int> part_places_;     // of a value in the group that is being written: its register
  std::vector<int> part_uses_;       // and how often its members use it
  int pending_ = -1;                 // a value on the stack
  size_t pending_pc_ = 0;
};

// The register in which a result is kept: the variable's that it becomes, where that is free.
int Block::home_of(int v) {
  for (size_t b = 0; b < read_.bindings.size(); ++b) {
    auto [reg, bound] = read_.bindings[b];
    if (bound != v || settled_[b] || read_at_start_[size_t(reg)]) continue;
    settled_[b] = 1;
    return reg;
  }
  return fresh(1);
}

// Keeps results that lie on the stack.
void Block::keep(const std::vector<int>& made, size_t pc) {
  if (made.size() == 1) {
    const BlockValue& v = value(made[0]);
    if (v.uses == 0) return emit(Opcode::DROP, 0, 0, pc);
    pending_ = made[0];
    pending_pc_ = pc;
    return;
  }
  const int first = fresh(int(made.size()));
  if (made.empty()) return;
  for (size_t k = 0; k < made.size(); ++k) place_[size_t(made[k])] = first + int(k);
  store(first, int(made.size()), pc);
}

void Block::flush() {
  if (pending_ < 0) return;
  place_[size_t(pending_)] = home_of(pending_);
  store(place_[size_t(pending_)], 1, pending_pc_);
  pending_ = -1;
}

void Block::write_single(size_t k) {
  const BlockNode& n = node(k);
  size_t from = 0;
  if (pending_ >= 0 && !n.inputs.empty() && n.inputs[0] == pending_ && value(pending_).uses == 1) {
    from = 1;
    pending_ = -1;
  }
  flush();
  for (size_t a = from; a < n.inputs.size(); ++a) push(n.inputs[a], n.pc);
  code.push_back(n.instruction);
  origin.push_back(n.pc);
  std::vector<int> made;
  for (int r = 0; r < n.count; ++r) made.push_back(n.first + r);
  keep(made, n.pc);
}

void Block::write_group(const std::vector<size_t>& unit) {
  flush();
  const std::vector<int> taken = inputs_of(unit);
  const size_t last = node(unit.back()).pc;
  auto part = std::make_unique<Function>();
  part->name = f_.name;
  part->file = f_.file;
  part->line_starts = f_.line_starts;
  part->is_part = true;
  part->parameters = int(taken.size());
  part->registers = int(taken.size() + unit.size());
  std::vector<int>& places = part_places_;
  std::vector<int>& inner = part_uses_;
  places.resize(read_.values.size());
  inner.resize(read_.values.size());
  auto put = [&](Opcode op, int x, int n, size_t pc) {
    Instruction i;
    i.op = op;
    i.x = x;
    i.n = n;
    part->code.push_back(i);
    part->lines.push_back(f_.lines[pc]);
    part->calls.push_back(f_.calls[pc]);
  };
  for (size_t k = 0; k < taken.size(); ++k) places[size_t(taken[k])] = int(k) + 1;
  if (taken.size() == 1) put(Opcode::STORE, 1, 0, last);
  else put(Opcode::STOREN, 1, int(taken.size()), last);
  for (size_t m = 0; m < unit.size(); ++m) {
    const BlockNode& n = node(unit[m]);
    for (int v : n.inputs) {
      ++inner[size_t(v)];
      if (places[size_t(v)]) {
        put(Opcode::LOAD, places[size_t(v)], 0, n.pc);
        continue;
      }
      put(Opcode::LOADC, int(part->constants.size()), 0, n.pc);
      part->constants.push_back(*constant(v));
    }
    put(Opcode::OP, int(part->operators.size()), 0, n.pc);
    part->operators.push_back(use_of(n));
    places[size_t(n.first)] = int(taken.size() + m) + 1;
    put(Opcode::STORE, places[size_t(n.first)], 0, n.pc);
  }
  std::vector<int> made;
  for (size_t m : unit) {
    const int v = node(m).first;
    if (value(v).uses > inner[size_t(v)]) made.push_back(v);
  }
  for (int v : made) put(Opcode::LOAD, places[size_t(v)], 0, last);
  for (size_t m : unit) {
    places[size_t(node(m).first)] = 0;
    for (int v : node(m).inputs) places[size_t(v)] = inner[size_t(v)] = 0;
  }
  put(Opcode::RET, 0, 0, last);
  part->results = int(made.size());
  end_lifetimes(part.get());
  verify(part.get());
  part->group = FusedGroup::make(*part);
  for (int v : taken) push(v, last);
  emit(Opcode::FUSED, int64_t(f_.callees.size()), int64_t(taken.size()), last);
  code.back().arguments = 0;
  f_.callees.push_back(part.get());
  f_.callee_names.push_back(part->name);
  f_.parts.push_back(std::move(part));
  keep(made, last);
}

void Block::write() {
  place_.assign(read_.values.size(), 0);
  settled_.assign(read_.bindings.size(), 0);
  read_at_start_.assign(size_t(f_.registers) + 1, 0);
  for (const BlockValue& v : read_.values) {
    if (v.kind == BlockValue::Register && v.uses > 0) read_at_start_[size_t(v.index)] = 1;
  }
  if (read_.below > 0) {
    const int first = fresh(read_.below);
    for (size_t v = 0; v < read_.values.size(); ++v) {  // the first that was taken lay on top
      const BlockValue& below = read_.values[v];
      if (below.kind == BlockValue::Below) place_[v] = first + read_.below - 1 - below.index;
    }
    store(first, read_.below, begin_);
  }
  size_t next = 0;  // instructions that no row holds stay between
  std::vector<char> written(read_.nodes.size());
  auto catch_up = [&](size_t until) {
    for (; next < until; ++next) {
      if (!written[next] && group_[next] == -1 && !may_move(next)) {
        written[next] = 1;
        write_single(next);
      }
    }
  };
  for (const std::vector<size_t>& unit : units_) {
    catch_up(*std::min_element(unit.begin(), unit.end()));
    for (size_t m : unit) written[m] = 1;
    if (unit.size() > 1) write_group(unit);
    else write_single(unit[0]);
  }
  catch_up(read_.nodes.size());
  flush();
  const size_t last = end_ > begin_ ? end_ - 1 : begin_;
  std::vector<int> targets;
  for (size_t b = 0; b < read_.bindings.size(); ++b) {
    if (settled_[b]) continue;
    push(read_.bindings[b].second, last);
    targets.push_back(read_.bindings[b].first);
  }
  while (!targets.empty()) {
    store(targets.back(), 1, last);
    targets.pop_back();
  }
  for (int v : read_.left) push(v, last);
}

}  // namespace

void make_groups(Function* function) {
  Function& f = *function;
  const lower::Flow flow = lower::flow_of(f);
  const lower::Liveness liveness(f, flow);
  if (!liveness.known()) return;
  struct Made {
    size_t begin, end;
    Block block;
  };
  std::vector<Made> made;
  std::vector<uint64_t> now;
  for (size_t b = 0; b < flow.starts.size() && f.registers < kMostRegisters; ++b) {
    const size_t begin = size_t(flow.starts[b]);
    const size_t last = lower::last_of(flow, begin);
    const Opcode op = f.code[last].op;
    const size_t end = jumps(op) || ends_flow(op) ? last : last + 1;
    int fusible = 0;
    for (size_t pc = begin; pc < end && fusible < 2; ++pc) {
      const Opcode o = f.code[pc].op;
      if (o != Opcode::OP_ONE && o != Opcode::OP_ANY) continue;
      fusible += is_fusible(f.operators[size_t(f.code[pc].x)]);
    }
    if (fusible < 2 || end - begin > kMostInBlock) continue;
    // What is live behind the block: before its last instruction, none of which writes registers.
    std::vector<uint64_t> behind;
    liveness.go_back(b, &now, [&](size_t pc, const uint64_t* wanted) {
      if (pc == last) behind.assign(wanted, wanted + now.size());
    });
    Block block(&f, begin, end);
    auto live = [&](int reg) { return behind[size_t(reg - 1) / 64] >> ((reg - 1) % 64) & 1; };
    if (!block.run(live)) continue;
    block.write();
    made.push_back({begin, end, std::move(block)});
  }
  if (made.empty()) return;
  // Blocks take their places; jumps find theirs again.
  std::vector<int64_t> moved(f.code.size() + 1);
  std::vector<Instruction> code;
  std::vector<uint32_t> lines;
  std::vector<int32_t> calls;
  size_t next = 0;
  auto put = [&](const Instruction& i, size_t from) {
    code.push_back(i);
    lines.push_back(f.lines[from]);
    calls.push_back(f.calls[from]);
  };
  std::vector<std::pair<size_t, size_t>> jumps_;  // here, to there
  for (size_t pc = 0; pc < f.code.size(); ++pc) {
    moved[pc] = int64_t(code.size());
    if (next < made.size() && made[next].begin == pc) {
      const Block& block = made[next].block;
      for (size_t k = 0; k < block.code.size(); ++k) put(block.code[k], block.origin[k]);
      pc = made[next].end - 1;
      ++next;
      continue;
    }
    if (jumps(f.code[pc].op)) jumps_.push_back({code.size(), pc + size_t(int64_t(f.code[pc].x))});
    put(f.code[pc], pc);
  }
  for (auto [at, target] : jumps_) code[at].x = int32_t(moved[target] - int64_t(at));
  f.code = std::move(code);
  f.lines = std::move(lines);
  f.calls = std::move(calls);
  if (!f.register_types.empty()) f.register_types.resize(size_t(f.registers));
}

}  // namespace scriptlang::optimize
