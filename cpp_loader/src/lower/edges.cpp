// Edges of the control flow graph: what is done between the end of a block and the start of the
// next. Values are moved to the places that the next block expects (blocks.h), the decisions of
// loops are made, and blocks that only move values are duplicated.
#include <algorithm>

#include "lowering.h"

namespace scriptlang::lower {

using Op = StepOp;

namespace {

// The branch that is taken if a comparison holds. Tests (SL_TEST_STEPS) have none.
Op when(Op compare) {
  return Op(int32_t(Op::JUMP_LT_INT) + int32_t(compare) - int32_t(Op::LT_INT));
}
bool compares_characters(Op op) { return op == Op::CHARACTER_EQ || op == Op::CHARACTER_NE; }
bool is_test(Op op) { return (op >= Op::DICT_HAS && op <= Op::IS_NOT) || compares_characters(op); }
// The branch that is taken if a comparison or test does not hold.
Op when_not(Op compare) {
  if (compare == Op::CHARACTER_EQ) return Op::JUMP_NOT_CHARACTER_EQ;
  if (compare == Op::CHARACTER_NE) return Op::JUMP_NOT_CHARACTER_NE;
  if (is_test(compare)) {
    return Op(int32_t(Op::JUMP_NOT_DICT_HAS) + int32_t(compare) - int32_t(Op::DICT_HAS));
  }
  return Op(int32_t(Op::JUMP_NOT_LT_INT) + int32_t(compare) - int32_t(Op::LT_INT));
}

}  // namespace

bool is_jump(StepOp op) {
  return op == Op::JUMP || op == Op::JUMP_BACK || op == Op::JUMP_TRUE || op == Op::JUMP_FALSE ||
         op == Op::COUNT || op == Op::JUMP_NOT_CHARACTER_EQ || op == Op::JUMP_NOT_CHARACTER_NE ||
         (op >= Op::JUMP_LT_INT && op <= Op::JUMP_NOT_NE_INT_BY);
}

// The slot of a stack position at the start of a block, or kNowhere. `depth` is that of the stack.
int32_t Lowering::place_in(int32_t block, int64_t position, int64_t depth) const {
  const std::vector<int32_t>& places = shape_.parameters[size_t(block)].places;
  int64_t from_top = depth - 1 - position;
  return from_top < int64_t(places.size()) ? places[size_t(from_top)] : home(position);
}

// If the condition is the result of a comparison that is the last step, and only the branch needs
// it, removes that step, so that the branch can compare instead. With `tests`, also for
// SL_TEST_STEPS, which can only be fused with a branch that is taken if they fail.
Lowering::Compare Lowering::take_compare(const Entry& e, int64_t position, bool tests) {
  Compare compare;
  if (e.kind != Entry::Home && e.kind != Entry::Move) return compare;
  int32_t slot = slot_of_entry(e, position);
  Step* last = producer_of(slot);
  bool compares = last && last->op >= Op::LT_INT && last->op <= Op::NE_FLOAT;
  if (!compares && !(tests && last && is_test(last->op))) return compare;
  if (wanted(slot, Entry::Copy)) return compare;
  compare.fused = true;
  compare.step = *last;
  set_tags(slot, producer_.before);
  out_->pop_back();
  producer_ = before_producer_;
  return compare;
}

// If the condition is the negation of a bool, made by the last step for the branch alone, removes
// that step and returns the slot of the bool; else -1. The steps of DICT_LACKS stay together.
int32_t Lowering::take_not(const Entry& e, int64_t position) {
  if (e.kind != Entry::Home && e.kind != Entry::Move) return -1;
  int32_t slot = slot_of_entry(e, position);
  Step* last = producer_of(slot);
  if (!last || last->op != Op::NOT_BOOL || wanted(slot, Entry::Copy)) return -1;
  int32_t from = last->b;
  if (out_->size() > 1 && last[-1].op == Op::DICT_HAS && last[-1].a == from) return -1;
  set_tags(slot, producer_.before);
  out_->pop_back();
  producer_ = before_producer_;
  return from / int32_t(sizeof(Value));
}

// Emits a branch to `to` that is taken if the condition is `sense`.
void Lowering::branch(const Compare& compare, int32_t condition, bool sense, int32_t to,
                      int64_t work) {
  Step* step;
  if (compare.fused) {
    step = &emit(sense ? when(compare.step.op) : when_not(compare.step.op), 0, compare.step.b,
                 compare.step.c);
    step->origin = compare.step.origin;
  } else {
    step = &emit(sense ? Op::JUMP_TRUE : Op::JUMP_FALSE, 0, offset_of(condition));
  }
  step->x = to;
  step->work = work;
  if (compare.fused && compares_characters(compare.step.op)) {
    step->a = compare.step.x;
    step->y = compare.step.y;
  }
}

// Merges the tags and constants known here into the block's entrance. If that makes the entrance
// less precise, the block has to be translated again. The values must lie in their places.
void Lowering::arrive(int32_t block) {
  Entrance& entrance = entrances_[size_t(block)];
  charge(tags_.size() + stack_.size());
  std::vector<int32_t> constants;
  for (const Entry& e : stack_) constants.push_back(e.kind == Entry::Home ? e.index : -1);
  if (!entrance.reached) {
    stale_.insert(block);
    entrance.reached = true;
    entrance.tags = tags_;
    entrance.constants = std::move(constants);
    return;
  }
  bool stale = false;
  for (size_t k = 0; k < tags_.size(); ++k) {
    Tags sum = Tags(entrance.tags[k] | tags_[k]);
    stale = stale || sum != entrance.tags[k];
    entrance.tags[k] = sum;
  }
  for (size_t k = 0; k < constants.size(); ++k) {
    if (constants[k] == entrance.constants[k] || entrance.constants[k] == -1) continue;
    entrance.constants[k] = -1;
    stale = true;
  }
  if (stale) stale_.insert(block);
}

// Whether the STORE at pc_ only renames a value: the value lies in another register or is a
// constant, and later in the block the new register is only moved from. Then no step is needed.
bool Lowering::renames() const {
  const Entry& e = stack_.back();
  bool named = e.kind == Entry::Constant || e.kind == Entry::Copy || e.kind == Entry::Move;
  if (!named || (e.kind != Entry::Constant && e.index >= f_.registers)) return false;
  int32_t name = reg(f_.code[pc_]), old = e.kind == Entry::Constant ? -1 : e.index;
  if (name == old) return false;
  for (size_t pc = pc_ + 1; shape_.flow.block[pc] < 0; ++pc) {
    const Instruction& i = f_.code[pc];
    switch (i.op) {
      case Opcode::MOVE:
        if (reg(i) == name) return !read_again(pc);
        if (reg(i) == old) return false;
        break;
      case Opcode::STORE:
      case Opcode::STOREN:
        if (shape_.flow.stores(i, name) || shape_.flow.stores(i, old)) return false;
        break;
      case Opcode::LOAD:
        // The last LOAD of a register may move its value out.
        if (reg(i) == old && shape_.flow.left[pc] == Flow::kUnread) return false;
        [[fallthrough]];
      case Opcode::DROPR:
        if (reg(i) == name) return false;
        break;
      default: return false;
      case Opcode::LOADC:
      case Opcode::DROP: break;
    }
  }
  return false;
}

// Translates the instructions of a duplicated block here, on one edge to it (tail duplication).
void Lowering::duplicate(int32_t block, int64_t work) {
  size_t back = pc_;
  std::vector<std::pair<int32_t, Entry>> names;  // registers that only name a value
  auto named = [&](int32_t reg) {
    return std::find_if(names.begin(), names.end(), [&](auto& n) { return n.first == reg; });
  };
  int32_t next = -1;
  for (pc_ = size_t(shape_.flow.starts[size_t(block)]); next < 0; ++pc_) {
    charge(4);
    const Instruction& i = f_.code[pc_];
    // If this DROPR ends the life of a register that another register names, the name takes over
    // the value.
    auto heir = std::find_if(names.begin(), names.end(), [&](auto& n) {
      bool left = n.second.kind == Entry::Copy || n.second.kept;
      return i.op == Opcode::DROPR && left && n.second.index == reg(i);
    });
    if (i.op == Opcode::JMP) {
      work += i.x <= 0 ? 1 - int64_t(i.x) : 0;
      next = shape_.flow.block[pc_ + size_t(int64_t(i.x))];
      break;
    }
    if (i.op == Opcode::JF) {
      jump_if_false();
      break;
    }
    const Entry& top = stack_.empty() ? Entry() : stack_.back();
    bool known = std::any_of(names.begin(), names.end(), [&](auto& n) {
      return n.second.kind != Entry::Constant && n.second.index == top.index;
    });
    if (i.op == Opcode::STORE && !known && renames()) {
      names.push_back({reg(i), pop()});
    } else if (i.op == Opcode::MOVE && named(reg(i)) != names.end()) {
      Entry e = named(reg(i))->second;
      names.erase(named(reg(i)));
      push(e.kind, e.index);
      if (stack_.back().kind == Entry::Move) stack_.back().kept = e.kept;
    } else if (i.op == Opcode::DROPR && heir != names.end() &&
               shape_.flow.left[pc_] == Flow::kUnread) {
      heir->second.kind = Entry::Move;
      heir->second.kept = false;
    } else {
      step();
    }
    if (ends_flow(i.op)) break;
    next = shape_.flow.block[pc_ + 1];
    if (next >= 0) break;
  }
  if (next >= 0) edge_to(next, work);
  pc_ = back;
}

// The unconditional edge to a block: moves, and a jump. `work` is 0 unless it is a back edge.
void Lowering::edge_to(int32_t block, int64_t work) {
  if (shape_.duplicated[size_t(block)] && !work) return duplicate(block, 0);
  if (shape_.expanded[size_t(block)]) {
    canonicalise();
    return loop(block, work);
  }
  int64_t depth = int64_t(stack_.size());
  std::vector<PendingMove> moves;
  std::vector<std::pair<Entry, int64_t>> dead;
  for (int64_t p = 0; p < depth; ++p) {
    Entry& e = stack_[size_t(p)];
    int32_t place = place_in(block, p, depth);
    if (e.kind == Entry::Nowhere) continue;
    if (place == kNowhere) {
      dead.push_back({e, p});
      e = {Entry::Nowhere, -1};
      continue;
    }
    if (e.kind == Entry::Home && place == home(p)) continue;
    Entry::Kind kind = e.kind == Entry::Home ? Entry::Move : e.kind;
    moves.push_back({place, kind, e.kind == Entry::Constant ? e.index : slot_of_entry(e, p)});
    e = {Entry::Home, place == home(p) && e.kind == Entry::Constant ? e.index : -1};
  }
  charge(moves.size() * moves.size());
  for (const auto& [e, p] : dead) {
    int32_t slot = slot_of_entry(e, p);
    bool read = std::any_of(moves.begin(), moves.end(), [&, s = slot](const PendingMove& m) {
      return m.kind != Entry::Constant && m.from == s;
    });
    // A register that another move reads keeps its value until it is overwritten.
    if (e.kind == Entry::Home || (e.kind == Entry::Move && !read)) {
      if (!uncounted(tags(slot))) {
        emit(Op::RESET, offset_of(slot));
        set_tags(slot, one(Tag::None));
      }
    }
  }
  move_together(std::move(moves));
  arrive(block);
  Step& jump = emit(work ? Op::JUMP_BACK : Op::JUMP);
  jump.x = block;
  jump.work = work;
}

// The target of a conditional jump to a block: the block itself, or a stub with the moves that this
// edge needs.
int32_t Lowering::stub_to(int32_t block, int64_t work) {
  std::vector<Step> steps;
  std::vector<Step>* outer = out_;
  out_ = &steps;
  producer_ = Producer();
  edge_to(block, work);
  out_ = outer;
  producer_ = Producer();
  if (steps.size() == 1 && steps[0].op == Op::JUMP) return steps[0].x;
  int32_t index = int32_t(draft_->stubs.size());
  draft_->stubs.insert(draft_->stubs.end(), steps.begin(), steps.end());
  return ~index;
}

// If some entry names a slot that is no register (the home slot of another position), moves all
// values to their home slots.
void Lowering::canonicalise() {
  std::vector<PendingMove> moves;
  bool shifted = false;
  for (int64_t p = 0; p < int64_t(stack_.size()); ++p) {
    const Entry& e = stack_[size_t(p)];
    bool from_slot = e.kind == Entry::Copy || e.kind == Entry::Move;
    shifted = shifted || (from_slot && e.index >= f_.registers);
  }
  if (!shifted) return;
  for (int64_t p = 0; p < int64_t(stack_.size()); ++p) {
    Entry& e = stack_[size_t(p)];
    if (e.kind == Entry::Home || e.kind == Entry::Nowhere) continue;
    moves.push_back({home(p), e.kind, e.index});
    e = Entry();
  }
  charge(moves.size() * moves.size());
  move_together(std::move(moves));
}

// LOOP with (trip number, trip limit, condition, carried values...) on top of the stack. Moves the
// values to the places of the body, then decides whether to run it (again).
void Lowering::loop(int32_t block, int64_t work) {
  size_t at = size_t(shape_.flow.starts[size_t(block)]);
  const Instruction& i = f_.code[at];
  int32_t body = shape_.flow.block[at + 1];
  int32_t carried = i.n - 2;
  int64_t depth = int64_t(stack_.size()), trip = depth - i.n - 1, most = trip + 1,
          condition = trip + 2;
  const Entry& count = stack_[size_t(most)];
  bool settled = count.kind == Entry::Constant || count.kind == Entry::Home;
  int32_t known = settled ? count.index : -1;
  // If the trip limit is INT64_MAX (a `while`) and the body does not read the trip number, trips
  // need not be counted: the condition alone decides.
  bool endless = shape_.private_counts[size_t(block)] && known >= 0 &&
                 f_.constants[size_t(known)].same(Value(INT64_MAX));
  int32_t number = place_in(body, condition, depth);
  bool counts = number != kNowhere || !endless;
  if (counts) counted_[size_t(block)] = 1;
  if (number == kNowhere) number = home(condition);

  Entry decision = stack_[size_t(condition)];
  bool always =
      decision.kind == Entry::Constant && f_.constants[size_t(decision.index)].same(Value(true));
  Compare compare;
  if (!always && !counts) compare = take_compare(decision, condition);
  for (int64_t position : {trip, most}) {
    size_t before = out_->size();
    materialise(position);
    bool copies = out_->size() == before + 1 && out_->back().op == Op::COPY_RAW;
    if (copies) out_->back().x = block + 1;  // drop_counts() removes it if no edge counts trips
    guarded(position, 'i');
  }
  int32_t decided = always || compare.fused ? 0 : guarded(condition, 'b');
  // The values are moved to the places of the body before the decision. The edge out of the loop
  // takes them from there.
  std::vector<PendingMove> moves;
  for (int64_t p = 0; p < depth; ++p) {
    Entry& e = stack_[size_t(p)];
    if (p == condition) continue;
    int32_t place = place_in(body, p, depth);
    if (e.kind == Entry::Home && place == home(p)) continue;
    moves.push_back({place, e.kind == Entry::Home ? Entry::Move : e.kind,
                     e.kind == Entry::Constant ? e.index : slot_of_entry(e, p)});
    e = {Entry::Home, -1};
  }
  charge(moves.size() * moves.size());
  auto writes = [&](int32_t slot) {
    return std::any_of(moves.begin(), moves.end(),
                       [&](const PendingMove& m) { return m.to == slot; });
  };
  if (compare.fused) {
    bool clobbered = false;
    for (const PendingMove& m : moves) {
      bool stays = m.kind != Entry::Constant && m.to == m.from;
      bool looked_at = offset_of(m.to) == compare.step.b || offset_of(m.to) == compare.step.c;
      clobbered = clobbered || (looked_at && !stays);
    }
    if (clobbered) {  // a move overwrites an operand of the comparison: compare before the moves
      decided = home(condition);
      emit_result(compare.step.op, decided, compare.step.b, compare.step.c, one(Tag::Bool), false);
      compare.fused = false;
    }
  } else if (!always && decided < f_.registers && writes(decided)) {
    copy_value(home(condition), Entry::Copy, decided);
    decided = home(condition);
  }
  // The decision may be the result of the last step, so that result must not go elsewhere.
  if (!compare.fused && !always) producer_ = Producer();
  size_t before = out_->size();
  Step last = before ? out_->back() : Step();
  move_together(std::move(moves));
  // A move may have been merged into the last step (send_elsewhere). If an operand of the
  // comparison is the result of that step, it lies elsewhere now.
  if (compare.fused && before && out_->size() >= before) {
    int32_t old = last.a, now = (*out_)[before - 1].a;
    if (old != now && (*out_)[before - 1].op == last.op) {
      if (compare.step.b == old) compare.step.b = now;
      if (compare.step.c == old) compare.step.c = now;
    }
  }
  if (number < f_.registers && !uncounted(tags(number))) {
    emit(Op::RESET, offset_of(number));
    set_tags(number, one(Tag::None));
  }
  stack_[size_t(condition)] = stack_[size_t(trip)] = Entry();
  producer_ = Producer();

  // The decision. On the edge into the body the trip number is set.
  std::vector<Tags> tags_here = tags_;
  Entries stack_here = stack_;
  charge(tags_.size() + stack_.size());
  if (always && !counts) {
    set_tags(number, one(Tag::Int));
    arrive(body);
    Step& jump = emit(work ? Op::JUMP_BACK : Op::JUMP);
    jump.x = body;
    jump.work = work;
    return;
  }
  size_t leaves = SIZE_MAX;
  if (counts) {
    if (!always) {
      leaves = out_->size();
      branch(compare, decided, false, 0, 0);
    }
    Step& count = emit(Op::COUNT, offset_of(home(trip)), offset_of(home(most)), offset_of(number));
    count.x = body;
    count.work = work;
    set_tags(number, one(Tag::Int));
  } else {
    branch(compare, decided, true, body, work);
  }
  arrive(body);
  tags_ = std::move(tags_here);
  stack_ = std::move(stack_here);
  if (leaves == SIZE_MAX) return leave_loop(block, carried, 0);
  std::vector<Step> steps;
  std::vector<Step>* outer = out_;
  out_ = &steps;
  // The branch that leaves the loop does not account for the work of the back edge. The edge has to
  // only if its target lies inside of the loop's own body.
  size_t target = at + size_t(int64_t(i.x));
  leave_loop(block, carried, target < at + size_t(work) ? work : 0);
  out_ = outer;
  producer_ = Producer();
  int32_t index = int32_t(draft_->stubs.size());
  draft_->stubs.insert(draft_->stubs.end(), steps.begin(), steps.end());
  (*out_)[leaves].x = ~index;
  emit(Op::JUMP).x = ~index;
}

// The edge out of a loop: pops the trip number, the limit and the condition, and moves the carried
// values down. `work` is added to what the edge accounts for.
void Lowering::leave_loop(int32_t block, int32_t carried, int64_t work) {
  size_t at = size_t(shape_.flow.starts[size_t(block)]);
  size_t target = at + size_t(int64_t(f_.code[at].x));
  int32_t body = shape_.flow.block[at + 1];
  int64_t depth = int64_t(stack_.size()), trip = depth - f_.code[at].n - 1;
  if (carried > kMostCarried) {
    if (carried) { emit(Op::SHIFT, offset_of(home(trip)), offset_of(home(trip + 3)), carried); }
    for (int64_t k = 0; k < carried; ++k) { set_tags(home(trip + k), tags(home(trip + 3 + k))); }
    stack_.resize(size_t(trip + carried));
    for (int64_t p = trip; p < trip + carried; ++p) stack_[size_t(p)] = Entry();
    cleared(trip + carried, depth);
  } else {
    std::vector<Entry> kept;
    for (int64_t k = 0; k < carried; ++k) {
      int64_t p = trip + 3 + k;
      int32_t place = place_in(body, p, depth);
      kept.push_back(place == kNowhere ? Entry{Entry::Nowhere, -1} : Entry{Entry::Move, place});
    }
    stack_.resize(size_t(trip));
    for (const Entry& e : kept) stack_.push_back(e);
  }
  if (target <= at) work += int64_t(at - target) + 1;
  edge_to(shape_.flow.block[target], work);
}

}  // namespace scriptlang::lower
