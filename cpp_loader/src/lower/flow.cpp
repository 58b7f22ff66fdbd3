// Finds the basic blocks of a function, its stack depths, and which registers are live.
#include "flow.h"

#include <numeric>

namespace scriptlang::lower {

size_t moved_values(const Function& f) {
  size_t sum = f.code.size();
  for (const Instruction& i : f.code) sum += size_t(pops_of(f, i) + pushes_of(f, i));
  return sum;
}

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
    int64_t after = depth - pops_of(f, i) + pushes_of(f, i);
    if (i.op == Opcode::LOOP) leads[pc] = 1;
    if (jumps(i.op)) leads[target_of(f, pc)] = 1;
    if (ends_flow(i.op)) continue;
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
  for (int32_t start : flow.starts) {
    size_t pc = size_t(start);
    while (!jumps(f.code[pc].op) && !ends_flow(f.code[pc].op) && flow.block[pc + 1] < 0) ++pc;
    flow.lasts.push_back(int32_t(pc));
  }
  flow.registers.resize(size_t(f.registers));
  std::iota(flow.registers.begin(), flow.registers.end(), 0);
  flow.left.assign(size, Flow::kReadAgain);
  return flow;
}

// Called before coalescing, and again after it. At the second call, an instruction that was kUnread
// may have a slot that is live: then another register uses the slot by now, so it is kShared.
void find_left(const Function& f, const Liveness& live, Flow* flow) {
  if (!live.known()) return;
  std::vector<uint64_t> now;
  for (size_t block = 0; block < flow->starts.size(); ++block) {
    live.go_back(block, &now, [&](size_t pc, const uint64_t* wanted) {
      const Instruction& i = f.code[pc];
      if (i.op != Opcode::MOVE && i.op != Opcode::DROPR && i.op != Opcode::LOAD) return;
      int32_t slot = flow->register_of(i);
      bool read = wanted[slot / 64] >> (slot % 64) & 1;
      Flow::Left& left = flow->left[pc];
      if (left == Flow::kReadAgain) {
        left = read ? Flow::kReadAgain : Flow::kUnread;
      } else {
        left = read ? Flow::kShared : Flow::kUnread;
      }
    });
  }
}

}  // namespace scriptlang::lower
