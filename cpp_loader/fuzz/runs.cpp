// Runs the functions of a fuzzed program on unusual arguments, within limits.
#include "runs.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "../kernels/stop.h"
#include "autograd/backward.h"
#include "lower/lowering.h"
#include "values/walk.h"

using namespace scriptlang;

namespace fuzz {

uint64_t hash_of(const uint8_t* data, size_t size) {
  uint64_t hash = 1469598103934665603ull;
  for (size_t k = 0; k < size; ++k) hash = (hash ^ data[k]) * 1099511628211ull;
  return hash;
}

// ---- arguments

int64_t Arguments::integer() {
  static const int64_t kOdd[] = {std::numeric_limits<int64_t>::max(),
                                 std::numeric_limits<int64_t>::min(),
                                 int64_t{1} << 40,
                                 1000,
                                 -1000,
                                 int64_t{1} << 31};
  return pick(12) ? pick(8) - 2 : kOdd[pick(6)];
}

double Arguments::number() {
  static const double kOdd[] = {-0.0, 1e300, std::numeric_limits<double>::quiet_NaN(),
                                -std::numeric_limits<double>::infinity()};
  return pick(8) ? double(pick(2000) - 1000) / 500 : kOdd[pick(4)];
}

std::string Arguments::text() {
  static const char* const kTexts[] = {"", "a", "text", "{}", "{} {}", "1", "x y z", "mean"};
  return kTexts[pick(8)];
}

Value Arguments::tensor() {
  static const ScalarType kTypes[] = {ScalarType::Float32, ScalarType::Float32, ScalarType::Float32,
                                      ScalarType::Float64, ScalarType::Int64,   ScalarType::Bool,
                                      ScalarType::UInt8,   ScalarType::Float16};
  ScalarType type = kTypes[pick(8)];
  const bool is_watched = category(type) == TypeCategory::Floating && pick(6) == 0;
  int64_t sizes[4];
  int dims = pick(5);
  for (int d = 0; d < dims; ++d) sizes[d] = pick(10) ? 1 + pick(5) : 0;
  Tensor t = Tensor::zeros({sizes, dims}, type);
  char* data = static_cast<char*>(t.raw());
  for (int64_t k = 0; k < t.numel(); ++k) {
    switch (type) {
      case ScalarType::Float32: reinterpret_cast<float*>(data)[k] = float(number()); break;
      case ScalarType::Float64: reinterpret_cast<double*>(data)[k] = number(); break;
      case ScalarType::Int64: reinterpret_cast<int64_t*>(data)[k] = integer(); break;
      case ScalarType::Float16:
        reinterpret_cast<float16*>(data)[k] = float16(float(number()));
        break;
      case ScalarType::Bool: data[k] = char(pick(2)); break;
      default: data[k] = char(pick(256));
    }
  }
  if (is_watched) autograd::require_grad(t, true, true);
  return t;
}

Value Arguments::list(const Type* element, int depth) {
  std::vector<Value> items;
  bool lies = pick(16) == 0;
  for (int n = pick(6); n > 0; --n) {
    items.push_back(element && !lies ? of(*element, depth + 1) : any(depth + 1));
  }
  bool says = element && !lies && pick(2);
  return List::make(std::move(items), says ? TypeRef::share(element) : TypeRef());
}

Value Arguments::dict(const Type* key, const Type* value, int depth) {
  Ref<Dict> made = Dict::make();
  for (int n = pick(4); n > 0; --n) {
    Value k = !key ? Value(integer()) : of(*key, depth + 1);
    bool fits = k.is_int() || k.is_double() || k.is_bool() || k.is_string();
    made->set(fits ? k : Value(integer()), value ? of(*value, depth + 1) : any(depth + 1));
  }
  return made;
}

Value Arguments::any(int depth) {
  switch (pick(depth > 2 ? 6 : 10)) {
    case 0: return Value();
    case 1: return pick(2) == 0;
    case 2: return integer();
    case 3: return number();
    case 4: return text();
    case 5: return tensor();
    case 6: return list(nullptr, depth);
    case 7: return dict(nullptr, nullptr, depth);
    case 8: return Tuple::make({any(depth + 1), any(depth + 1)});
    default: return std::complex<double>(number(), number());
  }
}

Value Arguments::of(const Type& type, int depth) {
  if (depth > 6 || pick(40) == 0) return any(depth);
  switch (type.kind) {
    case TypeKind::None: return Value();
    case TypeKind::Bool: return pick(2) == 0;
    case TypeKind::Int: return integer();
    case TypeKind::Float: return pick(6) ? Value(number()) : Value(integer());
    case TypeKind::Complex: return std::complex<double>(number(), number());
    case TypeKind::Number: return pick(2) ? Value(number()) : Value(integer());
    case TypeKind::String: return text();
    case TypeKind::Device: return Device{};
    case TypeKind::Tensor: return tensor();
    case TypeKind::Generator: return Generator::make();
    case TypeKind::List: return list(type.elements[0].get(), depth);
    case TypeKind::Dict: return dict(type.elements[0].get(), type.elements[1].get(), depth);
    case TypeKind::Optional: return pick(3) ? of(*type.elements[0], depth + 1) : Value();
    case TypeKind::Tuple:
    case TypeKind::NamedTuple: {
      std::vector<Value> items;
      for (const TypeRef& element : type.elements) items.push_back(of(*element, depth + 1));
      return Tuple::make(std::move(items));
    }
    case TypeKind::Class: {
      Ref<Object> object = Object::make(type.cls);
      object->slots.resize(size_t(pick(6)));
      for (Value& slot : object->slots) slot = any(depth + 1);
      return object;
    }
    default: return any(depth);
  }
}

// ---- runs

namespace {

constexpr int64_t kInstructions = 3000;
constexpr int64_t kMemory = 1 << 24;
constexpr int64_t kMilliseconds = 60;
constexpr size_t kFunctions = 12;  // that are run of one program

Limits limits() {
  Limits chosen;
  chosen.instructions = kInstructions;
  chosen.memory_bytes = kMemory;
  chosen.milliseconds = kMilliseconds;
  chosen.depth = 60;
  return chosen;
}

struct Outcome {
  bool limited = false, raised = false;
  ErrorKind kind = ErrorKind::RuntimeError;
  std::string message;
  Value result;
  std::vector<Value> arguments;  // as they are afterwards
};

// With FUZZ_SHOW in the environment, what each call gives is printed.
void show(const char* what, const Outcome& o) {
  std::string text =
      o.raised ? concat(error_kind_name(o.kind), ": ", o.message) : to_text(o.result);
  std::fprintf(stderr, "%s: %s\n", what, text.substr(0, 2000).c_str());
}

// Goes back from what a run gave to all that requires a gradient; after every other run so that it
// could be gone through again.
void go_back(const Value& result) {
  autograd::Request request;
  walk(result, [&](const Value& v) {
    if (v.is_tensor() && v.as_tensor().requires_grad()) request.outputs.push_back(v.as_tensor());
    return request.outputs.size() < 100;
  });
  if (request.outputs.empty()) return;
  memory::LimitScope memory(kMemory);
  kernels::Stop stop;
  stop.set_deadline(kernels::Stop::Clock::now() + std::chrono::milliseconds(kMilliseconds));
  kernels::StopScope stops(&stop);
  Context context;
  try {
    for (const Tensor& t : request.outputs) {
      request.grad_outputs.push_back(Tensor::zeros(t.sizes(), t.dtype()));
    }
    request.creates_graph = request.outputs.size() % 2 == 0;
    request.accumulate = true;
    autograd::go_backward(context, std::move(request));
  } catch (const Error&) {
  } catch (const kernels::Stopped&) {}
}

template <class Call>
Outcome outcome_of(const Call& call) {
  Outcome outcome;
  Ref<Generator> generator = Generator::make(7);
  Context context;
  context.generator = generator.get();
  context.print = context.warn = [](const char*, size_t, void*) {};
  try {
    outcome.result = call(context);
  } catch (const Error& error) {
    outcome.raised = true;
    outcome.kind = error.kind;
    outcome.message = error.message;
    outcome.limited = error.kind == ErrorKind::LimitError || error.kind == ErrorKind::MemoryError;
  }
  if (std::getenv("FUZZ_SHOW")) show("a call", outcome);
  if (!outcome.raised) go_back(outcome.result);
  return outcome;
}

Outcome run_once(const Program& program, const Function& function, std::vector<Value> arguments) {
  Outcome outcome = outcome_of(
      [&](Context& context) { return run(program, function, arguments, context, limits()); });
  outcome.arguments = std::move(arguments);
  return outcome;
}

bool same_number(double a, double b) { return a == b || (a != a && b != b); }

// Equal as far as it can be told without meeting a pair of containers again and again.
bool alike(const Value& a, const Value& b, int64_t* left) {
  if (--*left < 0) return true;
  if (a.tag() != b.tag()) return false;
  auto all = [&](const auto& x, const auto& y) {
    if (x.size() != y.size()) return false;
    for (size_t k = 0; k < x.size(); ++k) {
      if (!alike(x[k], y[k], left)) return false;
    }
    return true;
  };
  switch (a.tag()) {
    case Tag::Double: return same_number(a.as_double(), b.as_double());
    case Tag::Bool:
    case Tag::Int: return a.bits() == b.bits();
    case Tag::Text:
    case Tag::String: return a.as_string() == b.as_string();
    case Tag::Tensor:
      return a.as_tensor().dtype() == b.as_tensor().dtype() &&
             std::equal(a.as_tensor().sizes().begin(), a.as_tensor().sizes().end(),
                        b.as_tensor().sizes().begin(), b.as_tensor().sizes().end());
    case Tag::List: return all(items_of(a), items_of(b));
    case Tag::Tuple: return all(a.as_tuple().items, b.as_tuple().items);
    case Tag::Object: return all(a.as_object().slots, b.as_object().slots);
    case Tag::Dict: return a.as_dict().size() == b.as_dict().size();
    default: return true;
  }
}

// An int where an operator takes a float becomes one for good in register code, in the register
// that it came from; no compiler writes that. What is computed from it may differ.
bool makes_float(const lower::Code& code, const lower::Step& step) {
  using lower::StepOp;
  switch (step.op) {
    case StepOp::GUARD_FLOAT:
    case StepOp::LIST_GET_FLOAT:
    case StepOp::ROW_GET_FLOAT:
    case StepOp::DICT_GET_FLOAT:
    case StepOp::DICT_GET_OR_FLOAT:
    case StepOp::ATTRIBUTE_FLOAT:
    case StepOp::TUPLE_AT_FLOAT:
    case StepOp::PART_GET_FLOAT: return true;
    case StepOp::UNPACK:
    case StepOp::UNPACK_LAST:
    case StepOp::UNPACK_AT: {
      int32_t count = step.op == StepOp::UNPACK_AT ? step.y : step.c;
      const lower::Fill* first = code.fills.data() + step.x;
      return std::any_of(first, first + count,
                         [](const lower::Fill& fill) { return fill.kind == lower::Fill::Float; });
    }
    default: return false;
  }
}

bool may_turn_ints_to_floats(const Program& program) {
  for (const auto& function : program.functions()) {
    const lower::Code& code = lower::code_of(*function);
    for (const lower::Step& step : code.steps) {
      if (makes_float(code, step)) return true;
    }
  }
  return false;
}

[[noreturn]] void differ(const Function& function, const Outcome& proven, const Outcome& plain) {
  std::fprintf(stderr, "%s differs\n", function.name.c_str());
  show("register code", proven);
  show("plain code", plain);
  std::abort();
}

std::vector<Value> arguments_of(const Function& function, uint64_t seed) {
  Arguments make(seed);
  std::vector<Value> made;
  for (const Argument& a : function.arguments) made.push_back(make.of(*a.type));
  while (int64_t(made.size()) < function.parameters) made.push_back(make.any());
  return made;
}

// In results, or in the kind of error; and in what became of the arguments. Register code may be
// stricter about types than operators are.
bool agree(const Outcome& proven, const Outcome& plain) {
  if (proven.raised && proven.kind == ErrorKind::TypeError) return true;
  if (proven.raised != plain.raised) return false;
  if (proven.raised) return proven.kind == plain.kind;
  int64_t left = 10000;
  bool same = alike(proven.result, plain.result, &left);
  for (size_t k = 0; same && k < proven.arguments.size(); ++k) {
    same = alike(proven.arguments[k], plain.arguments[k], &left);
  }
  return same;
}

// What a program computes from memory that nobody wrote differs from run to run.
bool is_settled(const Program& program) {
  for (const auto& function : program.functions()) {
    for (const OperatorUse& use : function->operators) {
      bool is_open = use.name.find("empty") != std::string::npos ||
                     use.name.find("resize") != std::string::npos ||
                     use.name.find("set_data") != std::string::npos;
      if (is_open) return false;
    }
  }
  return true;
}

}  // namespace

void call_methods(Module& module, uint64_t seed) {
  size_t left = kFunctions;
  for (const std::string& name : module.method_names()) {
    if (left-- == 0) break;
    const Function* function = module.method(name);
    if (!function || function->parameters < 1 || function->parameters > 1000) continue;
    for (uint64_t round = 0; round < 2; ++round) {
      std::vector<Value> arguments = arguments_of(*function, seed + round);
      arguments.erase(arguments.begin());  // self
      outcome_of([&](Context& context) {
        return module.call(name, std::move(arguments), context, limits());
      });
    }
  }
}

void run_functions(const Program& program, uint64_t seed) {
  for (size_t k = 0; k < std::min(program.functions().size(), kFunctions); ++k) {
    const Function& function = *program.functions()[k];
    if (function.parameters > 1000 || !function.refusal.empty()) continue;
    run_once(program, function, arguments_of(function, seed));
  }
}

void run_both_ways(const ReadTree& read, uint64_t seed) {
  auto decoded = [&] {
    auto classes = std::make_shared<ClassTable>();
    Value tree = read(classes.get());
    return Program::decode(tree, classes);
  };
  auto program = decoded(), plain = decoded();
  for (const auto& function : plain->functions()) {
    function->lowered.store(lower::plain_code(*function).release());
    function->group.reset();
  }
  bool settled = is_settled(*program);
  for (size_t k = 0; k < std::min(program->functions().size(), kFunctions); ++k) {
    const Function& function = *program->functions()[k];
    if (function.parameters > 1000) continue;
    for (uint64_t round = 0; round < 2; ++round) {
      Outcome proven = run_once(*program, function, arguments_of(function, seed + round));
      const Function& same = *plain->functions()[k];
      Outcome other = run_once(*plain, same, arguments_of(same, seed + round));
      if (proven.limited || other.limited || !settled) continue;
      if (!agree(proven, other) && !may_turn_ints_to_floats(*program)) {
        differ(function, proven, other);
      }
    }
  }
}

}  // namespace fuzz
