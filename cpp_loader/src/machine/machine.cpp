// The machine without its loop: calls from outside, frames, futures, limits and script stacks.
#include "machine.h"

#include "autograd/asks.h"
#include "autograd/history.h"

#include <new>

namespace scriptlang {

namespace {

constexpr size_t kChunkBytes = kChunkValues * sizeof(Value);
constexpr int64_t kSlice = 1 << 14;  // instructions between two reads of the clock

std::vector<Value> take(Value* first, int64_t count) {
  return {std::make_move_iterator(first), std::make_move_iterator(first + count)};
}

}  // namespace

Machine::Machine(const Program& program, Context& context, const Limits& limits)
    : program_(program), context_(context), limits_(limits), frames_(limits.depth) {
  if (limits.milliseconds > 0) {
    using Milliseconds = std::chrono::milliseconds;
    // At most a hundred years, so that adding it to the time does not overflow.
    constexpr int64_t kMost = int64_t{100} * 365 * 24 * 3600 * 1000;
    stop_.set_deadline(kernels::Stop::Clock::now() +
                       Milliseconds(std::min(limits.milliseconds, kMost)));
  }
  stop_.set_cancelled(limits.cancelled);
  stop_.set_interrupted(context.interrupted, context.interrupted_user);
  is_watched_ = stop_.is_watched();
  instructions_left_ = limits.instructions > 0 ? limits.instructions : INT64_MAX;
  slice_ = std::min(kSlice, instructions_left_);
  slice_size_ = slice_;
}

Machine::~Machine() {
  while (!frames_.empty()) pop_frame();
  for (Value* chunk : chunks_) {
    if (chunk) memory::give(chunk, kChunkBytes);
  }
  for (Value* chunk : big_chunks_) {
    if (chunk) ::operator delete(chunk);
  }
}

Value Machine::call(const Function& function, std::vector<Value>& arguments) {
  memory::RunScope scope(true);
  kernels::StopScope stops(context_.nested ? kernels::stopping::here : &stop_);
  Frame& frame = push_frame(code_of(chosen(function)));
  frame.special = true;
  pass(frame, arguments.data());
  for (;;) {
    try {
      look();  // the call may have been cancelled already
      loop();
      result_.publish();
      return std::move(result_);
    } catch (Error& error) {
      if (error.stack.empty()) add_stack(&error);
      if (!fail_fork(error)) throw;
    } catch (const kernels::Stopped&) {
      if (context_.nested) throw;
      fail_stopped();
    } catch (const std::bad_alloc&) {
      rethrow_as_memory_error();
    } catch (const std::length_error&) { rethrow_as_memory_error(); }
  }
}

void Machine::rethrow_as_memory_error() {
  Error error(ErrorKind::MemoryError, "out of memory");
  add_stack(&error);
  throw error;
}

// Raises the error of a call that was stopped. It ends the whole call, also from inside of a fork.
void Machine::fail_stopped() {
  const bool is_late = stop_.reason() == kernels::Stop::kTime;
  Error error(is_late ? ErrorKind::LimitError : ErrorKind::Cancelled,
              is_late
                  ? concat("the program ran longer than its limit of ", limits_.milliseconds, " ms")
                  : std::string("the call was cancelled"));
  add_stack(&error);
  throw error;
}

// The error frame of a function that was compiled from the code of a file, at an offset in its
// text. The text of the frame names the line; `pc` is -2 - offset.
static ErrorFrame frame_at(const Function& function, uint32_t offset) {
  uint32_t line = function.line_starts ? line_of(*function.line_starts, offset) : offset;
  return {concat(function.name, " at ", function.file, ":", line), -2 - int64_t(offset)};
}

// Adds the script stack: the frames, innermost first, and the calls that were inlined into them.
void Machine::add_stack(Error* error) {
  constexpr size_t kMostFrames = 100;
  for (size_t k = frames_.size(); k-- > 0 && error->stack.size() < kMostFrames;) {
    const Function& function = *frames_[k].code->function;
    const int64_t pc = frames_[k].pc->origin;
    if (pc < 0 || size_t(pc) >= function.lines.size()) {
      error->stack.push_back({function.name, pc});
      continue;
    }
    // The function was compiled from source, so the instruction has a line. If its code was inlined
    // from another function, that one and the calls between are added first.
    auto add = [&](const Function& in, uint32_t line) {
      error->stack.push_back(frame_at(in, line));
    };
    // A part (the body of a fused group) has no inlined calls of its own: its instructions refer to
    // those of the function that contains it, which is the caller.
    const Function& whole = function.is_part && k > 0 ? *frames_[--k].code->function : function;
    uint32_t line = function.lines[size_t(pc)];
    for (int32_t call = size_t(pc) < function.calls.size() ? function.calls[size_t(pc)] : -1;
         call >= 0; call = whole.inlined[size_t(call)].caller) {
      add(*whole.inlined[size_t(call)].function, line);
      line = whole.inlined[size_t(call)].line;
    }
    add(whole, line);
  }
}

// ---- futures

// Stores an error that a fork raised in its future, and ends only the fork. Returns false if no
// fork is running, or if the error ends the whole call.
bool Machine::fail_fork(const Error& error) {
  if (error.kind == ErrorKind::LimitError || error.kind == ErrorKind::MemoryError) return false;
  size_t k = forked_.size();
  while (k > 0 && !forked_[k - 1].is_fork) --k;
  if (k == 0) return false;
  size_t depth = forked_[k - 1].depth;
  Ref<Future> future = forked_[k - 1].future;
  future->error = std::make_unique<Error>(error);
  while (frames_.size() >= depth) pop_frame();
  Frame& caller = frames_.back();
  *value_at(caller.slots, caller.pc->a) = Value(std::move(future));
  ++caller.pc;
  return true;
}

// Stores the result of a call in its future. `result` is the caller's slot; for a FORK it gets the
// future instead.
void Machine::settle(Value* result) {
  Ref<Future> future = forked_.back().future;
  result->publish();
  future->value = *result;
  future->function = nullptr;
  future->arguments.clear();
  future->program.reset();
  if (forked_.back().is_fork) *result = Value(std::move(future));
}

// AWAITABLE: a future that holds the function and its arguments until it is waited for.
Value Machine::prepare(const Function& function, Value* first, int64_t count) {
  Ref<Future> future = Future::make();
  future->function = &function;
  future->program = program_.shared_from_this();
  future->arguments = take(first, count);
  for (const Value& argument : future->arguments) argument.publish();
  return future;
}

// WAIT: starts the call of an awaitable. A call that ended with an error is started again.
void Machine::start(Value* slot) {
  Future& future = slot->as_future();
  if (future.program.get() != &program_) {
    raise(ErrorKind::RuntimeError, "this program did not make the awaitable; wait for it first");
  }
  const Function& function = *future.function;
  std::vector<Value> arguments = future.arguments;
  Ref<Future> kept = Ref<Future>::share(&future);
  slot->reset();
  const lower::Code* code = code_of(chosen(function));
  spend(code->work);
  Frame& frame = push_frame(code);
  frame.special = true;
  forked_.push_back({frames_.size(), false, std::move(kept)});
  pass(frame, arguments.data());
}

// ---- frames

void Frames::grow() {
  int64_t size = next_ - first_;
  if (size >= limit_) { raise(ErrorKind::LimitError, "calls are nested deeper than ", limit_); }
  memory::charge(room_ * int64_t(sizeof(Frame)));  // until the run ends, whose limit it is
  Frame* fresh = static_cast<Frame*>(memory::take(size_t(2 * room_) * sizeof(Frame)));
  std::memcpy(static_cast<void*>(fresh), first_, size_t(size) * sizeof(Frame));
  memory::give(first_, size_t(room_) * sizeof(Frame));
  first_ = fresh;
  room_ *= 2;
  next_ = first_ + size;
  end_ = first_ + std::min(limit_, room_);
}

// Reserves slots for a frame that does not fit the current chunk: in the next chunk, or in a block
// of their own.
Value* Machine::reserve_far(int32_t needed, Frame::Room* room) {
  if (size_t(needed) > kChunkValues) {
    memory::charge(needed * int64_t(sizeof(Value)));
    big_chunks_.push_back(nullptr);
    big_chunks_.back() = static_cast<Value*>(::operator new(size_t(needed) * sizeof(Value)));
    *room = Frame::OwnBlock;
    return big_chunks_.back();
  }
  if (tops_.size() == chunks_.size()) {
    if (!chunks_.empty()) memory::charge(kChunkBytes);  // until the run ends
    chunks_.push_back(nullptr);
    chunks_.back() = static_cast<Value*>(memory::take(kChunkBytes));
  }
  tops_.push_back(top_);
  Value* base = chunks_[tops_.size() - 1];
  top_ = base + needed;
  end_ = base + kChunkValues;
  *room = Frame::NewChunk;
  return base;
}

void Machine::give_room_back(const Frame& frame) {
  switch (frame.room) {
    case Frame::Behind: top_ = frame.slots; break;
    case Frame::NewChunk:
      top_ = tops_.back();
      tops_.pop_back();
      end_ = tops_.empty() ? nullptr : chunks_[tops_.size() - 1] + kChunkValues;
      break;
    case Frame::OwnBlock:
      memory::uncharge(frame.code->slots * int64_t(sizeof(Value)));
      ::operator delete(big_chunks_.back());
      big_chunks_.pop_back();
      break;
  }
}

// The method of an object. Raises RuntimeError if there is none, or it has another number of
// results.
const Function& Machine::method(const Value& object, std::string_view name, int results) {
  const ClassType& cls = *object.as_object().type;
  const Function* found = program_.method(cls, name);
  if (!found) {
    raise(ErrorKind::RuntimeError, "the class ", cls.name, " has no method '", name,
          "' in this program");
  }
  if (found->results != results) {
    raise(ErrorKind::RuntimeError, found->name, " has no one result");
  }
  return *found;
}

// ---- limits

__attribute__((noinline)) void Machine::check_limits() {
  if (instructions_left_ != INT64_MAX) {
    instructions_left_ -= slice_size_ - slice_;
    if (instructions_left_ <= 0) {
      raise(ErrorKind::LimitError, "the program ran longer than its limit of ",
            limits_.instructions, " instructions");
    }
  }
  check_stop();
  slice_ = slice_size_ = std::min(kSlice, instructions_left_);
}

void Machine::check_stop() {
  if (stop_.look(true) != kernels::Stop::kNone) throw kernels::Stopped();
}

// Whether the host wants derivatives of an argument, or of a tensor inside of one.
static bool is_watched(const std::vector<Value>& arguments) {
#if defined(SL_NO_TRAINING)
  (void)arguments;
  return false;
#else
  return autograd::any_watched() &&
         std::any_of(arguments.begin(), arguments.end(), autograd::is_watched);
#endif
}

// Whether a call has to record derivatives: the host wants some, or the program computes some.
static bool is_recorded(const Program& program, const Function& function,
                        const std::vector<Value>& arguments, const Context& context) {
#if defined(SL_NO_TRAINING)
  (void)program, (void)function, (void)arguments, (void)context;
  return false;
#else
  if (context.records || context.nested || !context.grad_enabled) return context.records;
  return is_watched(arguments) || autograd::differentiates(program, function);
#endif
}

// Whether a call may run one of the function's straight graphs in place of being recorded.
static bool may_be_straight(const Function& f, const std::vector<Value>& arguments,
                            const Context& context) {
  return f.straights != f.straights_end && !context.records && !context.nested &&
         context.grad_enabled && (f.is_closed || !is_watched(arguments));
}

// The straight graph that fits a call; the function itself if there is none.
__attribute__((cold)) static const Function& fitting(const Function& f,
                                                     const std::vector<Value>& arguments,
                                                     Machine* machine) {
  for (size_t k = f.straights; k < f.straights_end; k += 2) {
    std::vector<Value> copy = arguments;
    if (machine->call(*f.callees[k], copy).as_bool()) return *f.callees[k + 1];
  }
  return f;
}

Value execute(const Program& program, const Function& function, std::vector<Value>& arguments,
              Context& context, const Limits& limits) {
  if (!context.generator) context.generator = &default_generator();
  Machine machine(program, context, limits);
  const Function* runs = &function;
  if (may_be_straight(function, arguments, context)) runs = &fitting(function, arguments, &machine);
  const bool before = context.records;
  if (runs == &function) context.records = is_recorded(program, function, arguments, context);
  struct Restore {
    bool& now;
    bool before;
    ~Restore() { now = before; }
  } restore{context.records, before};
  return machine.call(*runs, arguments);
}

}  // namespace scriptlang
