// A pass on the jumps of finished code. Jumps to jumps go to the last target, jumps to the next
// step are removed, a branch over a jump becomes the opposite branch, and a jump to a branch
// becomes a copy of that branch.
#include <optional>

#include "lowering.h"

namespace scriptlang::lower {

namespace {

using Op = StepOp;

// Whether control never goes on with the step behind.
bool never_falls(Op op) { return op == Op::JUMP || op == Op::JUMP_BACK || op == Op::RET; }

size_t target_of(const std::vector<Step>& steps, size_t at) {
  return size_t(int64_t(at) + steps[at].x);
}

// The final target of a jump. It follows a limited number of jumps, so it ends for cycles too.
size_t end_of(const std::vector<Step>& steps, size_t at) {
  constexpr int kFarthest = 8;
  size_t to = target_of(steps, at);
  for (int k = 0; k < kFarthest && steps[to].op == Op::JUMP; ++k) to = target_of(steps, to);
  return to;
}

// Removes jumps to the next step, and unreachable jumps.
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

// The opposite branch, if there is one.
std::optional<Op> opposite(Op op) {
  if (op == Op::JUMP_TRUE) return Op::JUMP_FALSE;
  if (op == Op::JUMP_FALSE) return Op::JUMP_TRUE;
  constexpr int32_t kTurned = int32_t(Op::JUMP_NOT_LT_INT) - int32_t(Op::JUMP_LT_INT);
  if (op >= Op::JUMP_LT_INT && op <= Op::JUMP_NE_FLOAT) return Op(int32_t(op) + kTurned);
  if (op >= Op::JUMP_NOT_LT_INT && op <= Op::JUMP_NOT_NE_FLOAT) return Op(int32_t(op) - kTurned);
  return std::nullopt;
}

// A branch over a jump becomes the opposite branch to the target of the jump.
void turn_round(std::vector<Step>* steps) {
  std::vector<int32_t> incoming(steps->size(), 0);
  for (size_t k = 0; k < steps->size(); ++k) {
    if (is_jump((*steps)[k].op)) ++incoming[target_of(*steps, k)];
  }
  for (size_t k = 0; k + 2 < steps->size(); ++k) {
    Step &branch = (*steps)[k], &jump = (*steps)[k + 1];
    std::optional<Op> turned = opposite(branch.op);
    bool over = turned && branch.x == 2 && branch.work == 0;
    if (!over || jump.op != Op::JUMP || incoming[k + 1]) continue;
    branch.op = *turned;
    branch.x = jump.x + 1;
    jump.x = 1;
  }
}

// A jump to a branch becomes a copy of the branch and a jump to the step behind it; a jump to RET
// becomes RET.
void repeat_branches(std::vector<Step>* steps) {
  auto repeats = [&](size_t k) {
    if ((*steps)[k].op != Op::JUMP) return false;
    Op op = (*steps)[target_of(*steps, k)].op;
    return op != Op::JUMP && op != Op::JUMP_BACK && is_jump(op);
  };
  std::vector<int32_t> now(steps->size() + 1, 0);
  for (size_t k = 0; k < steps->size(); ++k) now[k + 1] = now[k] + 1 + repeats(k);
  std::vector<Step> made;
  made.reserve(size_t(now.back()));
  auto add = [&](Step step, size_t target) {
    step.x = now[target] - int32_t(made.size());
    made.push_back(step);
  };
  for (size_t k = 0; k < steps->size(); ++k) {
    const Step& step = (*steps)[k];
    if (!is_jump(step.op)) {
      made.push_back(step);
      continue;
    }
    size_t to = target_of(*steps, k);
    if (repeats(k)) {
      add((*steps)[to], target_of(*steps, to));
      add(step, to + 1);
    } else if (step.op == Op::JUMP && (*steps)[to].op == Op::RET) {
      made.push_back((*steps)[to]);
    } else {
      add(step, to);
    }
  }
  steps->swap(made);
}

// Makes each jump go to its final target.
void follow_jumps(std::vector<Step>* steps) {
  for (size_t k = 0; k < steps->size(); ++k) {
    Step& step = (*steps)[k];
    if (is_jump(step.op)) step.x = int32_t(int64_t(end_of(*steps, k)) - int64_t(k));
  }
}

}  // namespace

void shorten_jumps(std::vector<Step>* steps) {
  constexpr size_t kMostWork = size_t(1) << 26, kMostRepeated = size_t(1) << 16;
  size_t work = 0;
  auto clear = [&] {
    follow_jumps(steps);
    for (size_t before = SIZE_MAX; steps->size() < before && work < kMostWork;) {
      before = steps->size();
      take_out(steps);
      work += before;
    }
  };
  clear();
  turn_round(steps);
  if (steps->size() < kMostRepeated) repeat_branches(steps);
  clear();
}

}  // namespace scriptlang::lower
