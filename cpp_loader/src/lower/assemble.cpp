// Assembly: joins the translated blocks of a function to its register code. code_of() makes the
// code of a function at its first call and keeps it with the function.
#include <algorithm>

#include "lowering.h"
#include "optimize/optimize.h"

namespace scriptlang::lower {

using Op = StepOp;

namespace {

bool unpacks(Op op) { return op == Op::UNPACK || op == Op::UNPACK_LAST || op == Op::UNPACK_AT; }
// Whether `x` of the step is an index of a fill.
bool has_rows(Op op) {
  return op == Op::FILL || unpacks(op) || op == Op::TUPLE || op == Op::LIST || op == Op::CALL ||
         op == Op::CALL_PROVEN;
}

// Whether a step is fit for a trivial frame: it reads only proven numbers, and drops no value when
// it writes its result.
bool is_plain_arithmetic(Op op) {
  switch (op) {
    case Op::COPY_RAW:
    case Op::FLOAT_CALL:
    case Op::FLOAT_CALL_TWO:
    case Op::FLOOR:
    case Op::CEIL:
    case Op::DERIVE_INDEX:
    case Op::RANGE_LENGTH:
    case Op::GUARD_INT:
    case Op::GUARD_BOOL:
    case Op::GUARD_FLOAT:
    case Op::CALL:
    case Op::CALL_PROVEN:
    case Op::RET: return true;
    default: return op <= Op::SQRT_FLOAT || is_jump(op);
  }
}

// See Code::trivial_frame.
bool is_trivial_frame(const Code& code) {
  return std::all_of(code.steps.begin(), code.steps.end(), [&](const Step& step) {
    bool calls = step.op == Op::CALL || step.op == Op::CALL_PROVEN;
    for (int32_t k = 0; calls && k < step.c; ++k) {
      if (code.fills[size_t(step.x + k)].kind > Fill::Plus) return false;
    }
    if (step.op == Op::RET) return step.c == 1 && step.x != kCounted;
    return is_plain_arithmetic(step.op) && (!calls || result_letter(*step.callee));
  });
}

}  // namespace

// Removes the copies of trip numbers and limits to their slots, for loops in which no edge counts
// trips.
void Lowering::drop_counts(Draft* draft) const {
  auto idle = [&](const Step& step) {
    return step.op == Op::COPY_RAW && step.x > 0 && !counted_[size_t(step.x - 1)];
  };
  std::vector<Step>& steps = draft->steps;
  steps.erase(std::remove_if(steps.begin(), steps.end(), idle), steps.end());
  // Jumps name steps of stubs by index. So such a step becomes a jump to the next one instead.
  for (size_t k = 0; k < draft->stubs.size(); ++k) {
    Step& step = draft->stubs[k];
    if (!idle(step)) continue;
    step.op = Op::JUMP;
    step.x = ~int32_t(k + 1);
  }
}

// Joins the blocks in order, with all stubs behind the last block. Targets of jumps become
// distances.
std::unique_ptr<Code> Lowering::assemble() {
  auto code = std::make_unique<Code>();
  std::vector<int64_t> begin(drafts_.size()), stubs(drafts_.size());
  int64_t size = 0;
  for (Draft& draft : drafts_) drop_counts(&draft);
  for (size_t b = 0; b < drafts_.size(); ++b) {
    std::vector<Step>& steps = drafts_[b].steps;
    // A jump to the next block is removed: control falls through.
    size_t next = b + 1;
    while (next < drafts_.size() && drafts_[next].steps.empty()) ++next;
    bool falls = !steps.empty() && steps.back().op == Op::JUMP && next < drafts_.size() &&
                 steps.back().x >= int32_t(b) + 1 && steps.back().x <= int32_t(next);
    if (falls) steps.pop_back();
    begin[b] = size;
    size += int64_t(steps.size());
  }
  for (size_t b = 0; b < drafts_.size(); ++b) {
    stubs[b] = size;
    size += int64_t(drafts_[b].stubs.size());
  }
  if (size > INT32_MAX / 4) throw TooLarge();
  code->steps.reserve(size_t(size));
  auto append = [&](size_t b, const std::vector<Step>& steps, int32_t fills, int32_t calls) {
    for (Step step : steps) {
      int64_t here = int64_t(code->steps.size());
      if (is_jump(step.op)) {
        int64_t to = step.x >= 0 ? begin[size_t(step.x)] : stubs[b] + ~step.x;
        step.x = int32_t(to - here);
      } else if (has_rows(step.op)) {
        step.x += fills;
      } else if (calls_operator(step.op)) {
        step.x += calls;
      }
      code->steps.push_back(step);
    }
  };
  std::vector<std::pair<int32_t, int32_t>> bases;
  for (Draft& draft : drafts_) {
    bases.push_back({int32_t(code->fills.size()), int32_t(code->calls.size())});
    for (Call call : draft.calls) {
      call.fill += bases.back().first;
      call.borrowed_from += int32_t(code->borrowed.size());
      code->calls.push_back(call);
    }
    code->borrowed.insert(code->borrowed.end(), draft.borrowed.begin(), draft.borrowed.end());
    code->fills.insert(code->fills.end(), draft.fills.begin(), draft.fills.end());
  }
  for (size_t b = 0; b < drafts_.size(); ++b) {
    append(b, drafts_[b].steps, bases[b].first, bases[b].second);
  }
  for (size_t b = 0; b < drafts_.size(); ++b) {
    append(b, drafts_[b].stubs, bases[b].first, bases[b].second);
  }
  for (Call& call : code->calls) {
    call.rows = code->fills.data() + call.fill;
    call.borrowed = code->borrowed.data() + call.borrowed_from;
  }
  for (Step& step : code->steps) {
    if (calls_operator(step.op)) step.call = code->calls.data() + step.x;
  }
  shorten_jumps(&code->steps);
  for (int k = 0; k < f_.parameters; ++k) {
    int32_t place = place_in(0, k, f_.parameters);
    code->parameters.push_back(place == kNowhere ? -1 : offset_of(place));
  }
  code->in_order = true;
  for (size_t k = 0; k < code->parameters.size(); ++k) {
    code->in_order = code->in_order && code->parameters[k] == offset_of(int32_t(k));
  }
  code->constants = std::move(constants_);
  code->first_constant = first_constant_;
  code->trivial_frame = !shape_.reads_unwritten && is_trivial_frame(*code);
  hold_constants(code.get());
  fuse_steps(&code->steps);
  close(code.get(), f_);
  code->proven = code->first + guards_;
  int32_t first = code->constants.empty() ? code->slots : first_constant_;
  if (code->trivial_frame) code->image_from = first / kImageStep * kImageStep;
  return code;
}

void destroy(const Code* code) noexcept { delete code; }

#if defined(SL_NO_OPTIMIZER)

static std::unique_ptr<Code> made_of(const Function& function) {
  return function.recorded_of ? plain_code(*function.recorded_of, true) : plain_code(function);
}

#else

// Lowers a function with proofs. Throws TooLarge if that takes too much work.
static std::unique_ptr<Code> proven(const Function& function, bool records = false) {
  try {
    if (function.code.size() <= kSmallFunction) return Lowering(function, 0, records).run();
  } catch (const NoSpareSlot&) {}
  return Lowering(function, kSpareSlots, records).run();
}

// Lowers a function, to plain code if it is too large for proofs.
static std::unique_ptr<Code> lowered(const Function& function, bool records = false) {
  try {
    return proven(function, records);
  } catch (const TooLarge&) { return plain_code(function, records); }
}

#if defined(SL_NO_SOURCE)  // no function is

static std::unique_ptr<Code> lowered_source(const Function& function) { return lowered(function); }

#else

// Optimises and lowers a function that was compiled from source.
static std::unique_ptr<Code> lowered_source(const Function& function) {
  std::shared_ptr<const Function> made = optimize::optimized(function, true);
  std::unique_ptr<Code> code;
  try {
    code = proven(*made);
  } catch (const TooLarge&) {  // without inlining, the function may be small enough
    made = optimize::optimized(function, false);
    code = lowered(*made);
  }
  code->made = std::move(made);
  return code;
}

#endif

static std::unique_ptr<Code> made_of(const Function& function) {
  if (function.recorded_of) return lowered(*function.recorded_of, true);
  return function.is_raw ? lowered_source(function) : lowered(function);
}

#endif

const Function& recorded(const Function& function) {
  if (const Function* made = function.recorded.load(std::memory_order_acquire)) return *made;
  auto made = std::make_unique<Function>();
  made->name = function.name;
  made->recorded_of = &function;
  made->has_schema = function.has_schema;
  made->results = function.results;
  made->parameters = function.parameters;
  const Function* known = nullptr;
  const bool first =
      function.recorded.compare_exchange_strong(known, made.get(), std::memory_order_acq_rel);
  return first ? *made.release() : *known;
}

const Code& code_of(const Function& function) {
  if (const Code* code = function.lowered.load(std::memory_order_acquire)) return *code;
  std::unique_ptr<Code> made = made_of(function);
  const Code* known = nullptr;
  const Code* fresh = made.get();
  if (function.lowered.compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) {
    return *made.release();
  }
  return *known;
}

}  // namespace scriptlang::lower
