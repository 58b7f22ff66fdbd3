// What runs register code: frames, calls, futures and limits. The steps are in steps.cpp.
#pragma once

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "kernels/stop.h"
#include "lower/code.h"
#include "vm.h"

namespace scriptlang {

// One activation. Its values lie in one run of slots; see lower/code.h.
struct Frame {
  const lower::Code* code;
  const lower::Step* pc;
  Value* slots;
  // Where its slots are; most lie behind those of the caller.
  enum Room : int32_t { Behind, NewChunk, OwnBlock } room;
  int32_t special;  // it has a room of its own or a future, is the first, or has entered a `with`
};

// The activations, the innermost last, and no more than a limit.
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
  // Raises LimitError where there is no room for one more.
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

  Value call(const Function& function, std::vector<Value>& arguments);

 private:
  // An object that a `with` statement has entered, and the frame it is in.
  struct Entered {
    size_t depth;
    Value object;
  };

  // A call whose result goes into a future, and the frame it has.
  struct Forked {
    size_t depth;
    bool is_fork;  // the call gives the future, not the result
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
  Frame& push_frame(const lower::Code* code);
  void pop_frame(bool empty = false);  // empty: its slots are known to hold nothing counted
  void drop_slots(const Frame& frame);
  Value* reserve_far(int32_t needed, Frame::Room* room);
  void give_room_back(const Frame& frame);
  Frame& enter(const Function& callee, Value* first, int64_t count);
  static void pass(Frame& frame, Value* first);
  const Function& method(const Value& object, std::string_view name, int results);

  // limits
  void spend(int64_t work) {
    slice_ -= work;
    if (__builtin_expect(slice_ < 0, 0)) check_limits();
  }
  void check_limits();
  // After each operator, where there is a limit of time or somebody may cancel.
  void look() {
    if (__builtin_expect(is_watched_, 0)) check_stop();
  }
  void check_stop();

  const Program& program_;
  Context& context_;
  const Limits& limits_;
  kernels::Stop stop_;
  bool is_watched_;
  int64_t instructions_left_, slice_, slice_size_;
  Frames frames_;
  std::vector<Entered> entered_;
  std::vector<Forked> forked_;
  std::vector<Value*> chunks_, big_chunks_;
  std::vector<Value*> tops_;               // where those below the chunk in use are free
  Value *top_ = nullptr, *end_ = nullptr;  // what is free in the chunk in use
  Value result_;
};

// ---- frames: in a header, so that the steps of calls have them inside

constexpr size_t kChunkValues = 4096;

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
  if (__builtin_expect(reinterpret_cast<char*>(end_) - reinterpret_cast<char*>(slots) <
                           code->bytes, 0)) {
    frames_.remove();  // no frame yet where this raises
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

// Of a frame that may hold something counted.
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

// Moves the arguments of a call to where the function wants them: each place is None before.
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
  const lower::Code* code = code_of(callee);
  spend(code->work);
  Frame& frame = push_frame(code);
  pass(frame, first);
  return frame;
}

}  // namespace scriptlang
