// Fused groups: several pointwise operators and row functions become one instruction FUSED.
//
// It works on basic blocks, in the same way as passes/fuse_pointwise.py: an operator joins the
// groups that make its inputs, unless something else has to run between them. Nothing is moved over
// an instruction that writes to memory, draws a random number, or calls a function. An in-place
// operator on a tensor that nothing else refers to becomes one that gives a new tensor.
#include "grouped_block.h"
#include "lower/flow.h"
#include "optimize.h"
#include "program/facts.h"

namespace scriptlang::optimize {

namespace {

constexpr size_t kMostInBlock = 4000;  // instructions; larger blocks stay as they are
constexpr int kMostRegisters = 20000;

// Tells of all operators in a part of the code that might be in a group.
void tell_all(const Function& f, size_t begin, size_t end, Misses* misses, const char* why) {
  for (size_t pc = begin; pc < end; ++pc) {
    if (f.code[pc].op != Opcode::OP_ONE && f.code[pc].op != Opcode::OP_ANY) continue;
    const OperatorUse& use = f.operators[size_t(f.code[pc].x)];
    if (is_fusible(use)) misses->tell_alone(pc, use, why);
  }
}

}  // namespace

void make_groups(Function* function) {
  Function& f = *function;
  const lower::Flow flow = lower::flow_of(f);
  const lower::Liveness liveness(f, flow);
  const std::unique_ptr<Misses> misses = Misses::of(f);
  if (!liveness.known()) {
    if (misses) tell_all(f, 0, f.code.size(), misses.get(), "its function is too large");
    return;
  }
  struct Made {
    size_t begin, end;
    GroupedBlock block;
  };
  std::vector<Made> made;
  std::vector<uint64_t> now;
  for (size_t b = 0; b < flow.starts.size(); ++b) {
    const size_t begin = size_t(flow.starts[b]);
    if (f.registers >= kMostRegisters) {
      if (misses) tell_all(f, begin, f.code.size(), misses.get(), "its function is too large");
      break;
    }
    const size_t last = lower::last_of(flow, begin);
    const Opcode op = f.code[last].op;
    const size_t end = jumps(op) || ends_flow(op) ? last : last + 1;
    int fusible = 0;
    for (size_t pc = begin; pc < end && fusible < 2; ++pc) {
      const Opcode o = f.code[pc].op;
      if (o != Opcode::OP_ONE && o != Opcode::OP_ANY) continue;
      fusible += is_fusible(f.operators[size_t(f.code[pc].x)]);
    }
    if (fusible < 2 || end - begin > kMostInBlock) {
      if (misses && fusible) {
        tell_all(f, begin, end, misses.get(), fusible < 2 ? kAlone : "its block is too large");
      }
      continue;
    }
    // The registers that are live behind the block. A last instruction that leaves the block is not
    // in begin..end, but it does not read or write registers.
    std::vector<uint64_t> behind;
    liveness.go_back(b, &now, [&](size_t pc, const uint64_t* wanted) {
      if (pc == last) behind.assign(wanted, wanted + now.size());
    });
    GroupedBlock block(&f, begin, end, misses.get());
    auto live = [&](int reg) { return behind[size_t(reg - 1) / 64] >> ((reg - 1) % 64) & 1; };
    if (!block.run(live)) continue;
    block.write();
    made.push_back({begin, end, std::move(block)});
  }
  if (made.empty()) return;
  // Replaces the code of these blocks, and corrects the distances of jumps.
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
  std::vector<std::pair<size_t, size_t>> jumps_;  // from (in the new code), to (in the old code)
  for (size_t pc = 0; pc < f.code.size(); ++pc) {
    moved[pc] = int64_t(code.size());
    if (next < made.size() && made[next].begin == pc) {
      const GroupedBlock& block = made[next].block;
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
