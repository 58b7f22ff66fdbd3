// Runs FUSED: finds or makes the plan for the arguments of a fused group.
#include "fused_group.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>

#include "fused_plan.h"
#include "program/program.h"
#include "values/raw_view.h"

namespace scriptlang {

namespace {

constexpr int kMaxPlans = 32;          // cached per group
constexpr int64_t kWorthPlan = 16384;  // elements; fewer are not worth an uncached plan
// The same where only a number is another one at each call, such as the corrections of Adam: a plan
// takes about as long as the operators on what stays in a cache.
constexpr int64_t kWorthDriftingPlan = 1 << 19;

// The names of operators that have the fact `fusible` (scriptlang/ops/facts.py), sorted.
constexpr const char* kFusible[] = {
#define SL_FUSIBLE(name) name,
#include "fusible.def"
#undef SL_FUSIBLE
};

}  // namespace

bool is_fusible(const OperatorUse& use) {
  return use.entry != nullptr &&
         std::binary_search(std::begin(kFusible), std::end(kFusible), use.qualified_name(),
                            [](std::string_view a, std::string_view b) { return a < b; });
}

// ---- plans

namespace {

constexpr int64_t kTensorKey = 64;

int64_t bits_of(const Value& v) {
  if (v.is_double()) {
    double number = v.raw_double();
    int64_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    return bits;
  }
  return v.is_int() ? v.raw_int() : v.is_bool() ? int64_t(v.as_bool()) : 0;
}

bool has_key(const Value& v) {
  return v.is_tensor() || v.is_double() || v.is_int() || v.is_bool() || v.is_none();
}

// Calls f with the numbers that identify the kind of the arguments; stops if f returns false.
template <class F>
bool walk_key(const Value* args, int count, F f) {
  for (int i = 0; i < count; ++i) {
    const Value& v = args[i];
    if (!v.is_tensor()) {
      if (!f(int64_t(v.tag())) || !f(bits_of(v))) return false;
      continue;
    }
    const TensorImpl& t = *v.as_tensor().impl();
    if (!f(kTensorKey + (int64_t(t.dtype) << 8) + (int64_t(t.ndim) << 16))) return false;
    for (int d = 0; d < t.ndim; ++d) {
      if (!f(t.sizes[d]) || !f(t.strides[d])) return false;
    }
  }
  return true;
}

bool matches_key(const FusedPlan& plan, const Value* args, int count) {
  const int64_t *at = plan.key.data(), *end = at + plan.key.size();
  bool same = walk_key(args, count, [&](int64_t k) { return at != end && *at++ == k; });
  return same && at == end;
}

// Whether the arguments differ from those of the plan in numbers of the same types only.
bool matches_but_numbers(const FusedPlan& plan, const Value* args, int count) {
  size_t place = 0;
  for (int i = 0; i < count; ++i) {
    int part = 0;  // of a number, the second one is its value
    const bool same = walk_key(args + i, 1, [&](int64_t k) {
      const bool is_value = part++ == 1 && !args[i].is_tensor();
      return place < plan.key.size() && (k == plan.key[place++] || is_value);
    });
    if (!same) return false;
  }
  return place == plan.key.size();
}

}  // namespace

// ---- recording

namespace {

// Runs straight-line code whose operators have one result each.
class Straight {
 public:
  Straight(const Function& f, Context& context)
      : f_(f),
        context_(context),
        registers_(size_t(f.registers) + 1),
        stack_(size_t(f.max_stack) + 2) {}

  static bool is_straight(const Function& f) {
    size_t last = f.code.size() - 1;
    for (size_t pc = 0; pc < f.code.size(); ++pc) {
      const Instruction& i = f.code[pc];
      switch (i.op) {
        case Opcode::LOAD:
        case Opcode::MOVE:
        case Opcode::STORE:
        case Opcode::STOREN:
        case Opcode::DROP:
        case Opcode::DROPR:
        case Opcode::LOADC: break;
        case Opcode::OP_ONE:
        case Opcode::OP_ANY:
          if (i.results != 1 || !is_fusible(f.operators[size_t(i.x)])) return false;
          break;
        case Opcode::RET:
          if (pc != last) return false;
          break;
        default: return false;
      }
    }
    return true;
  }

  // Returns the stack, with the results at the bottom.
  const std::vector<Value>& run(std::vector<Value> args) {
    for (Value& v : args) stack_[top_++] = std::move(v);
    for (const Instruction& i : f_.code) step(i);
    return stack_;
  }

 private:
  void step(const Instruction& i) {
    size_t x = size_t(i.x);
    switch (i.op) {
      case Opcode::LOAD: stack_[top_++] = registers_[x]; break;
      case Opcode::MOVE: stack_[top_++] = std::move(registers_[x]); break;
      case Opcode::STORE: registers_[x] = std::move(stack_[--top_]); break;
      case Opcode::STOREN:
        top_ -= size_t(i.n);
        for (size_t k = 0; k < size_t(i.n); ++k) registers_[x + k] = std::move(stack_[top_ + k]);
        break;
      case Opcode::DROP: stack_[--top_].reset(); break;
      case Opcode::DROPR: registers_[x].reset(); break;
      case Opcode::LOADC: stack_[top_++] = f_.constants[x]; break;
      case Opcode::OP_ONE:
      case Opcode::OP_ANY: call(i); break;
      default: break;
    }
  }

  void call(const Instruction& i) {
    const OperatorUse& use = f_.operators[size_t(i.x)];
    std::vector<Value> args;
    top_ -= i.arguments;
    for (size_t k = 0; k < i.arguments; ++k) args.push_back(std::move(stack_[top_ + k]));
    if (i.op == Opcode::OP_ANY) {
      for (const Value& v : use.defaults) args.push_back(v);
    }
    Value result;
    i.run(context_, Args(args.data(), int(args.size())), &result);
    stack_[top_++] = std::move(result);
  }

  const Function& f_;
  Context& context_;
  std::vector<Value> registers_, stack_;
  size_t top_ = 0;
};

}  // namespace

// ---- the group

std::unique_ptr<FusedGroup> FusedGroup::make(const Function& function) {
#if defined(SL_NO_FUSION)  // the function is called instead
  return nullptr;
#endif
  if (!Straight::is_straight(function)) return nullptr;
  return std::unique_ptr<FusedGroup>(new FusedGroup(function));
}

FusedGroup::~FusedGroup() {
  for (FusedPlan* p = first_.load(); p != nullptr;) {
    FusedPlan* next = p->next;
    delete p;
    p = next;
  }
}

const FusedPlan* FusedGroup::find(const Value* args) {
  int count = function_.parameters;
  const FusedPlan* latest = latest_.load(std::memory_order_acquire);
  if (latest != nullptr && matches_key(*latest, args, count)) return latest;
  for (FusedPlan* p = first_.load(std::memory_order_acquire); p != nullptr; p = p->next) {
    if (p == latest || !matches_key(*p, args, count)) continue;
    latest_.store(p, std::memory_order_release);
    return p;
  }
  return nullptr;
}

std::unique_ptr<FusedPlan> FusedGroup::make_plan(Context& context, const Value* args) const {
  auto plan = std::make_unique<FusedPlan>();
  int count = function_.parameters;
  walk_key(args, count, [&](int64_t k) { return plan->key.push_back(k), true; });
  try {
    Recording recording;
    std::vector<Value> symbolic(args, args + count);
    for (int i = 0; i < count; ++i) {
      if (!args[i].is_tensor()) continue;
      symbolic[size_t(i)] = recording.input(args[i].as_tensor());
      plan->tensors.push_back(i);
    }
    Straight straight(function_, context);
    const std::vector<Value>& stack = straight.run(std::move(symbolic));
    for (int k = 0; k < function_.results; ++k) {
      int value = recording.find(stack[size_t(k)].as_tensor());
      if (value < int(plan->tensors.size())) Recording::give_up();  // returns an argument
      plan->results.push_back(value);
    }
    bool fits = recording.values().size() <= FusedPlan::kMaxValues;
    if (!fits || !make_parts(recording, plan.get())) plan->parts.clear();
  } catch (const Recording::Impossible&) {
    plan->parts.clear();
  } catch (const Error&) {  // calling the function will raise it
    plan->parts.clear();
  }
  return plan;
}

namespace {

Tensor make_output(const FusedPlan::Made& m) {
  Tensor t = Tensor::empty(m.sizes, m.type);
  if (!m.contiguous) lay(t, m.strides);
  return t;
}

// Runs a whole operator on arguments and values made before.
Tensor run_whole(const FusedPlan& plan, const FusedPlan::Part& part, const Value* args,
                 const Tensor* made) {
  Tensor in[kMaxInputs];
  for (size_t k = 0; k < part.inputs.size(); ++k) {
    int v = part.inputs[k];
    if (v < 0) continue;
    if (v < int(plan.tensors.size())) {
      in[k] = args[plan.tensors[size_t(v)]].as_tensor();
      continue;
    }
    size_t m = 0;
    while (plan.made[m].first != v) ++m;
    in[k] = made[m];
  }
  return part.whole(in);
}

// Runs a plan and leaves the results in `args`. An argument whose memory may be reused becomes an
// output if nothing else refers to it.
void execute(const FusedPlan& plan, Value* args, int count) {
  char* data[FusedPlan::kMaxValues];
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    data[i] = static_cast<char*>(args[plan.tensors[i]].as_tensor().raw());
  }
  constexpr size_t kFew = 8;
  Tensor few[kFew];
  std::vector<Tensor> many(plan.made.size() > kFew ? plan.made.size() : 0);
  Tensor* made = many.empty() ? few : many.data();
  size_t next = 0;
  for (const FusedPlan::Part& part : plan.parts) {
    if (part.whole) {
      made[next] = run_whole(plan, part, args, made);
      data[plan.made[next].first] = static_cast<char*>(made[next].raw());
      ++next;
      continue;
    }
    char* streams[StreamProgram::kMaxStreams];
    size_t n = 0;
    for (int v : part.inputs) streams[n++] = data[v];
    for (const std::vector<int>& reusable : part.reusable) {
      const FusedPlan::Made& m = plan.made[next].second;
      Tensor& t = made[next];
      for (int v : reusable) {
        Value& arg = args[plan.tensors[size_t(v)]];
        bool taken = arg.is_none();  // already reused for another output
        if (!taken && arg.as_tensor().is_exclusive()) t = arg.take_tensor();
        if (t.defined()) break;
      }
      if (!t.defined()) t = make_output(m);
      data[plan.made[next].first] = static_cast<char*>(t.raw());
      streams[n++] = static_cast<char*>(t.raw());
      ++next;
    }
    if (plan.made[next - 1].second.numel > 0) part.program->run(streams);
  }
  for (int i = 0; i < count; ++i) args[i].reset();
  for (size_t k = 0; k < plan.results.size(); ++k) {
    auto rest = plan.results.begin() + int64_t(k) + 1;
    Tensor& t = made[size_t(plan.results[k])];
    bool again = std::find(rest, plan.results.end(), plan.results[k]) != plan.results.end();
    args[k] = again ? Value(t) : Value(std::move(t));
  }
}

int64_t largest(const Value* args, int count) {
  int64_t most = 0;
  for (int i = 0; i < count; ++i) {
    if (args[i].is_tensor()) most = std::max(most, args[i].as_tensor().numel());
  }
  return most;
}

}  // namespace

const FusedPlan* FusedGroup::add(std::unique_ptr<FusedPlan> fresh) {
  FusedPlan* p = fresh.release();
  p->next = first_.load(std::memory_order_relaxed);
  while (!first_.compare_exchange_weak(p->next, p, std::memory_order_acq_rel)) {}
  latest_.store(p, std::memory_order_release);
  return p;
}

bool FusedGroup::run(Context& context, Value* args) {
  int count = function_.parameters;
  for (int i = 0; i < count; ++i) {
    if (!has_key(args[i])) return false;
  }
  const FusedPlan* plan = find(args);
  std::unique_ptr<FusedPlan> once;
  if (plan == nullptr && count_.fetch_add(1, std::memory_order_relaxed) < kMaxPlans) {
    plan = add(make_plan(context, args));
  } else if (plan == nullptr) {
    // The cache is full, as shapes keep changing. An uncached plan pays off for large tensors only.
    const FusedPlan* latest = latest_.load(std::memory_order_acquire);
    const bool drifts = latest != nullptr && matches_but_numbers(*latest, args, count);
    if (largest(args, count) < (drifts ? kWorthDriftingPlan : kWorthPlan)) return false;
    once = make_plan(context, args);
    plan = once.get();
  }
  if (plan->parts.empty()) return false;
  try {
    execute(*plan, args, count);
  } catch (const Error&) {  // calling the function will raise it
    return false;
  }
  return true;
}

}  // namespace scriptlang
