// Operands: where the values on the stack lie while a block is translated, and the steps that move
// them between slots.
#include <algorithm>
#include <optional>

#include "lowering.h"

namespace scriptlang::lower {

using Op = StepOp;

namespace {

constexpr Op kGetters[] = {Op::LIST_GET,  Op::ROW_GET,  Op::DICT_GET, Op::DICT_GET_OR,
                           Op::ATTRIBUTE, Op::TUPLE_AT, Op::PART_GET};

bool is_untyped_getter(Op op) {
  return std::find(std::begin(kGetters), std::end(kGetters), op) != std::end(kGetters);
}
bool is_getter(Op op) {
  return std::any_of(std::begin(kGetters), std::end(kGetters),
                     [op](Op first) { return op >= first && int32_t(op) <= int32_t(first) + 3; });
}
bool is_borrowing_getter(Op op) {
  return op >= Op::LIST_GET_BORROWED && op <= Op::DICT_GET_OR_BORROWED;
}
// The getter that borrows its result instead of counting it.
std::optional<Op> borrowing_variant(Op op) {
  switch (op) {
    case Op::LIST_GET: return Op::LIST_GET_BORROWED;
    case Op::ROW_GET: return Op::ROW_GET_BORROWED;
    case Op::DICT_GET: return Op::DICT_GET_BORROWED;
    case Op::ATTRIBUTE: return Op::ATTRIBUTE_BORROWED;
    case Op::TUPLE_AT: return Op::TUPLE_AT_BORROWED;
    case Op::PART_GET: return Op::PART_GET_BORROWED;
    case Op::DICT_GET_OR: return Op::DICT_GET_OR_BORROWED;
    default: return std::nullopt;
  }
}
constexpr size_t kBorrowedAtOnce = 3;  // a borrowing getter is at most so many steps before its use

// Steps that read slots b, c and perhaps x, write slot a and do nothing else.
bool only_computes(Op op) {
  return op <= Op::SQRT_FLOAT || is_getter(op) || is_borrowing_getter(op) || op == Op::GUARD_INT ||
         op == Op::GUARD_FLOAT || op == Op::GUARD_BOOL || op == Op::COPY_RAW || op == Op::RESET ||
         op == Op::COPY || op == Op::STRING_AT || op == Op::LIST_LEN || op == Op::STRING_LEN ||
         op == Op::DICT_LEN;
}

}  // namespace

Op number_getter(Op op, char letter) {
  return Op(int32_t(op) + (letter == 'i' ? 1 : letter == 'f' ? 2 : 3));
}

Step& Lowering::emit(StepOp op, int32_t a, int32_t b, int32_t c) {
  Step step;
  step.op = op;
  step.origin = int32_t(pc_);
  step.a = a;
  step.b = b;
  step.c = c;
  out_->push_back(step);
  return out_->back();
}

// Emits a step that writes slot `to`. While it is the last step, send_elsewhere() may change that
// slot if `movable`.
Step& Lowering::emit_result(StepOp op, int32_t to, int32_t b, int32_t c, Tags result,
                            bool movable) {
  before_producer_ = producer_;
  producer_ = {out_, out_->size(), movable, tags(to)};
  set_tags(to, result);
  return emit(op, offset_of(to), b, c);
}

// The last step, if it wrote its result to this slot and the result may still go elsewhere.
Step* Lowering::producer_of(int32_t slot) {
  bool last = producer_.steps == out_ && producer_.index + 1 == out_->size();
  if (!last || !producer_.movable || out_->back().a != offset_of(slot)) return nullptr;
  return &out_->back();
}

// The same if only RESET steps followed the producer, and none of them is of `slot` or `to`.
Step* Lowering::producer_before_resets(int32_t slot, int32_t to) {
  bool here = producer_.steps == out_ && producer_.index < out_->size();
  if (!here || !producer_.movable) return nullptr;
  Step& step = (*out_)[producer_.index];
  if (step.a != offset_of(slot)) return nullptr;
  bool only_resets = std::all_of(
      out_->begin() + ptrdiff_t(producer_.index) + 1, out_->end(), [&](const Step& later) {
        return later.op == Op::RESET && later.a != offset_of(slot) && later.a != offset_of(to);
      });
  return only_resets ? &step : nullptr;
}

// The getter that wrote a slot, if it may check the type of its result itself. It may if only steps
// without side effects followed, and none of them read the slot.
Step* Lowering::getter_of(int32_t slot) {
  constexpr size_t kFarthest = 8;
  if (producer_.steps != out_) return nullptr;
  for (size_t back = 1; back <= std::min(kFarthest, out_->size()); ++back) {
    Step& step = (*out_)[out_->size() - back];
    if (step.a == offset_of(slot)) return is_untyped_getter(step.op) ? &step : nullptr;
    if (!only_computes(step.op)) return nullptr;
    if (step.b == offset_of(slot) || step.c == offset_of(slot) || step.x == offset_of(slot)) {
      return nullptr;
    }
  }
  return nullptr;
}

// Whether a step drops the old value of the slot that it writes.
static bool drops_old(StepOp op) {
  return op == Op::OP || op == Op::OP_BORROWED || op == Op::OP_BORROWED_ONE || is_getter(op) ||
         op == Op::TUPLE || op == Op::LIST || (op >= Op::STRING_AT && op <= Op::STRING_PREPEND) ||
         op == Op::CHR || op == Op::STR;
}

// Makes the last step write its result to slot `to` instead of `from`; then `from` keeps the value
// that it had before the step. Returns false if that is not possible.
bool Lowering::send_elsewhere(int32_t from, int32_t to) {
  Step* step = producer_of(from);
  if (!step) step = producer_before_resets(from, to);
  if (!step || !(uncounted(tags(to)) || drops_old(step->op))) return false;
  Tags result = tags(from);
  set_tags(from, producer_.before);
  producer_.before = tags(to);
  set_tags(to, result);
  step->a = offset_of(to);
  return true;
}

// The slot of the frame that holds an uncounted constant. Equal constants share a slot.
int32_t Lowering::constant_slot(const Value& value) {
  std::vector<int32_t>& same = constant_index_[value.bits()];
  for (int32_t k : same) {
    if (constants_[size_t(k)].same(value)) return first_constant_ + k;
  }
  same.push_back(int32_t(constants_.size()));
  constants_.push_back(value);
  return first_constant_ + same.back();
}

Tags Lowering::tags_of_entry(const Entry& e, int64_t position) const {
  if (e.kind == Entry::Constant) return one(f_.constants[size_t(e.index)].tag());
  return tags(slot_of_entry(e, position));
}

int32_t Lowering::slot_of_entry(const Entry& e, int64_t position) const {
  return e.kind == Entry::Copy || e.kind == Entry::Move ? e.index : home(position);
}

// Emits the step that writes slot `to`: with a copy of slot `from`, with its moved contents, or
// with constant `from`.
void Lowering::copy_value(int32_t to, Entry::Kind kind, int32_t from) {
  bool raw = uncounted(tags(to));
  if (kind == Entry::Constant) {
    const Value& value = f_.constants[size_t(from)];
    if (raw && uncounted(one(value.tag()))) {
      emit(Op::COPY_RAW, offset_of(to), offset_of(constant_slot(value)));
    } else {
      emit(Op::CONSTANT, offset_of(to)).x = from;
    }
    set_tags(to, one(value.tag()));
    return;
  }
  if (to == from) return;
  // A value without a reference count is copied, not moved: another entry may still read it.
  bool plain_value = uncounted(tags(from)), moves = kind == Entry::Move && !plain_value;
  emit(raw && plain_value ? Op::COPY_RAW
       : moves            ? Op::MOVE
                          : Op::COPY,
       offset_of(to), offset_of(from));
  set_tags(to, tags(from));
  if (moves) set_tags(from, one(Tag::None));
}

// Puts the value of a stack position into its home slot.
void Lowering::materialise(int64_t position) {
  Entry& e = stack_[size_t(position)];
  if (e.kind == Entry::Home) return;
  Entry old = e;
  e = {Entry::Home, old.kind == Entry::Constant ? old.index : -1};
  if (old.kind == Entry::Move && !uncounted(tags(old.index))) before_clobber(old.index);
  if (old.kind != Entry::Nowhere) copy_value(home(position), old.kind, old.index);
}

// To be called before a slot is written: entries that name the slot get their values now.
void Lowering::before_clobber(int32_t slot) {
  int64_t highest = std::min(int64_t(stack_.size()), kDeepest);
  // A copy first: materialising a move changes the slot.
  for (Entry::Kind kind : {Entry::Copy, Entry::Move}) {
    for (int64_t p = 0; p < highest; ++p) {
      const Entry& e = stack_[size_t(p)];
      if (e.kind == kind && e.index == slot) materialise(p);
    }
  }
}

// Pushes an entry: a copy of or a move from slot `index`, or constant `index`.
void Lowering::push(Entry::Kind kind, int32_t index) {
  if (kind == Entry::Copy || kind == Entry::Move) {
    // An entry that moves out of this register is materialised first: it leaves the register None.
    int64_t highest = std::min(int64_t(stack_.size()), kDeepest);
    for (int64_t p = 0; p < highest; ++p) {
      const Entry& e = stack_[size_t(p)];
      if (e.kind == Entry::Move && e.index == index) materialise(p);
    }
  }
  stack_.push_back({kind, index});
  int64_t position = int64_t(stack_.size()) - 1;
  if (position >= kDeepest) materialise(position);
}

// Pushes the value that the last step has written to the home slot.
void Lowering::push_home(Tags result) {
  stack_.push_back(Entry());
  set_tags(home(int64_t(stack_.size()) - 1), result);
}

Entry Lowering::pop() {
  Entry e = stack_.back();
  stack_.pop_back();
  return e;
}

// Records that the home slots of positions from, ..., to - 1 hold None after a stack step.
void Lowering::cleared(int64_t from, int64_t to) {
  for (int64_t p = from; p < std::min(to, int64_t(stack_slots_)); ++p) {
    set_tags(home(p), one(Tag::None));
  }
}

// Whether an entry of this kind still names the slot.
bool Lowering::wanted(int32_t slot, Entry::Kind kind) const {
  const Entry* end = stack_.begin() + std::min(int64_t(stack_.size()), kDeepest);
  return std::any_of(stack_.begin(), end,
                     [&](const Entry& e) { return e.kind == kind && e.index == slot; });
}

// Puts the values of positions first, ..., first + count - 1 into their home slots, by at most one
// step.
void Lowering::gather(int64_t first, int64_t count) {
  int64_t pending = std::count_if(stack_.begin() + first, stack_.begin() + first + count,
                                  [](const Entry& e) { return e.kind != Entry::Home; });
  if (pending > 1) {
    int32_t begin = int32_t(draft_->fills.size());
    add_fills(first, count);
    emit(Op::FILL, 0, 0, int32_t(draft_->fills.size()) - begin).x = begin;
  }
  for (int64_t p = first; p < first + count && pending == 1; ++p) materialise(p);
}

// To be called before the values of these positions are moved, which empties registers. Entries
// below that copy from one of those registers get their values first.
void Lowering::before_moves(int64_t first, int64_t count) {
  for (int64_t p = first; p < first + count; ++p) {
    const Entry& e = stack_[size_t(p)];
    if (e.kind != Entry::Move || uncounted(tags(e.index))) continue;
    for (int64_t below = 0; below < std::min(first, kDeepest); ++below) {
      const Entry& other = stack_[size_t(below)];
      if (other.kind == Entry::Copy && other.index == e.index) materialise(below);
    }
  }
}

// Adds the fills that put the values of these positions into their home slots.
void Lowering::add_fills(int64_t first, int64_t count) {
  before_moves(first, count);
  for (int64_t p = first; p < first + count; ++p) {
    Entry& e = stack_[size_t(p)];
    if (e.kind == Entry::Home) continue;
    Fill fill;
    fill.to = offset_of(home(p));
    if (e.kind == Entry::Constant) {
      fill.kind = Fill::Constant;
      fill.constant = &f_.constants[size_t(e.index)];
      set_tags(home(p), one(fill.constant->tag()));
    } else {
      bool raw = uncounted(tags(e.index));
      fill.kind = raw ? Fill::Raw : e.kind == Entry::Move ? Fill::Move : Fill::Copy;
      bool move = fill.kind == Fill::Move;
      fill.from = offset_of(e.index);
      set_tags(home(p), tags(e.index));
      if (move) set_tags(e.index, one(Tag::None));
    }
    draft_->fills.push_back(fill);
    e = Entry();
  }
}

// The slot of an operand that a step only reads. The caller pops its entry, and calls release().
int32_t Lowering::read_slot(int64_t position) {
  const Entry& e = stack_[size_t(position)];
  if (e.kind == Entry::Constant) return constant_slot(f_.constants[size_t(e.index)]);
  return slot_of_entry(e, position);
}

// The same for an operand that only the next step reads. If a getter has just produced the value,
// the getter is replaced by its borrowing variant, which copies the bytes without counting a
// reference.
int32_t Lowering::borrowed_slot(int64_t position) {
  return borrow_through(position, read_slot(position));
}

// The same for an operand that read_slot() says to be in `slot`.
int32_t Lowering::borrow_through(int64_t position, int32_t slot) {
  bool above = stack_[size_t(position)].kind == Entry::Home && slot == home(position);
  Step* getter = above ? borrowable(slot) : nullptr;
  if (!getter) return slot;
  int32_t from = getter->b / int32_t(sizeof(Value)), to = from < first_constant_ ? -1 : from;
  bool borrowed =
      std::find(borrowed_slots_.begin(), borrowed_slots_.end(), to) != borrowed_slots_.end();
  if (!borrowed) to = new_borrowed_slot();
  getter->op = *borrowing_variant(getter->op);
  getter->a = offset_of(to);
  set_tags(slot, kUncountedTags);  // as it was before
  return to;
}

// The getter that wrote a stack slot, if its result can be borrowed until the next step is done.
// The container must be in a register, be a constant or be borrowed itself, and no step after the
// getter may drop a register.
Step* Lowering::borrowable(int32_t slot) {
  int32_t offset = offset_of(slot), registers = offset_of(f_.registers),
          constants = offset_of(first_constant_);
  for (size_t back = 1; back <= std::min(kBorrowedAtOnce, out_->size()); ++back) {
    Step& step = (*out_)[out_->size() - back];
    if (step.a == offset) {
      auto stays = [&](int32_t from) { return from < registers || from >= constants; };
      bool rooted = stays(step.b) && (step.op != Op::DICT_GET_OR || stays(step.x));
      bool reads = step.c == offset || step.x == offset;
      return rooted && !reads && borrowing_variant(step.op) ? &step : nullptr;
    }
    bool above = step.a >= registers && step.a < constants;
    bool harmless = step.op <= Op::SQRT_FLOAT || is_borrowing_getter(step.op) ||
                    (above && (is_getter(step.op) || step.op == Op::RESET));
    if (!harmless || step.b == offset || step.c == offset || step.x == offset) return nullptr;
  }
  return nullptr;
}

// One of kBorrowedAtOnce + 1 slots, in turn, so that operands of one step get different slots.
int32_t Lowering::new_borrowed_slot() {
  size_t at = next_borrowed_++ % (kBorrowedAtOnce + 1);
  if (at == borrowed_slots_.size()) {
    borrowed_slots_.push_back(first_constant_ + int32_t(constants_.size()));
    constants_.push_back(Value());
  }
  return borrowed_slots_[at];
}

// The slot of an operand that a step consumes: the step moves a counted value out of the slot, and
// copies any other.
int32_t Lowering::consumed(int64_t position) {
  Entry e = stack_[size_t(position)];
  if (uncounted(tags_of_entry(e, position))) return read_slot(position);
  if (e.kind != Entry::Move) {
    materialise(position);
    return home(position);
  }
  // The step empties the register, so other entries that read it are materialised first.
  stack_[size_t(position)] = Entry();
  before_clobber(e.index);
  stack_[size_t(position)] = e;
  return e.index;
}

// Hands the reference in a slot to the last entry that still names the slot. Returns whether there
// was one; else the caller drops the value.
bool Lowering::transfer(int32_t slot) {
  for (int64_t p = std::min(int64_t(stack_.size()), kDeepest); p-- > 0;) {
    Entry& e = stack_[size_t(p)];
    if (e.index != slot || (e.kind != Entry::Copy && e.kind != Entry::Move)) continue;
    e.kind = Entry::Move;
    e.kept = false;
    return true;
  }
  return false;
}

// Ends the life of an operand that the step only read; `e` has been popped.
void Lowering::release(Entry e, int64_t position) {
  if (e.kind != Entry::Home && !e.ends()) return;
  int32_t slot = slot_of_entry(e, position);
  if (uncounted(tags(slot))) return;
  if (e.kind == Entry::Move && transfer(slot)) return;
  emit(Op::RESET, offset_of(slot));
  set_tags(slot, one(Tag::None));
}

// Whether an operand may be converted to float in its slot. A register that is read again must keep
// its int, unless it is declared to hold a float.
bool Lowering::becomes_float(const Entry& e) const {
  if (e.kind == Entry::Home || e.kind == Entry::Move) return true;
  size_t reg = size_t(e.index);
  return reg < f_.register_types.size() && f_.register_types[reg] &&
         f_.register_types[reg]->kind == TypeKind::Float;
}

// The slot of an operand that must be an int, a bool or a float (letters i b f). Emits a check if
// the type is not proven. After the check it is proven.
int32_t Lowering::guarded(int64_t position, char letter) {
  Tag tag = letter == 'i' ? Tag::Int : letter == 'b' ? Tag::Bool : Tag::Double;
  Entry& e = stack_[size_t(position)];
  if (e.kind == Entry::Constant) {
    const Value& value = f_.constants[size_t(e.index)];
    if (letter == 'f' && value.is_int()) return constant_slot(Value(double(value.raw_int())));
    if (value.tag() == tag) return constant_slot(value);
    materialise(position);
  }
  int32_t slot = slot_of_entry(stack_[size_t(position)], position);
  if (tags(slot) == one(tag)) return slot;
  if (letter == 'f' && tags(slot) == one(Tag::Int)) return as_float(position);
  if (letter == 'f' && !becomes_float(stack_[size_t(position)])) {
    materialise(position);
    slot = home(position);
  }
  if (Step* getter = getter_of(slot)) {
    getter->op = number_getter(getter->op, letter);
  } else {
    emit(letter == 'i'   ? Op::GUARD_INT
         : letter == 'b' ? Op::GUARD_BOOL
                         : Op::GUARD_FLOAT,
         offset_of(slot));
  }
  set_tags(slot, one(tag));
  return slot;
}

// The slot with the value of an int operand, converted to float.
int32_t Lowering::as_float(int64_t position) {
  Entry& e = stack_[size_t(position)];
  if (e.kind == Entry::Constant) {
    const Value& value = f_.constants[size_t(e.index)];
    if (value.is_int()) return constant_slot(Value(double(value.raw_int())));
  }
  int32_t from = guarded(position, 'i'), to = home(position);
  emit_result(Op::INT_TO_FLOAT, to, offset_of(from), 0, one(Tag::Double), false);
  e = Entry();
  return to;
}

// Emits parallel moves: each reads the value that its source had before any of the moves.
void Lowering::move_together(std::vector<PendingMove> moves) {
  int32_t spares = 0;
  auto reads = [&](size_t me, int32_t slot) {
    for (size_t k = 0; k < moves.size(); ++k) {
      if (k != me && moves[k].kind != Entry::Constant && moves[k].from == slot) return true;
    }
    return false;
  };
  auto apply = [&](size_t k) {
    PendingMove m = moves[k];
    moves.erase(moves.begin() + ptrdiff_t(k));
    if (m.to == m.from && m.kind != Entry::Constant) return;
    bool last_reader = m.kind == Entry::Move && !reads(moves.size(), m.from);
    if (last_reader && send_elsewhere(m.from, m.to)) return;
    copy_value(m.to, m.kind, m.from);
  };
  while (!moves.empty()) {
    size_t chosen = moves.size();
    for (size_t k = moves.size(); k-- > 0 && chosen == moves.size();) {
      bool empties = moves[k].kind == Entry::Move && !uncounted(tags(moves[k].from));
      bool waits = reads(k, moves[k].to) || (empties && reads(k, moves[k].from));
      if (!waits) chosen = k;
    }
    if (chosen < moves.size()) {
      apply(chosen);
      continue;
    }
    // A cycle: the value that the first move would overwrite is saved in a spare slot.
    if (spare_slots_ == 0) throw NoSpareSlot();
    if (spares == spare_slots_) throw TooLarge();
    int32_t slot = moves[0].to, spare = first_spare_ + spares++;
    copy_value(spare, Entry::Move, slot);
    size_t last = moves.size();
    for (size_t k = 0; k < moves.size(); ++k) {
      if (moves[k].kind == Entry::Constant || moves[k].from != slot) continue;
      moves[k].from = spare;
      moves[k].kind = Entry::Copy;
      last = k;
    }
    if (last < moves.size()) moves[last].kind = Entry::Move;
  }
}

}  // namespace scriptlang::lower
