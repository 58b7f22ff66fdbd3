// Lowering, main part: the work list of blocks, and what each instruction becomes.
#include "lowering.h"

#include <algorithm>

#include "ops/language.h"

namespace scriptlang::lower {

using Op = StepOp;

namespace {

constexpr size_t kMostWork = size_t(1) << 26;

// The tags that the result of an opcode may have, if it has one result.
Tags result_of(Opcode op) {
  const bytecode::Values& pushes = bytecode::info_of(op).pushes;
  return pushes.size == 1 ? Tags(scriptlang::tags_of(pushes.kinds[0])) : kAnyTags;
}

Fill::Kind fill_of(char letter) {
  return letter == 'i'   ? Fill::Int
         : letter == 'f' ? Fill::Float
         : letter == 'b' ? Fill::Bool
                         : Fill::Copy;
}

}  // namespace

Lowering::Lowering(const Function& function, int32_t spare_slots, bool records)
    : f_(function), records_(records), spare_slots_(spare_slots), shape_(shape_of(function)) {
  stack_slots_ = f_.max_stack + 1;
  first_spare_ = f_.registers + stack_slots_;
  first_constant_ = first_spare_ + spare_slots_;
  size_t blocks = shape_.flow.starts.size();
  if (blocks * size_t(first_constant_) > kMostWork / 4) throw TooLarge();
  tags_.assign(size_t(first_constant_), one(Tag::None));
  entrances_.resize(blocks);
  drafts_.resize(blocks);
  counted_.resize(blocks);
  for (const OperatorUse& use : f_.operators) rules_.push_back(rule_of(use.qualified_name()));
}

// Counts work; beyond a limit it throws TooLarge, so that hostile code is cheap to lower.
void Lowering::charge(size_t work) {
  work_ += work;
  if (work_ > kMostWork) throw TooLarge();
}

std::unique_ptr<Code> Lowering::run() {
  for (int k = 0; k < f_.parameters; ++k) stack_.push_back(Entry());
  // The caller of the function puts its arguments into the parameters of the first block.
  for (int k = 0; k < f_.parameters; ++k) {
    int32_t place = place_in(0, k, f_.parameters);
    if (place != kNowhere) tags_[size_t(place)] = kAnyTags;
  }
  arrive(0);
  for (int32_t block = 0; !stale_.empty();) {  // a work list, visited in rounds in block order
    auto next = stale_.lower_bound(block);
    if (next == stale_.end()) next = stale_.begin();
    int32_t chosen = *next;
    stale_.erase(next);
    translate(chosen);
    block = chosen + 1;
  }
  return assemble();
}

void Lowering::begin(int32_t block) {
  Draft& draft = drafts_[size_t(block)];
  draft = Draft();
  draft_ = &draft;
  out_ = &draft.steps;
  producer_ = Producer();
  pc_ = size_t(shape_.flow.starts[size_t(block)]);
  const Entrance& entrance = entrances_[size_t(block)];
  int64_t depth = shape_.flow.depth[pc_];
  stack_.resize(0);
  for (int64_t p = 0; p < depth; ++p) {
    int32_t place = place_in(block, p, depth);
    Entry e{Entry::Home, entrance.constants[size_t(p)]};
    if (place == kNowhere) e = {Entry::Nowhere, -1};
    else if (place != home(p)) e = {Entry::Move, place};
    stack_.push_back(e);
  }
  tags_ = entrance.tags;
  charge(stack_.size() + tags_.size());
}

void Lowering::translate(int32_t block) {
  begin(block);
  size_t start = pc_;
  if (start == 0 && f_.has_schema) {
    for (int k = 0; k < f_.parameters; ++k) {
      char letter = letter_of(*f_.arguments[size_t(k)].type);
      if (letter && stack_[size_t(k)].kind != Entry::Nowhere) guarded(k, letter);
    }
    bool only_guards = std::all_of(out_->begin(), out_->end(), [](const Step& s) {
      return s.op == Op::GUARD_INT || s.op == Op::GUARD_FLOAT || s.op == Op::GUARD_BOOL;
    });
    guards_ = only_guards ? int32_t(out_->size()) : 0;
  }
  for (;; ++pc_) {
    charge(4);
    const Instruction& i = f_.code[pc_];
    if (pc_ != start && shape_.flow.block[pc_] >= 0) {
      --pc_;  // errors and accounting belong to the instruction before
      edge_to(shape_.flow.block[pc_ + 1], 0);
      return;
    }
    switch (i.op) {
      case Opcode::JMP: {
        int64_t work = i.x <= 0 ? 1 - int64_t(i.x) : 0;
        edge_to(shape_.flow.block[pc_ + size_t(int64_t(i.x))], work);
        return;
      }
      case Opcode::JF: jump_if_false(); return;
      case Opcode::LOOP: loop(block, 0); return;
      default: step();
    }
    if (ends_flow(i.op)) return;
  }
}

void Lowering::step() {
  const Instruction& i = f_.code[pc_];
  if (i.op == Opcode::OP_ONE || i.op == Opcode::OP_ANY) return operator_step();
  switch (i.op) {
    case Opcode::LOAD:  // the last LOAD of a register may move the value; its DROPR comes later
      if (shape_.flow.left[pc_] != Flow::kUnread) return push(Entry::Copy, reg(i));
      push(Entry::Move, reg(i));
      stack_.back().kept = stack_.back().kind == Entry::Move;
      return;
    case Opcode::MOVE:
      push(Entry::Move, reg(i));
      if (read_again(pc_)) empty_now(reg(i));
      return;
    case Opcode::LOADC: return push(Entry::Constant, i.x);
    case Opcode::STORE: return store(reg(i));
    case Opcode::STOREN:
      for (int k = i.n; k-- > 0;) store(reg(i, k));
      return;
    case Opcode::DROP: return drop();
    case Opcode::DROPR:
      if (shape_.flow.left[pc_] == Flow::kShared) return;
      if (read_again(pc_)) return empty_now(reg(i));
      if (uncounted(tags(reg(i)))) return;
      release({Entry::Move, reg(i)}, 0);
      return;
    case Opcode::UNCHECKED_CAST: return;
    case Opcode::UN_INITIALIZED:
      emit(Op::RESET, offset_of(home(int64_t(stack_.size()))));
      push_home(one(Tag::None));
      return;
    case Opcode::CALL: return call(*f_.callees[size_t(i.x)]);
    case Opcode::FUSED:  // the group computes what its body says
      if (records_) return call(*f_.callees[size_t(i.x)]);
      return stack_step(stack_op(i.op), result_of(i.op));
    case Opcode::FORMAT:
      if (i.x > kMostBorrowed) return stack_step(stack_op(i.op), result_of(i.op));
      return call_borrowing(language::format, i.x, {}, kStringTags);
    case Opcode::GET_ATTR: return attribute(i.x);
    case Opcode::SET_ATTR: return set_attribute(i.x);
    case Opcode::TUPLE_INDEX: return tuple_index();
    case Opcode::TUPLE_UNPACK: return unpack();
    case Opcode::TUPLE_CONSTRUCT: return construct(Op::TUPLE, i.x, nullptr);
    case Opcode::NAMED_TUPLE_CONSTRUCT:
      return construct(Op::TUPLE, i.n, f_.types[size_t(i.x)].get());
    case Opcode::LIST_CONSTRUCT: return construct(Op::LIST, i.n, f_.types[size_t(i.x)].get());
    case Opcode::DICT_INDEX: return look_at_two(Op::DICT_GET, kAnyTags);
    case Opcode::__IS__: return look_at_two(Op::IS, one(Tag::Bool));
    case Opcode::__ISNOT__: return look_at_two(Op::IS_NOT, one(Tag::Bool));
    case Opcode::DIM: return look_at_one(Op::DIM, one(Tag::Int));
    case Opcode::DTYPE: return look_at_one(Op::DTYPE, one(Tag::Int));
    case Opcode::__NOT__: {
      int64_t position = int64_t(stack_.size()) - 1;
      int32_t slot = guarded(position, 'b');
      pop();
      emit_result(Op::NOT_BOOL, home(position), offset_of(slot), 0, one(Tag::Bool));
      stack_.push_back(Entry());
      return;
    }
    case Opcode::RET:
      // Checks the declared type of a result that is a number: callers rely on it.
      if (char letter = result_letter(f_)) {
        give_back(guarded(int64_t(stack_.size()) - 1, letter));
        return;
      }
      if (f_.results == 1 && stack_.back().kind != Entry::Constant) {
        give_back(slot_of_entry(stack_.back(), int64_t(stack_.size()) - 1));
        return;
      }
      gather(0, f_.results);
      give_back(home(0));
      return;
    default: return stack_step(stack_op(i.op), result_of(i.op));
  }
}

// RET: `a` is the slot of the first result, from which the machine moves the results out. `x` says
// whether the frame may hold other counted values, which the machine then has to drop.
void Lowering::give_back(int32_t slot) {
  bool empty = true;
  charge(tags_.size());
  for (int32_t k = 0; k < int32_t(tags_.size()) && empty; ++k) {
    bool moved = k >= slot && k < slot + f_.results;
    empty = moved || uncounted(tags(k));
  }
  int32_t constant = slot - first_constant_;
  bool known = constant >= 0 ? constant < int32_t(constants_.size()) &&
                                   uncounted(one(constants_[size_t(constant)].tag()))
                             : slot < int32_t(tags_.size()) && uncounted(tags(slot));
  bool number = empty && f_.results == 1 && known;
  emit(Op::RET, offset_of(slot), 0, int32_t(f_.results)).x = number  ? kNothingAtAll
                                                             : empty ? kNothingCounted
                                                                     : kCounted;
}

// Sets a register to None, after the entries that still name it got their values.
void Lowering::empty_now(int32_t reg) {
  before_clobber(reg);
  emit(Op::RESET, offset_of(reg));
  set_tags(reg, one(Tag::None));
}

char Lowering::declared_letter(int32_t reg) const {
  bool declared = size_t(reg) < f_.register_types.size() && f_.register_types[size_t(reg)];
  return declared ? letter_of(*f_.register_types[size_t(reg)]) : 0;
}

bool Lowering::proven_arguments(const Function& callee, int64_t first) const {
  if (!callee.has_schema) return false;
  for (int64_t k = 0; k < callee.parameters; ++k) {
    char letter = letter_of(*callee.arguments[size_t(k)].type);
    Tags known = tags_of_entry(stack_[size_t(first + k)], first + k);
    if (letter && known != tags_of(letter)) return false;
  }
  return true;
}

// TUPLE_UNPACK whose parts are stored at once: one step writes them to the registers, and checks
// the parts whose registers are declared to hold numbers.
void Lowering::unpack() {
  int64_t position = int64_t(stack_.size()) - 1, count = f_.code[pc_].n;
  const Instruction& next = f_.code[pc_ + 1];
  bool stored =
      shape_.flow.block[pc_ + 1] < 0 &&
      (count == 1 ? next.op == Opcode::STORE : next.op == Opcode::STOREN && next.n == count);
  int32_t tuple = stored ? read_slot(position) : -1;
  if (tuple < 0 || shape_.flow.stores(next, tuple)) {
    return stack_step(StepOp::TUPLE_UNPACK, kAnyTags);
  }
  Entry e = pop();
  charge(size_t(count));
  for (int k = 0; k < count; ++k) before_clobber(reg(next, k));
  size_t begin = draft_->fills.size();
  for (int k = 0; k < count; ++k) {
    int32_t part = reg(next, k);
    char letter = declared_letter(part);
    draft_->fills.push_back({fill_of(letter), offset_of(part), 0, nullptr});
    set_tags(part, tags_of(letter));
  }
  take_apart(e, position, tuple, begin, int32_t(count));
  for (++pc_; f_.code[pc_ + 1].op == Opcode::DROPR && shape_.flow.block[pc_ + 1] < 0; ++pc_) {
    int32_t part = reg(f_.code[pc_ + 1]);
    if (shape_.flow.left[pc_ + 1] != Flow::kUnread || !shape_.flow.stores(next, part)) break;
    for (int k = 0; k < count; ++k) {
      if (reg(next, k) == part) draft_->fills[begin + size_t(k)].kind = Fill::Nowhere;
    }
    set_tags(part, one(Tag::None));
  }
}

// Emits the step that unpacks a tuple by the fills from `rows` on. A tuple that a getter just read
// from a list is unpacked without a reference: the step replaces the getter.
void Lowering::take_apart(const Entry& e, int64_t position, int32_t tuple, size_t rows,
                          int32_t count) {
  int32_t list = e.kind == Entry::Home ? list_of(tuple) : -1;
  bool kept =
      list >= 0 && std::none_of(draft_->fills.begin() + ptrdiff_t(rows), draft_->fills.end(),
                                [&](const Fill& row) { return row.to == list; });
  Step got;
  if (kept && take_step(Op::LIST_GET, tuple, &got)) {
    Step& step = emit(Op::UNPACK_AT, 0, got.b, got.c);
    step.x = int32_t(rows);
    step.y = count;
    return;
  }
  // The tuple can be borrowed only if no part overwrites the register that holds its container.
  Step* getter = e.kind == Entry::Home ? borrowable(tuple) : nullptr;
  bool held = getter && getter->b < offset_of(f_.registers) &&
              std::none_of(
                  draft_->fills.begin() + ptrdiff_t(rows), draft_->fills.end(),
                  [&](const Fill& row) { return row.to == getter->b || row.to == getter->x; });
  if (held) {
    stack_.push_back(e);
    tuple = borrow_through(position, tuple);
    stack_.pop_back();
  }
  bool last = (e.kind == Entry::Home && !held) ||
              (e.kind == Entry::Move && !wanted(tuple, Entry::Copy) && !wanted(tuple, Entry::Move));
  emit(last ? Op::UNPACK_LAST : Op::UNPACK, 0, offset_of(tuple), count).x = int32_t(rows);
  if (last) {
    set_tags(tuple, one(Tag::None));
  } else {
    release(e, position);
  }
}

// If a getter's result goes to a register that is declared to hold a number, the getter checks it.
// The declaration proves nothing, but it says which check is useful.
void Lowering::check_early(int32_t slot, int32_t reg) {
  char letter = declared_letter(reg);
  Step* getter = letter ? getter_of(slot) : nullptr;
  if (!getter) return;
  getter->op = number_getter(getter->op, letter);
  set_tags(slot, tags_of(letter));
}

// STORE: pops a value into a register.
void Lowering::store(int32_t reg) {
  int64_t position = int64_t(stack_.size()) - 1;
  Entry e = pop();
  if (e.kind == Entry::Nowhere) return;
  int32_t from = slot_of_entry(e, position);
  if ((e.kind == Entry::Move || e.kind == Entry::Copy) && from == reg) return;
  if (e.kind == Entry::Home) check_early(from, reg);
  size_t before = out_->size();
  before_clobber(reg);
  if (e.kind == Entry::Move && !uncounted(tags(from))) before_clobber(from);
  bool dies = e.kind == Entry::Home || e.kind == Entry::Move;
  // send_elsewhere() leaves the home slot without the value: no entry may still name it.
  bool alone = e.kind == Entry::Home || !(wanted(from, Entry::Copy) || wanted(from, Entry::Move));
  if (dies && alone && out_->size() == before && send_elsewhere(from, reg)) return;
  copy_value(reg, e.kind == Entry::Home ? Entry::Move : e.kind,
             e.kind == Entry::Constant ? e.index : from);
}

void Lowering::drop() {
  int64_t position = int64_t(stack_.size()) - 1;
  release(pop(), position);
}

// Emits the step that does what the instruction does, on home slots of the stack.
void Lowering::stack_step(StepOp op, Tags result) {
  const Instruction& i = f_.code[pc_];
  int64_t pops = pops_of(f_, i), pushes = pushes_of(f_, i);
  int64_t first = int64_t(stack_.size()) - pops;
  gather(first, pops);
  emit(op, offset_of(home(first)));
  stack_.resize(size_t(first));
  charge(size_t(pops + pushes));
  cleared(first, first + std::max(pops, pushes) + 4);
  for (int64_t k = 0; k < pushes; ++k) push_home(result);
}

// If the last step added a constant to the argument of this row, removes the step and makes the
// call add it.
bool Lowering::add_in_row(size_t row, int32_t slot) {
  if (out_->empty()) return false;
  Fill& fill = draft_->fills[row];
  const Step step = out_->back();
  bool adds = step.op == Op::ADD_INT || step.op == Op::SUB_INT;
  if (fill.kind != Fill::Raw || fill.from != offset_of(slot) || !adds || step.a != fill.from) {
    return false;
  }
  int64_t place = step.c / int32_t(sizeof(Value)) - first_constant_;
  if (place < 0 || place >= int64_t(constants_.size())) return false;
  int64_t number = constants_[size_t(place)].raw_int();
  if (number <= INT32_MIN || number > INT32_MAX) return false;
  fill = {Fill::Plus, int32_t(step.op == Op::ADD_INT ? number : -number), step.b, nullptr};
  out_->pop_back();
  producer_ = Producer();
  if (step.b != step.a) set_tags(slot, kUncountedTags);
  return true;
}

// CALL: arguments are moved from their slots to the callee's frame. The slot of a single result may
// still be changed.
void Lowering::call(const Function& callee) {
  int64_t count = callee.parameters, first = int64_t(stack_.size()) - count;
  Op op = proven_arguments(callee, first) ? Op::CALL_PROVEN : Op::CALL;
  char letter = result_letter(callee);
  int32_t begin = name_rows(first, count);
  for (int64_t k = count; k-- > 0 && add_in_row(size_t(begin + k), home(first + k));) {}
  stack_.resize(size_t(first));
  charge(size_t(callee.results));
  bool one_result = callee.results == 1;
  Step& step = emit_result(op, home(first), 0, int32_t(count), tags_of(letter), one_result);
  step.x = begin;
  step.callee = records_ ? &recorded(callee) : &callee;
  if (one_result) return stack_.push_back(Entry());
  producer_ = Producer();
  for (int64_t k = 0; k < callee.results; ++k) push_home(kAnyTags);
}

void Lowering::operator_step() {
  const Instruction& i = f_.code[pc_];
  const Rule* rule = rules_[size_t(i.x)];
  if (rule && typed_operator(*rule)) return;
  call_operator(f_.operators[size_t(i.x)]);
}

// Emits a call of an operator, with the default values of arguments that are not given.
void Lowering::call_operator(const OperatorUse& use) {
  const Instruction& i = f_.code[pc_];
  const int64_t given = i.arguments, first = int64_t(stack_.size()) - given;
  Call call = begin_call(i, use, offset_of(home(first)), draft_->fills);
  charge(size_t(call.arguments));
  add_fills(first, given);
  end_call(&call, given, &draft_->fills);
  stack_.resize(size_t(first));
  cleared(first, first + call.arguments + std::max<int64_t>(i.results, 1));
  int32_t index = int32_t(draft_->calls.size());
  draft_->calls.push_back(call);
  if (records_) {
    emit(Op::OP_RECORDED, offset_of(home(first))).x = index;
    for (int k = 0; k < i.results; ++k) push_home(kAnyTags);
    return;
  }
  if (i.results == 1) {
    emit_result(Op::OP, home(first), 0, 0, kAnyTags).x = index;
    stack_.push_back(Entry());
    return;
  }
  emit(Op::OP_MANY, offset_of(home(first))).x = index;
  for (int k = 0; k < i.results; ++k) push_home(kAnyTags);
}

void Lowering::jump_if_false() {
  const Instruction& i = f_.code[pc_];
  int64_t position = int64_t(stack_.size()) - 1;
  int32_t no = shape_.flow.block[pc_ + size_t(int64_t(i.x))], yes = shape_.flow.block[pc_ + 1];
  int64_t work = i.x <= 0 ? 1 - int64_t(i.x) : 0;
  Entry e = stack_.back();
  if (e.kind == Entry::Constant && f_.constants[size_t(e.index)].is_bool()) {
    pop();
    bool holds = f_.constants[size_t(e.index)].raw_bool();
    return edge_to(holds ? yes : no, holds ? 0 : work);
  }
  int32_t negated = take_not(e, position);
  Compare compare;
  if (negated < 0) compare = take_compare(e, position, true);
  else if (negated == slot_of_entry(e, position)) compare = take_compare(e, position);
  int32_t condition = negated >= 0 || compare.fused ? negated : guarded(position, 'b');
  pop();
  size_t at = out_->size();
  branch(compare, condition, negated >= 0, 0, 0);
  // Both edges start with the state as it is here, so it is saved while the stub is made.
  std::vector<Tags> tags = tags_;
  Entries stack = stack_;
  charge(tags.size() + stack.size());
  int32_t target = stub_to(no, work);
  (*out_)[at].x = target;
  tags_ = std::move(tags);
  stack_ = std::move(stack);
  edge_to(yes, 0);
}

}  // namespace scriptlang::lower
