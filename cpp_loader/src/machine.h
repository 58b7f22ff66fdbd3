// What runs register code: frames, calls, futures and limits. The steps are in machine_steps.cpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "lower/code.h"
#include "vm.h"

namespace scriptlang {

// One activation. Its values lie in one run of slots; see lower/code.h.
struct Frame {
  const Function* function;
  const lower::Code* code;
  const lower::Step* pc;
  Value* slots;
  int64_t chunk;
  bool is_fork = false;  // the call gives the future, not the result
  Ref<Future> future;    // what the result goes into; null for an ordinary call
};

class Machine {
 public:
  Machine(const Program& program, Context& context, const Limits& limits);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  Value call(const Function& function, std::vector<Value>& arguments);

 private:
  using Clock = std::chrono::steady_clock;

  // An object that a `with` statement has entered, and the frame it is in.
  struct Entered {
    size_t depth;
    Value object;
  };

  void loop();

  [[noreturn]] void rethrow_as_memory_error();
  void add_stack(Error* error);

  // futures
  bool fail_fork(const Error& error);
  void settle(Frame& frame, Value* result);
  Value prepare(const Function& function, Value* first, int64_t count);
  void start(Value* slot);

  // frames
  Frame& push_frame(const Function& function);
  void pop_frame(bool empty = false);  // empty: its slots are known to hold nothing counted
  Value* reserve(size_t needed, int64_t* chunk);
  Frame& enter(const Function& callee, Value* first, int64_t count);
  static void pass(Frame& frame, Value* first);
  const Function& method(const Value& object, const std::string& name, int results);

  // limits
  void spend(int64_t work) {
    slice_ -= work;
    if (__builtin_expect(slice_ < 0, 0)) check_limits();
  }
  void check_limits();
  void check_time();  // operators look as well: a single one may take long

  const Program& program_;
  Context& context_;
  const Limits& limits_;
  Clock::time_point deadline_;
  int64_t instructions_left_, slice_, slice_size_;
  std::vector<Frame> frames_;
  std::vector<Entered> entered_;
  std::vector<Value*> chunks_, big_chunks_;
  int64_t current_ = -1;
  size_t used_ = 0;
  Value result_;
};

}  // namespace scriptlang
