// Decodes the tuples of bytecode.pkl into functions, constants and types, and joins functions to a
// program.
#include "program.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

namespace scriptlang {

const char* opcode_name(Opcode op) { return bytecode::info_of(op).name; }

namespace {

int64_t number_of(const Function& f, const Instruction& i, const bytecode::Values& values,
                  bool pops) {
  using bytecode::Count;
  auto more = [&]() -> int64_t {
    switch (values.more) {
      case Count::None: return 0;
      case Count::N: return i.n;
      case Count::X: return i.x;
      case Count::NMinus1: return int64_t(i.n) - 1;
      case Count::NMinus2: return int64_t(i.n) - 2;
      case Count::XMinus1: return int64_t(i.x) - 1;
      case Count::Operator: return pops ? i.arguments : i.results;
      case Count::Function: break;
    }
    const Function& callee = *f.callees[size_t(i.x)];
    return pops ? callee.parameters : callee.results;
  };
  return values.size + more();
}

}  // namespace

int64_t pops_of(const Function& f, const Instruction& i) {
  return number_of(f, i, bytecode::info_of(i.op).pops, true);
}
int64_t pushes_of(const Function& f, const Instruction& i) {
  return number_of(f, i, bytecode::info_of(i.op).pushes, false);
}

TagSet tags_of(bytecode::Kind kind) {
  using bytecode::Kind;
  switch (kind) {
    case Kind::Any: return kAnyTag;
    case Kind::Bool: return tag_bit(Tag::Bool);
    case Kind::Int: return tag_bit(Tag::Int);
    case Kind::Number:
      return tag_bit(Tag::Int) | tag_bit(Tag::Double) | tag_bit(Tag::Complex) | tag_bit(Tag::Bool);
    case Kind::Str: return tag_bit(Tag::Text) | tag_bit(Tag::String);
    case Kind::Tensor: return tag_bit(Tag::Tensor);
    case Kind::Device: return tag_bit(Tag::Device);
    case Kind::Tuple: return tag_bit(Tag::Tuple);
    case Kind::List: return tag_bit(Tag::List);
    case Kind::Dict: return tag_bit(Tag::Dict);
    case Kind::Object: return tag_bit(Tag::Object);
    case Kind::Future: break;
  }
  return tag_bit(Tag::Future);
}

bool ends_flow(Opcode op) { return bytecode::info_of(op).next >= bytecode::Next::Return; }
bool jumps(Opcode op) {
  bytecode::Next next = bytecode::info_of(op).next;
  return next != bytecode::Next::Next && next < bytecode::Next::Return;
}

ClassRef ClassTable::get(const std::string& name) {
  ClassRef& cls = classes_[name];
  if (!cls) cls = ClassType::make(name);
  return cls;
}

void ClassTable::add(const std::string& name, ClassRef cls) {
  if (cls->name != name) renamed_[cls.get()] = name;
  classes_[name] = std::move(cls);
}

const std::string& ClassTable::name_of(const ClassType& cls) const {
  auto it = renamed_.find(&cls);
  return it == renamed_.end() ? cls.name : it->second;
}

ClassResolver ClassTable::resolver() {
  return [this](const std::string& name) {
    bool is_class = name.compare(0, 9, "__torch__") == 0 || classes_.count(name) != 0;
    return is_class ? get(name) : ClassRef();
  };
}

// The limit of what decoding may allocate, in bytes. It is needed because a pickle can name one
// object many times: a long text in many rows, or the instructions of one function in thousands of
// others.
constexpr int64_t kMostDecoded = int64_t(1) << 30;

// What is shared while all functions are decoded: the limit, and types that were parsed.
class Decoded {
 public:
  explicit Decoded(const NoneDefaults& of_functions) : defaults(of_functions) {}
  const NoneDefaults& defaults;

  // Accounts for `count` things of so many bytes. Raises LimitError beyond the limit.
  void add(size_t count, size_t bytes) {
    left_ -= int64_t(std::min(count, size_t(kMostDecoded))) * int64_t(bytes);
    if (left_ < 0) {
      raise(ErrorKind::LimitError, "the bytecode needs over ", kMostDecoded,
            " bytes of memory once it is decoded; no model is written like this");
    }
  }

  // The type that a text names; each text is parsed once.
  TypeRef type(const Value& text, const ClassResolver& classes) {
    // An inline text is short; parsing it costs no more than to look it up.
    if (text.tag() == Tag::Text) return parse_type(text.as_string(), classes);
    TypeRef& known = types_[text.bits()];
    if (!known) add(text.as_string().size(), 16);
    if (!known) known = parse_type(text.as_string(), classes);
    return known;
  }

 private:
  int64_t left_ = kMostDecoded;
  std::unordered_map<uint64_t, TypeRef> types_;
};

namespace {

using Items = ValueSpan;

// The items of a tuple or list, since writers use either. boxed() may change the list, which is
// safe because nothing else refers to the tree.
std::optional<Items> sequence(const Value& v) {
  if (v.is_tuple()) return Items(v.as_tuple().items);
  if (v.is_list()) return v.as_list().boxed();
  return std::nullopt;
}

class FunctionDecoder {
 public:
  FunctionDecoder(Function* function, const ClassResolver& classes, Decoded& decoded)
      : f_(*function), classes_(classes), decoded_(decoded) {}

  void decode(Items entry) {
    std::optional<Items> table = sequence(entry[1]);
    if (!table) fail("its code is no table");
    decode_operators(want(*table, "operators"));
    Items constants = want(*table, "constants");
    decoded_.add(constants.size(), sizeof(Value));
    f_.constants.assign(constants.begin(), constants.end());
    for (const Value& type : want(*table, "types")) add_type(&f_.types, type);
    decode_registers(*table);
    if (std::optional<Items> callees = optional(*table, "functions")) {
      for (const Value& name : *callees) f_.callee_names.emplace_back(kept_text(name));
    }
    f_.straights = f_.callee_names.size();
    if (std::optional<Items> names = optional(*table, "straights")) {
      for (const Value& name : *names) f_.callee_names.emplace_back(kept_text(name));
    }
    f_.straights_end = f_.callee_names.size();
    if (const Value* closed = field(*table, "is_closed"))
      f_.is_closed = closed->is_bool() && closed->as_bool();
    decode_schema(entry);
    decode_code(want(*table, "instructions"));
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) {
    raise(ErrorKind::ArchiveError, "the bytecode of ", f_.name, " is malformed: ", parts...);
  }
  std::string_view text(const Value& v) {
    if (!v.is_string()) fail("a ", tag_name(v.tag()), " stands where a name should");
    return v.as_string();
  }
  // A text that the program keeps a copy of.
  std::string_view kept_text(const Value& v) {
    std::string_view found = text(v);
    decoded_.add(1, found.size() + 128);
    return found;
  }
  int64_t integer(const Value& v) {
    if (!v.is_int()) fail("a ", tag_name(v.tag()), " stands where an int should");
    return v.as_int();
  }
  TypeRef decode_type(const Value& v) {
    text(v);
    return decoded_.type(v, classes_);
  }
  void add_type(std::vector<TypeRef>* types, const Value& v) {
    decoded_.add(1, sizeof(TypeRef));
    types->push_back(text(v).empty() ? TypeRef() : decode_type(v));
  }

  // A table is a tuple of (name, value) pairs.
  const Value* field(Items table, const char* name) {
    for (const Value& row : table) {
      std::optional<Items> pair = sequence(row);
      if (!pair || pair->size() != 2) fail("a table row is no pair");
      if (text((*pair)[0]) == name) return &(*pair)[1];
    }
    return nullptr;
  }
  std::optional<Items> optional(Items table, const char* name) {
    const Value* v = field(table, name);
    if (!v) return std::nullopt;
    std::optional<Items> items = sequence(*v);
    if (!items) fail(name, " is no tuple");
    return items;
  }
  Items want(Items table, const char* name) {
    std::optional<Items> items = optional(table, name);
    if (!items) fail(name, " is missing");
    return *items;
  }

  void decode_registers(Items table) {
    const Value* size = field(table, "register_size");
    if (!size) fail("register_size is missing");
    int64_t registers = integer(*size);
    if (registers < 0 || registers > kMaxRegisters) fail("register_size is ", registers);
    decoded_.add(size_t(registers), sizeof(Value));
    f_.registers = int(registers);
    if (std::optional<Items> types = optional(table, "register_types")) {
      for (const Value& v : *types) add_type(&f_.register_types, v);
    }
  }

  void decode_operators(Items rows) {
    for (const Value& row : rows) {
      std::optional<Items> parts = sequence(row);
      if (!parts || parts->size() < 2 || parts->size() > 3) fail("an operator is no tuple of 3");
      OperatorUse use;
      use.name = kept_text((*parts)[0]);
      use.overload = kept_text((*parts)[1]);
      if (parts->size() == 3 && !(*parts)[2].is_none()) {
        int64_t given = integer((*parts)[2]);
        use.given = given < 0 || given > 1000 ? -1 : int(given);
      }
      resolve(&use);
      f_.operators.push_back(std::move(use));
    }
  }

  // Finds the operator, and the defaults of arguments that are not given. If the number of
  // arguments does not fit, the call is for the schema of another version of PyTorch: the operator
  // counts as missing.
  void resolve(OperatorUse* use) {
    use->entry = find_op(use->qualified_name());
    if (!use->entry) return;
    const Schema& schema = schema_of(*use->entry);
    use->results = int(schema.returns.size());
    use->variadic = schema.variadic_arguments;
    if (!use->variadic && !fill(use, schema)) use->entry = nullptr;
  }

  // Fills in the numbers of arguments, and the defaults. False if they do not fit the schema.
  bool fill(OperatorUse* use, const Schema& schema) {
    use->total = int(schema.arguments.size());
    if (use->given < 0) use->given = use->total;
    if (use->given > use->total) return false;
    for (auto a = schema.arguments.rbegin(); a != schema.arguments.rend() && a->is_out; ++a) {
      ++use->trailing_out;
    }
    if (use->given == use->total) return true;
    if (use->given < use->trailing_out) return false;
    for (int i = use->given - use->trailing_out; i < use->total - use->trailing_out; ++i) {
      const Argument& a = schema.arguments[size_t(i)];
      if (!a.has_default) return false;
      decoded_.add(1, sizeof(Value));
      use->defaults.push_back(a.default_value);
    }
    return true;
  }

  void decode_schema(Items entry) {
    if (entry.size() < 3) return;
    std::optional<Items> table = sequence(entry[2]);
    if (!table) fail("its schema is no table");
    if (table->empty()) return;
    f_.has_schema = true;
    decode_arguments(want(*table, "arguments"), &f_.arguments);
    add_none_defaults();
    decode_arguments(want(*table, "returns"), &f_.returns);
  }

  void decode_arguments(Items rows, std::vector<Argument>* out) {
    for (const Value& row : rows) {
      std::optional<Items> fields = sequence(row);
      if (!fields) fail("an argument is no table");
      const Value* name = field(*fields, "name");
      const Value* type = field(*fields, "type");
      if (!name || !type) fail("an argument lacks its name or type");
      Argument a;
      a.name = kept_text(*name);
      a.type = decode_type(*type);
      const Value* default_value = field(*fields, "default_value");
      if (default_value && !default_value->is_none()) {
        a.has_default = true;
        a.default_value = *default_value;
      }
      out->push_back(std::move(a));
    }
  }

  // In bytecode.pkl a default of None looks like no default. If it is not known which arguments
  // have one (NoneDefaults), all last arguments whose type allows None get it, as in PyTorch's lite
  // interpreter.
  void add_none_defaults() {
    auto told = decoded_.defaults.find(f_.name);
    if (told != decoded_.defaults.end()) return take_none_defaults(told->second);
    for (auto a = f_.arguments.rbegin(); a != f_.arguments.rend(); ++a) {
      bool any = a->type->kind == TypeKind::Any || a->type->kind == TypeKind::Variable ||
                 a->type->kind == TypeKind::Opaque;
      if (!a->has_default && (any || !(tags_of(*a->type) & tag_bit(Tag::None)))) return;
      a->has_default = true;
    }
  }

  void take_none_defaults(const std::unordered_set<std::string>& names) {
    size_t found = 0;
    for (Argument& a : f_.arguments) {
      if (!names.count(a.name)) continue;
      if (a.has_default || !(tags_of(*a.type) & tag_bit(Tag::None))) {
        fail("its argument '", a.name, "' has no default None");
      }
      a.has_default = true;
      ++found;
    }
    if (found != names.size()) fail("it lacks arguments whose default is told");
  }

  void decode_code(Items rows) {
    decoded_.add(rows.size(), 4 * sizeof(Instruction));  // verifying and lowering need more
    f_.code.reserve(rows.size());
    for (const Value& row : rows) {
      std::optional<Items> parts = sequence(row);
      if (!parts || parts->size() != 3) fail("an instruction is no tuple of 3");
      Instruction i;
      i.op = decode_opcode(text((*parts)[0]));
      i.x = small((*parts)[1]);
      i.n = small((*parts)[2]);
      f_.code.push_back(i);
    }
    f_.results = f_.has_schema ? int(f_.returns.size()) : 1;
    f_.parameters = int(f_.arguments.size());
    if (!f_.has_schema && !f_.code.empty()) {  // parameters: what the first instruction stores
      if (f_.code[0].op == Opcode::STOREN) f_.parameters = std::max(f_.code[0].n, 0);
      if (f_.code[0].op == Opcode::STORE) f_.parameters = 1;
    }
  }

  int32_t small(const Value& v) {
    int64_t value = integer(v);
    if (value < INT32_MIN || value > INT32_MAX) fail("an operand is ", value);
    return int32_t(value);
  }

  Opcode decode_opcode(std::string_view name) {
    static constexpr Opcode kAll[] = {
#define SL_OPCODE(name, ...) Opcode::name,
#include "opcodes.def"
    };
    for (Opcode op : kAll) {
      const bytecode::OpcodeInfo& info = bytecode::info_of(op);
      if (name != info.name) continue;
      if (!info.runs) fail("the instruction ", name, " is not supported");
      return op;
    }
    fail("the instruction '", name.substr(0, 60), "' is unknown");
  }

  Function& f_;
  const ClassResolver& classes_;
  Decoded& decoded_;
};

}  // namespace

void Program::decode_function(const Value& tree, Decoded& decoded) {
  std::optional<Items> entry = sequence(tree);
  bool good = entry && (entry->size() == 2 || entry->size() == 3) && (*entry)[0].is_string();
  if (!good)
    raise(ErrorKind::ArchiveError,
          "the bytecode is malformed: a function is no tuple "
          "(name, code, schema)");
  auto function = std::make_unique<Function>();
  function->name = (*entry)[0].as_string();
  decoded.add(1, sizeof(Function) + function->name.size());
  FunctionDecoder(function.get(), classes_->resolver(), decoded).decode(*entry);
  if (!by_name_.emplace(function->name, function.get()).second) {
    raise(ErrorKind::ArchiveError, "the bytecode has two functions named ", function->name);
  }
  functions_.push_back(std::move(function));
}

static bool same_types(const std::vector<Argument>& a, const std::vector<Argument>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(),
      [](const Argument& x, const Argument& y) { return same_type(*x.type, *y.type); });
}

// Raises ArchiveError unless the straight graphs of a function take and give what it does.
__attribute__((cold)) static void check_straights(const Function& f) {
  for (size_t k = f.straights; k < f.straights_end; ++k) {
    const Function& straight = *f.callees[k];
    const bool is_guard = (k - f.straights) % 2 == 0;
    const bool gives =
        is_guard ? k + 1 < f.straights_end && straight.returns.size() == 1 &&
                       straight.returns[0].type->kind == TypeKind::Bool
                 : straight.results == f.results && same_types(straight.returns, f.returns);
    // Functions without a schema have no types, but a number of arguments.
    const bool takes =
        straight.parameters == f.parameters && same_types(straight.arguments, f.arguments);
    if (!gives || !takes) {
      raise(ErrorKind::ArchiveError, "the bytecode of ", f.name, " has a graph, ", straight.name,
            ", that takes or gives other values");
    }
  }
}

void Program::link() {
  for (auto& function : functions_) {
    for (const std::string& name : function->callee_names) {
      auto it = by_name_.find(name);
      if (it == by_name_.end()) {
        raise(ErrorKind::ArchiveError, "the bytecode of ", function->name, " calls ", name,
              ", which is not there");
      }
      function->callees.push_back(it->second);
    }
    check_straights(*function);
  }
}

std::shared_ptr<const Program> Program::decode(const Value& tree,
                                               std::shared_ptr<ClassTable> classes,
                                               const NoneDefaults& defaults,
                                               OperatorBodies* bodies) {
  auto program = std::make_shared<Program>();
  program->classes_ = std::move(classes);
  std::optional<Items> items = sequence(tree);
  if (!items) raise(ErrorKind::ArchiveError, "the bytecode is malformed: it is no tuple");
  size_t first = !items->empty() && (*items)[0].is_int() ? 1 : 0;
  if (first) {
    int64_t version = (*items)[0].as_int();
    if (version < kOldestBytecode || version > kNewestBytecode) {
      raise(ErrorKind::ArchiveError, "bytecode version ", version, " is not supported (",
            kOldestBytecode, " to ", kNewestBytecode, " are)");
    }
    program->version_ = int(version);
  }
  Decoded decoded(defaults);
  for (size_t i = first; i < items->size(); ++i) program->decode_function((*items)[i], decoded);
  program->link();
  if (bodies) program->use_bodies(bodies);
  program->finish(false);
  return program;
}

// Replaces calls of operators by calls of their bodies, for those that have one.
void Program::use_bodies(OperatorBodies* bodies) {
  for (auto& function : functions_) {
    std::vector<const Function*> found;  // by operator
    for (const OperatorUse& use : function->operators) {
      found.push_back(use.variadic || use.name == "prim::TupleUnpack" ? nullptr
                                                                      : bodies->find(use));
    }
    for (Instruction& i : function->code) {
      const bool calls = i.op == Opcode::OP && i.x >= 0 && size_t(i.x) < found.size();
      if (!calls || !found[size_t(i.x)]) continue;
      const Function* body = found[size_t(i.x)];
      i.op = Opcode::CALL;
      i.x = int32_t(function->callees.size());
      function->callees.push_back(body);
      function->callee_names.push_back(body->name);
    }
  }
  for (auto& made : bodies->take()) {
    by_name_.emplace(made->name, made.get());
    functions_.push_back(std::move(made));
  }
}

std::shared_ptr<const Program> Program::assemble(std::vector<std::unique_ptr<Function>> functions,
                                                 std::shared_ptr<ClassTable> classes) {
  auto program = std::make_shared<Program>();
  program->classes_ = std::move(classes);
  program->functions_ = std::move(functions);
  for (auto& function : program->functions_) {
    program->by_name_.emplace(function->name, function.get());
  }
  program->finish(true);
  return program;
}

// Verifies all functions, makes the groups that FUSED calls, and lists the missing operators.
void make_refused(Function* function, std::string why) {
  Function& f = *function;
  auto plain = [](Opcode op) {
    Instruction i;
    i.op = op;
    return i;
  };
  f.refusal = std::move(why);
  f.is_raw = false;
  f.code.clear();
  f.lines.clear();
  f.register_types.clear();
  f.constants.assign(1, Value());
  f.callees.clear();
  f.callee_names.clear();
  f.straights = f.straights_end = 0;
  f.operators.clear();
  f.registers = 0;
  for (int k = 0; k < f.parameters; ++k) f.code.push_back(plain(Opcode::DROP));
  f.code.push_back(plain(Opcode::LOADC));
  f.code.push_back(plain(Opcode::RET));
}

void refuse_callers(const std::vector<std::unique_ptr<Function>>& functions) {
  std::vector<Function*> refused;
  std::unordered_map<const Function*, std::vector<Function*>> callers;
  for (auto& function : functions) {
    if (!function->refusal.empty()) refused.push_back(function.get());
    for (const Function* callee : function->callees) callers[callee].push_back(function.get());
  }
  while (!refused.empty()) {
    const Function* callee = refused.back();
    refused.pop_back();
    for (Function* caller : callers[callee]) {
      if (!caller->refusal.empty()) continue;
      caller->refusal = callee->refusal;
      refused.push_back(caller);
    }
  }
}

// Verifies a function that was compiled from source. If it is not sound, it alone is refused, as if
// the compiler had refused it. False in that case.
static bool verify_compiled(Function* function) {
  try {
    verify(function);
    return true;
  } catch (const Error& error) {
    if (error.kind != ErrorKind::ArchiveError) throw;
    make_refused(function, concat("reading ", function->name, " of the archive: ", error.message));
  }
  verify(function);
  return false;
}

void Program::finish(bool is_compiled) {
  std::map<std::string, int> missing;
  bool all_sound = true;
  for (auto& function : functions_) {
    if (is_compiled) all_sound = verify_compiled(function.get()) && all_sound;
    else verify(function.get());
  }
  if (!all_sound) refuse_callers(functions_);
  for (auto& function : functions_) {
    for (const Instruction& i : function->code) {
      if (i.op == Opcode::OP_MISSING) {
        ++missing[function->operators[size_t(i.x)].qualified_name()];
      }
    }
  }
  for (auto& function : functions_) {
    for (const Instruction& i : function->code) {
      if (i.op != Opcode::FUSED) continue;
      Function* callee = by_name_.at(function->callee_names[size_t(i.x)]);
      callee->is_part = true;
      if (!callee->group) callee->group = FusedGroup::make(*callee);
    }
  }
  for (auto& [name, count] : missing) missing_.push_back({name, count});
}

const Function* Program::find(std::string_view name) const {
  auto it = by_name_.find(std::string(name));
  return it == by_name_.end() ? nullptr : it->second;
}

const Function* Program::method(const ClassType& cls, std::string_view name) const {
  const std::string& prefix = classes_->name_of(cls);
  std::string full;
  full.reserve(prefix.size() + 1 + name.size());
  full.append(prefix).append(1, '.').append(name);
  auto it = by_name_.find(full);
  return it == by_name_.end() ? nullptr : it->second;
}

}  // namespace scriptlang
