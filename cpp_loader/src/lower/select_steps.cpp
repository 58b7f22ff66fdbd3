// Instruction selection: the steps that operators and some instructions are lowered to.
#include <algorithm>
#include <cstring>

#include "lowering.h"

namespace scriptlang::lower {

using Op = StepOp;

namespace {

// The variant on floats of a step on ints.
Op on_floats(Op op) {
  switch (op) {
    case Op::ADD_INT: return Op::ADD_FLOAT;
    case Op::SUB_INT: return Op::SUB_FLOAT;
    case Op::MUL_INT: return Op::MUL_FLOAT;
    case Op::DIV_INT: return Op::DIV_FLOAT;
    case Op::FLOORDIV_INT: return Op::FLOORDIV_FLOAT;
    case Op::MOD_INT: return Op::MOD_FLOAT;
    case Op::LT_INT: return Op::LT_FLOAT;
    case Op::LE_INT: return Op::LE_FLOAT;
    case Op::GT_INT: return Op::GT_FLOAT;
    case Op::GE_INT: return Op::GE_FLOAT;
    case Op::EQ_INT: return Op::EQ_FLOAT;
    case Op::NE_INT: return Op::NE_FLOAT;
    default: raise(ErrorKind::RuntimeError, "the step ", int(op), " has no variant on floats");
  }
}

// The variant of an untyped step (LIST_SET) for a value whose tag is proven: int, float or bool.
// The step itself for any other value.
Op for_numbers(Op op, Tags tags) {
  int32_t which = tags == one(Tag::Int)      ? 1
                  : tags == one(Tag::Double) ? 2
                  : tags == one(Tag::Bool)   ? 3
                                             : 0;
  return Op(int32_t(op) + which);
}

bool gives_bool(Op op) { return op >= Op::LT_INT && op <= Op::NE_FLOAT; }

}  // namespace

Tags tags_of(char letter) {
  switch (letter) {
    case 'i': return one(Tag::Int);
    case 'f': return one(Tag::Double);
    case 'b': return one(Tag::Bool);
    default: return kAnyTags;
  }
}

// Emits steps for an operator. Returns false, and emits nothing, if it has to be called instead.
bool Lowering::typed_operator(const Rule& rule) {
  switch (rule.kind) {
    case RuleKind::Same: return true;
    case RuleKind::Numbers: return numbers(rule);
    case RuleKind::Convert: return converted(rule);
    case RuleKind::Borrowed:
    case RuleKind::Changes: return borrowing_operator(rule);
    case RuleKind::ListGet: list_get(); return true;
    case RuleKind::ListSet: list_set(); return true;
    case RuleKind::ListAppend: list_append(); return true;
    case RuleKind::Length: look_at_one(rule.op, one(Tag::Int)); return true;
    case RuleKind::StringAdd: string_add(); return true;
    case RuleKind::ToText: look_at_one(rule.op, kStringTags); return true;
    case RuleKind::StringAt: string_at(); return true;
    case RuleKind::StringSlice: return string_slice(rule);
    case RuleKind::StringEqual: string_equal(rule.op); return true;
    case RuleKind::DeriveIndex:
      if (!is_one(stack_.back())) return typed(rule.op, "iii", 'i', rule), true;
      pop();
      typed(Op::ADD_INT, "ii", 'i', rule);
      return true;
    case RuleKind::DictGetOr: dict_get_or(); return true;
    case RuleKind::DictGet:
    case RuleKind::DictHas:
    case RuleKind::StringOrder: look_at_two(rule.op, tags_of(rule.result)); return true;
    case RuleKind::DictSet: dict_set(); return true;
    default: typed(rule.op, rule.operands, rule.result, rule); return true;
  }
}

// Converts a Scalar to int or float. Any int converts to float; a float may be too large for int.
bool Lowering::converted(const Rule& rule) {
  int64_t position = int64_t(stack_.size()) - 1;
  Tags known = tags_of_entry(stack_.back(), position);
  if (known == tags_of(rule.result)) return true;
  if (rule.result == 'f' && known == one(Tag::Int)) {
    typed(rule.op, "i", rule.result, rule);
  } else {
    look_at_one(rule.op == Op::INT_TO_FLOAT ? Op::TO_FLOAT : Op::TO_INT, tags_of(rule.result));
  }
  return true;
}

// Emits the typed step for an operator on Scalars. Returns false if the operands are not proven to
// be ints or floats.
bool Lowering::numbers(const Rule& rule) {
  char letters[3] = "ii";
  for (int k = 0; k < 2; ++k) {
    int64_t position = int64_t(stack_.size()) - 2 + k;
    Tags known = tags_of_entry(stack_[size_t(position)], position);
    if (known == one(Tag::Double)) {
      letters[k] = 'f';
    } else if (known != one(Tag::Int)) {
      return false;
    }
  }
  if (!std::strcmp(letters, "ii")) {
    char result = gives_bool(rule.op) ? 'b' : rule.op == Op::DIV_INT ? 'f' : 'i';
    typed(rule.op, "ii", result, rule);
    return true;
  }
  for (char& letter : letters) letter = letter == 'i' ? 'n' : letter;
  letters[2] = 0;
  typed(on_floats(rule.op), letters, gives_bool(rule.op) ? 'b' : 'f', rule);
  return true;
}

// Emits a step on numbers, with the checks and conversions that its operands need (see Rule).
void Lowering::typed(StepOp op, const char* letters, char result, const Rule& rule) {
  int64_t count = int64_t(std::strlen(letters)), first = int64_t(stack_.size()) - count;
  int32_t slots[3] = {0, 0, 0};
  for (int64_t k = 0; k < count; ++k) {
    slots[k] = letters[k] == 'n' ? as_float(first + k) : guarded(first + k, letters[k]);
  }
  for (int64_t k = 0; k < count; ++k) pop();
  Step& step =
      emit_result(op, home(first), offset_of(slots[0]), offset_of(slots[1]), tags_of(result));
  if (rule.kind == RuleKind::FloatCall) step.function = rule.function;
  if (rule.kind == RuleKind::FloatCallTwo) step.function_two = rule.function_two;
  if (count == 3) step.x = offset_of(slots[2]);
  stack_.push_back(Entry());
}

void Lowering::list_get() {
  int64_t first = int64_t(stack_.size()) - 2;
  int32_t list = read_slot(first), index = guarded(first + 1, 'i');
  bool in_place = stack_[size_t(first)].kind == Entry::Home;
  Step row;
  bool got = in_place && !out_->empty() && list_of(home(first)) >= 0;
  if (!got) list = borrow_through(first, list);
  pop();
  Entry holder = pop();
  if (in_place && index != home(first) && take_step(Op::LIST_GET, home(first), &row)) {
    emit_result(Op::ROW_GET, home(first), row.b, row.c, kAnyTags, row.b != row.a).x =
        offset_of(index);
  } else {
    in_place = in_place && list == home(first);
    emit_result(Op::LIST_GET, home(first), offset_of(list), offset_of(index), kAnyTags, !in_place);
    if (holder.kind != Entry::Home) release(holder, first);
  }
  stack_.push_back(Entry());
}

// Emits a call that borrows its arguments. Returns false if the operator is not called that way.
bool Lowering::borrowing_operator(const Rule& rule) {
  const Instruction& i = f_.code[pc_];
  const OperatorUse& use = f_.operators[size_t(i.x)];
  int64_t given = i.arguments, count = given + int64_t(use.defaults.size());
  if (i.results != 1 || given == 0 || count > kMostBorrowed || use.trailing_out) return false;
  // What an operator changes is made anew for each call.
  if (rule.kind == RuleKind::Changes) stack_[stack_.size() - size_t(given)].list = -1;
  call_borrowing(i.run, given, use.defaults, tags_of(rule.result));
  return true;
}

// If a step of this block made this value, a list of constants, removes the step and makes the list
// here, once, for an operator that only reads its arguments.
bool Lowering::take_constant_list(int64_t position, Value* list) {
  Entry& e = stack_[size_t(position)];
  if (e.kind != Entry::Home || e.list < 0 || size_t(e.list) >= out_->size()) return false;
  const Step& step = (*out_)[size_t(e.list)];
  bool made_here = step.op == Op::LIST && step.a == offset_of(home(position));
  if (!made_here || wanted(home(position), Entry::Copy)) return false;
  Ref<List> made = List::make({}, step.type->elements[0]);
  for (int32_t k = 0; k < step.c; ++k) made->push(*constant_of(draft_->fills[size_t(step.x + k)]));
  *list = made;
  list->publish();                           // threads share it
  set_tags(home(position), kUncountedTags);  // as it was before
  out_->erase(out_->begin() + e.list);
  producer_ = Producer();
  return true;
}

// The constant that a row takes, or null.
const Value* Lowering::constant_of(const Fill& row) const {
  if (row.kind == Fill::Constant) return row.constant;
  int32_t slot = row.from / int32_t(sizeof(Value)), at = slot - first_constant_;
  bool constant =
      row.kind == Fill::Raw && at >= 0 && at < int32_t(constants_.size()) &&
      std::find(borrowed_slots_.begin(), borrowed_slots_.end(), slot) == borrowed_slots_.end();
  return constant ? &constants_[size_t(at)] : nullptr;
}

// Emits a call that borrows its arguments: `given` values on top of the stack, then the defaults.
void Lowering::call_borrowing(OpFn run, int64_t given, const std::vector<Value>& defaults,
                              Tags result) {
  int64_t first = int64_t(stack_.size()) - given;
  Call call;
  call.run = run;
  call.arguments = int32_t(given + int64_t(defaults.size()));
  call.results = 1;
  call.fill = int32_t(draft_->fills.size());
  call.borrowed_from = int32_t(draft_->borrowed.size());
  for (int64_t k = 0; k < given; ++k) {
    const Entry& e = stack_[size_t(first + k)];
    Value list;
    bool constant = e.kind == Entry::Constant, listed = take_constant_list(first + k, &list);
    draft_->borrowed.push_back(constant ? f_.constants[size_t(e.index)] : std::move(list));
    if (constant || listed) continue;
    int32_t slot = borrowed_slot(first + k);
    draft_->fills.push_back({Fill::Raw, offset_of(int32_t(k)), offset_of(slot), nullptr});
  }
  call.fills = int32_t(draft_->fills.size()) - call.fill;
  draft_->borrowed.insert(draft_->borrowed.end(), defaults.begin(), defaults.end());
  if (call.arguments % 2) draft_->borrowed.emplace_back();
  draft_->calls.push_back(call);
  std::vector<Entry> holders(stack_.begin() + first, stack_.end());
  stack_.resize(size_t(first));
  bool in_place = holders[0].kind == Entry::Home && !uncounted(tags(home(first)));
  bool single = call.arguments == 1 && call.fills == 1;
  emit_result(single ? Op::OP_BORROWED_ONE : Op::OP_BORROWED, home(first),
              single ? draft_->fills.back().from : 0, 0, result, !in_place)
      .x = int32_t(draft_->calls.size()) - 1;
  for (int64_t k = given; k-- > 1;) release(holders[size_t(k)], first + k);
  if (holders[0].kind != Entry::Home) release(holders[0], first);
  stack_.push_back(Entry());
}

// Removes the step `op` that wrote a home slot, and returns true, if the step can be merged into
// one that is emitted now. It can be if only arithmetic that cannot fail followed, and no operand
// of the step has changed since.
bool Lowering::take_step(StepOp op, int32_t slot, Step* taken) {
  constexpr size_t kFarthest = 4;
  for (size_t back = 1; back <= std::min(kFarthest, out_->size()); ++back) {
    size_t at = out_->size() - back;
    const Step& step = (*out_)[at];
    if (step.a == offset_of(slot)) {
      if (step.op != op) return false;
      for (size_t k = at + 1; k < out_->size(); ++k) {
        int32_t written = (*out_)[k].a;
        if (written == step.b || written == step.c) return false;
      }
      *taken = step;
      if (step.b != step.a) set_tags(slot, kUncountedTags);  // as it was before
      out_->erase(out_->begin() + ptrdiff_t(at));
      producer_ = Producer();
      return true;
    }
    bool harmless = step.op < Op::FLOORDIV_INT || step.op == Op::COPY_RAW;
    if (!harmless || step.b == offset_of(slot) || step.c == offset_of(slot)) return false;
  }
  return false;
}

// The result of _set_item is the list itself: its entry stays as it is.
void Lowering::list_set() {
  int64_t first = int64_t(stack_.size()) - 3;
  int32_t list = read_slot(first), index = guarded(first + 1, 'i'), value = consumed(first + 2);
  Tags known = tags_of_entry(stack_.back(), first + 2);
  Step row;
  if (row_is_dropped(first) && take_step(Op::LIST_GET, home(first), &row)) {
    emit(for_numbers(Op::ROW_SET, known), row.b, row.c, offset_of(value)).x = offset_of(index);
    stack_.resize(size_t(first));
    ++pc_;  // the DROP
  } else {
    if (is_dropped()) list = borrow_through(first, list);
    pop();
    pop();
    emit(for_numbers(Op::LIST_SET, known), offset_of(list), offset_of(index), offset_of(value));
    stack_.back().list = -1;  // its elements are no longer those that it was made of
  }
  emptied(value);
}

// Whether the next instruction drops the operator's result.
bool Lowering::is_dropped() const {
  return f_.code[pc_ + 1].op == Opcode::DROP && shape_.flow.block[pc_ + 1] < 0;
}

// Whether the list at a position was just read from another list, and is dropped next.
bool Lowering::row_is_dropped(int64_t position) const {
  bool above = stack_[size_t(position)].kind == Entry::Home;
  return above && is_dropped() && list_of(home(position)) >= 0;
}

// The offset of the list from which a getter just read the value in a home slot; -1 if there is no
// such getter, or the list was in that slot itself.
int32_t Lowering::list_of(int32_t slot) const {
  for (size_t back = 1; back <= std::min<size_t>(4, out_->size()); ++back) {
    const Step& step = (*out_)[out_->size() - back];
    if (step.a != offset_of(slot)) continue;
    return step.op == Op::LIST_GET && step.b != step.a ? step.b : -1;
  }
  return -1;
}

void Lowering::list_append() {
  int64_t first = int64_t(stack_.size()) - 2;
  int32_t value = consumed(first + 1);
  int32_t list = is_dropped() ? borrowed_slot(first) : read_slot(first);
  Tags known = tags_of_entry(stack_.back(), first + 1);
  pop();
  emit(for_numbers(Op::LIST_APPEND, known), offset_of(list), offset_of(value));
  stack_.back().list = -1;  // as in list_set()
  emptied(value);
}

// Records that a step consumed an operand: a counted value has left the slot.
void Lowering::emptied(int32_t slot) {
  if (slot >= first_constant_ || uncounted(tags(slot))) return;
  set_tags(slot, Tags((tags(slot) & kUncountedTags) | one(Tag::None)));
}

void Lowering::dict_set() {
  int64_t first = int64_t(stack_.size()) - 3;
  int32_t value = consumed(first + 2), dict = borrowed_slot(first), key = borrowed_slot(first + 1);
  pop();
  Entry name = pop(), holder = pop();
  emit(Op::DICT_SET, offset_of(dict), offset_of(key), offset_of(value));
  emptied(value);
  release(name, first + 1);
  release(holder, first);
}

void Lowering::dict_get_or() {
  int64_t first = int64_t(stack_.size()) - 3;
  int32_t dict = borrowed_slot(first), key = borrowed_slot(first + 1), other = read_slot(first + 2);
  Entry last = pop(), name = pop(), holder = pop();
  bool in_place = dict == home(first);
  bool movable = !in_place && !name.ends() && !last.ends();
  emit_result(Op::DICT_GET_OR, home(first), offset_of(dict), offset_of(key), kAnyTags, movable).x =
      offset_of(other);
  release(last, first + 2);
  release(name, first + 1);
  if (holder.kind != Entry::Home) release(holder, first);
  stack_.push_back(Entry());
}

void Lowering::string_at() {
  int64_t first = int64_t(stack_.size()) - 2;
  int32_t index = guarded(first + 1, 'i'), text = borrowed_slot(first);
  pop();
  Entry holder = pop();
  bool in_place = text == home(first);
  emit_result(Op::STRING_AT, home(first), offset_of(text), offset_of(index), one(Tag::Text),
              !in_place);
  if (holder.kind != Entry::Home) release(holder, first);
  stack_.push_back(Entry());
}

// A slice with step 1 and bounds that are proven uncounted becomes a step; other slices are calls.
bool Lowering::string_slice(const Rule& rule) {
  const Instruction& i = f_.code[pc_];
  const std::vector<Value>& defaults = f_.operators[size_t(i.x)].defaults;
  bool single =
      i.arguments == 4 ? is_one(stack_.back()) : i.arguments == 3 && defaults.back().same(Value(1));
  int64_t first = int64_t(stack_.size()) - i.arguments;
  if (!single) return borrowing_operator(rule);
  for (int64_t p = first + 1; p < first + 3; ++p) {
    if (!uncounted(tags_of_entry(stack_[size_t(p)], p))) return borrowing_operator(rule);
  }
  int32_t start = read_slot(first + 1), end = read_slot(first + 2), text = borrowed_slot(first);
  stack_.resize(size_t(first + 1));
  Entry holder = pop();
  bool in_place = text == home(first);
  emit_result(Op::STRING_SLICE, home(first), offset_of(text), offset_of(start), kStringTags,
              !in_place)
      .x = offset_of(end);
  if (holder.kind != Entry::Home) release(holder, first);
  stack_.push_back(Entry());
  return true;
}

// If the operands are characters that were just read from strings, they are compared inside of the
// strings. One of them may also be a constant of one character.
void Lowering::string_equal(StepOp op) {
  int64_t first = int64_t(stack_.size()) - 2;
  Step left, right;
  bool both_home =
      stack_[size_t(first)].kind == Entry::Home && stack_[size_t(first + 1)].kind == Entry::Home;
  bool taken = both_home && take_step(Op::STRING_AT, home(first + 1), &right);
  if (is_character(stack_.back()) && stack_[size_t(first)].kind == Entry::Home &&
      take_step(Op::STRING_AT, home(first), &left)) {  // the right one is character 0 of a constant
    right.b = offset_of(read_slot(first + 1));
    right.c = offset_of(constant_slot(Value(0)));
    return compare_characters(op, left, right);
  }
  if (taken && (right.b == right.a || !take_step(Op::STRING_AT, home(first), &left))) {
    emit(Op::STRING_AT, right.a, right.b, right.c);
    set_tags(home(first + 1), one(Tag::Text));
    taken = false;
  }
  if (!taken) return look_at_two(op, one(Tag::Bool));
  compare_characters(op, left, right);
}

void Lowering::compare_characters(StepOp op, const Step& left, const Step& right) {
  int64_t first = int64_t(stack_.size()) - 2;
  pop();
  pop();
  Step& step = emit_result(op == Op::STRING_EQ ? Op::CHARACTER_EQ : Op::CHARACTER_NE, home(first),
                           left.b, left.c, one(Tag::Bool), left.b != left.a);
  step.x = right.b;
  step.y = right.c;
  stack_.push_back(Entry());
}

bool Lowering::is_character(const Entry& e) const {
  if (e.kind != Entry::Constant) return false;
  const Value& value = f_.constants[size_t(e.index)];
  return value.is_string() && value.as_string().size() == 1;
}

bool Lowering::is_one(const Entry& e) const {
  return e.kind == Entry::Constant && f_.constants[size_t(e.index)].same(Value(1));
}

// String concatenation. An operand that dies here is consumed, so that its text can grow in place.
void Lowering::string_add() {
  int64_t first = int64_t(stack_.size()) - 2;
  auto dies = [&](int64_t position) {
    Entry::Kind kind = stack_[size_t(position)].kind;
    return kind == Entry::Move || kind == Entry::Home;
  };
  // An inline string cannot grow in place: the other operand is extended instead.
  auto may_grow = [&](int64_t position) {
    return dies(position) && tags_of_entry(stack_[size_t(position)], position) != one(Tag::Text);
  };
  bool prepend = dies(first + 1) && !may_grow(first) && (may_grow(first + 1) || !dies(first));
  bool append = !prepend && dies(first);
  int32_t a = append ? consumed(first) : read_slot(first);
  int32_t b = prepend ? consumed(first + 1) : read_slot(first + 1);
  if (append) b = borrow_through(first + 1, b);
  Entry second = pop(), holder = pop();
  Op op = append ? Op::STRING_APPEND : prepend ? Op::STRING_PREPEND : Op::STRING_ADD;
  // An operand that is not consumed and lies in the result's slot has to be overwritten there, so
  // the result cannot go elsewhere.
  bool movable = append || holder.kind != Entry::Home;
  if (append && a == home(first)) set_tags(a, one(Tag::None));
  emit_result(op, home(first), offset_of(a), offset_of(b), kStringTags, movable);
  if (append && a != home(first)) emptied(a);
  if (prepend) emptied(b);
  if (!prepend) release(second, first + 1);
  if (!append && holder.kind != Entry::Home) release(holder, first);
  stack_.push_back(Entry());
}

// TUPLE_INDEX. If the tuple was just read from a list, one step reads the part from there.
void Lowering::tuple_index() {
  int64_t first = int64_t(stack_.size()) - 2;
  bool proven =
      stack_.back().kind == Entry::Constant && f_.constants[size_t(stack_.back().index)].is_int();
  Step row;
  if (proven && stack_[size_t(first)].kind == Entry::Home &&
      take_step(Op::LIST_GET, home(first), &row)) {
    int32_t index = read_slot(first + 1);
    pop();
    pop();
    emit_result(Op::PART_GET, home(first), row.b, row.c, kAnyTags, row.b != row.a).x =
        offset_of(index);
    stack_.push_back(Entry());
    return;
  }
  look_at_two(Op::TUPLE_AT, kAnyTags);
}

// Adds rows (Fill) that consume the values of positions first, ... from the slots that they lie in.
// Returns the index of the first row.
int32_t Lowering::name_rows(int64_t first, int64_t count) {
  charge(size_t(count));
  before_moves(first, count);
  int32_t begin = int32_t(draft_->fills.size());
  for (int64_t p = first; p < first + count; ++p) {
    Entry e = stack_[size_t(p)];
    Fill row;
    bool number = e.kind == Entry::Constant && uncounted(one(f_.constants[size_t(e.index)].tag()));
    if (e.kind == Entry::Constant && !number) {
      row.kind = Fill::Constant;
      row.constant = &f_.constants[size_t(e.index)];
    } else {
      int32_t slot = number ? constant_slot(f_.constants[size_t(e.index)]) : slot_of_entry(e, p);
      bool raw = number || uncounted(tags(slot));
      row.kind = raw ? Fill::Raw : e.kind == Entry::Copy ? Fill::Copy : Fill::Move;
      row.from = offset_of(slot);
      if (row.kind == Fill::Move) set_tags(slot, one(Tag::None));
    }
    draft_->fills.push_back(row);
  }
  return begin;
}

// Emits the step that makes a tuple or list of the values on top of the stack.
void Lowering::construct(StepOp op, int64_t count, const Type* type) {
  int64_t first = int64_t(stack_.size()) - count;
  int32_t begin = name_rows(first, count);
  stack_.resize(size_t(first));
  Tag tag = op == Op::TUPLE ? Tag::Tuple : Tag::List;
  Step& step = emit_result(op, home(first), 0, int32_t(count), one(tag));
  step.x = begin;
  step.type = type;
  Entry made;
  bool constant = op == Op::LIST && count > 0;
  for (int32_t k = 0; k < count && constant; ++k) {
    constant = constant_of(draft_->fills[size_t(begin + k)]) != nullptr;
  }
  if (constant) made.list = int32_t(out_->size()) - 1;
  stack_.push_back(made);
}

void Lowering::attribute(int32_t slot) {
  int64_t position = int64_t(stack_.size()) - 1;
  int32_t object = borrowed_slot(position);
  Entry holder = pop();
  bool movable = object != home(position);
  emit_result(Op::ATTRIBUTE, home(position), offset_of(object), 0, kAnyTags, movable).x = slot;
  if (holder.kind != Entry::Home) release(holder, position);
  stack_.push_back(Entry());
}

void Lowering::set_attribute(int32_t slot) {
  int64_t first = int64_t(stack_.size()) - 2;
  int32_t value = consumed(first + 1), object = borrowed_slot(first);
  pop();
  Entry holder = pop();
  emit(Op::SET_ATTRIBUTE, offset_of(object), offset_of(value)).x = slot;
  emptied(value);
  release(holder, first);
}

// Emits a step that only reads two operands. Its result goes to the home slot of the first one.
void Lowering::look_at_two(StepOp op, Tags result) {
  int64_t first = int64_t(stack_.size()) - 2;
  int32_t a = borrowed_slot(first), b = borrowed_slot(first + 1);
  Entry second = pop(), holder = pop();
  bool stays = second.ends() && !uncounted(tags(second.index));
  emit_result(op, home(first), offset_of(a), offset_of(b), result, a != home(first) && !stays);
  release(second, first + 1);
  if (holder.kind != Entry::Home) release(holder, first);
  stack_.push_back(Entry());
}

// The same for a step that reads one operand.
void Lowering::look_at_one(StepOp op, Tags result) {
  int64_t position = int64_t(stack_.size()) - 1;
  int32_t a = borrowed_slot(position);
  Entry holder = pop();
  emit_result(op, home(position), offset_of(a), 0, result, a != home(position));
  if (holder.kind != Entry::Home) release(holder, position);
  stack_.push_back(Entry());
}

}  // namespace scriptlang::lower
