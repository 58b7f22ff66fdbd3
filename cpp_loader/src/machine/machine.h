// The machine that runs register code: frames, calls, futures, limits. steps.cpp has the loop that
// executes the steps.
#pragma once

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "kernels/stop.h"
#include "lower/code.h"
#include "values/pooled.h"
#include "vm.h"

namespace scriptlang {

// One activation of a function. Its values are in one array of slots; see lower/code.h.
struct Frame {
  const lower::Code* code;
  const lower::Step* pc;
  Value* slots;
  // Where its slots are: behind those of the caller (the usual case), at the start of another
  // chunk, or in a block of memory of their own.
  enum Room : int32_t { Behind, NewChunk, OwnBlock } room;
  // Whether RET has more to do than to store the result and to free the slots: `room` is not
  // Behind, a future gets the result, it is the outermost frame, or it has entered a `with`.
  int32_t special;
};

// The stack of activations, the innermost last, with a limit of depth.
class Frames {
 public:
  explicit Frames(int64_t limit) : limit_(limit) {}
  Frames(const Frames&) = delete;
  Frames& operator=(const Frames&) = delete;
  ~Frames() { memory::give(first_, size_t(room_) * sizeof(Frame)); }
  size_t size() const { return size_t(next_ - first_); }
  bool empty() const { return next_ == first_; }
  Frame& operator[](size_t k) { return first_[k]; }
  Frame& back() { return next_[-1]; }
  // Makes sure that one more frame fits. Raises LimitError beyond the limit of depth.
  void make_room() {
    if (__builtin_expect(next_ == end_, 0)) grow();
  }
  Frame& add() { return *next_++; }  // after make_room()
  void remove() { --next_; }

 private:
  void grow();
  int64_t limit_, room_ = 16;
  Frame* first_ = static_cast<Frame*>(memory::take(size_t(room_) * sizeof(Frame)));
  Frame *next_ = first_, *end_ = first_ + std::clamp<int64_t>(limit_, 0, room_);
};

class Machine {
 public:
  Machine(const Program& program, Context& context, const Limits& limits);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Runs a function to its end. Moves from the arguments, which must be complete and of the right
  // types.
  Value call(const Function& function, std::vector<Value>& arguments);

 private:
  // An object that a `with` statement has entered.
  struct Entered {
    size_t depth;  // number of frames: tells which frame the statement is in
    Value object;
  };

  // A call whose result goes into a future.
  struct Forked {
    size_t depth;  // number of frames with that of the call
    bool is_fork;  // FORK: the caller gets the future, not the result
    Ref<Future> future;
  };

  void loop();

  [[noreturn]] void rethrow_as_memory_error();
  [[noreturn]] void fail_stopped();
  void add_stack(Error* error);

  // futures
  bool fail_fork(const Error& error);
  bool has_future() const { return !forked_.empty() && forked_.back().depth == frames_.size(); }
  void settle(Value* result);
  Value prepare(const Function& function, Value* first, int64_t count);
  void start(Value* slot);

  // frames
  static const lower::Code* code_of(const Function& function);
  // The function that runs in place of `function`: while derivatives are recorded, another one.
  // Steps of recorded code need not call it, because they name the recorded callee.
  const Function& chosen(const Function& function) const {
#if defined(SL_NO_TRAINING)
    return function;
#else
    return __builtin_expect(context_.records, 0) ? lower::recorded(function) : function;
#endif
  }
  Frame& push_frame(const lower::Code* code);
  void pop_frame(bool empty = false);  // `empty`: none of its slots holds a counted value
  void drop_slots(const Frame& frame);
  Value* reserve_far(int32_t needed, Frame::Room* room);
  void give_room_back(const Frame& frame);
  Frame& enter(const Function& callee, Value* first, int64_t count);
  static void pass(Frame& frame, Value* first);
  const Function& method(const Value& object, std::string_view name, int results);

  // Limits. spend() accounts for a number of instructions.
  void spend(int64_t work) {
    slice_ -= work;
    if (__builtin_expect(slice_ < 0, 0)) check_limits();
  }
  void check_limits();
  // Checks, after each operator, whether the call has to end, if there is a deadline or the call
  // can be cancelled.
  void look() {
    if (__builtin_expect(is_watched_, 0)) check_stop();
  }
  void check_stop();

  const Program& program_;
  Context& context_;
  const Limits& limits_;
  kernels::Stop stop_;
  bool is_watched_;
  // Instructions are counted down in `slice_`; limits are checked when it is used up.
  // `instructions_left_` is what was left when the current slice began.
  int64_t instructions_left_, slice_, slice_size_;
  Frames frames_;
  std::vector<Entered> entered_;
  std::vector<Forked> forked_;
  Pooled<Value*> chunks_, big_chunks_;     // memory for slots; blocks of frames larger than a chunk
  Pooled<Value*> tops_;                    // for each chunk in use: `top_` before it was begun
  Value *top_ = nullptr, *end_ = nullptr;  // the free slots of the current chunk
  Value result_;
};

// ---- frames. These functions are in a header, so that they are inlined into the steps of calls.

constexpr size_t kChunkValues = 4096;  // slots in a chunk

inline Value* value_at(Value* slots, int32_t offset) {
  return reinterpret_cast<Value*>(reinterpret_cast<char*>(slots) + offset);
}

inline const lower::Code* Machine::code_of(const Function& function) {
  const lower::Code* code = function.lowered.load(std::memory_order_acquire);
  return __builtin_expect(code != nullptr, 1) ? code : &lower::code_of(function);
}

inline Frame& Machine::push_frame(const lower::Code* code) {
  frames_.make_room();
  Frame& frame = frames_.add();
  frame.room = Frame::Behind;
  frame.special = false;
  Value* slots = top_;
  if (__builtin_expect(reinterpret_cast<char*>(end_) - reinterpret_cast<char*>(slots) < code->bytes,
                       0)) {
    frames_.remove();  // if this raises, the frame does not exist yet
    slots = reserve_far(code->slots, &frame.room);
    frames_.add();
    frame.special = true;
  } else {
    top_ = value_at(slots, int32_t(code->bytes));
  }
#if defined(SCRIPTLANG_POISON)
  std::memset(static_cast<void*>(slots), 0xbe, size_t(code->image_from) * sizeof(Value));
#endif
  if (int32_t k = code->image_from, end = code->slots; k < end) {
    const Value* image = code->image.data();
    do {
      std::memcpy(static_cast<void*>(slots + k), image + k, lower::kImageStep * sizeof(Value));
    } while ((k += lower::kImageStep) < end);
  }
  frame.code = code;
  frame.pc = code->first;
  frame.slots = slots;
  return frame;
}

// Drops the slots of a frame that may hold counted values.
inline void Machine::drop_slots(const Frame& frame) {
  if (frame.code->trivial_frame) {
    for (int32_t place : frame.code->parameters) {
      if (place >= 0) value_at(frame.slots, place)->~Value();
    }
    return;
  }
  Value* end = frame.slots + frame.code->first_constant;  // constants are not counted
  for (Value* slot = frame.slots; slot != end; ++slot) slot->~Value();
}

inline void Machine::pop_frame(bool empty) {
  Frame& frame = frames_.back();
  while (!entered_.empty() && entered_.back().depth == frames_.size()) entered_.pop_back();
  if (__builtin_expect(has_future(), 0)) forked_.pop_back();
  if (!empty) drop_slots(frame);
  give_room_back(frame);
  frames_.remove();
}

// Moves the arguments of a call to the slots of the function's parameters, which are None before.
inline void Machine::pass(Frame& frame, Value* first) {
  for (int32_t place : frame.code->parameters) {
    if (place < 0) {
      first->reset();
    } else {
      new (value_at(frame.slots, place)) Value(std::move(*first));
    }
    ++first;
  }
}

inline Frame& Machine::enter(const Function& callee, Value* first, int64_t count) {
  if (__builtin_expect(count != callee.parameters, 0)) {
    raise(ErrorKind::RuntimeError, callee.name, " takes ", callee.parameters,
          " arguments but is called with ", count);
  }
  const lower::Code* code = code_of(chosen(callee));
  spend(code->work);
  Frame& frame = push_frame(code);
  pass(frame, first);
  return frame;
}

}  // namespace scriptlang
