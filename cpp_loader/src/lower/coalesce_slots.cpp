// Register coalescing: gives registers that pass one value on the same slot.
#include "coalesce_slots.h"

#include <algorithm>
#include <map>

#include "blocks.h"

namespace scriptlang::lower {

namespace {

constexpr int32_t kNone = -1;  // of a value that is in no register

// A set of registers for each register, as rows of bits.
class Rows {
 public:
  explicit Rows(size_t count) : words_((count + 63) / 64), bits_(words_ * count) {}
  void set(size_t row, size_t k) { bits_[row * words_ + k / 64] |= uint64_t(1) << (k % 64); }
  void add(size_t row, const uint64_t* others) {
    for (size_t w = 0; w < words_; ++w) bits_[row * words_ + w] |= others[w];
  }
  const uint64_t* row(size_t k) const { return bits_.data() + k * words_; }
  bool meets(size_t row, const uint64_t* others) const {
    for (size_t w = 0; w < words_; ++w) {
      if (bits_[row * words_ + w] & others[w]) return true;
    }
    return false;
  }

 private:
  size_t words_;
  std::vector<uint64_t> bits_;
};

// Unites registers that moves connect, in the order of how often the moves run. `apart_` has the
// registers that each register must not share a slot with, `members_` those that share its slot.
class Sharing {
 public:
  Sharing(const Function& f, Flow* flow)
      : f_(f), flow_(*flow), apart_(size_t(f.registers)), members_(size_t(f.registers)) {
    for (size_t k = 0; k < size_t(f.registers); ++k) members_.set(k, k);
  }

  void run(const Liveness& live) {
    find_conflicts(live);
    find_moves();
    add_up_moves();
    std::stable_sort(moves_.begin(), moves_.end(),
                     [](const Move& a, const Move& b) { return a.weight > b.weight; });
    for (const Move& m : moves_) join(m.from, m.to);
    for (int32_t& slot : flow_.registers) slot = home(slot);
  }

 private:
  struct Move {
    int32_t from, to;
    int64_t weight;  // estimate of how often the move runs, by the loops around it
  };

  // One candidate for each pair of registers, with the weight of all moves in both directions.
  void add_up_moves() {
    std::map<std::pair<int32_t, int32_t>, size_t> first;
    std::vector<Move> pairs;
    for (const Move& m : moves_) {
      auto [at, fresh] = first.insert({std::minmax(m.from, m.to), pairs.size()});
      if (fresh) {
        pairs.push_back(m);
      } else {
        pairs[at->second].weight += m.weight;
      }
    }
    moves_.swap(pairs);
  }

  // A register that an instruction writes or empties conflicts with all that are live after it.
  void find_conflicts(const Liveness& live) {
    std::vector<uint64_t> now, written;
    for (size_t block = 0; block < flow_.starts.size(); ++block) {
      live.go_back(block, &now, [&](size_t pc, const uint64_t* wanted) {
        const Instruction& i = f_.code[pc];
        int count = i.op == Opcode::STOREN ? i.n : 1;
        bool leaves = i.op == Opcode::MOVE || i.op == Opcode::DROPR;
        bool writes = i.op == Opcode::STORE || i.op == Opcode::STOREN ||
                      (leaves && flow_.left[pc] == Flow::kReadAgain);
        if (!writes) return;
        written.assign((size_t(f_.registers) + 63) / 64, 0);
        for (size_t k = size_t(i.x - 1); k < size_t(i.x - 1 + count); ++k) {
          written[k / 64] |= uint64_t(1) << (k % 64);
        }
        for (size_t k = size_t(i.x - 1); k < size_t(i.x - 1 + count); ++k) {
          apart_.add(k, wanted);
          if (count > 1) apart_.add(k, written.data());
        }
      });
    }
    // Registers that are read before they are written hold None at the start, all at once.
    now.assign((size_t(f_.registers) + 63) / 64, 0);
    for (int32_t k = 0; k < f_.registers; ++k) {
      if (live.live_at(0, k)) now[size_t(k) / 64] |= uint64_t(1) << (k % 64);
    }
    for (int32_t k = 0; k < f_.registers; ++k) {
      if (live.live_at(0, k)) apart_.add(size_t(k), now.data());
    }
  }

  // Finds moves: values that are loaded from one register and stored to another. It follows the
  // stack through a block, and to the values that its successors pop first.
  void find_moves() {
    find_depths();
    for (size_t block = 0; block < flow_.starts.size(); ++block) {
      size_t pc = size_t(flow_.starts[block]), last = last_of(flow_, pc);
      stack_.assign(size_t(flow_.depth[pc]), kNone);
      for (; pc < last; ++pc) follow(pc);
      if (f_.code[last].op == Opcode::LOOP) {
        leave_loop(last);
      } else {
        follow(last);
        for_successors(f_, flow_, last, [&](int32_t next) { go_to(next); });
      }
    }
  }

  // Finds how many loops there are around each instruction.
  void find_depths() {
    std::vector<int> change(f_.code.size() + 1, 0);
    for (int32_t start : flow_.starts) {
      if (f_.code[size_t(start)].op != Opcode::LOOP || f_.code[size_t(start)].x <= 0) continue;
      ++change[size_t(start)];
      --change[target_of(f_, size_t(start))];
    }
    depth_.resize(f_.code.size());
    int depth = 0;
    for (size_t pc = 0; pc < f_.code.size(); ++pc) depth_[pc] = depth += change[pc];
  }

  void follow(size_t pc) {
    const Instruction& i = f_.code[pc];
    switch (i.op) {
      case Opcode::LOAD:
      case Opcode::MOVE: stack_.push_back(i.x - 1); return;
      case Opcode::STORE: return store(i.x - 1, pc);
      case Opcode::STOREN:
        for (int k = i.n; k-- > 0;) store(i.x - 1 + k, pc);
        return;
      default: {
        size_t left = stack_.size() - size_t(pops_of(f_, i));
        stack_.resize(left);
        stack_.resize(left + size_t(pushes_of(f_, i)), kNone);
      }
    }
  }

  void store(int32_t to, size_t pc) {
    note(stack_.back(), to, pc);
    stack_.pop_back();
  }

  void note(int32_t from, int32_t to, size_t pc) {
    bool apart = from == kNone || from == to;
    if (!apart) moves_.push_back({from, to, int64_t(1) << 3 * std::min(depth_[pc], 10)});
  }

  // Notes the moves to the registers that the block's first instructions store the stack to.
  // Returns these registers, that of the top of the stack first.
  std::vector<int32_t> arrive(int32_t block, const std::vector<int32_t>& stack) {
    std::vector<int32_t> places;
    size_t pc = size_t(flow_.starts[size_t(block)]);
    size_t most = std::min(stack.size(), size_t(kMostCarried));
    for (bool first = true; first || flow_.block[pc] < 0; first = false, ++pc) {
      const Instruction& i = f_.code[pc];
      int count = i.op == Opcode::STORE ? 1 : i.op == Opcode::STOREN ? i.n : 0;
      if (i.op == Opcode::DROP && places.size() < most) {
        places.push_back(kNone);
        continue;
      }
      if (count == 0 || places.size() == most) break;
      for (int k = count; k-- > 0 && places.size() < most;) {
        note(stack[stack.size() - 1 - places.size()], i.x - 1 + k, pc);
        places.push_back(i.x - 1 + k);
      }
    }
    return places;
  }

  // A LOOP is always a separate block. Its operands are passed on to its successors.
  void go_to(int32_t block) {
    size_t start = size_t(flow_.starts[size_t(block)]);
    bool loops = f_.code[start].op == Opcode::LOOP;
    loops ? leave_loop(start) : (void)arrive(block, stack_);
  }

  // The values of a loop are in the registers of its body, also on the edge out of the loop.
  void leave_loop(size_t pc) {
    const Instruction& i = f_.code[pc];
    size_t carried = size_t(i.n) - 2;
    std::vector<int32_t> places = arrive(flow_.block[pc + 1], stack_);
    std::vector<int32_t> left(stack_.begin(), stack_.end() - i.n - 1);
    left.resize(left.size() + carried, kNone);
    for (size_t k = 0; k < std::min(carried, places.size()); ++k) {
      left[left.size() - 1 - k] = places[k];
    }
    arrive(flow_.block[target_of(f_, pc)], left);
  }

  // The register whose slot is used: that with the least number of those that share it.
  int32_t home(int32_t reg) const {
    while (flow_.registers[size_t(reg)] != reg) reg = flow_.registers[size_t(reg)];
    return reg;
  }

  // Whether two registers have declared types of one kind.
  bool alike(int32_t a, int32_t b) const {
    const std::vector<TypeRef>& types = f_.register_types;
    auto kind = [&](int32_t reg) {
      bool declared = size_t(reg) < types.size() && types[size_t(reg)];
      return declared ? int(types[size_t(reg)]->kind) : -1;
    };
    return kind(a) == kind(b);
  }

  // Gives two registers one slot, unless that would be wrong.
  void join(int32_t from, int32_t to) {
    size_t a = size_t(home(from)), b = size_t(home(to));
    if (a == b || !alike(from, to)) return;
    if (apart_.meets(a, members_.row(b)) || apart_.meets(b, members_.row(a))) return;
    if (b < a) std::swap(a, b);
    flow_.registers[b] = int32_t(a);
    apart_.add(a, apart_.row(b));
    members_.add(a, members_.row(b));
  }

  const Function& f_;
  Flow& flow_;
  Rows apart_, members_;
  std::vector<int> depth_;
  std::vector<int32_t> stack_;
  std::vector<Move> moves_;
};

// The sum of the stack depths at the starts of all blocks.
size_t stacked_values(const Flow& flow) {
  size_t sum = 0;
  for (int32_t start : flow.starts) sum += size_t(flow.depth[size_t(start)]);
  return sum;
}

}  // namespace

void coalesce_slots(const Function& function, const Liveness& live, Flow* flow) {
  constexpr int32_t kMostRegisters = 2048;
  constexpr size_t kMostWork = size_t(1) << 24;
  size_t registers = size_t(function.registers);
  if (!live.known() || function.registers > kMostRegisters) return;
  if (moved_values(function) * (registers / 64 + 1) > kMostWork) return;
  if (stacked_values(*flow) > kMostWork) return;
  Sharing(function, flow).run(live);
}

}  // namespace scriptlang::lower
