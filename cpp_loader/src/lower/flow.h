// Basic blocks of verified bytecode, and the liveness of its registers.
#pragma once

#include <algorithm>
#include <vector>

#include "program/program.h"

namespace scriptlang::lower {

// The control flow of a function: its blocks, and the stack depth at each instruction. It relies on
// verify() having accepted the code.
struct Flow {
  std::vector<int32_t> depth;      // of the stack before each instruction; -1 if unreachable
  std::vector<int32_t> block;      // by instruction: the block that begins with it, or -1
  std::vector<int32_t> starts;     // by block: its first instruction
  std::vector<int32_t> lasts;      // by block: its last instruction
  std::vector<int32_t> registers;  // the slot of each register: several may share one
  // By instruction, for MOVE, DROPR and LOAD: whether the register is read later, before it is
  // written again.
  // kUnread: it is not, so a number may stay in the slot, and the last LOAD may move the value out.
  // kReadAgain: it is. After a MOVE or DROPR the reader must find None, which only hand-written
  // code relies on.
  // kShared: another register uses the slot by now, so a DROPR does nothing.
  enum Left : char { kUnread, kReadAgain, kShared };
  std::vector<Left> left;

  // The slot of the k-th register that an instruction names.
  int32_t register_of(const Instruction& i, int k = 0) const {
    return registers[size_t(i.x - 1 + k)];
  }
  // Whether a STORE or STOREN writes a slot.
  bool stores(const Instruction& i, int32_t slot) const {
    int count = i.op == Opcode::STORE ? 1 : i.op == Opcode::STOREN ? i.n : 0;
    for (int k = 0; k < count; ++k) {
      if (register_of(i, k) == slot) return true;
    }
    return false;
  }
};

// Finds the blocks. Each register gets its own slot, and every instruction is kReadAgain.
Flow flow_of(const Function& function);

// The instruction that the jump at `pc` goes to.
inline size_t target_of(const Function& f, size_t pc) { return pc + size_t(int64_t(f.code[pc].x)); }

// How many values all instructions of a function pop and push, each counted once.
size_t moved_values(const Function& function);

// The last instruction of the block that begins at `first`.
inline size_t last_of(const Flow& flow, size_t first) {
  return size_t(flow.lasts[size_t(flow.block[first])]);
}

// Calls visit(block) for each successor of the block that ends with instruction `last`.
template <class Visit>
void for_successors(const Function& f, const Flow& flow, size_t last, const Visit& visit) {
  const Instruction& i = f.code[last];
  if (ends_flow(i.op)) return;
  if (jumps(i.op)) visit(flow.block[target_of(f, last)]);
  if (i.op != Opcode::JMP) visit(flow.block[last + 1]);
}

// Liveness: which slots of registers may be read before they are written, at the start of each
// block. It is not computed (known() is false) for functions where that would be too much work.
class Liveness {
 public:
  Liveness(const Function& f, const Flow& flow)
      : f_(f), flow_(flow), words_((size_t(f.registers) + 63) / 64) {
    constexpr size_t kMostWords = size_t(1) << 22, kMostWork = size_t(1) << 25;
    if (words_ * flow.starts.size() > kMostWords) return;
    size_t work = 0, round = words_ * flow.starts.size() + moved_values(f);
    live_.assign(words_ * flow.starts.size(), 0);
    std::vector<uint64_t> now(words_);
    bool changed = true;
    while (changed) {
      changed = false;
      if ((work += round) > kMostWork) return;
      for (size_t block = flow.starts.size(); block-- > 0;) changed |= visit(block, &now);
    }
    known_ = true;
  }
  bool known() const { return known_; }
  // Whether a slot is live at the start of a block. True if liveness is not known.
  bool live_at(int32_t block, int32_t slot) const {
    size_t k = size_t(slot);
    return !known_ || (live_[size_t(block) * words_ + k / 64] >> (k % 64) & 1);
  }
  // Calls visit(slot) for each slot that is live at the start of a block.
  template <class Visit>
  void for_live(size_t block, const Visit& visit) const {
    for (size_t w = 0; w < words_; ++w) {
      for (uint64_t bits = live_[block * words_ + w]; bits; bits &= bits - 1) {
        visit(int(w * 64) + __builtin_ctzll(bits));
      }
    }
  }
  // Walks a block backwards. note(pc, live) gets the slots that are live after each instruction.
  template <class Note>
  void go_back(size_t block, std::vector<uint64_t>* now, const Note& note) const {
    size_t first = size_t(flow_.starts[block]), last = last_of(flow_, first);
    now->assign(words_, 0);
    for_successors(f_, flow_, last, [&](int32_t next) {
      for (size_t w = 0; w < words_; ++w) (*now)[w] |= live_[size_t(next) * words_ + w];
    });
    auto bit = [](int32_t slot) { return uint64_t(1) << (slot % 64); };
    auto word = [&](int32_t slot) -> uint64_t& { return (*now)[size_t(slot) / 64]; };
    for (size_t pc = last + 1; pc-- > first;) {
      const Instruction& i = f_.code[pc];
      note(pc, now->data());
      bool empties = i.op == Opcode::DROPR && flow_.left[pc] == Flow::kReadAgain;
      int count = i.op == Opcode::STORE || empties ? 1 : i.op == Opcode::STOREN ? i.n : 0;
      for (int k = 0; k < count; ++k) {
        int32_t slot = flow_.register_of(i, k);
        word(slot) &= ~bit(slot);
      }
      if (i.op != Opcode::LOAD && i.op != Opcode::MOVE) continue;
      int32_t slot = flow_.register_of(i);
      word(slot) |= bit(slot);
    }
  }

 private:
  bool visit(size_t block, std::vector<uint64_t>* now) {
    go_back(block, now, [](size_t, const uint64_t*) {});
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

// Fills in `flow->left`, for the slots that registers have now.
void find_left(const Function& function, const Liveness& live, Flow* flow);

}  // namespace scriptlang::lower
