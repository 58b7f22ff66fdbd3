#include "vm.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "ops/language.h"

// Threaded code where the compiler has labels as values; a switch elsewhere.
#if defined(__GNUC__) && !defined(SCRIPTLANG_NO_COMPUTED_GOTO)
#define SL_COMPUTED_GOTO 1
#else
#define SL_COMPUTED_GOTO 0
#endif

namespace scriptlang {

namespace {

constexpr size_t kChunkValues = 4096;
constexpr int64_t kSlice = 1 << 14;  // work between two looks at the clock

// One activation. Its values lie in one run: registers, then the stack. Slots above the stack
// pointer are None.
struct Frame {
  const Function* function;
  const Instruction* pc;
  Value* registers;  // registers[1] is the first
  Value* stack;      // bottom
  Value* top;        // one above the topmost value
  Value* end;
  int64_t chunk;
  std::vector<Value> entered;  // objects of open `with` statements
  Ref<Future> future;          // what the result goes into; null for an ordinary call
  bool is_fork = false;        // the call gives the future, not the result
};

class Machine {
 public:
  Machine(const Program& program, Context& context, const Limits& limits)
      : program_(program), context_(context), limits_(limits) {
    if (limits.milliseconds > 0) {
      deadline_ = Clock::now() + std::chrono::milliseconds(limits.milliseconds);
    }
    instructions_left_ = limits.instructions > 0 ? limits.instructions : INT64_MAX;
    slice_ = std::min(kSlice, instructions_left_);
    slice_size_ = slice_;
  }
  ~Machine() {
    while (!frames_.empty()) pop_frame();
    for (Value* chunk : chunks_) memory::give(chunk, kChunkBytes);
    for (Value* chunk : big_chunks_) {
      if (chunk) ::operator delete(chunk);
    }
  }

  Value call(const Function& function, std::vector<Value>& arguments) {
    push_frame(function);
    Frame& frame = frames_.back();
    for (Value& v : arguments) new (frame.top++) Value(std::move(v));
    for (;;) {
      try {
        loop();
        return std::move(result_);
      } catch (Error& error) {
        if (error.stack.empty()) add_stack(&error);
        if (!fail_fork(error)) throw;
      } catch (const std::bad_alloc&) {
        rethrow_as_memory_error();
      } catch (const std::length_error&) {
        rethrow_as_memory_error();
      }
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kChunkBytes = kChunkValues * sizeof(Value);

  [[noreturn]] void rethrow_as_memory_error() {
    Error error(ErrorKind::MemoryError, "out of memory");
    add_stack(&error);
    throw error;
  }

  void add_stack(Error* error) {
    constexpr size_t kMostFrames = 100;
    for (size_t k = frames_.size(); k-- > 0 && error->stack.size() < kMostFrames;) {
      const Frame& f = frames_[k];
      error->stack.push_back({f.function->name, f.pc - f.function->code.data()});
    }
  }

  // ---- futures

  // The error of a fork ends only the fork: it waits in the future. False where there is no fork,
  // or the error is that of the whole call.
  bool fail_fork(const Error& error) {
    if (error.kind == ErrorKind::LimitError || error.kind == ErrorKind::MemoryError) return false;
    size_t k = frames_.size();
    while (k > 0 && !frames_[k - 1].is_fork) --k;
    if (k == 0) return false;
    Ref<Future> future = frames_[k - 1].future;
    future->error = std::make_unique<Error>(error);
    while (frames_.size() >= k) pop_frame();
    Frame& caller = frames_.back();
    new (caller.top++) Value(std::move(future));
    ++caller.pc;
    return true;
  }

  // Leaves the result of a finished call of a future in the future, and what the call gives on
  // top of the caller's stack.
  void settle(Frame& frame, Frame& caller) {
    Value& result = caller.top[-1];
    frame.future->value = result;
    frame.future->function = nullptr;
    frame.future->arguments.clear();
    frame.future->program.reset();
    if (frame.is_fork) result = Value(std::move(frame.future));
  }

  Value prepare(const Function& function, Value* first, int64_t count) {
    Ref<Future> future = Future::make();
    future->function = &function;
    future->program = program_.shared_from_this();
    future->arguments = take(first, count);
    return future;
  }

  // Starts the call that an awaitable still has to make: again, where it ended with an error.
  void start(Frame* frame, Future* future) {
    if (future->program.get() != &program_) {
      raise(ErrorKind::RuntimeError, "this program did not make the awaitable; wait for it first");
    }
    const Function& function = *future->function;
    std::vector<Value> arguments = future->arguments;
    Ref<Future> kept = Ref<Future>::share(future);
    (--frame->top)->reset();
    spend(int64_t(function.code.size()) / 8 + 8);
    push_frame(function);
    frames_.back().future = std::move(kept);
    for (Value& v : arguments) new (frames_.back().top++) Value(std::move(v));
  }

  // ---- frames

  void push_frame(const Function& function) {
    if (int64_t(frames_.size()) >= limits_.depth) {
      raise(ErrorKind::LimitError, "calls are nested deeper than ", limits_.depth);
    }
    size_t needed = size_t(function.registers) + size_t(function.max_stack) + 1;
    Frame frame;
    Value* base = reserve(needed, &frame.chunk);
    for (size_t k = 0; k < needed; ++k) new (base + k) Value();
    frame.function = &function;
    frame.pc = function.code.data();
    frame.registers = base - 1;
    frame.stack = frame.top = base + function.registers;
    frame.end = base + needed;
    frames_.push_back(std::move(frame));
  }

  void pop_frame() {
    Frame& frame = frames_.back();
    for (Value* v = frame.registers + 1; v != frame.end; ++v) v->~Value();
    if (frame.chunk < 0) {
      ::operator delete(big_chunks_.back());
      big_chunks_.pop_back();
    } else {
      used_ = size_t(frame.registers + 1 - chunks_[size_t(frame.chunk)]);
      current_ = frame.chunk;
    }
    frames_.pop_back();
  }

  Value* reserve(size_t needed, int64_t* chunk) {
    if (needed > kChunkValues) {
      *chunk = -1;
      big_chunks_.push_back(nullptr);
      big_chunks_.back() = static_cast<Value*>(::operator new(needed * sizeof(Value)));
      return big_chunks_.back();
    }
    if (current_ < 0 || used_ + needed > kChunkValues) {
      if (current_ + 1 == int64_t(chunks_.size())) {
        chunks_.push_back(static_cast<Value*>(memory::take(kChunkBytes)));
      }
      ++current_;
      used_ = 0;
    }
    *chunk = current_;
    Value* base = chunks_[size_t(current_)] + used_;
    used_ += needed;
    return base;
  }

  // Moves the arguments on top of the caller's stack into a new frame.
  void enter(const Function& callee, int64_t count) {
    if (count != callee.parameters) {
      raise(ErrorKind::RuntimeError, callee.name, " takes ", callee.parameters,
            " arguments but is called with ", count);
    }
    spend(int64_t(callee.code.size()) / 8 + 8);
    push_frame(callee);
    Frame& frame = frames_.back();
    Frame& caller = frames_[frames_.size() - 2];
    Value* first = caller.top - count;
    for (int64_t k = 0; k < count; ++k) new (frame.top++) Value(std::move(first[k]));
    caller.top = first;
  }

  // ---- limits

  void spend(int64_t work) {
    slice_ -= work;
    if (__builtin_expect(slice_ < 0, 0)) check_limits();
  }

  __attribute__((noinline)) void check_limits() {
    if (instructions_left_ != INT64_MAX) {
      instructions_left_ -= slice_size_ - slice_;
      if (instructions_left_ <= 0) {
        raise(ErrorKind::LimitError, "the program ran longer than its limit of ",
              limits_.instructions, " instructions");
      }
    }
    if (limits_.milliseconds > 0 && Clock::now() > deadline_) {
      raise(ErrorKind::LimitError, "the program ran longer than its limit of ",
            limits_.milliseconds, " ms");
    }
    slice_ = slice_size_ = std::min(kSlice, instructions_left_);
  }

  // ---- instructions that are more than a line

  static Value& attribute(Value& object, int64_t slot) {
    Object& o = object.as_object();
    if (slot >= int64_t(o.slots.size())) {
      raise(ErrorKind::RuntimeError, "an object of class ", o.type->name, " has no slot ", slot);
    }
    return o.slots[size_t(slot)];
  }

  static void set_attribute(Value& object, int64_t slot, Value&& value) {
    constexpr int64_t kMostSlots = 1 << 16;
    Object& o = object.as_object();
    if (slot >= int64_t(o.slots.size())) {
      // The class of an object made by the program may be known only by its name.
      if (slot >= kMostSlots) raise(ErrorKind::RuntimeError, "slot ", slot, " is out of range");
      o.slots.resize(size_t(slot) + 1);
    }
    o.slots[size_t(slot)] = std::move(value);
  }

  static std::vector<Value> take(Value* first, int64_t count) {
    std::vector<Value> items;
    items.reserve(size_t(count));
    for (int64_t k = 0; k < count; ++k) items.push_back(std::move(first[k]));
    return items;
  }

  static Value make_dict(const Type& type, Value* first, int64_t count) {
    Ref<Dict> dict = Dict::make(type.elements[0], type.elements[1]);
    for (int64_t k = 0; k < count; k += 2) {
      dict->set(std::move(first[k]), std::move(first[k + 1]));
    }
    return dict;
  }

  static bool is_instance(const Value& value, const TypeRef* types, int64_t count) {
    return std::any_of(types, types + count,
                       [&](const TypeRef& type) { return matches(value, *type); });
  }

  static Value* unpack(Value* top, const std::vector<Value>& items, int64_t count,
                       const char* what) {
    if (int64_t(items.size()) != count) {
      raise(ErrorKind::RuntimeError, "Provided ", items.size(), " values, the program unpacks ",
            count, " from a ", what);
    }
    // The container may die with the slot that holds it: copy before it is overwritten.
    Value holder = std::move(top[-1]);
    --top;
    for (const Value& item : items) new (top++) Value(item);
    return top;
  }

  // Puts the defaults behind the given arguments, but before trailing out arguments.
  static Value* fill_defaults(Value* top, const OperatorUse& use) {
    size_t filled = use.defaults.size();
    Value* first = top - use.trailing_out;
    for (int k = use.trailing_out - 1; k >= 0; --k) {
      new (first + k + filled) Value(std::move(first[k]));
    }
    for (size_t k = 0; k < filled; ++k) new (first + k) Value(copy_default(use.defaults[k]));
    return top + filled;
  }

  // A list default is a fresh list for every call: operators may keep or change it.
  static Value copy_default(const Value& v) {
    if (!v.is_list()) return v;
    return List::make(v.as_list().items, v.as_list().element);
  }

  const Function& method(const Value& object, const std::string& name) {
    const ClassType& cls = *object.as_object().type;
    const Function* found = program_.method(cls, name);
    if (!found) {
      raise(ErrorKind::RuntimeError, "the class ", cls.name, " has no method '", name,
            "' in this program");
    }
    return *found;
  }

  void loop();

  const Program& program_;
  Context& context_;
  const Limits& limits_;
  Clock::time_point deadline_;
  int64_t instructions_left_, slice_, slice_size_;
  std::vector<Frame> frames_;
  std::vector<Value*> chunks_, big_chunks_;
  int64_t current_ = -1;
  size_t used_ = 0;
  Value result_;
};

// The loop keeps pc, top and the frame in locals; SAVE writes back what an error or a call needs.
void Machine::loop() {
  Frame* frame;
  const Instruction* pc;
  Value* top;
  Value* registers;
  const Function* function;

#define SAVE() (frame->pc = pc, frame->top = top)
#define RELOAD()                                                          \
  (frame = &frames_.back(), pc = frame->pc, top = frame->top,             \
   registers = frame->registers, function = frame->function)
#define PUSH(value) (new (top) Value(value), ++top)
#define POP_TO(target) ((target) = std::move(*--top))

#if SL_COMPUTED_GOTO
  static const void* const kLabels[] = {
#define SL_OPCODE(name, number, x, n, pops, pushes, runs, meaning) &&L_##name,
#include "opcodes.def"
#undef SL_OPCODE
  };
  static const void* const kLowered[] = {
      &&L_OP_ONE, &&L_OP_ANY, &&L_OP_MISSING, &&L_TUPLE_UNPACK,
#define X(name, text, kind, setter, result) &&L_##name,
      SL_FAST_OPERATORS(X)
#undef X
  };
#define DISPATCH()                                                              \
  do {                                                                          \
    unsigned op = unsigned(pc->op);                                             \
    goto* (op >= 64 ? kLowered[op - 64] : kLabels[op]);                         \
  } while (0)
#define CASE(name) L_##name
#define BEGIN DISPATCH();
#define END
#else
#define DISPATCH() goto next
#define CASE(name) case Opcode::name
#define BEGIN next: switch (pc->op) {
#define END }
#endif
#define NEXT() \
  do {         \
    ++pc;      \
    DISPATCH(); \
  } while (0)

  RELOAD();
  BEGIN
#define X(name, text, kind, setter, result)                     \
  CASE(name) : {                                                \
    if (top[-2].is_##kind() && top[-1].is_##kind()) {           \
      auto a = top[-2].raw_##kind(), b = top[-1].raw_##kind();  \
      (--top)->forget();                                        \
      top[-1].setter(result);                                   \
      NEXT();                                                   \
    }                                                           \
    goto call_operator;                                         \
  }
  SL_FAST_OPERATORS(X)
#undef X
  call_operator:
  CASE(OP_ONE) : {
    SAVE();
    Value* first = top - pc->arguments;
    pc->run(context_, Args(first, pc->arguments), top);
    // The result replaces the arguments.
    if (pc->arguments == 0) {
      ++top;
      NEXT();
    }
    for (Value* v = top - 1; v > first; --v) v->reset();
    *first = std::move(*top);
    top = first + 1;
    NEXT();
  }
  CASE(OP_ANY) : {
    SAVE();
    const OperatorUse& use = function->operators[size_t(pc->x)];
    Value* first = top - pc->arguments;
    if (!use.defaults.empty()) frame->top = top = fill_defaults(top, use);
    pc->run(context_, Args(first, int(top - first)), top);
    for (Value* v = first; v != top; ++v) v->reset();
    int results = pc->results;
    for (int k = 0; k < results && first != top; ++k) first[k] = std::move(top[k]);
    top = first + results;
    NEXT();
  }
  CASE(OP_MISSING) : {
    SAVE();
    raise(ErrorKind::MissingOperator, "the operator ",
          function->operators[size_t(pc->x)].qualified_name(),
          " is not in this build of the native engine");
  }
  CASE(TUPLE_UNPACK) : {
    SAVE();
    top = unpack(top, top[-1].as_tuple().items, pc->n, "tuple");
    NEXT();
  }
  CASE(LOAD) : {
    PUSH(registers[pc->x]);
    NEXT();
  }
  CASE(MOVE) : {
    PUSH(std::move(registers[pc->x]));
    NEXT();
  }
  CASE(STORE) : {
    POP_TO(registers[pc->x]);
    NEXT();
  }
  CASE(STOREN) : {
    Value* first = top - pc->n;
    for (int k = 0; k < pc->n; ++k) registers[pc->x + k] = std::move(first[k]);
    top = first;
    NEXT();
  }
  CASE(DROP) : {
    (--top)->reset();
    NEXT();
  }
  CASE(DROPR) : {
    registers[pc->x].reset();
    NEXT();
  }
  CASE(LOADC) : {
    PUSH(function->constants[size_t(pc->x)]);
    NEXT();
  }
  CASE(JF) : {
    SAVE();
    bool condition = top[-1].as_bool();
    (--top)->reset();
    pc += condition ? 1 : pc->x;
    DISPATCH();
  }
  CASE(JMP) : {
    if (pc->x <= 0) {
      SAVE();
      spend(1 - int64_t(pc->x));
    }
    pc += pc->x;
    DISPATCH();
  }
  CASE(LOOP) : {
    SAVE();
    Value* state = top - (pc->n + 1);
    int64_t trip = state[0].as_int(), most = state[1].as_int();
    bool condition = state[2].as_bool();
    if (trip < most && condition) {
      state[2].set_int(trip);
      state[0].set_int(trip + 1);
      NEXT();
    }
    int carried = pc->n - 2;
    for (int k = 0; k < carried; ++k) state[k] = std::move(state[k + 3]);
    for (int k = carried; k < carried + 3; ++k) state[k].reset();
    top -= 3;
    pc += pc->x;
    DISPATCH();
  }
  CASE(RET) : {
    SAVE();
    int64_t results = top - frame->stack;
    if (frames_.size() == 1) {
      if (results == 1) {
        result_ = std::move(top[-1]);
      } else if (results > 1) {
        result_ = Tuple::make(take(frame->stack, results));
      }
      pop_frame();
      return;
    }
    Frame& caller = frames_[frames_.size() - 2];
    for (int64_t k = 0; k < results; ++k) {
      new (caller.top++) Value(std::move(frame->stack[k]));
    }
    if (__builtin_expect(bool(frame->future), 0)) settle(*frame, caller);
    pop_frame();
    RELOAD();
    NEXT();
  }
  CASE(CALL) : {
    SAVE();
    const Function& callee = *function->callees[size_t(pc->x)];
    enter(callee, callee.parameters);
    RELOAD();
    DISPATCH();
  }
  CASE(INTERFACE_CALL) : {
    SAVE();
    const std::string& name = function->constants[size_t(pc->x)].as_string();
    const Function& callee = method(top[-pc->n], name);
    if (callee.results != 1) raise(ErrorKind::RuntimeError, callee.name, " has no one result");
    enter(callee, pc->n);
    RELOAD();
    DISPATCH();
  }
  CASE(ENTER) : {
    SAVE();
    const Function& callee = method(top[-1], "__enter__");
    if (callee.results != 1) raise(ErrorKind::RuntimeError, callee.name, " has no one result");
    frame->entered.push_back(top[-1]);
    enter(callee, 1);
    RELOAD();
    DISPATCH();
  }
  CASE(EXIT) : {
    SAVE();
    if (frame->entered.empty()) raise(ErrorKind::RuntimeError, "no `with` statement is open");
    const Function& callee = method(frame->entered.back(), "__exit__");
    if (callee.results != 1) raise(ErrorKind::RuntimeError, callee.name, " has no one result");
    PUSH(std::move(frame->entered.back()));
    frame->entered.pop_back();
    for (int k = 0; k < 3; ++k) PUSH(Value());
    SAVE();
    enter(callee, 4);
    RELOAD();
    DISPATCH();
  }
  CASE(GET_ATTR) : {
    SAVE();
    Value field = attribute(top[-1], pc->x);
    top[-1] = std::move(field);
    NEXT();
  }
  CASE(SET_ATTR) : {
    SAVE();
    set_attribute(top[-2], pc->x, std::move(top[-1]));
    (--top)->reset();
    (--top)->reset();
    NEXT();
  }
  CASE(LIST_UNPACK) : {
    SAVE();
    top = unpack(top, top[-1].as_list().items, pc->x, "list");
    NEXT();
  }
  CASE(TUPLE_CONSTRUCT) : {
    Value* first = top - pc->x;
    Value made = Tuple::make(take(first, pc->x));
    top = first;
    PUSH(std::move(made));
    NEXT();
  }
  CASE(NAMED_TUPLE_CONSTRUCT) : {
    Value* first = top - pc->n;
    Value made = Tuple::make(take(first, pc->n), function->types[size_t(pc->x)]);
    top = first;
    PUSH(std::move(made));
    NEXT();
  }
  CASE(LIST_CONSTRUCT) : {
    Value* first = top - pc->n;
    Value made = List::make(take(first, pc->n), function->types[size_t(pc->x)]->elements[0]);
    top = first;
    PUSH(std::move(made));
    NEXT();
  }
  CASE(DICT_CONSTRUCT) : {
    SAVE();
    Value* first = top - pc->n;
    Value made = make_dict(*function->types[size_t(pc->x)], first, pc->n);
    top = first;
    PUSH(std::move(made));
    NEXT();
  }
  CASE(CREATE_OBJECT) : {
    PUSH(Value(Object::make(function->types[size_t(pc->x)]->cls)));
    NEXT();
  }
  CASE(ISINSTANCE) : {
    SAVE();
    bool is = is_instance(top[-1], function->types.data() + pc->x, pc->n);
    top[-1].set_bool(is);
    NEXT();
  }
  CASE(TUPLE_SLICE) : {
    SAVE();
    const std::vector<Value>& items = top[-1].as_tuple().items;
    if (int64_t(pc->x) + pc->n > int64_t(items.size())) {
      raise(ErrorKind::IndexError, "tuple index out of range");
    }
    Value made = Tuple::make({items.begin() + pc->x, items.begin() + pc->x + pc->n});
    top[-1] = std::move(made);
    NEXT();
  }
  CASE(TUPLE_INDEX) : {
    SAVE();
    Value item = language::tuple_index(top[-2].as_tuple(), top[-1].as_int());
    (--top)->reset();
    top[-1] = std::move(item);
    NEXT();
  }
  CASE(RAISE_EXCEPTION) : {
    SAVE();
    language::raise_exception(top[-2], top[-1]);
  }
  CASE(DICT_INDEX) : {
    SAVE();
    Value item = language::dict_index(top[-2].as_dict(), top[-1]);
    (--top)->reset();
    top[-1] = std::move(item);
    NEXT();
  }
  CASE(UNCHECKED_CAST) : { NEXT(); }
  CASE(__IS__) : {
    bool is = top[-2].same(top[-1]);
    (--top)->reset();
    top[-1].set_bool(is);
    NEXT();
  }
  CASE(__ISNOT__) : {
    bool is = top[-2].same(top[-1]);
    (--top)->reset();
    top[-1].set_bool(!is);
    NEXT();
  }
  CASE(UN_INITIALIZED) : {
    PUSH(Value());
    NEXT();
  }
  CASE(FORMAT) : {
    SAVE();
    Value* first = top - pc->x;
    Value text = language::format(first, pc->x);
    while (top > first) (--top)->reset();
    PUSH(std::move(text));
    NEXT();
  }
  CASE(DEVICE) : {
    SAVE();
    top[-1].as_tensor();
    top[-1] = Value(Device());
    NEXT();
  }
  CASE(DTYPE) : {
    SAVE();
    top[-1].set_int(int64_t(top[-1].as_tensor().dtype()));
    NEXT();
  }
  CASE(DIM) : {
    SAVE();
    top[-1].set_int(top[-1].as_tensor().dim());
    NEXT();
  }
  CASE(__NOT__) : {
    SAVE();
    top[-1].set_bool(!top[-1].as_bool());
    NEXT();
  }
  CASE(TO_LIST) : {
    SAVE();
    Value list = language::to_list(top[-3].as_tensor(), top[-2].as_int(), top[-1].as_int());
    (--top)->reset();
    (--top)->reset();
    top[-1] = std::move(list);
    NEXT();
  }
  CASE(NUM_TO_TENSOR) : {
    SAVE();
    Value tensor = language::number_to_tensor(top[-1]);
    top[-1] = std::move(tensor);
    NEXT();
  }
  CASE(IS_CUDA) : {
    SAVE();
    top[-1].as_tensor();
    top[-1].set_bool(false);
    NEXT();
  }
  CASE(WARN) : {
    SAVE();
    language::warn(context_, top[-2].as_string());
    (--top)->reset();
    (--top)->reset();
    NEXT();
  }
  CASE(FORK) : {  // runs to its end now: one of the orders in which calls side by side may run
    SAVE();
    enter(*function->callees[size_t(pc->x)], pc->n);
    frames_.back().future = Future::make();
    frames_.back().is_fork = true;
    RELOAD();
    DISPATCH();
  }
  CASE(AWAITABLE) : {
    SAVE();
    Value* first = top - pc->n;
    Value made = prepare(*function->callees[size_t(pc->x)], first, pc->n);
    top = first;
    PUSH(std::move(made));
    NEXT();
  }
  CASE(WAIT) : {
    SAVE();
    Future& future = top[-1].as_future();
    if (future.error) throw Error(*future.error);
    if (future.function) {
      start(frame, &future);
      RELOAD();
      DISPATCH();
    }
    Value result = future.value;
    top[-1] = std::move(result);
    NEXT();
  }
  CASE(OP) : CASE(OPN) : CASE(GUARD) : CASE(TYPECHECK) : CASE(FAIL_GUARD) : CASE(PROFILE_OP)
      : CASE(TAIL_CALL) : {
    SAVE();
    raise(ErrorKind::RuntimeError, "an instruction that no verified program has");
  }
  END
#undef SAVE
#undef RELOAD
#undef PUSH
#undef POP_TO
#undef DISPATCH
#undef CASE
#undef BEGIN
#undef END
#undef NEXT
}

}  // namespace

Value execute(const Program& program, const Function& function, std::vector<Value>& arguments,
              Context& context, const Limits& limits) {
  return Machine(program, context, limits).call(function, arguments);
}

}  // namespace scriptlang
