// Ends the lifetimes of registers: the last read of a register becomes a MOVE, and a register that
// only one side of a branch reads is dropped on the other side. So values are freed early, and
// operators can reuse their memory. It computes the liveness of registers, block by block,
// backwards.
#include <algorithm>

#include "optimize.h"

namespace scriptlang::optimize {

namespace {

using Words = std::vector<uint64_t>;
constexpr size_t kMostWork = size_t(1) << 24;  // bytes of sets; larger functions stay as they are
constexpr int kMostRounds = 32;  // more than deeply nested loops need to get to the fixed point

struct Block {
  size_t begin, end;
  std::vector<size_t> next;  // the blocks that may follow
  // The registers that are live at its start and end, those that it reads before it writes them,
  // and those that it writes.
  Words live_in, live_out, reads, writes;
};

class Lifetimes {
 public:
  explicit Lifetimes(Function* function)
      : f_(*function), words_((size_t(function->registers) + 64) / 64) {}

  void run() {
    if (f_.registers == 0) return;
    find_blocks();
    if (blocks_.size() * words_ * 8 > kMostWork) return;
    if (!solve()) return;
    move_last_reads();
    leave_on_stack();
    rebuild();
  }

 private:
  static void set(Words& words, int reg) { words[size_t(reg) / 64] |= uint64_t(1) << (reg % 64); }
  static void clear(Words& words, int reg) {
    words[size_t(reg) / 64] &= ~(uint64_t(1) << (reg % 64));
  }
  static bool has(const Words& words, int reg) { return words[size_t(reg) / 64] >> (reg % 64) & 1; }
  static bool ends(Opcode op) {
    const bytecode::Next next = bytecode::info_of(op).next;
    return next == bytecode::Next::Jump || next == bytecode::Next::Return ||
           next == bytecode::Next::Raise;
  }

  void find_blocks() {
    const size_t size = f_.code.size();
    std::vector<char> starts(size + 1, 0);
    starts[0] = starts[size] = 1;
    for (size_t pc = 0; pc < size; ++pc) {
      const Instruction& i = f_.code[pc];
      if (jumps(i.op)) starts[size_t(int64_t(pc) + i.x)] = 1;
      if (jumps(i.op) || ends(i.op)) starts[pc + 1] = 1;
    }
    block_at_.assign(size + 1, 0);
    for (size_t pc = 0; pc < size;) {
      size_t end = pc + 1;
      while (!starts[end]) ++end;
      block_at_[pc] = blocks_.size();
      blocks_.push_back({pc, end, {}, {}, {}, {}, {}});
      pc = end;
    }
    for (Block& block : blocks_) {
      const Instruction& last = f_.code[block.end - 1];
      if (!ends(last.op) && block.end < size) block.next.push_back(block_at_[block.end]);
      if (jumps(last.op)) block.next.push_back(block_at_[size_t(int64_t(block.end - 1) + last.x)]);
    }
  }

  // Computes liveness. False if it takes too long.
  bool solve() {
    for (Block& block : blocks_) {
      block.live_in.assign(words_, 0);
      block.live_out = block.reads = block.writes = block.live_in;
      for (size_t pc = block.end; pc-- > block.begin;) {
        const Instruction& i = f_.code[pc];
        if (i.op == Opcode::LOAD) set(block.reads, i.x);
        const int count = i.op == Opcode::STORE ? 1 : i.op == Opcode::STOREN ? i.n : 0;
        for (int k = 0; k < count; ++k) {
          set(block.writes, i.x + k);
          clear(block.reads, i.x + k);
        }
      }
    }
    int rounds = 0;
    for (bool changed = true; changed;) {
      if (++rounds > kMostRounds) return false;
      changed = false;
      for (size_t b = blocks_.size(); b-- > 0;) {
        Block& block = blocks_[b];
        for (size_t w = 0; w < words_; ++w) {
          uint64_t out = 0;
          for (size_t next : block.next) out |= blocks_[next].live_in[w];
          block.live_out[w] = out;
          uint64_t in = block.reads[w] | (out & ~block.writes[w]);
          changed = changed || in != block.live_in[w];
          block.live_in[w] = in;
        }
      }
    }
    return true;
  }

  // Makes last reads MOVEs and stores that nothing reads DROPs, and notes where to drop registers.
  void move_last_reads() {
    for (Block& block : blocks_) {
      Words live = block.live_out;
      for (size_t pc = block.end; pc-- > block.begin;) {
        Instruction& i = f_.code[pc];
        const int count = i.op == Opcode::STORE ? 1 : i.op == Opcode::STOREN ? i.n : 0;
        if (i.op == Opcode::STORE && !has(live, i.x)) {  // nothing reads it
          i.op = Opcode::DROP;
          i.x = 0;
          continue;
        }
        for (int k = 0; k < count; ++k) {
          if (!has(live, i.x + k)) dropped_.push_back({pc + 1, i.x + k});
          clear(live, i.x + k);
        }
        if (i.op != Opcode::LOAD) continue;
        if (!has(live, i.x)) i.op = Opcode::MOVE;
        set(live, i.x);
      }
    }
    // Registers that are live at the end of a block, but not at the start of one that follows, are
    // dropped there.
    std::vector<Words> arriving(blocks_.size());
    for (Block& block : blocks_) {
      for (size_t next : block.next) {
        Words& words = arriving[next];
        if (words.empty()) words.assign(words_, 0);
        for (size_t w = 0; w < words_; ++w) words[w] |= block.live_out[w];
      }
    }
    for (size_t b = 0; b < blocks_.size(); ++b) {
      for (size_t w = 0; w < words_ && !arriving[b].empty(); ++w) {
        uint64_t dead = arriving[b][w] & ~blocks_[b].live_in[w];
        for (; dead; dead &= dead - 1) {
          // Jumps to the block go to the drop (see rebuild), also if it begins with a LOOP.
          dropped_.push_back({blocks_[b].begin, int(w * 64) + __builtin_ctzll(dead)});
        }
      }
    }
  }

  // Removes a STORE and the MOVE right after it that pushes the value again.
  void leave_on_stack() {
    gone_.assign(f_.code.size(), 0);
    for (Block& block : blocks_) {
      for (size_t pc = block.begin; pc + 1 < block.end; ++pc) {
        const Instruction &i = f_.code[pc], &next = f_.code[pc + 1];
        if (i.op != Opcode::STORE || next.op != Opcode::MOVE || next.x != i.x) continue;
        gone_[pc] = gone_[pc + 1] = 1;
        any_gone_ = true;
      }
    }
  }

  // Inserts the drops. A jump to an instruction goes to the drops before it.
  void rebuild() {
    if (dropped_.empty() && !any_gone_) return;
    std::stable_sort(dropped_.begin(), dropped_.end(),
                     [](const Drop& a, const Drop& b) { return a.at < b.at; });
    const size_t size = f_.code.size();
    std::vector<size_t> moved(size + 1);
    size_t next = 0, place = 0;
    for (size_t pc = 0; pc <= size; ++pc) {
      moved[pc] = place;  // of the first drop at pc, or of the instruction if there is none
      for (; next < dropped_.size() && dropped_[next].at == pc; ++next) ++place;
      if (pc < size && !gone_[pc]) ++place;
    }
    std::vector<Instruction> code;
    std::vector<uint32_t> lines;
    std::vector<int32_t> calls;
    code.reserve(size + dropped_.size());
    next = 0;
    for (size_t pc = 0; pc < size; ++pc) {
      for (; next < dropped_.size() && dropped_[next].at == pc; ++next) {
        Instruction drop;
        drop.op = Opcode::DROPR;
        drop.x = dropped_[next].reg;
        code.push_back(drop);
        lines.push_back(f_.lines[pc]);
        calls.push_back(f_.calls[pc]);
      }
      if (gone_[pc]) continue;
      Instruction i = f_.code[pc];
      if (jumps(i.op)) i.x = int32_t(moved[size_t(int64_t(pc) + i.x)] - code.size());
      code.push_back(i);
      lines.push_back(f_.lines[pc]);
      calls.push_back(f_.calls[pc]);
    }
    f_.code = std::move(code);
    f_.lines = std::move(lines);
    f_.calls = std::move(calls);
  }

  struct Drop {
    size_t at;
    int reg;
  };
  Function& f_;
  size_t words_;
  std::vector<Block> blocks_;
  std::vector<size_t> block_at_;
  std::vector<Drop> dropped_;
  std::vector<char> gone_;  // by instruction: whether it is removed
  bool any_gone_ = false;
};

}  // namespace

void end_lifetimes(Function* function) { Lifetimes(function).run(); }

}  // namespace scriptlang::optimize
