// Programs made at random: register code does what plain code of the same bytecode does.
#include <random>

#include "assembler.h"
#include "harness.h"
#include "lower/lowering.h"

using namespace scriptlang;
using namespace test;

namespace {

// Letters of types: i int, b bool, s str, l List[int], m List[List[int]], t Tuple[int, str],
// u List[Tuple[int, str]], d Dict[str, int].
constexpr char kTypes[] = {'i', 'b', 's', 'l', 'm', 't', 'u', 'd'};
constexpr int kRegisters = 10, kArguments = 5;
constexpr char kArgumentTypes[] = "islmd";

class ProgramMaker {
 public:
  explicit ProgramMaker(uint32_t seed) : random_(seed) {}

  Code make() {
    code_.registers = kRegisters;
    code_.constants = {Value(0),    Value(1),     Value(2),   Value(3),
                       Value(true), Value(false), Value("b"), Value("two words")};
    code_.types = {Value("List[int]"), Value("List[List[int]]"), Value("List[Tuple[int, str]]")};
    for (char type : std::string(kArgumentTypes)) code_.argument(type == 'i' ? "int" : "Any");
    code_.emit("STOREN", 1, kArguments);
    for (int k = 0; k < kArguments; ++k) held_[k] = kArgumentTypes[k];
    statements(2 + below(8), 3);
    finish();
    return code_;
  }

 private:
  int below(int n) { return int(random_() % uint32_t(n)); }

  void op(const char* name, const char* overload, int count) {
    code_.emit("OP", code_.op(name, overload, count));
  }

  // A register that holds the type, or -1.
  int holder(char type, bool to_leave) {
    int start = below(kRegisters);
    for (int k = 0; k < kRegisters; ++k) {
      int reg = (start + k) % kRegisters;
      if (held_[reg] == type && !(to_leave && kept_[reg])) return reg;
    }
    return -1;
  }

  void value(char type, int depth) {
    if (type == 'd') {  // the only one is never left
      code_.emit("LOAD", kArguments);
      return;
    }
    bool to_leave = below(3) == 0;
    int reg = holder(type, to_leave);
    if (reg >= 0 && (depth <= 0 || below(3) == 0)) {
      code_.emit(to_leave ? "MOVE" : "LOAD", reg + 1);
      if (to_leave) held_[reg] = 0;
      return;
    }
    switch (type) {
      case 'i': return number(depth);
      case 'b': return condition(depth);
      case 's': return text(depth);
      case 'l': return list(depth);
      case 'm':
        value('l', depth - 1);
        value('l', depth - 1);
        code_.emit("LIST_CONSTRUCT", 1, 2);
        return;
      case 't': return pair(depth);
      case 'u':
        value('t', depth - 1);
        value('t', depth - 1);
        code_.emit("LIST_CONSTRUCT", 2, 2);
        return;
    }
  }

  void number(int depth) {
    if (depth <= 0) {
      code_.emit("LOADC", below(4));
      return;
    }
    switch (below(14)) {
      case 11: part_of_pair(depth, 0); return;
      case 12:
        value('m', depth - 1), index(depth), op("aten::__getitem__", "t", 2);
        op("aten::len", "t", 1);
        return;
      case 13:
        value('i', depth - 1), code_.emit("LOADC", 2 + below(2));
        op(below(2) ? "aten::floordiv" : "aten::remainder", "int", 2);
        return;
      case 9:
        value('s', depth - 1), index(depth), op("aten::__getitem__", "str", 2);
        op("aten::ord", "", 1);
        return;
      case 10:
        value('t', depth - 1), code_.emit("LOADC", below(8) ? 0 : 1), code_.emit("TUPLE_INDEX");
        return;
      case 0: value('l', depth - 1), op("aten::len", "t", 1); return;
      case 1: value('s', depth - 1), op("aten::len", "str", 1); return;
      case 2:
      case 3: value('l', depth - 1), index(depth), op("aten::__getitem__", "t", 2); return;
      case 4:
        value('m', depth - 1), index(depth), op("aten::__getitem__", "t", 2);
        index(depth), op("aten::__getitem__", "t", 2);
        return;
      case 5:
        value('d', 0), value('s', depth - 1), value('i', depth - 1);
        op("aten::get", "default_str", 3);
        return;
      default: {
        static constexpr const char* kNames[] = {"aten::add", "aten::sub", "aten::mul"};
        value('i', depth - 1), value('i', depth - 1), op(kNames[below(3)], "int", 2);
      }
    }
  }

  void part_of_pair(int depth, int part) {
    value('u', depth - 1), index(depth), op("aten::__getitem__", "t", 2);
    code_.emit("LOADC", part).emit("TUPLE_INDEX");
  }

  // An int that is an index of most things.
  void index(int depth) {
    if (below(2)) {
      code_.emit("LOADC", below(2));
      return;
    }
    value('i', depth - 1);
    code_.emit("LOADC", 2);
    op("aten::remainder", "int", 2);
  }

  void condition(int depth) {
    static constexpr const char* kOrders[] = {"aten::lt", "aten::eq", "aten::ne", "aten::ge"};
    switch (below(6)) {
      case 0: value('d', 0), value('s', depth - 1), op("aten::__contains__", "str", 2); return;
      case 4: value('s', depth - 1), value('s', depth - 1), op("aten::startswith", "", 2); return;
      case 5:
        value('s', depth - 1), index(depth), op("aten::__getitem__", "str", 2);
        code_.emit("LOADC", 6), op(kOrders[1 + below(2)], "str", 2);
        return;
      case 1:
      case 2: value('s', depth - 1), value('s', depth - 1), op(kOrders[below(4)], "str", 2); return;
      default: value('i', depth - 1), value('i', depth - 1), op(kOrders[below(3)], "int", 2);
    }
  }

  void text(int depth) {
    if (depth <= 0) {
      code_.emit("LOADC", 6 + below(2));
      return;
    }
    int kind = below(6);
    if (kind == 0) return part_of_pair(depth, 1);
    if (kind == 1) return value('i', depth - 1), op("aten::chr", "", 1);
    value('s', depth - 1);
    if (below(2)) {
      index(depth), op("aten::__getitem__", "str", 2);
    } else {
      value('s', depth - 1), op("aten::add", "str", 2);
    }
  }

  void list(int depth) {
    int count = depth <= 0 ? 1 : 1 + below(3);
    if (depth > 0 && below(4) == 0) {
      value('m', depth - 1), index(depth), op("aten::__getitem__", "t", 2);
      return;
    }
    for (int k = 0; k < count; ++k) value('i', depth - 1);
    code_.emit("LIST_CONSTRUCT", 0, count);
  }

  void pair(int depth) {
    if (depth > 0 && below(3)) {
      value('u', depth - 1), index(depth), op("aten::__getitem__", "t", 2);
      return;
    }
    value('i', depth - 1), value('s', depth - 1), code_.emit("TUPLE_CONSTRUCT", 2);
  }

  // Takes a tuple apart; a part may be left at once.
  void unpack() {
    int reg = below(kRegisters - 1);
    auto free = [&](int r, char type) {
      return r != kArguments - 1 && !(kept_[r] && held_[r] != type);
    };
    if (!free(reg, 'i') || !free(reg + 1, 's')) return;
    value('t', 2);
    op("prim::TupleUnpack", "", 1);
    code_.emit("STOREN", reg + 1, 2);
    held_[reg] = 'i';
    held_[reg + 1] = 's';
    int left = reg + below(3);
    if (left > reg + 1 || kept_[left]) return;
    code_.emit("DROPR", left + 1);
    held_[left] = 0;
  }

  void store(char type) {
    int start = below(kRegisters);
    for (int k = 0; k < kRegisters; ++k) {
      int reg = (start + k) % kRegisters;
      if (reg == kArguments - 1 || (kept_[reg] && held_[reg] != type)) continue;
      code_.emit("STORE", reg + 1);
      held_[reg] = type;
      return;
    }
    code_.emit("DROP");
  }

  void statements(int count, int depth) {
    for (int k = 0; k < count; ++k) statement(depth);
  }

  void statement(int depth) {
    switch (below(depth > 0 ? 14 : 6)) {
      case 9: unpack(); return;
      case 12:
        value('m', 1), index(2), op("aten::__getitem__", "t", 2), value('i', 2);
        op("aten::append", "t", 2), code_.emit("DROP");
        return;
      case 13: value('u', 1), value('t', 2), op("aten::append", "t", 2), code_.emit("DROP"); return;
      case 10:
        value('m', 1), index(2), op("aten::__getitem__", "t", 2), index(2), value('i', 2);
        op("aten::_set_item", "t", 3), code_.emit("DROP");
        return;
      case 0: value('l', 1), value('i', 2), op("aten::append", "t", 2), code_.emit("DROP"); return;
      case 1:
        value('l', 1), index(2), value('i', 2), op("aten::_set_item", "t", 3);
        code_.emit("DROP");
        return;
      case 2: value('d', 0), value('s', 2), value('i', 2), op("aten::_set_item", "str", 3); return;
      case 3: leave(); return;
      case 6: branch(depth); return;
      case 7: loop(depth); return;
      default: {
        char type = kTypes[below(7)];
        value(type, 3);
        store(type);
      }
    }
  }

  void leave() {
    int reg = holder(kTypes[below(7)], true);
    if (reg < 0 || reg == kArguments - 1) return;
    code_.emit("DROPR", reg + 1);
    held_[reg] = 0;
  }

  size_t here() const { return code_.instructions.size(); }
  void set_jump(size_t at, const char* op, size_t to, int64_t n = 0) {
    code_.instructions[at] = tuple({Value(op), Value(int64_t(to) - int64_t(at)), Value(n)});
  }

  // if: both ways end with a value that the join stores, or branches on.
  void branch(int depth) {
    char type = kTypes[below(6)];
    value('b', 2);
    size_t test = here();
    code_.emit("JF");
    std::string before(held_, kRegisters);
    statements(below(3), depth - 1);
    value(type, 2);
    size_t skip = here();
    code_.emit("JMP");
    set_jump(test, "JF", here());
    std::string after(held_, kRegisters);
    before.copy(held_, kRegisters);
    statements(below(2), depth - 1);
    value(type, below(3));
    set_jump(skip, "JMP", here());
    for (int k = 0; k < kRegisters; ++k) held_[k] = held_[k] == after[size_t(k)] ? held_[k] : 0;
    store(type);
  }

  // for with one carried value: what is there before it stays there and keeps its type.
  void loop(int depth) {
    char type = kTypes[below(6)];
    code_.emit("LOADC", 0).emit("LOADC", 1 + below(3)).emit("LOADC", 4);
    value(type, 1);
    bool kept[kRegisters];
    std::copy_n(kept_, kRegisters, kept);
    std::string before(held_, kRegisters);
    for (int k = 0; k < kRegisters; ++k) kept_[k] = kept_[k] || held_[k];
    size_t head = here();
    code_.emit("LOOP");
    store(type);
    store('i');
    statements(1 + below(3), depth - 1);
    value('b', below(2));
    value(type, 2);
    size_t back = here();
    code_.emit("JMP");
    set_jump(back, "JMP", head);
    set_jump(head, "LOOP", here(), 3);
    std::copy_n(kept, kRegisters, kept_);
    before.copy(held_, kRegisters);
    store(type);
  }

  void finish() {
    int64_t count = 0;
    for (int k = 0; k < kRegisters; ++k) {
      if (!held_[k]) continue;
      code_.emit(below(2) ? "LOAD" : "MOVE", k + 1);
      ++count;
    }
    code_.emit("TUPLE_CONSTRUCT", count).emit("RET");
  }

  Code code_;
  std::mt19937 random_;
  char held_[kRegisters] = {};  // the type in each register; 0: not to be read
  bool kept_[kRegisters] = {};  // read again in a loop: not to be left
};

std::vector<Value> arguments() {
  Ref<Dict> dict = Dict::make();
  dict->set(Value("b"), Value(5));
  Value row(List::make({Value(4), Value(5), Value(6)}));
  return {Value(3), Value("a text"), Value(List::make({Value(7), Value(8)})),
          Value(List::make({row, row})), Value(dict)};
}

std::string outcome(const Code& code, bool plain) {
  auto program = decode({code});
  const Function& f = *program->find(code.name);
  if (plain) f.lowered.store(lower::plain_code(f).release());
  Context context;
  Limits limits;
  limits.instructions = 20000;
  limits.memory_bytes = 1 << 22;
  std::vector<Value> given = arguments();
  try {
    return text_of(run(*program, f, given, context, limits));
  } catch (const Error& e) { return concat(error_kind_name(e.kind), ": ", e.message); }
}

}  // namespace

TEST(random_programs_do_the_same_in_both_forms) {
  int ended = 0;
  constexpr int kPrograms = 3000;
  for (uint32_t seed = 0; seed < kPrograms; ++seed) {
    Code code = ProgramMaker(seed).make();
    std::string want = outcome(code, true), got = outcome(code, false);
    if (got != want) std::printf("seed %u\n", seed);
    CHECK_EQ(got, want);
    ended += want[0] == '(';
  }
  CHECK(ended > kPrograms / 4);
}

int main(int count, char** arguments) { return test::main(count, arguments); }
