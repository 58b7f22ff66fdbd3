// Writes the code of a block whose operators were grouped.
#include <algorithm>

#include "fusion/fused_group.h"
#include "grouped_block.h"
#include "optimize.h"

namespace scriptlang::optimize {

void GroupedBlock::emit(Opcode op, int64_t x, int64_t n, size_t pc) {
  Instruction i;
  i.op = op;
  i.x = int32_t(x);
  i.n = int32_t(n);
  code.push_back(i);
  origin.push_back(pc);
}

// Adds registers to the function, and returns the first.
int GroupedBlock::fresh(int count) {
  const int first = f_.registers + 1;
  f_.registers += count;
  return first;
}

// Writes an instruction that pushes a value.
void GroupedBlock::push(int v, size_t pc) {
  const BlockValue& read = value(v);
  if (read.kind == BlockValue::Constant) emit(Opcode::LOADC, read.index, 0, pc);
  else if (read.kind == BlockValue::Register) emit(Opcode::LOAD, read.index, 0, pc);
  else emit(Opcode::LOAD, place_[size_t(v)], 0, pc);
}

void GroupedBlock::store(int first, int count, size_t pc) {
  if (count == 1) emit(Opcode::STORE, first, 0, pc);
  else emit(Opcode::STOREN, first, count, pc);
}

// The register in which a result is kept. If the block ends with the result in a variable whose old
// value the block does not read, it is that variable's register, else a new one.
int GroupedBlock::home_of(int v) {
  for (size_t b = 0; b < read_.bindings.size(); ++b) {
    auto [reg, bound] = read_.bindings[b];
    if (bound != v || settled_[b] || read_at_start_[size_t(reg)]) continue;
    settled_[b] = 1;
    return reg;
  }
  return fresh(1);
}

// Takes results off the stack into registers. A single one stays there as pending_ for now, in case
// that the next instruction takes it.
void GroupedBlock::keep(const std::vector<int>& made, size_t pc) {
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

// Writes the store of the pending value.
void GroupedBlock::flush() {
  if (pending_ < 0) return;
  place_[size_t(pending_)] = home_of(pending_);
  store(place_[size_t(pending_)], 1, pending_pc_);
  pending_ = -1;
}

void GroupedBlock::write_single(size_t k) {
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

// Makes the body of a group as a function of its own (a part), and writes the FUSED that calls it.
void GroupedBlock::write_group(const std::vector<size_t>& unit) {
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

void GroupedBlock::write() {
  place_.assign(read_.values.size(), 0);
  settled_.assign(read_.bindings.size(), 0);
  read_at_start_.assign(size_t(f_.registers) + 1, 0);
  for (const BlockValue& v : read_.values) {
    if (v.kind == BlockValue::Register && v.uses > 0) read_at_start_[size_t(v.index)] = 1;
  }
  if (read_.below > 0) {
    const int first = fresh(read_.below);
    for (size_t v = 0; v < read_.values.size(); ++v) {  // index 0 is the top of the stack
      const BlockValue& below = read_.values[v];
      if (below.kind == BlockValue::Below) place_[v] = first + read_.below - 1 - below.index;
    }
    store(first, read_.below, begin_);
  }
  // Nodes that may not move are in no unit. They are written in their places between the units.
  size_t next = 0;
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

}  // namespace scriptlang::optimize
