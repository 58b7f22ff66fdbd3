// Jumps of finished code: one that leads to another goes where that goes, one to what follows goes.
#include "lowering.h"

namespace scriptlang::lower {

namespace {

using Op = StepOp;

bool never_falls(Op op) { return op == Op::JUMP || op == Op::JUMP_BACK || op == Op::RET; }

size_t target_of(const std::vector<Step>& steps, size_t at) {
  return size_t(int64_t(at) + steps[at].x);
}

// Where a jump ends up. Circles of jumps stay as they are.
size_t end_of(const std::vector<Step>& steps, size_t at) {
  constexpr int kFarthest = 8;
  size_t to = target_of(steps, at);
  for (int k = 0; k < kFarthest && steps[to].op == Op::JUMP; ++k) to = target_of(steps, to);
  return to;
}

// Takes out the jumps that lead to what follows, and those that control never comes to.
void take_out(std::vector<Step>* steps) {
  std::vector<char> wanted(steps->size(), 0);
  for (size_t k = 0; k < steps->size(); ++k) {
    if (is_jump((*steps)[k].op)) wanted[target_of(*steps, k)] = 1;
  }
  std::vector<int32_t> now(steps->size() + 1, 0);
  for (size_t k = 0; k < steps->size(); ++k) {
    const Step& step = (*steps)[k];
    bool reached = k == 0 || wanted[k] || !never_falls((*steps)[k - 1].op);
    bool goes = step.op == Op::JUMP && (step.x == 1 || !reached);
    now[k + 1] = now[k] + !goes;
  }
  for (size_t k = 0; k < steps->size(); ++k) {
    Step step = (*steps)[k];
    if (now[k + 1] == now[k]) continue;
    if (is_jump(step.op)) step.x = now[target_of(*steps, k)] - now[k];
    (*steps)[size_t(now[k])] = step;
  }
  steps->resize(size_t(now.back()));
}

}  // namespace

void shorten_jumps(std::vector<Step>* steps) {
  for (size_t k = 0; k < steps->size(); ++k) {
    Step& step = (*steps)[k];
    if (is_jump(step.op)) step.x = int32_t(int64_t(end_of(*steps, k)) - int64_t(k));
  }
  constexpr size_t kMostWork = size_t(1) << 26;
  size_t work = 0;
  for (size_t before = SIZE_MAX; steps->size() < before && work < kMostWork;) {
    before = steps->size();
    take_out(steps);
    work += before;
  }
}

}  // namespace scriptlang::lower
