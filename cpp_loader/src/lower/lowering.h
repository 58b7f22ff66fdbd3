// Lowering: translates the bytecode of one function into register code (code.h). The design is
// described in docs/architecture/native_machine.md.
//
// The bytecode is interpreted abstractly, with a stack of *entries* instead of values. A LOAD or
// LOADC emits no step: its entry names the register or constant, and the step that pops it uses
// that as its operand. Together with the entries goes, for each slot, the set of tags that its
// value may have. Blocks are translated to a fixed point: a block is translated again if another
// predecessor brings a larger set of tags.
//
// Functions for which that is too much work get plain code (plain.cpp).
#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <unordered_map>

#include "blocks.h"
#include "code.h"
#include "select.h"
#include "shared.h"

namespace scriptlang::lower {

using Tags = uint16_t;  // bits 1 << Tag
constexpr Tags kAnyTags = 0xFFFF;
constexpr Tags one(Tag tag) { return Tags(1u << uint32_t(tag)); }
constexpr Tags kUncountedTags = Tags(one(kFirstCounted) - 1);
constexpr Tags kStringTags = one(Tag::Text) | one(Tag::String);
constexpr bool uncounted(Tags tags) { return !(tags & ~kUncountedTags); }

// A value on the abstract stack. It lies in the home slot of its stack position (Home), or is still
// to be copied or moved from a register (Copy, Move), or is a constant, or is not needed (Nowhere).
struct Entry {
  enum Kind : uint8_t { Home, Copy, Move, Constant, Nowhere } kind = Home;
  // Copy, Move: the slot. Constant: the index in Function::constants. Home: the index of the
  // constant that the home slot is known to hold, or -1.
  int32_t index = -1;
  bool kept = false;  // Move: a step that only reads the value leaves it for a later DROPR
  int32_t list = -1;  // Home: the step that makes this list, if its elements are constants as yet
  bool ends() const { return kind == Move && !kept; }  // whether a reading step drops the value
};

// Thrown if lowering takes too much work: the function then gets plain code.
struct TooLarge {};
// Thrown if parallel moves form a cycle and no spare slot was reserved to break it.
struct NoSpareSlot {};

// The abstract stack.
class Entries {
 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Entry& operator[](size_t k) { return room_[k]; }
  const Entry& operator[](size_t k) const { return room_[k]; }
  Entry& back() { return room_[size_ - 1]; }
  const Entry& back() const { return room_[size_ - 1]; }
  const Entry* begin() const { return room_.data(); }
  const Entry* end() const { return room_.data() + size_; }
  void push_back(const Entry& e) {
    if (size_ == room_.size()) room_.emplace_back();
    room_[size_++] = e;
  }
  void pop_back() { --size_; }
  void resize(size_t size) {
    if (size > room_.size()) room_.resize(size);
    if (size_ < size) {
      std::fill(room_.begin() + ptrdiff_t(size_), room_.begin() + ptrdiff_t(size), Entry());
    }
    size_ = size;
  }

 private:
  std::vector<Entry> room_;
  size_t size_ = 0;
};

constexpr int32_t kSpareSlots = 4;
// A function of at most this many instructions is first lowered without spare slots, so that its
// frames are smaller.
constexpr size_t kSmallFunction = 128;

class Lowering {
 public:
  // `records`: makes the code that runs while derivatives are recorded. Operators become steps that
  // record their derivatives (OP_RECORDED), and calls go to the recorded() callees.
  explicit Lowering(const Function& function, int32_t spare_slots = kSpareSlots,
                    bool records = false);
  std::unique_ptr<Code> run();

 private:
  // What is known at the start of a block, whichever predecessor control comes from.
  struct Entrance {
    bool reached = false;
    std::vector<Tags> tags;          // by slot
    std::vector<int32_t> constants;  // by position: known to be this constant, or -1
  };
  // The code of one block. Stubs hold the steps of edges: the moves that a conditional jump needs
  // before it gets to its target. Until assemble(), `x` of a jump is the number of the target
  // block, or ~k for the k-th step of the stubs.
  struct Draft {
    std::vector<Step> steps, stubs;
    std::vector<Fill> fills;
    std::vector<Call> calls;
    std::vector<Value> borrowed;
  };
  struct PendingMove {
    int32_t to;
    Entry::Kind kind;
    int32_t from;
  };
  // The last step, if it has a result whose slot may still be changed (send_elsewhere).
  struct Producer {
    const std::vector<Step>* steps = nullptr;
    size_t index = 0;
    bool movable = false;
    Tags before = 0;  // of the slot that it writes, as they were before the step
  };

  // lowering.cpp, assemble.cpp: blocks, and what an instruction becomes
  void translate(int32_t block);
  void begin(int32_t block);
  void step();
  void give_back(int32_t slot);
  void empty_now(int32_t reg);
  void check_early(int32_t slot, int32_t reg);
  char declared_letter(int32_t reg) const;
  bool proven_arguments(const Function& callee, int64_t first) const;
  void unpack();
  void take_apart(const Entry& e, int64_t position, int32_t tuple, size_t rows, int32_t count);
  void store(int32_t reg);
  void drop();
  void stack_step(StepOp op, Tags result);
  void call(const Function& callee);
  bool add_in_row(size_t row, int32_t slot);
  void operator_step();
  void call_operator(const OperatorUse& use);
  void jump_if_false();
  void drop_counts(Draft* draft) const;
  std::unique_ptr<Code> assemble();
  void charge(size_t work);

  // operands.cpp: entries, slots and moves
  int32_t reg(const Instruction& i, int k = 0) const { return shape_.flow.register_of(i, k); }
  bool read_again(size_t pc) const { return shape_.flow.left[pc] == Flow::kReadAgain; }
  int32_t home(int64_t position) const { return f_.registers + int32_t(position); }
  Tags tags(int32_t slot) const { return tags_[size_t(slot)]; }
  void set_tags(int32_t slot, Tags tags) { tags_[size_t(slot)] = tags; }
  Tags tags_of_entry(const Entry& e, int64_t position) const;
  Step& emit(StepOp op, int32_t a = 0, int32_t b = 0, int32_t c = 0);
  Step& emit_result(StepOp op, int32_t to, int32_t b, int32_t c, Tags result, bool movable = true);
  Step* producer_of(int32_t slot);
  Step* producer_before_resets(int32_t slot, int32_t to);
  Step* getter_of(int32_t slot);
  bool send_elsewhere(int32_t from, int32_t to);
  int32_t constant_slot(const Value& value);
  void copy_value(int32_t to, Entry::Kind kind, int32_t from);
  void materialise(int64_t position);
  void before_clobber(int32_t slot);
  void push(Entry::Kind kind, int32_t index);
  void push_home(Tags tags);
  Entry pop();
  void cleared(int64_t from, int64_t to);
  bool wanted(int32_t slot, Entry::Kind kind) const;
  void gather(int64_t first, int64_t count);
  void before_moves(int64_t first, int64_t count);
  void add_fills(int64_t first, int64_t count);
  int32_t read_slot(int64_t position);
  bool take_constant_list(int64_t position, Value* list);
  const Value* constant_of(const Fill& row) const;
  int32_t borrowed_slot(int64_t position);
  int32_t borrow_through(int64_t position, int32_t slot);
  Step* borrowable(int32_t slot);
  int32_t new_borrowed_slot();
  int32_t consumed(int64_t position);
  void release(Entry e, int64_t position);
  bool transfer(int32_t slot);
  int32_t guarded(int64_t position, char letter);
  int32_t as_float(int64_t position);
  bool becomes_float(const Entry& e) const;
  void move_together(std::vector<PendingMove> moves);
  int32_t slot_of_entry(const Entry& e, int64_t position) const;

  // select_steps.cpp: operators that are lowered to steps
  bool typed_operator(const Rule& rule);
  bool numbers(const Rule& rule);
  bool converted(const Rule& rule);
  bool borrowing_operator(const Rule& rule);
  void call_borrowing(OpFn run, int64_t given, const std::vector<Value>& defaults, Tags result);
  void typed(StepOp op, const char* letters, char result, const Rule& rule);
  void list_get();
  void list_set();
  bool is_dropped() const;
  bool row_is_dropped(int64_t position) const;
  int32_t list_of(int32_t slot) const;
  void list_append();
  bool take_step(StepOp op, int32_t slot, Step* taken);
  bool is_one(const Entry& e) const;
  bool is_character(const Entry& e) const;
  void compare_characters(StepOp op, const Step& left, const Step& right);
  void string_equal(StepOp op);
  void dict_set();
  void dict_get_or();
  void string_at();
  bool string_slice(const Rule& rule);
  void string_add();
  void emptied(int32_t slot);
  void tuple_index();
  int32_t name_rows(int64_t first, int64_t count);
  void construct(StepOp op, int64_t count, const Type* type);
  void attribute(int32_t slot);
  void set_attribute(int32_t slot);
  void look_at_two(StepOp op, Tags result);
  void look_at_one(StepOp op, Tags result);

  // edges.cpp: edges of the control flow graph, that is, how control leaves a block
  struct Compare {
    bool fused = false;
    Step step;
  };
  Compare take_compare(const Entry& e, int64_t position, bool tests = false);
  int32_t take_not(const Entry& e, int64_t position);
  void arrive(int32_t block);
  void edge_to(int32_t block, int64_t work);
  void duplicate(int32_t block, int64_t work);
  bool renames() const;
  int32_t stub_to(int32_t block, int64_t work);
  void loop(int32_t block, int64_t work);
  void leave_loop(int32_t block, int32_t carried, int64_t work);
  void branch(const Compare& compare, int32_t condition, bool sense, int32_t to, int64_t work);
  void canonicalise();
  int32_t place_in(int32_t block, int64_t position, int64_t depth) const;

  const Function& f_;
  bool records_;
  int32_t spare_slots_;
  Shape shape_;
  std::vector<Entrance> entrances_;
  std::set<int32_t> stale_;  // blocks that still have to be translated
  std::vector<Draft> drafts_;
  std::vector<char> counted_;       // by block: a LOOP for which some predecessor counts trips
  std::vector<const Rule*> rules_;  // by operator
  std::vector<Value> constants_;
  std::vector<int32_t> borrowed_slots_;
  size_t next_borrowed_ = 0;
  std::unordered_map<uint64_t, std::vector<int32_t>> constant_index_;
  int32_t stack_slots_, first_spare_, first_constant_;
  size_t work_ = 0;
  int32_t guards_ = 0;  // steps at the start that check arguments

  // The state of the translation of the current block.
  size_t pc_ = 0;
  Draft* draft_ = nullptr;
  std::vector<Step>* out_ = nullptr;
  std::vector<Tags> tags_;
  Entries stack_;
  Producer producer_, before_producer_;
};

bool is_jump(StepOp op);
void shorten_jumps(std::vector<Step>* steps);  // `x` of each jump is its distance already
// The variant of an untyped getter for an int, a float or a bool (letters i f b).
StepOp number_getter(StepOp op, char letter);
Tags tags_of(char letter);  // the tag of the letters i f b; all tags for any other letter

// All entries at this stack position and above are Home. It bounds the searches for entries that
// name a slot.
constexpr int64_t kDeepest = 256;

}  // namespace scriptlang::lower
