// Mutations of bytecode that mostly still verify: see mutations.h for why they are needed.
#include "mutations.h"

#include <limits>
#include <random>

#include "../tests/archives.h"
#include "lower/blocks.h"
#include "lower/select.h"
#include "program/program.h"

using namespace scriptlang;

namespace fuzz {

namespace {

constexpr size_t kMostValues = 40000;  // of a tree; shared parts may make it exponential

using Items = std::vector<Value>;

// What is changed in place: our programs are made of tuples, which are objects while they change.
Items* items_of(Value& v) { return v.is_object() ? &v.as_object().slots : nullptr; }

void write(const Value& v, std::string* out) {
  switch (v.tag()) {
    case Tag::Bool: *out += v.as_bool() ? '\x88' : '\x89'; break;
    case Tag::Int: {
      *out += "\x8a\x08";
      test::put<int64_t>(out, v.as_int());
      break;
    }
    case Tag::Double: {
      uint64_t bits;
      double number = v.as_double();
      std::memcpy(&bits, &number, 8);
      *out += 'G';
      for (int k = 7; k >= 0; --k) *out += char(bits >> (8 * k));
      break;
    }
    case Tag::Text:
    case Tag::String: *out += test::p_text(v.as_string()); break;
    case Tag::Tuple:
      *out += '(';
      for (const Value& item : v.as_tuple().items) write(item, out);
      *out += 't';
      break;
    case Tag::List:
      *out += "](";
      for (const Value& item : v.as_list()) write(item, out);
      *out += 'e';
      break;
    default: *out += 'N';
  }
}

Value tuple(Items items) {
  static const ClassRef kClass(new ClassType);
  Ref<Object> object = Object::make(kClass);
  object->slots = std::move(items);
  return object;
}

// A copy that shares nothing, as far as it is made of tuples and lists.
Value copy(const Value& v, size_t* left) {
  if (*left == 0) return Value();
  --*left;
  if (!v.is_tuple() && !v.is_list()) return v.is_object() ? Value() : v;
  Items items;
  for (const Value& item : scriptlang::items_of(v)) { items.push_back(copy(item, left)); }
  if (v.is_tuple()) return tuple(std::move(items));
  return List::make(std::move(items));
}

// The tree with tuples in place of the objects.
Value finished(const Value& v) {
  if (!v.is_object() && !v.is_list()) return v;
  Items items = v.is_object() ? v.as_object().slots : scriptlang::items_of(v);
  for (Value& item : items) item = finished(item);
  return v.is_object() ? Value(Tuple::make(std::move(items))) : List::make(std::move(items));
}

// One function of the tree, and where the depths of its stack are known: when it verifies.
class Editor {
 public:
  Editor(Value& entry, const Function* function, std::mt19937_64* random)
      : function_(function), random_(*random) {
    Items* parts = items_of(entry);
    Items* table = parts && parts->size() >= 2 ? items_of((*parts)[1]) : nullptr;
    if (!table) return;
    code_ = field(*table, "instructions");
    operators_ = field(*table, "operators");
    constants_ = field(*table, "constants");
    types_ = field(*table, "types");
    register_types_ = field(*table, "register_types");
    for (Value& row : *table) {
      Items* pair = items_of(row);
      bool is_size = pair && pair->size() == 2 && (*pair)[0].is_string() &&
                     (*pair)[0].as_string() == "register_size" && (*pair)[1].is_int();
      if (is_size) registers_ = &(*pair)[1];
    }
    if (parts->size() > 2) {
      if (Items* schema = items_of((*parts)[2])) arguments_ = field(*schema, "arguments");
    }
    if (!usable()) return;
    for (Value& row : *code_) {
      Items* i = items_of(row);
      if (!i || i->size() != 3 || !(*i)[0].is_string() || !(*i)[1].is_int() || !(*i)[2].is_int()) {
        code_ = nullptr;
        return;
      }
    }
    if (function_ && function_->code.size() == code_->size()) {
      depth_ = lower::shape_of(*function_).flow.depth;
    }
  }

  bool usable() const { return code_ && operators_ && constants_ && types_ && registers_; }

  void change() {
    if (depth_.empty() || code_->empty()) return change_anything();
    switch (pick(24)) {
      case 0:
      case 1:
      case 2: change_register(); break;
      case 3: change_constant(); break;
      case 4:
      case 5: change_operator(); break;
      case 6:
      case 7: retarget(); break;
      case 8:
      case 9: remove_balanced(); break;
      case 10:
      case 11: copy_balanced(); break;
      case 12:
      case 13: wrap(); break;
      case 14: change_type(); break;
      case 15: change_anything(); break;
      default: insert(int64_t(pick(code_->size())), snippet()); break;
    }
  }

 private:
  struct Row {
    const char* op;
    int64_t x = 0, n = 0;
  };

  static Items* field(Items& table, const char* name) {
    for (Value& row : table) {
      Items* pair = items_of(row);
      bool found =
          pair && pair->size() == 2 && (*pair)[0].is_string() && (*pair)[0].as_string() == name;
      if (found) return items_of((*pair)[1]);
    }
    return nullptr;
  }

  size_t pick(size_t n) { return n ? size_t(random_() % n) : 0; }
  int64_t reg() { return 1 + int64_t(pick(size_t(std::max<int64_t>(registers(), 1)))); }
  int64_t registers() const { return registers_->as_int(); }
  std::string_view op(size_t pc) { return (*items_of((*code_)[pc]))[0].as_string(); }
  Value& x(size_t pc) { return (*items_of((*code_)[pc]))[1]; }
  Value& n(size_t pc) { return (*items_of((*code_)[pc]))[2]; }
  bool is_jump(size_t pc) { return op(pc) == "JMP" || op(pc) == "JF" || op(pc) == "LOOP"; }

  int64_t constant(Value value) {
    constants_->push_back(std::move(value));
    return int64_t(constants_->size()) - 1;
  }
  int64_t type(const char* text) {
    types_->push_back(Value(text));
    return int64_t(types_->size()) - 1;
  }

  Value odd_constant(int depth = 0) {
    switch (pick(depth ? 9 : 11)) {
      case 0: return Value(int64_t(pick(5)) - 1);
      case 1: return Value(std::numeric_limits<int64_t>::min());
      case 2: return Value(std::numeric_limits<int64_t>::max());
      case 3: return Value(double(pick(9)) / 2 - 1);
      case 4: return Value(std::numeric_limits<double>::quiet_NaN());
      case 5: return Value(true);
      case 6: return Value(false);
      case 7: return Value("a{}");
      case 8: return Value();
      case 9: return List::make({odd_constant(1), odd_constant(1)});
      default: return tuple({odd_constant(1), odd_constant(1)});
    }
  }

  // ---- changes in place

  void change_register() {
    for (int tries = 0; tries < 20; ++tries) {
      size_t pc = pick(code_->size());
      const std::string name(op(pc));
      if (name == "LOAD" || name == "MOVE") {
        Items& row = *items_of((*code_)[pc]);
        switch (pick(4)) {
          case 0: row[0] = Value(name == "LOAD" ? "MOVE" : "LOAD"); return;
          case 1:
            row[0] = Value("LOADC");
            row[1] = Value(constant(odd_constant()));
            return;
          default: row[1] = Value(reg()); return;
        }
      }
      if (name == "STORE" || name == "DROPR") {
        x(pc) = Value(reg());
        return;
      }
      if (name == "LOADC") {
        if (pick(2)) {
          x(pc) = Value(int64_t(pick(constants_->size())));
        } else {
          Items& row = *items_of((*code_)[pc]);
          row[0] = Value("LOAD");
          row[1] = Value(reg());
        }
        return;
      }
    }
  }

  void change_constant() {
    if (!constants_->empty()) (*constants_)[pick(constants_->size())] = odd_constant();
  }

  // Another operator of as many arguments and results; half of the time one with a step.
  Value operator_row(int given, int results) {
    for (int tries = 0; tries < 400; ++tries) {
      const OpEntry& entry = op_at(int(pick(size_t(op_count()))));
      std::string name(entry.qualified_name());
      if (tries < 200 && pick(2) && !lower::rule_of(name)) continue;
      const Schema& schema = schema_of(entry);
      if (schema.variadic_arguments || schema.variadic_returns) continue;
      if (int(schema.returns.size()) != results || int(schema.arguments.size()) < given) continue;
      bool filled = true;
      for (size_t k = size_t(given); k < schema.arguments.size(); ++k) {
        filled = filled && schema.arguments[k].has_default && !schema.arguments[k].is_out;
      }
      if (!filled) continue;
      size_t dot = name.find('.', name.find("::"));
      bool has_overload = dot != std::string::npos;
      return tuple({Value(name.substr(0, dot)),
                    Value(has_overload ? name.substr(dot + 1) : std::string()), Value(given)});
    }
    return Value();
  }

  int64_t add_operator(int given, int results) {
    Value row = operator_row(given, results);
    if (row.is_none()) return -1;
    operators_->push_back(std::move(row));
    return int64_t(operators_->size()) - 1;
  }

  void change_operator() {
    if (operators_->empty() || operators_->size() != function_->operators.size()) return;
    size_t k = pick(operators_->size());
    const OperatorUse& use = function_->operators[k];
    if (use.variadic || !use.entry) return;
    Value row = operator_row(use.given, use.results);
    if (!row.is_none()) (*operators_)[k] = std::move(row);
  }

  void retarget() {
    for (int tries = 0; tries < 40; ++tries) {
      size_t pc = pick(code_->size());
      if (pc >= depth_.size() || !is_jump(pc)) continue;
      int64_t target = int64_t(pc) + x(pc).as_int();
      size_t other = pick(depth_.size());
      bool fits =
          target >= 0 && target < int64_t(depth_.size()) && depth_[other] == depth_[size_t(target)];
      if (!fits) continue;
      x(pc) = Value(int64_t(other) - int64_t(pc));
      return;
    }
  }

  void change_type() {
    static const char* const kTypes[] = {"int",
                                         "float",
                                         "bool",
                                         "Any",
                                         "Tensor",
                                         "List[int]",
                                         "str",
                                         "List[float]",
                                         "Dict[int, int]",
                                         "Optional[int]",
                                         "Tuple[int, float]",
                                         "List[Tensor]",
                                         "Dict[str, Tensor]",
                                         "List[List[int]]",
                                         "Scalar",
                                         "__torch__.M"};
    Value text(kTypes[pick(16)]);
    if (pick(3) == 0 && register_types_ && !register_types_->empty()) {
      (*register_types_)[pick(register_types_->size())] = text;
    } else if (pick(2) && arguments_ && !arguments_->empty()) {
      Items* row = items_of((*arguments_)[pick(arguments_->size())]);
      for (Value& part : row ? *row : Items()) {
        Items* pair = items_of(part);
        bool found =
            pair && pair->size() == 2 && (*pair)[0].is_string() && (*pair)[0].as_string() == "type";
        if (found) (*pair)[1] = text;
      }
    } else if (!types_->empty()) {
      (*types_)[pick(types_->size())] = text;
    }
  }

  // What verification is there for.
  void change_anything() {
    if (pick(4) == 0) {
      *registers_ = Value(registers() + int64_t(pick(3)) - 1);
      return;
    }
    if (code_->empty()) return;
    static const char* const kNames[] = {
#define SL_OPCODE(name, ...) #name,
#include "program/opcodes.def"
    };
    Items& row = *items_of((*code_)[pick(code_->size())]);
    switch (pick(3)) {
      case 0: row[0] = Value(kNames[pick(sizeof kNames / sizeof *kNames)]); break;
      case 1: row[1] = Value(row[1].as_int() + int64_t(pick(7)) - 3); break;
      default: row[2] = Value(row[2].as_int() + int64_t(pick(5)) - 2); break;
    }
  }

  // ---- pieces of code

  Value row_of(const Row& row) { return tuple({Value(row.op), Value(row.x), Value(row.n)}); }

  // Puts code in before an instruction; jumps go where they went, or, at the place itself, to
  // the new code or past it.
  void insert(int64_t at, const Items& rows) {
    int64_t added = int64_t(rows.size()), size = int64_t(code_->size());
    bool through = pick(2) != 0;
    auto moved = [&](int64_t pc) { return pc > at || (pc == at && !through) ? pc + added : pc; };
    for (int64_t pc = 0; pc < size; ++pc) {
      if (!is_jump(size_t(pc))) continue;
      int64_t target = pc + x(size_t(pc)).as_int(), here = pc >= at ? pc + added : pc;
      x(size_t(pc)) = Value(moved(target) - here);
    }
    code_->insert(code_->begin() + at, rows.begin(), rows.end());
    depth_.clear();  // no longer right
  }

  void remove(int64_t from, int64_t to) {
    int64_t size = int64_t(code_->size());
    auto moved = [&](int64_t pc) { return pc <= from ? pc : pc < to ? from : pc - (to - from); };
    for (int64_t pc = 0; pc < size; ++pc) {
      if (!is_jump(size_t(pc))) continue;
      x(size_t(pc)) = Value(moved(pc + x(size_t(pc)).as_int()) - moved(pc));
    }
    code_->erase(code_->begin() + from, code_->begin() + to);
    depth_.clear();
  }

  // A range that leaves the stack as deep as it was and goes nowhere below; false when none is
  // found.
  bool balanced(size_t* from, size_t* to, bool may_jump) {
    for (int tries = 0; tries < 40; ++tries) {
      size_t begin = pick(depth_.size()), end = begin;
      if (depth_[begin] < 0) continue;
      size_t most = std::min(depth_.size() - 1, begin + 1 + pick(24));
      for (size_t pc = begin; pc < most && depth_[pc] >= depth_[begin]; ++pc) {
        bool inside = !is_jump(pc) || may_jump;
        if (!inside || op(pc) == "RET" || op(pc) == "RAISE_EXCEPTION") break;
        if (depth_[pc + 1] == depth_[begin] && (end == begin || pick(3))) end = pc + 1;
      }
      if (end == begin) continue;
      *from = begin;
      *to = end;
      return true;
    }
    return false;
  }

  void remove_balanced() {
    size_t from, to;
    if (balanced(&from, &to, true)) remove(int64_t(from), int64_t(to));
  }

  Items rows_between(size_t from, size_t to) {
    Items rows;
    size_t left = kMostValues;
    for (size_t pc = from; pc < to; ++pc) rows.push_back(copy((*code_)[pc], &left));
    return rows;
  }

  void copy_balanced() {
    size_t from, to;
    if (code_->size() > 4000 || !balanced(&from, &to, false)) return;
    Items rows = rows_between(from, to);
    size_t at = pick(code_->size());
    // Below may lie what the range takes no notice of, but nothing that it needs.
    insert(int64_t(at), rows);
  }

  // if c: <range>, or: for _ in range(n): <range>
  void wrap() {
    size_t from, to;
    if (code_->size() > 4000 || !balanced(&from, &to, false)) return;
    int64_t length = int64_t(to - from);
    if (pick(2)) {
      Items rows = {row_of(condition()), row_of({"JF", length + 1})};
      insert(int64_t(from), rows);
      return;
    }
    Items before, after;
    int64_t carried = int64_t(pick(4));
    before.push_back(row_of({"LOADC", constant(Value(0))}));
    before.push_back(row_of({"LOADC", constant(Value(int64_t(pick(5))))}));
    before.push_back(row_of({"LOADC", constant(Value(true))}));
    for (int64_t k = 0; k < carried; ++k) before.push_back(row_of({"LOAD", reg()}));
    int64_t body = 1 + length + 1 + carried + 1;
    before.push_back(row_of({"LOOP", body + 1, carried + 2}));
    int64_t first = std::max<int64_t>(1, reg() - carried);
    before.push_back(row_of({"STOREN", first, carried + 1}));
    after.push_back(row_of(condition()));
    for (int64_t k = 0; k < carried; ++k) {
      after.push_back(row_of({pick(2) ? "MOVE" : "LOAD", reg()}));
    }
    after.push_back(row_of({"JMP", -body}));
    for (int64_t k = 0; k < carried; ++k) after.push_back(row_of({"STORE", reg()}));
    insert(int64_t(to), after);
    insert(int64_t(from), before);
  }

  Row condition() {
    if (pick(3)) return {"LOADC", constant(Value(pick(3) != 0))};
    return {"LOAD", reg()};
  }

  Row source() {
    switch (pick(5)) {
      case 0: return {"MOVE", reg()};
      case 1: return {"LOADC", constant(odd_constant())};
      default: return {"LOAD", reg()};
    }
  }

  // Code that leaves the stack as it found it.
  Items snippet() {
    std::vector<Row> rows;
    auto take = [&](int count) {
      for (int k = 0; k < count; ++k) rows.push_back(source());
    };
    auto store = [&] { rows.push_back(pick(8) ? Row{"STORE", reg()} : Row{"DROP"}); };
    switch (pick(20)) {
      case 0: take(1), store(); break;
      case 1: rows.push_back({"DROPR", reg()}); break;
      case 2: rows.push_back({"UN_INITIALIZED"}), store(); break;
      case 3: take(2), rows.push_back({pick(2) ? "__IS__" : "__ISNOT__"}), store(); break;
      case 4: take(1), rows.push_back({pick(2) ? "DIM" : "DTYPE"}), store(); break;
      case 5: take(1), rows.push_back({"__NOT__"}), store(); break;
      case 6: take(2), rows.push_back({pick(2) ? "TUPLE_INDEX" : "DICT_INDEX"}), store(); break;
      case 7: {
        int count = int(pick(4));
        take(count), rows.push_back({"TUPLE_CONSTRUCT", count}), store();
        break;
      }
      case 8: {
        int count = int(pick(4));
        take(count);
        rows.push_back({"LIST_CONSTRUCT", type(pick(2) ? "List[int]" : "List[Any]"), count});
        store();
        break;
      }
      case 9:
        take(2), rows.push_back({"DICT_CONSTRUCT", type("Dict[int, Any]"), 2}), store();
        break;
      case 10: rows.push_back({"CREATE_OBJECT", type("__torch__.M")}), store(); break;
      case 11: take(1), rows.push_back({"GET_ATTR", int64_t(pick(4))}), store(); break;
      case 12: take(2), rows.push_back({"SET_ATTR", int64_t(pick(4))}); break;
      case 13:
        take(1), rows.push_back({"ISINSTANCE", type(pick(2) ? "int" : "Tensor"), 1}), store();
        break;
      case 14: {
        take(1);
        int64_t count = int64_t(pick(4));
        rows.push_back({"LIST_UNPACK", count});
        for (int64_t k = 0; k < count; ++k) store();
        break;
      }
      case 15: {
        const Function* callee = nullptr;
        size_t at = pick(function_->callees.size());
        if (!function_->callees.empty()) callee = function_->callees[at];
        if (!callee || callee->parameters > 8 || callee->results != 1) break;
        take(callee->parameters);
        static const char* const kCalls[] = {"CALL", "FORK", "AWAITABLE"};
        size_t how = pick(3);
        rows.push_back({kCalls[how], int64_t(at), callee->parameters});
        if (how && pick(2)) rows.push_back({"WAIT"});
        store();
        break;
      }
      default: {
        int count = 1 + int(pick(3));
        int results = pick(8) ? 1 : 0;
        int64_t index = add_operator(count, results);
        if (index < 0) break;
        take(count), rows.push_back({"OP", index});
        if (results) store();
      }
    }
    Items made;
    for (const Row& row : rows) made.push_back(row_of(row));
    return made;
  }

  const Function* function_;
  std::mt19937_64& random_;
  Items *code_ = nullptr, *operators_ = nullptr, *constants_ = nullptr, *types_ = nullptr;
  Items *register_types_ = nullptr, *arguments_ = nullptr;
  Value* registers_ = nullptr;
  std::vector<int32_t> depth_;
};

}  // namespace

std::string write_pickle(const Value& tree) {
  std::string out = "\x80\x02";
  write(tree, &out);
  return out + '.';
}

std::string mutate_program(const Value& tree, uint32_t seed) {
  size_t left = kMostValues;
  Value changed = copy(tree, &left);
  Items* functions = items_of(changed);
  if (left == 0 || !functions || functions->empty()) return {};
  std::mt19937_64 random(seed);
  size_t first = (*functions)[0].is_int() ? 1 : 0;
  if (functions->size() == first) return {};
  for (uint64_t rounds = 1 + random() % 4; rounds > 0; --rounds) {
    std::shared_ptr<const Program> program;
    try {
      program = Program::decode(finished(changed), std::make_shared<ClassTable>());
    } catch (const Error&) {}
    size_t k = first + random() % (functions->size() - first);
    Editor editor((*functions)[k], program ? program->functions()[k - first].get() : nullptr,
                  &random);
    if (!editor.usable()) return {};
    editor.change();
  }
  return write_pickle(finished(changed));
}

}  // namespace fuzz
