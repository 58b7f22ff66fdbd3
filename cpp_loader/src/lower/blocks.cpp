// Chooses where values lie at the start of each block, and which blocks are duplicated.
#include "blocks.h"

#include <algorithm>
#include <cstdlib>

#include "coalesce_slots.h"

namespace scriptlang::lower {

namespace {

// The parameters of a block: the values that its first instructions pop into registers, each with
// the slot of that register. A value that a loop carries has a place even if the body drops it,
// because it is needed after the loop.
BlockParameters parameters_of(const Function& f, const Flow& flow, int32_t block) {
  BlockParameters made;
  size_t pc = size_t(flow.starts[size_t(block)]);
  int32_t depth = flow.depth[pc];
  bool is_body = pc > 0 && f.code[pc - 1].op == Opcode::LOOP;
  size_t carried = is_body ? size_t(f.code[pc - 1].n) - 2 : 0;
  std::vector<int32_t>& places = made.places;
  auto taken = [&](int32_t slot) {
    return std::find(places.begin(), places.end(), slot) != places.end();
  };
  for (bool first = true; int32_t(places.size()) < depth; first = false, ++pc) {
    if (!first && flow.block[pc] >= 0) return made;
    const Instruction& i = f.code[pc];
    int count = i.op == Opcode::STORE ? 1 : i.op == Opcode::STOREN ? i.n : 0;
    if (i.op == Opcode::DROP && places.size() < size_t(kMostCarried)) {
      int32_t own = f.registers + depth - 1 - int32_t(places.size());
      places.push_back(places.size() < carried ? own : kNowhere);
      continue;
    }
    if (count == 0) break;
    for (int k = count; k-- > 0;) {
      int32_t slot = flow.register_of(i, k);
      if (taken(slot) || places.size() >= size_t(kMostCarried)) return made;
      places.push_back(slot);
    }
  }
  for (; flow.block[pc] < 0 && f.code[pc].op == Opcode::DROPR; ++pc) {
    if (flow.left[pc] == Flow::kShared) continue;
    for (size_t k = carried; k < places.size(); ++k) {
      if (places[k] == flow.register_of(f.code[pc])) places[k] = kNowhere;
    }
  }
  return made;
}

// The values of a loop are put into the registers of its body before the loop decides whether to
// run the body again. So a register that is read after the loop cannot be their place.
void keep_registers_read_after(const Function& f, Shape* shape, const Liveness& live) {
  const Flow& flow = shape->flow;
  for (int32_t start : flow.starts) {
    if (f.code[size_t(start)].op != Opcode::LOOP) continue;
    int32_t body = flow.block[size_t(start) + 1];
    int32_t after = flow.block[target_of(f, size_t(start))];
    int32_t own = flow.depth[size_t(start) + 1] + f.registers;
    std::vector<int32_t>& places = shape->parameters[size_t(body)].places;
    // The trip number and the trip limit below it stay in their home slots.
    size_t moving = size_t(f.code[size_t(start)].n) - 1;
    if (moving > kMostCarried) moving = 0;
    if (places.size() > moving) places.resize(moving);
    for (int32_t& place : places) {
      --own;
      if (place != kNowhere && place < f.registers && live.live_at(after, place)) place = own;
    }
  }
}

// See Shape::private_counts. It also requires that control leaves the body only by the LOOP itself.
bool has_private_counts(const Function& f, const Flow& flow, size_t loop) {
  size_t after = target_of(f, loop);
  if (after <= loop) return false;
  int64_t lowest = int64_t(flow.depth[loop]) - f.code[loop].n + 1;
  for (size_t pc = loop + 1; pc < after; ++pc) {
    if (flow.depth[pc] < 0) continue;
    const Instruction& i = f.code[pc];
    if (flow.depth[pc] - pops_of(f, i) < lowest) return false;
    bool inside = !jumps(i.op) || (target_of(f, pc) >= loop && target_of(f, pc) < after);
    bool falls = !ends_flow(i.op) && i.op != Opcode::JMP;
    if (!inside || (falls && pc + 1 == after)) return false;
  }
  return true;
}

void find_private_counts(const Function& f, Shape* shape) {
  constexpr size_t kMostWork = size_t(1) << 24;
  size_t work = 0;
  for (int32_t start : shape->flow.starts) {
    bool is_loop = f.code[size_t(start)].op == Opcode::LOOP;
    if (is_loop) work += size_t(std::abs(f.code[size_t(start)].x));
    bool known = is_loop && work < kMostWork;
    shape->private_counts.push_back(known && has_private_counts(f, shape->flow, size_t(start)));
  }
}

std::vector<int> predecessor_counts(const Function& f, const Flow& flow) {
  std::vector<int> predecessors(flow.starts.size(), 0);
  for (int32_t start : flow.starts) {
    for_successors(f, flow, last_of(flow, size_t(start)),
                   [&](int32_t next) { ++predecessors[size_t(next)]; });
  }
  return predecessors;
}

bool only_moves(const Function& f, size_t first, size_t last) {
  constexpr size_t kMostInstructions = 16;
  if (last - first > kMostInstructions) return false;
  for (size_t pc = first; pc <= last; ++pc) {
    switch (f.code[pc].op) {
      case Opcode::STORE:
      case Opcode::STOREN:
      case Opcode::LOAD:
      case Opcode::MOVE:
      case Opcode::LOADC:
      case Opcode::DROP:
      case Opcode::DROPR: break;
      case Opcode::JMP:
      case Opcode::JF:
      case Opcode::RET: break;  // the last instruction
      default: return false;
    }
  }
  return true;
}

// Whether a path that only passes duplicated blocks and expanded loops leads from a block back to
// itself (a loop with an empty body), or is too long. Copying along such a path would not end.
bool circles(const Function& f, const Shape& shape, size_t block) {
  constexpr int kLongest = 16;
  const Flow& flow = shape.flow;
  std::vector<size_t> ahead;
  auto go_on = [&](size_t from) {
    size_t first = size_t(flow.starts[from]);
    size_t last = shape.duplicated[from] ? last_of(flow, first) : first;
    for_successors(f, flow, last, [&](int32_t next) { ahead.push_back(size_t(next)); });
  };
  go_on(block);
  for (int seen = 0; !ahead.empty(); ++seen) {
    size_t next = ahead.back();
    ahead.pop_back();
    if (next == block || seen == kLongest) return true;
    if (shape.duplicated[next] || shape.expanded[next]) go_on(next);
  }
  return false;
}

// Tail duplication: a block where the branches of an `if` or `and` join is duplicated into its
// predecessors, so that values need not pass through the registers of the join. A successor of a
// duplicated block is not duplicated, so that no instruction is copied twice.
void choose_duplicated(const Function& f, Shape* shape) {
  constexpr int kMostPredecessors = 4;
  const Flow& flow = shape->flow;
  std::vector<int> predecessors = predecessor_counts(f, flow);
  shape->duplicated.assign(flow.starts.size(), 0);
  for (size_t block = flow.starts.size(); block-- > 1;) {
    size_t first = size_t(flow.starts[block]), last = last_of(flow, first);
    bool is_body = f.code[first - 1].op == Opcode::LOOP;
    if (is_body || !only_moves(f, first, last)) continue;
    if (predecessors[block] < 2 || predecessors[block] > kMostPredecessors) continue;
    bool stops = true;
    for_successors(f, flow, last, [&](int32_t next) {
      stops = stops && size_t(next) != block && !shape->duplicated[size_t(next)];
    });
    shape->duplicated[block] = stops;
  }
  for (size_t block = 0; block < flow.starts.size(); ++block) {
    if (shape->duplicated[block] && circles(f, *shape, block)) shape->duplicated[block] = 0;
  }
}

// Chooses the LOOP instructions that are expanded into each predecessor. A loop next to another
// loop, or with many predecessors, is not expanded.
void choose_expanded(const Function& f, Shape* shape) {
  constexpr int kMostPredecessors = 4;
  const Flow& flow = shape->flow;
  std::vector<int> predecessors = predecessor_counts(f, flow);
  shape->expanded.assign(flow.starts.size(), 0);
  for (size_t block = 0; block < flow.starts.size(); ++block) {
    size_t start = size_t(flow.starts[block]);
    if (f.code[start].op != Opcode::LOOP || block == 0) continue;
    if (predecessors[block] > kMostPredecessors) continue;
    bool alone = f.code[start].n <= kMostCarried && f.code[start + 1].op != Opcode::LOOP &&
                 f.code[target_of(f, start)].op != Opcode::LOOP;
    shape->expanded[block] = alone;
  }
}

}  // namespace

Shape shape_of(const Function& f) {
  Shape shape;
  shape.flow = flow_of(f);
  Liveness alone(f, shape.flow);
  find_left(f, alone, &shape.flow);
  coalesce_slots(f, alone, &shape.flow);
  Liveness live(f, shape.flow);
  find_left(f, live, &shape.flow);
  const Flow& flow = shape.flow;
  shape.reads_unwritten = false;
  for (int32_t slot = 0; slot < f.registers; ++slot) shape.reads_unwritten |= live.live_at(0, slot);
  for (size_t block = 0; block < flow.starts.size(); ++block) {
    shape.parameters.push_back(parameters_of(f, flow, int32_t(block)));
  }
  keep_registers_read_after(f, &shape, live);
  choose_expanded(f, &shape);
  choose_duplicated(f, &shape);
  find_private_counts(f, &shape);
  return shape;
}

}  // namespace scriptlang::lower
