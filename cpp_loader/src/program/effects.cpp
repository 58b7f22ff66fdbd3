// Effect analysis: finds whether a function may write to memory that others can reach, and whether
// it may store values there.
#include "effects.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "facts.h"
#include "ops/custom.h"

namespace scriptlang {

#if defined(SL_NO_THREADS)  // what is not known counts as an effect

Effect effect_of(const Program&, const Function&) { return Effect::Reshapes; }
bool keeps_values(const Program&, const Function&) { return true; }

#else

namespace {

// Where a value comes from: made by this run, passed to it as an argument, or reachable by others
// before. A higher level means that more others may reach it.
enum Level : uint8_t { kOwnRun, kPassed, kThere };
using Levels = std::vector<uint8_t>;

// The analysis gives up after so many slots visited, different calls, or rounds.
constexpr int64_t kWork = 1 << 24;
constexpr size_t kMostCalls = 4096;
constexpr int kRounds = 16;

constexpr TagSet kHolders = tag_bit(Tag::List) | tag_bit(Tag::Dict) | tag_bit(Tag::Tuple);
constexpr TagSet kFixed = tag_bit(Tag::None) | tag_bit(Tag::Bool) | tag_bit(Tag::Int) |
                          tag_bit(Tag::Double) | tag_bit(Tag::Device) | tag_bit(Tag::Text) |
                          tag_bit(Tag::String) | tag_bit(Tag::Complex) | tag_bit(Tag::Enum);

// What a schema says about the memory of an argument or result.
struct Part {
  bool shares = false, writes = false;  // has an alias set; has one that is written, such as (a!)
  bool is_tensor = false;               // is a tensor or a list of tensors
  bool is_fixed = false;                // immutable, with all that it holds
  bool is_holder = false;               // is a container
};
// What is known of an operator. is_known: the schema could be read. gives_input: a result may share
// memory with an argument, although its schema does not say so.
struct Marks {
  std::vector<Part> arguments, returns;
  bool is_known = false, reshapes = false, gives_input = false;
};

// Reads one argument or result in the text of a schema, such as "Tensor(a!) self".
Part part_of(std::string_view text, const Type& type) {
  Part part;
  std::string_view spelled = text.substr(0, text.find('='));
  size_t open = spelled.find('(');
  while (open != spelled.npos) {  // (a), (a!), (*): not those of Dict(...) and of tuples
    size_t close = spelled.find(')', open);
    std::string_view set = spelled.substr(open + 1, close - open - 1);
    bool is_set = !set.empty() && (set[0] == '*' || (set[0] >= 'a' && set[0] <= 'z')) &&
                  (set.size() == 1 || set[1] == '!' || set[1] == '|' || set[1] == ' ');
    part.shares = part.shares || (is_set && set != "t");
    part.writes = part.writes || (is_set && set.find('!') != set.npos);
    open = spelled.find('(', open + 1);
  }
  part.is_tensor = spelled.substr(0, 6) == "Tensor";
  TagSet tags = tags_of(type);
  part.is_fixed = (tags & ~kFixed) == 0;
  part.is_holder = (tags & ~(kHolders | tag_bit(Tag::None))) == 0;
  if (type.kind == TypeKind::List && !type.elements.empty()) {
    bool plain = (tags_of(*type.elements[0]) & ~kFixed) == 0;
    part.is_fixed = part.is_fixed || (plain && !part.shares);
  }
  return part;
}

// Splits "A a, B(x, y) b, *, C c" at the commas outside of brackets.
std::vector<std::string_view> pieces_of(std::string_view text) {
  std::vector<std::string_view> pieces;
  int depth = 0;
  size_t from = 0;
  for (size_t k = 0; k <= text.size(); ++k) {
    if (k < text.size() && (text[k] == '(' || text[k] == '[')) ++depth;
    if (k < text.size() && (text[k] == ')' || text[k] == ']')) --depth;
    if (k < text.size() && (text[k] != ',' || depth > 0)) continue;
    std::string_view piece = text.substr(from, k - from);
    while (!piece.empty() && piece.front() == ' ') piece.remove_prefix(1);
    if (!piece.empty() && piece != "*" && piece != "...") pieces.push_back(piece);
    from = k + 1;
  }
  return pieces;
}

Marks marks_of(const OpEntry& entry) {
  const Schema& schema = schema_of(entry);
  std::string_view text = entry.text();
  size_t arrow = text.npos, open = text.find('(');
  // "(a -> *)" holds an arrow, too: the result's is behind the bracket that ends the arguments.
  int depth = 0;
  for (size_t k = open; k < text.size(); ++k) {
    depth += text[k] == '(' ? 1 : text[k] == ')' ? -1 : 0;
    if (depth == 0) {
      arrow = text.find(" -> ", k);
      break;
    }
  }
  Marks marks;
  if (arrow == text.npos) return marks;
  size_t close = text.rfind(')', arrow);
  auto read = [](std::string_view piece, const Argument& a) { return part_of(piece, *a.type); };
  std::vector<std::string_view> taken = pieces_of(text.substr(open + 1, close - open - 1));
  marks.is_known = taken.size() == schema.arguments.size();
  for (size_t k = 0; marks.is_known && k < taken.size(); ++k) {
    marks.arguments.push_back(read(taken[k], schema.arguments[k]));
  }
  std::string_view given = text.substr(arrow + 4);
  if (!given.empty() && given.front() == '(' && given.back() == ')') {
    given = given.substr(1, given.size() - 2);
  }
  std::vector<std::string_view> results = pieces_of(given);
  for (size_t k = 0; k < schema.returns.size(); ++k) {
    std::string_view piece = results.size() == schema.returns.size() ? results[k] : given;
    marks.returns.push_back(read(piece, schema.returns[k]));
  }
  marks.reshapes = reshapes(entry);
  // Nothing is known of operators that a host registered, so their results may share memory.
  marks.gives_input = may_share(entry) || (entry.at & kCustomEntry);
  return marks;
}

// What is known of a call of a function with arguments of certain levels.
struct Summary {
  Effect effect = Effect::Reads;
  Levels results;
  int round = 0;  // in which it was analysed last
};

// Repeats the analysis of all calls until a fixed point: a recursive call gets the summary of the
// round before.
class Analysis {
 public:
  explicit Analysis(const Program& program) : program_(program) {}

  struct Result {
    Effect effect = Effect::Reshapes;
    bool keeps = true;
  };

  Result run(const Function& function) {
    Levels passed(size_t(function.parameters), kPassed);
    for (round_ = 1; round_ <= kRounds; ++round_) {
      changed_ = false;
      const Summary& summary = summary_of(function, passed);
      if (gave_up_) break;
      if (!changed_) return {summary.effect, keeps_};
    }
    return {};
  }

 private:
  using Call = std::pair<const Function*, Levels>;

  const Summary& summary_of(const Function& function, const Levels& passed) {
    if (summaries_.size() >= kMostCalls) gave_up_ = true;
    Summary& summary = summaries_[Call(&function, passed)];
    if (summary.round == round_ || gave_up_) {
      summary.results.resize(size_t(function.results), kOwnRun);
      return summary;
    }
    summary.round = round_;
    summary.results.resize(size_t(function.results), kOwnRun);
    follow(function, passed, &summary);
    return summary;
  }

  void raise_to(Effect* known, Effect effect) {
    if (effect <= *known) return;
    *known = effect;
    changed_ = true;
  }
  void raise_to(uint8_t* known, uint8_t level) {
    if (level <= *known) return;
    *known = level;
    changed_ = true;
  }
  // A value is stored in a container or object that this run may have made.
  void put(uint8_t level) { raise_to(&inside_, level); }
  // The level of an attribute of an object, or of the result of a future.
  uint8_t inside_or_there(uint8_t whole) const {
    return whole == kOwnRun ? inside_ : uint8_t(kThere);
  }
  // The level of a value in a container.
  uint8_t part(uint8_t whole) const { return std::max(whole, inside_); }

  // Abstract interpretation along all paths, as in the verifier. A state has the levels of the
  // registers, then those of the stack.
  void follow(const Function& f, const Levels& passed, Summary* summary) {
    std::vector<char> is_target(f.code.size(), 0);
    for (size_t pc = 0; pc < f.code.size(); ++pc) {
      Opcode op = f.code[pc].op;
      if (op == Opcode::JMP || op == Opcode::JF || op == Opcode::LOOP) {
        is_target[pc + size_t(int64_t(f.code[pc].x))] = 1;
        if (op == Opcode::LOOP) is_target[pc + 1] = 1;
      }
    }
    std::unordered_map<size_t, Levels> merged;
    std::vector<std::pair<size_t, Levels> > work;
    Levels entry(size_t(f.registers), kOwnRun);
    entry.insert(entry.end(), passed.begin(), passed.end());
    work.emplace_back(0, std::move(entry));
    while (!work.empty()) {
      auto [pc, state] = std::move(work.back());
      work.pop_back();
      for (;;) {
        work_ -= is_target[pc] ? 2 * int64_t(state.size()) + 8 : 8;
        if (work_ < 0) gave_up_ = true;
        if (gave_up_) return;
        if (is_target[pc]) {
          auto [known, first] = merged.try_emplace(pc, state);
          if (!first && !add(&known->second, &state)) break;
        }
        const Instruction& i = f.code[pc];
        if (i.op == Opcode::RET) {
          for (size_t k = 0; k < summary->results.size(); ++k) {
            raise_to(&summary->results[k], state[state.size() - summary->results.size() + k]);
          }
          break;
        }
        if (i.op == Opcode::RAISE_EXCEPTION || i.op == Opcode::OP_MISSING) break;
        step(f, i, &state, &summary->effect);
        size_t target = pc + size_t(int64_t(i.x));
        if (i.op == Opcode::JMP) {
          pc = target;
          continue;
        }
        if (i.op == Opcode::JF || i.op == Opcode::LOOP) {
          work_ -= int64_t(state.size());
          Levels other = state;
          if (i.op == Opcode::LOOP) {
            size_t first = other.size() - size_t(i.n) - 1;
            other.erase(other.begin() + ptrdiff_t(first), other.begin() + ptrdiff_t(first) + 3);
          }
          work.emplace_back(target, std::move(other));
        }
        ++pc;
      }
    }
  }

  // Merges *state into *known; false if that changed nothing. Afterwards *state is the union.
  static bool add(Levels* known, Levels* state) {
    bool grew = false;
    for (size_t k = 0; k < known->size(); ++k) {
      uint8_t sum = std::max((*known)[k], (*state)[k]);
      grew = grew || sum != (*known)[k];
      (*known)[k] = (*state)[k] = sum;
    }
    return grew;
  }

  // LOADC makes a fresh list each time.
  static uint8_t level_of_constant(const Value& v) {
    if (v.is_list()) {
      for (const Value& item : v.as_list()) {
        if (!(kFixed & tag_bit(item.tag()))) return kThere;
      }
      return kOwnRun;
    }
    return kFixed & tag_bit(v.tag()) ? kOwnRun : kThere;
  }

  void step(const Function& f, const Instruction& i, Levels* state, Effect* effect) {
    auto top = [&](int64_t k) -> uint8_t& { return (*state)[state->size() - 1 - size_t(k)]; };
    auto highest = [&](int64_t count) {
      uint8_t level = kOwnRun;
      for (int64_t k = 0; k < count; ++k) level = std::max(level, top(k));
      return level;
    };
    auto give = [&](int64_t pops, int64_t pushes, uint8_t level) {
      state->resize(state->size() - size_t(pops));
      state->resize(state->size() + size_t(pushes), level);
      work_ -= pops + pushes;
    };
    auto makes = [&](int64_t count) {  // for a step that makes a container of `count` values
      put(highest(count));
      give(count, 1, kOwnRun);
    };
    switch (i.op) {
      case Opcode::LOAD: state->push_back((*state)[size_t(i.x - 1)]); return;
      case Opcode::MOVE:
        state->push_back((*state)[size_t(i.x - 1)]);
        (*state)[size_t(i.x - 1)] = kOwnRun;
        return;
      case Opcode::STORE:
        (*state)[size_t(i.x - 1)] = top(0);
        state->pop_back();
        return;
      case Opcode::STOREN:
        for (int k = 0; k < i.n; ++k) (*state)[size_t(i.x + k - 1)] = top(i.n - 1 - k);
        give(i.n, 0, kOwnRun);
        return;
      case Opcode::DROP: return give(1, 0, kOwnRun);
      case Opcode::DROPR: (*state)[size_t(i.x - 1)] = kOwnRun; return;
      case Opcode::LOADC: state->push_back(level_of_constant(f.constants[size_t(i.x)])); return;
      case Opcode::JF: return give(1, 0, kOwnRun);
      case Opcode::JMP:
      case Opcode::LOOP:
      case Opcode::UNCHECKED_CAST: return;
      case Opcode::OP_ONE:
      case Opcode::OP_ANY: return operate(f.operators[size_t(i.x)], i, state, effect);
      case Opcode::CALL:
      case Opcode::FUSED: {
        const Function& callee = *f.callees[size_t(i.x)];
        return call({&callee}, callee.parameters, callee.results, state, effect);
      }
      case Opcode::FORK:
      case Opcode::AWAITABLE:
        call({f.callees[size_t(i.x)]}, i.n, 1, state, effect);
        put(top(0));
        top(0) = kOwnRun;
        return;
      case Opcode::WAIT:
        // An awaitable of unknown origin may start any call.
        if (top(0) != kOwnRun) raise_to(effect, Effect::Reshapes);
        return give(1, 1, inside_or_there(top(0)));
      case Opcode::INTERFACE_CALL:
        return call(named(f.constants[size_t(i.x)].as_string(), i.n), i.n, 1, state, effect);
      case Opcode::ENTER: return call(named("__enter__", 1), 1, 1, state, effect);
      case Opcode::EXIT:
        for (int k = 0; k < 4; ++k) state->push_back(kThere);
        return call(named("__exit__", 4), 4, 1, state, effect);
      case Opcode::GET_ATTR: return give(1, 1, inside_or_there(top(0)));
      case Opcode::SET_ATTR:
        if (top(1) != kOwnRun) {
          raise_to(effect, Effect::Writes);
          keeps_ = true;
        }
        put(top(0));
        return give(2, 0, kOwnRun);
      case Opcode::TUPLE_UNPACK: return give(1, i.n, part(top(0)));
      case Opcode::LIST_UNPACK: return give(1, i.x, part(top(0)));
      case Opcode::TUPLE_SLICE: return give(1, 1, part(top(0)));
      case Opcode::TUPLE_INDEX:
      case Opcode::DICT_INDEX: return give(2, 1, part(top(1)));
      case Opcode::TUPLE_CONSTRUCT: return makes(i.x);
      case Opcode::NAMED_TUPLE_CONSTRUCT:
      case Opcode::LIST_CONSTRUCT:
      case Opcode::DICT_CONSTRUCT: return makes(i.n);
      case Opcode::CREATE_OBJECT:
      case Opcode::UN_INITIALIZED: return give(0, 1, kOwnRun);
      case Opcode::ISINSTANCE:
      case Opcode::__NOT__:
      case Opcode::DEVICE:
      case Opcode::DTYPE:
      case Opcode::DIM:
      case Opcode::NUM_TO_TENSOR:
      case Opcode::IS_CUDA: return give(1, 1, kOwnRun);
      case Opcode::__IS__:
      case Opcode::__ISNOT__: return give(2, 1, kOwnRun);
      case Opcode::FORMAT: return give(i.x, 1, kOwnRun);
      case Opcode::TO_LIST: return give(3, 1, kOwnRun);
      case Opcode::WARN: return give(2, 0, kOwnRun);
      case Opcode::OP:
      case Opcode::OPN:
      case Opcode::OP_MISSING:
      case Opcode::RET:
      case Opcode::GUARD:
      case Opcode::TYPECHECK:
      case Opcode::FAIL_GUARD:
      case Opcode::PROFILE_OP:
      case Opcode::TAIL_CALL:
      case Opcode::RAISE_EXCEPTION: break;
    }
    gave_up_ = true;  // never in verified code
  }

  void operate(const OperatorUse& use, const Instruction& i, Levels* state, Effect* effect) {
    auto [known, fresh] = marks_.try_emplace(use.entry);
    if (fresh) known->second = marks_of(*use.entry);
    const Marks& marks = known->second;
    size_t first = state->size() - i.arguments;
    // The index in the schema of argument k: out arguments come behind the defaults that are filled
    // in.
    auto index = [&](size_t k) {
      bool is_out = k >= size_t(i.arguments - use.trailing_out);
      return is_out ? k + use.defaults.size() : k;
    };
    uint8_t highest = kOwnRun, written = kOwnRun;
    bool holds = false;
    for (size_t k = 0; k < i.arguments; ++k) {
      uint8_t level = (*state)[first + k];
      bool is_known = index(k) < marks.arguments.size();
      if (!is_known || !marks.arguments[index(k)].is_fixed) highest = std::max(highest, level);
      holds = holds || !is_known || !marks.arguments[index(k)].is_tensor;
      if (!is_known || !marks.arguments[index(k)].writes) continue;
      const Part& target = marks.arguments[index(k)];
      if (target.is_holder && target.is_tensor) level = part(level);  // Tensor(a!)[] out
      written = std::max(written, level);
      bool is_out = k >= size_t(i.arguments - use.trailing_out);
      if (target.is_tensor) {
        if (level != kOwnRun && is_out) raise_to(effect, Effect::Reshapes);
        if (level == kThere) raise_to(effect, Effect::Writes);
      } else {
        if (level != kOwnRun) raise_to(effect, Effect::Writes);
        // A container that was passed is the host's copy, but not one inside of an object.
        keeps_ = keeps_ || level == kThere;
        holds = true;
      }
    }
    if (!marks.is_known) gave_up_ = true;
    if (marks.reshapes && highest != kOwnRun) raise_to(effect, Effect::Reshapes);
    bool puts = std::any_of(marks.arguments.begin(), marks.arguments.end(),
                            [](const Part& p) { return p.writes && !p.is_tensor; });
    uint8_t all = holds ? part(highest) : highest;
    if (puts || marks.reshapes) put(all);
    state->resize(first);
    for (size_t k = 0; k < i.results; ++k) {
      Part result = k < marks.returns.size() ? marks.returns[k] : Part();
      uint8_t level = kOwnRun;
      if (result.is_fixed) level = kOwnRun;
      else if (result.writes) level = written;
      else if (result.is_tensor && !result.is_holder && !result.shares && !marks.gives_input)
        level = kOwnRun;
      else level = all;
      if (result.is_holder && !result.is_fixed && !result.writes) {
        put(level);
        level = kOwnRun;
        if (result.shares && !result.is_tensor) level = all;
      }
      state->push_back(level);
    }
    work_ -= i.arguments + i.results;
  }

  // The methods of this name of all classes.
  std::vector<const Function*> named(std::string_view name, int64_t parameters) const {
    std::vector<const Function*> found;
    for (const auto& function : program_.functions()) {
      std::string_view whole = function->name;
      bool ends = whole.size() > name.size() && whole[whole.size() - name.size() - 1] == '.' &&
                  whole.substr(whole.size() - name.size()) == name;
      if (ends && function->parameters == parameters) found.push_back(function.get());
    }
    return found;
  }

  // A call of one of these functions.
  void call(const std::vector<const Function*>& callees, int64_t parameters, int64_t results,
            Levels* state, Effect* effect) {
    Levels passed(state->end() - parameters, state->end());
    Levels given(size_t(results), kOwnRun);
    for (const Function* callee : callees) {
      const Summary summary = depth_ < kMostDepth ? deeper(*callee, passed) : give_up(*callee);
      raise_to(effect, summary.effect);
      for (size_t k = 0; k < given.size() && k < summary.results.size(); ++k) {
        given[k] = std::max(given[k], summary.results[k]);
      }
      work_ -= int64_t(program_.functions().size()) / 8 + 8;
    }
    state->resize(state->size() - size_t(parameters));
    state->insert(state->end(), given.begin(), given.end());
  }
  Summary deeper(const Function& callee, const Levels& passed) {
    ++depth_;
    Summary summary = summary_of(callee, passed);
    --depth_;
    return summary;
  }
  Summary give_up(const Function& callee) {
    gave_up_ = true;
    return {Effect::Reshapes, Levels(size_t(callee.results), kThere), 0};
  }

  static constexpr int kMostDepth = 200;
  const Program& program_;
  std::map<Call, Summary> summaries_;
  std::unordered_map<const OpEntry*, Marks> marks_;
  uint8_t inside_ = kOwnRun;  // the highest level of a value stored in a container of this run
  int round_ = 0, depth_ = 0;
  int64_t work_ = kWork;
  bool changed_ = false, gave_up_ = false;
  bool keeps_ = false;  // whether some call stores a value in an object or container of others
};

}  // namespace

// `Function::effect` holds the Effect, and the bit kKeeps.
constexpr int kKeeps = 4;

static int facts_of(const Program& program, const Function& function) {
  int known = function.effect.load(std::memory_order_relaxed);
  if (__builtin_expect(known >= 0, 1)) return known;
  Effect effect = Effect::Reads;
  bool keeps = false;
  const auto add = [&](const Function& f) {
    const Analysis::Result found = Analysis(program).run(f);
    effect = std::max(effect, found.effect);
    keeps = keeps || found.keeps;
  };
  add(function);
  for (size_t k = function.straights; k < function.straights_end; ++k) {
    add(*function.callees[k]);  // a call may run it instead
  }
  known = int(effect) | (keeps ? kKeeps : 0);
  function.effect.store(int8_t(known), std::memory_order_relaxed);
  return known;
}

Effect effect_of(const Program& program, const Function& function) {
  return Effect(facts_of(program, function) & ~kKeeps);
}

bool keeps_values(const Program& program, const Function& function) {
  return (facts_of(program, function) & kKeeps) != 0;
}

#endif

}  // namespace scriptlang
