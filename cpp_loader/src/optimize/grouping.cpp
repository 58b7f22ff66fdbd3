// Chooses the operators of a block that become fused groups. A group never depends on something
// that itself depends on the group.
#include <algorithm>

#include "grouped_block.h"
#include "program/facts.h"

namespace scriptlang::optimize {

namespace {

// The limits of passes/fuse_pointwise.py. They exist because engines keep all values of a group at
// the same time.
constexpr size_t kMostNodes = 40, kMostInputs = 16;
constexpr size_t kMostGroups = 256;  // of the nodes between two that may not move

void add(Set* to, const Set& other) {
  if (to->size() < other.size()) to->resize(other.size());
  for (size_t w = 0; w < other.size(); ++w) (*to)[w] |= other[w];
}
void add(Set* to, size_t g) {
  if (to->size() <= g / 64) to->resize(g / 64 + 1);
  (*to)[g / 64] |= uint64_t(1) << (g % 64);
}
bool has(const Set& set, size_t g) { return g / 64 < set.size() && (set[g / 64] >> (g % 64) & 1); }

// Whether an instruction that calls no operator only gives a result, without side effects.
bool is_free(Opcode op) { return bytecode::info_of(op).does == bytecode::Does::Gives; }

// Whether a group may hold the constant itself. Other constants are arguments of the group.
bool is_plain(const Value& v) {
  if (v.is_none() || v.is_bool() || v.is_int() || v.is_double() || v.is_string()) return true;
  if (!v.is_list() || v.as_list().empty()) return false;
  const List::Kind kind = v.as_list().kind();
  return kind == List::Kind::Ints || kind == List::Kind::Floats || kind == List::Kind::Bools;
}

// Whether a value of this type may be an argument of a group.
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

}  // namespace

bool GroupedBlock::may_move(size_t k) {
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

bool GroupedBlock::is_fusible_node(size_t k, std::string* why) {
  const BlockNode& n = node(k);
  if (!calls_operator(n) || !is_fusible(use_of(n))) return false;
  const OperatorUse& use = use_of(n);
  if (n.count != 1 || use.variadic || use.trailing_out) {
    if (why) *why = "it is called with `out`, or gives several results";
    return false;
  }
  const Schema& schema = schema_of(*use.entry);
  bool tensor = false;
  for (size_t a = 0; a < n.inputs.size(); ++a) {
    const Type& type = *schema.arguments[a].type;
    const Value* known = constant(n.inputs[a]);
    if (known && is_plain(*known)) continue;
    if (!may_enter(type)) {
      if (why) {
        *why = concat("argument '", schema.arguments[a].name, "' of ", use.name, " has the type ",
                      to_string(type), ", and is no constant number");
      }
      return false;
    }
    tensor = tensor || type.kind == TypeKind::Tensor;
  }
  if (why && !tensor) *why = "no input is a tensor";
  else if (why) *why = "its result is no tensor";
  return tensor && schema.returns[0].type->kind == TypeKind::Tensor;
}

void GroupedBlock::tell_alone() {
  std::vector<char> is_grouped(read_.nodes.size());
  for (const auto& unit : units_) {
    for (size_t k : unit) is_grouped[k] = unit.size() > 1;
  }
  for (size_t k = 0; k < read_.nodes.size(); ++k) {
    const BlockNode& n = node(k);
    if (is_grouped[k] || !calls_operator(n) || !is_fusible(use_of(n))) continue;
    std::string why;
    if (is_fusible_node(k, &why)) why = kAlone;
    misses_->tell_alone(n.pc, use_of(n), why);
  }
}

bool GroupedBlock::is_fresh(int v, size_t before, const char** why) {
  const char* unsaid;
  if (!why) why = &unsaid;
  const BlockValue& made = value(v);
  *why = "what it writes comes in from outside of its block";
  if (made.kind != BlockValue::Result) return false;
  auto fresh = [&](const BlockNode& n) {
    return calls_operator(n) && use_of(n).entry && gives_fresh(*use_of(n).entry);
  };
  *why = "what it writes may be memory of another value";
  if (!fresh(node(size_t(made.node)))) return false;
  for (size_t k = size_t(made.node) + 1; k < before; ++k) {
    const BlockNode& n = node(k);
    bool uses = std::find(n.inputs.begin(), n.inputs.end(), v) != n.inputs.end();
    if (uses && !fresh(n)) return false;
  }
  *why = "it reads what it writes by another argument, too";
  const BlockNode& writer = node(before);
  return std::count(writer.inputs.begin(), writer.inputs.end(), v) == 1;
}

void GroupedBlock::make_new(size_t k) {
  BlockNode& n = node(k);
  if (!calls_operator(n) || n.count != 1 || n.inputs.empty()) return;
  const OperatorUse& use = use_of(n);
  const OpEntry* other = use.entry ? out_of_place(*use.entry) : nullptr;
  if (!other) return;
  const char* why;
  if (!is_fresh(n.inputs[0], k, &why)) {
    if (misses_) misses_->tell(n.pc, use, "out_of_place", why);
    return;
  }
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

size_t GroupedBlock::find(size_t g) const {
  while (root_[g] != g) g = root_[g];
  return g;
}

void GroupedBlock::add_reached(Set* to, size_t k) const {
  if (group_[k] < 0) return add(to, depends_[k]);
  add(to, size_t(group_[k]));
  add(to, outside_[find(size_t(group_[k]))]);
}

Set GroupedBlock::closure(const Set& set) const {
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

bool GroupedBlock::may_be_one(const std::vector<size_t>& groups, size_t k, size_t from,
                              std::string* why) {
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
  if (members.size() > kMostNodes) {
    if (why) *why = concat("the group would have more than ", kMostNodes, " operators");
    return false;
  }
  const Set all = closure(outside);
  if (std::any_of(groups.begin(), groups.end(), [&](size_t g) { return has(all, g); })) {
    if (why) *why = "something has to run in between";
    return false;
  }
  if (why) *why = concat("the group would have more than ", kMostInputs, " inputs");
  return inputs_of(members).size() <= kMostInputs;
}

void GroupedBlock::place(size_t k, size_t from) {
  std::vector<size_t> near, joined;
  for_producers(k, from, [&](size_t d) {
    if (group_[d] >= 0) near.push_back(find(size_t(group_[d])));
  });
  std::sort(near.rbegin(), near.rend());
  near.erase(std::unique(near.begin(), near.end()), near.end());
  for (size_t g : near) {
    joined.push_back(g);
    std::string why;
    if (may_be_one(joined, k, from, misses_ ? &why : nullptr)) continue;
    joined.pop_back();
    if (misses_) {
      misses_->tell(node(k).pc, use_of(node(k)), "make_groups with what makes its inputs", why);
    }
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

bool GroupedBlock::group(size_t from, size_t to) {
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

void GroupedBlock::order(size_t from, size_t to) {
  struct Visit {
    // `before`: the nodes that still have to run before the unit, in reverse order.
    std::vector<size_t> unit, before;
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

std::vector<int> GroupedBlock::inputs_of(const std::vector<size_t>& members) {
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

}  // namespace scriptlang::optimize
