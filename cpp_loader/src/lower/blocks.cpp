#include "blocks.h"

#include <algorithm>
#include <cstdlib>

namespace scriptlang::lower {

namespace {

enum : int {
  kEffectN = -1, kEffectX = -2, kEffectNPlus1 = -3, kEffectNMinus2 = -4,
  kEffectOperator = -5, kEffectFunction = -6,
};

bool is_operator(Opcode op) { return op == Opcode::OP_ONE || op == Opcode::OP_ANY; }

int64_t number(const Function& f, const Instruction& i, int effect, bool pops) {
  switch (effect) {
    case kEffectN: return i.n;
    case kEffectX: return i.x;
    case kEffectNPlus1: return int64_t(i.n) + 1;
    case kEffectNMinus2: return int64_t(i.n) - 2;
    case kEffectFunction: {
      const Function& callee = *f.callees[size_t(i.x)];
      return pops ? callee.parameters : callee.results;
    }
    default: return effect;
  }
}

int64_t effect(const Function& f, const Instruction& i, bool want_pops) {
  if (is_operator(i.op)) return want_pops ? i.arguments : i.results;
  if (i.op == Opcode::TUPLE_UNPACK) return want_pops ? 1 : i.n;
  switch (i.op) {
#define SL_OPCODE(name, opcode, x, n, pops, pushes, runs, meaning) \
  case Opcode::name:                                               \
    return number(f, i, want_pops ? pops : pushes, want_pops);
#include "program/opcodes.def"
#undef SL_OPCODE
    default: return 0;
  }
}

size_t target_of(const Function& f, size_t pc) { return pc + size_t(int64_t(f.code[pc].x)); }

bool jumps(Opcode op) { return op == Opcode::JMP || op == Opcode::JF || op == Opcode::LOOP; }

Flow flow_of(const Function& f) {
  Flow flow;
  size_t size = f.code.size();
  flow.depth.assign(size, -1);
  std::vector<char> leads(size, 0);
  std::vector<size_t> work;
  auto reach = [&](size_t pc, int64_t depth) {
    if (flow.depth[pc] >= 0) return;
    flow.depth[pc] = int32_t(depth);
    work.push_back(pc);
  };
  reach(0, f.parameters);
  leads[0] = 1;
  while (!work.empty()) {
    size_t pc = work.back();
    work.pop_back();
    const Instruction& i = f.code[pc];
    int64_t depth = flow.depth[pc];
    int64_t after = depth - effect(f, i, true) + effect(f, i, false);
    if (i.op == Opcode::LOOP) leads[pc] = 1;
    if (jumps(i.op)) leads[target_of(f, pc)] = 1;
    if (ends_way(i.op)) continue;
    if (jumps(i.op)) reach(target_of(f, pc), after);
    if (i.op == Opcode::JMP) continue;
    if (jumps(i.op)) leads[pc + 1] = 1;
    reach(pc + 1, i.op == Opcode::LOOP ? depth : after);
  }
  flow.block.assign(size, -1);
  for (size_t pc = 0; pc < size; ++pc) {
    if (!leads[pc] || flow.depth[pc] < 0) continue;
    flow.block[pc] = int32_t(flow.starts.size());
    flow.starts.push_back(int32_t(pc));
  }
  return flow;
}

// Calls visit(block) for each block that may follow.
template <class Visit>
void for_successors(const Function& f, const Flow& flow, size_t last, const Visit& visit) {
  const Instruction& i = f.code[last];
  if (ends_way(i.op)) return;
  if (jumps(i.op)) visit(flow.block[target_of(f, last)]);
  if (i.op != Opcode::JMP) visit(flow.block[last + 1]);
}

// The last instruction of the block that begins at `first`.
size_t last_of(const Function& f, const Flow& flow, size_t first) {
  size_t pc = first;
  while (!jumps(f.code[pc].op) && !ends_way(f.code[pc].op) && flow.block[pc + 1] < 0) ++pc;
  return pc;
}

// Which registers may be read before they are written, at the start of each block.
class Liveness {
 public:
  Liveness(const Function& f, const Flow& flow)
      : f_(f), flow_(flow), words_((size_t(f.registers) + 63) / 64) {
    constexpr size_t kMostWords = size_t(1) << 22;
    if (words_ * flow.starts.size() > kMostWords) return;
    known_ = true;
    live_.assign(words_ * flow.starts.size(), 0);
    std::vector<uint64_t> now(words_);
    bool changed = true;
    while (changed) {
      changed = false;
      for (size_t block = flow.starts.size(); block-- > 0;) changed |= visit(block, &now);
    }
  }
  // Also true where it is not known.
  bool live_at(int32_t block, int32_t reg) const {
    size_t k = size_t(reg - 1);
    return !known_ || (live_[size_t(block) * words_ + k / 64] >> (k % 64) & 1);
  }
  // By instruction: whether a register that is moved from or dropped is read again.
  std::vector<char> read_again() const {
    std::vector<char> again(f_.code.size(), !known_);
    std::vector<uint64_t> now(words_);
    for (size_t block = 0; known_ && block < flow_.starts.size(); ++block) {
      go_back(block, &now, [&](size_t pc, bool live) { again[pc] = live; });
    }
    return again;
  }

 private:
  // Runs back through a block. note(pc, live) sees each register that is left.
  template <class Note>
  void go_back(size_t block, std::vector<uint64_t>* now, const Note& note) const {
    size_t first = size_t(flow_.starts[block]), last = last_of(f_, flow_, first);
    std::fill(now->begin(), now->end(), 0);
    for_successors(f_, flow_, last, [&](int32_t next) {
      for (size_t w = 0; w < words_; ++w) (*now)[w] |= live_[size_t(next) * words_ + w];
    });
    auto bit = [](int64_t reg) { return uint64_t(1) << ((reg - 1) % 64); };
    auto word = [&](int64_t reg) -> uint64_t& { return (*now)[size_t(reg - 1) / 64]; };
    for (size_t pc = last + 1; pc-- > first;) {
      const Instruction& i = f_.code[pc];
      if (i.op == Opcode::MOVE || i.op == Opcode::DROPR) note(pc, (word(i.x) & bit(i.x)) != 0);
      switch (i.op) {
        case Opcode::STORE:
        case Opcode::DROPR: word(i.x) &= ~bit(i.x); break;
        case Opcode::STOREN:
          for (int k = 0; k < i.n; ++k) word(i.x + k) &= ~bit(i.x + k);
          break;
        case Opcode::LOAD:
        case Opcode::MOVE: word(i.x) |= bit(i.x); break;
        default: break;
      }
    }
  }

  bool visit(size_t block, std::vector<uint64_t>* now) {
    go_back(block, now, [](size_t, bool) {});
    uint64_t* known = live_.data() + block * words_;
    bool grew = !std::equal(now->begin(), now->end(), known);
    std::copy(now->begin(), now->end(), known);
    return grew;
  }

  const Function& f_;
  const Flow& flow_;
  size_t words_;
  bool known_ = false;
  std::vector<uint64_t> live_;
};

// Slots of what a block pops into registers before anything else. What a loop carries has a place
// even where the body drops it: it is wanted after the loop.
Landing landing_of(const Function& f, const Flow& flow, int32_t block) {
  Landing landing;
  size_t pc = size_t(flow.starts[size_t(block)]);
  int32_t depth = flow.depth[pc];
  bool is_body = pc > 0 && f.code[pc - 1].op == Opcode::LOOP;
  size_t carried = is_body ? size_t(f.code[pc - 1].n) - 2 : 0;
  std::vector<int32_t>& places = landing.places;
  auto taken = [&](int32_t slot) {
    return std::find(places.begin(), places.end(), slot) != places.end();
  };
  for (bool first = true; int32_t(places.size()) < depth; first = false, ++pc) {
    if (!first && flow.block[pc] >= 0) return landing;
    const Instruction& i = f.code[pc];
    int count = i.op == Opcode::STORE ? 1 : i.op == Opcode::STOREN ? i.n : 0;
    if (i.op == Opcode::DROP && places.size() < size_t(kMostCarried)) {
      int32_t own = f.registers + depth - 1 - int32_t(places.size());
      places.push_back(places.size() < carried ? own : kNowhere);
      continue;
    }
    if (count == 0) break;
    for (int k = count; k-- > 0;) {
      if (taken(i.x + k - 1) || places.size() >= size_t(kMostCarried)) return landing;
      places.push_back(i.x + k - 1);
    }
  }
  for (; flow.block[pc] < 0 && f.code[pc].op == Opcode::DROPR; ++pc) {
    for (size_t k = carried; k < places.size(); ++k) {
      if (places[k] == f.code[pc].x - 1) places[k] = kNowhere;
    }
  }
  return landing;
}

// A loop's values lie in the registers of its body while it is decided whether to go on. So a
// register that is read after the loop cannot be their place.
void keep_registers_read_after(const Function& f, Shape* shape, const Liveness& live) {
  const Flow& flow = shape->flow;
  for (int32_t start : flow.starts) {
    if (f.code[size_t(start)].op != Opcode::LOOP) continue;
    int32_t body = flow.block[size_t(start) + 1];
    int32_t after = flow.block[target_of(f, size_t(start))];
    int32_t own = flow.depth[size_t(start) + 1] + f.registers;
    std::vector<int32_t>& places = shape->landings[size_t(body)].places;
    // The two counts below the trip number stay where they are.
    size_t moving = size_t(f.code[size_t(start)].n) - 1;
    if (moving > kMostCarried) moving = 0;
    if (places.size() > moving) places.resize(moving);
    for (int32_t& place : places) {
      --own;
      if (place != kNowhere && place < f.registers && live.live_at(after, place + 1)) place = own;
    }
  }
}

bool has_private_counts(const Function& f, const Flow& flow, size_t loop) {
  size_t after = target_of(f, loop);
  if (after <= loop) return false;
  int64_t lowest = int64_t(flow.depth[loop]) - f.code[loop].n + 1;
  for (size_t pc = loop + 1; pc < after; ++pc) {
    if (flow.depth[pc] < 0) continue;
    const Instruction& i = f.code[pc];
    if (flow.depth[pc] - effect(f, i, true) < lowest) return false;
    bool inside = !jumps(i.op) || (target_of(f, pc) >= loop && target_of(f, pc) < after);
    bool falls = !ends_way(i.op) && i.op != Opcode::JMP;
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

std::vector<int> count_ways(const Function& f, const Flow& flow) {
  std::vector<int> ways(flow.starts.size(), 0);
  for (int32_t start : flow.starts) {
    for_successors(f, flow, last_of(f, flow, size_t(start)), [&](int32_t next) {
      ++ways[size_t(next)];
    });
  }
  return ways;
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
      case Opcode::DROPR:
        break;
      case Opcode::JMP:
      case Opcode::JF:
      case Opcode::RET:
        break;  // the last
      default: return false;
    }
  }
  return true;
}

// Whether blocks and loops that are made where control comes from lead from a block to itself, as
// where a loop is all that an endless loop does; or go on for long.
bool circles(const Function& f, const Shape& shape, size_t block) {
  constexpr int kLongest = 16;
  const Flow& flow = shape.flow;
  std::vector<size_t> ahead;
  auto go_on = [&](size_t from) {
    size_t first = size_t(flow.starts[from]);
    size_t last = shape.followed[from] ? last_of(f, flow, first) : first;
    for_successors(f, flow, last, [&](int32_t next) { ahead.push_back(size_t(next)); });
  };
  go_on(block);
  for (int seen = 0; !ahead.empty(); ++seen) {
    size_t next = ahead.back();
    ahead.pop_back();
    if (next == block || seen == kLongest) return true;
    if (shape.followed[next] || shape.expanded[next]) go_on(next);
  }
  return false;
}

// Where `if` and `and` join: values are carried on without the registers of the join. A block that
// such a block goes to is none itself, so that nothing is copied twice.
void choose_followed(const Function& f, Shape* shape) {
  constexpr int kMostWays = 4;
  const Flow& flow = shape->flow;
  std::vector<int> ways = count_ways(f, flow);
  shape->followed.assign(flow.starts.size(), 0);
  for (size_t block = flow.starts.size(); block-- > 1;) {
    size_t first = size_t(flow.starts[block]), last = last_of(f, flow, first);
    bool is_body = f.code[first - 1].op == Opcode::LOOP;
    if (is_body || !only_moves(f, first, last)) continue;
    if (ways[block] < 2 || ways[block] > kMostWays) continue;
    bool stops = true;
    for_successors(f, flow, last, [&](int32_t next) {
      stops = stops && size_t(next) != block && !shape->followed[size_t(next)];
    });
    shape->followed[block] = stops;
  }
  for (size_t block = 0; block < flow.starts.size(); ++block) {
    if (shape->followed[block] && circles(f, *shape, block)) shape->followed[block] = 0;
  }
}

// Loops that follow each other directly, and those reached in many ways, stay blocks.
void choose_expanded(const Function& f, Shape* shape) {
  constexpr int kMostWays = 4;
  const Flow& flow = shape->flow;
  std::vector<int> ways = count_ways(f, flow);
  shape->expanded.assign(flow.starts.size(), 0);
  for (size_t block = 0; block < flow.starts.size(); ++block) {
    size_t start = size_t(flow.starts[block]);
    if (f.code[start].op != Opcode::LOOP || block == 0 || ways[block] > kMostWays) continue;
    bool alone = f.code[start].n <= kMostCarried && f.code[start + 1].op != Opcode::LOOP &&
                 f.code[target_of(f, start)].op != Opcode::LOOP;
    shape->expanded[block] = alone;
  }
}

}  // namespace

int64_t pops_of(const Function& f, const Instruction& i) { return effect(f, i, true); }
int64_t pushes_of(const Function& f, const Instruction& i) { return effect(f, i, false); }
bool ends_way(Opcode op) {
  return op == Opcode::RET || op == Opcode::RAISE_EXCEPTION || op == Opcode::OP_MISSING;
}

Shape shape_of(const Function& f) {
  Shape shape;
  shape.flow = flow_of(f);
  const Flow& flow = shape.flow;
  for (size_t block = 0; block < flow.starts.size(); ++block) {
    shape.landings.push_back(landing_of(f, flow, int32_t(block)));
  }
  Liveness live(f, flow);
  keep_registers_read_after(f, &shape, live);
  shape.read_again = live.read_again();
  choose_expanded(f, &shape);
  choose_followed(f, &shape);
  find_private_counts(f, &shape);
  return shape;
}

}  // namespace scriptlang::lower
