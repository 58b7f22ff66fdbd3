// Register code: what it is made of, and that plain code of the same function does the same.
#include "lowered.h"

using namespace scriptlang;
using namespace test;

namespace {

// total = 0; for i in range(n): total = total + i * i % 7
Code sum_of_squares() {
  Code code;
  code.argument("int");
  code.constants = {Value(0), Value(true), Value(7)};
  int64_t add = code.op("aten::add", "int", 2), mul = code.op("aten::mul", "int", 2);
  int64_t rest = code.op("aten::remainder", "int", 2);
  code.emit("STORE", 1).emit("LOADC", 0).emit("LOAD", 1).emit("LOADC", 1).emit("LOADC", 0);
  code.emit("LOOP", 11, 3).emit("STOREN", 2, 2).emit("LOADC", 1).emit("MOVE", 3);
  code.emit("LOAD", 2).emit("MOVE", 2).emit("OP", mul).emit("LOADC", 2).emit("OP", rest);
  code.emit("OP", add).emit("JMP", -10).emit("RET");
  return code;
}

}  // namespace

TEST(a_counted_loop_is_its_arithmetic_and_one_step) {
  std::shared_ptr<const Program> keep;
  const lower::Code& code = lowered(sum_of_squares(), &keep);
  CHECK_EQ(count(code, StepOp::OP), 0);
  CHECK_EQ(count(code, StepOp::COUNT), 2);  // before the body and after it
  size_t body = 0;
  while (code.steps[body].op != StepOp::MUL_INT) ++body;
  CHECK(code.steps[body + 1].op == StepOp::MOD_INT_BY);
  CHECK(code.steps[body + 2].op == StepOp::ADD_INT);
  CHECK(code.steps[body + 3].op == StepOp::COUNT);
  CHECK_EQ(code.steps[body + 3].x, -3);
  check_same({sum_of_squares()}, {Value(100)}, "197");
}

// (x + a) of each operator and constant, and of each comparison.
TEST(steps_hold_small_constants) {
  const char* names[] = {"aten::add",       "aten::sub", "aten::mul", "aten::floordiv",
                         "aten::remainder", "aten::lt",  "aten::le",  "aten::gt",
                         "aten::ge",        "aten::eq",  "aten::ne"};
  const int64_t numbers[] = {0,
                             1,
                             -1,
                             7,
                             -7,
                             INT32_MAX,
                             INT32_MIN,
                             int64_t(INT32_MAX) + 1,
                             int64_t(INT32_MIN) - 1,
                             INT64_MAX,
                             INT64_MIN};
  for (const char* name : names) {
    for (int64_t number : numbers) {
      Code code;
      code.argument("int");
      code.constants = {Value(number)};
      int64_t op = code.op(name, "int", 2);
      code.emit("LOADC", 0).emit("OP", op).emit("RET");
      for (int64_t x : numbers) {
        std::string plain = outcome({code}, {Value(x)}, true);
        CHECK_EQ(without_place(outcome({code}, {Value(x)}, false)), without_place(plain));
      }
      std::shared_ptr<const Program> keep;
      const lower::Code& made = lowered(code, &keep);
      bool divides = name == names[3] || name == names[4];
      bool half = name == names[4] && number == int64_t(INT32_MAX) + 1;  // a mask
      bool held = half || (number == int32_t(number) && (!divides || number > 0));
      CHECK_EQ(made.constants.size(), held ? 0u : 1u);
    }
  }
}

// x + 5, then whether a text has that many characters: the text is a constant that stays.
TEST(constants_that_are_wanted_keep_their_slots) {
  Code code;
  code.argument("int").argument("str");
  code.constants = {Value(5), Value("constant"), Value(int64_t(1) << 40)};
  int64_t add = code.op("aten::add", "int", 2), join = code.op("aten::add", "str", 2);
  code.emit("STOREN", 1, 2).emit("LOAD", 2).emit("LOADC", 1).emit("OP", join);
  code.emit("LOAD", 1).emit("LOADC", 0).emit("OP", add).emit("LOADC", 0).emit("OP", add);
  code.emit("LOADC", 2).emit("OP", add).emit("LOADC", 0).emit("TUPLE_CONSTRUCT", 3).emit("RET");
  check_same({code}, {Value(3), Value("a ")}, "(a constant, 1099511627789, 5)");
}

// Whether x is in [3, 7]: the operator only reads the list, and the branch takes the opposite way.
TEST(a_list_of_constants_that_is_only_read_is_made_once) {
  Code code;
  code.argument("int");
  code.constants = {Value(3), Value(7), Value("no"), Value("yes")};
  code.types = {Value("List[int]")};
  int64_t contains = code.op("aten::__contains__", "int_list", 2);
  code.emit("STOREN", 1, 1).emit("LOADC", 0).emit("LOADC", 1).emit("LIST_CONSTRUCT", 0, 2);
  code.emit("LOAD", 1).emit("OP", contains).emit("__NOT__").emit("JF", 3);
  code.emit("LOADC", 2).emit("RET").emit("LOADC", 3).emit("RET");
  check_same({code}, {Value(7)}, "yes");
  check_same({code}, {Value(4)}, "no");
  std::shared_ptr<const Program> keep;
  const lower::Code& made = lowered(code, &keep);
  CHECK_EQ(count(made, StepOp::LIST), 0);
  CHECK_EQ(count(made, StepOp::NOT_BOOL), 0);
  CHECK_EQ(count(made, StepOp::JUMP_TRUE), 1);
}

// The same list is looked at and given back: every call has a list of its own.
TEST(a_list_of_constants_that_is_kept_is_made_in_each_call) {
  Code code;
  code.argument("int");
  code.constants = {Value(3), Value(7)};
  code.types = {Value("List[int]")};
  int64_t contains = code.op("aten::__contains__", "int_list", 2);
  code.emit("STOREN", 1, 1).emit("LOADC", 0).emit("LOADC", 1).emit("LIST_CONSTRUCT", 0, 2);
  code.emit("STORE", 2).emit("LOAD", 2).emit("LOAD", 1).emit("OP", contains).emit("LOAD", 2);
  code.emit("TUPLE_CONSTRUCT", 2).emit("RET");
  check_same({code}, {Value(7)}, "(True, [3, 7])");
  std::shared_ptr<const Program> keep;
  CHECK_EQ(count(lowered(code, &keep), StepOp::LIST), 1);
}

// What changes the list gets a new one in each call, also if its result is only read.
TEST(a_list_of_constants_that_is_changed_is_made_in_each_call) {
  Value given = List::make({Value(5)});
  for (bool appends : {true, false}) {
    Code code;  // x + append([3, 7], 9), x + _set_item([3, 7], 0, 9)
    code.argument("List[int]");
    code.constants = {Value(3), Value(7), Value(0), Value(9)};
    code.types = {Value("List[int]")};
    int64_t set = code.op("aten::_set_item", "t", 3), append = code.op("aten::append", "t", 2);
    int64_t join = code.op("aten::add", "t", 2);
    code.emit("STOREN", 1, 1).emit("LOAD", 1);
    code.emit("LOADC", 0).emit("LOADC", 1).emit("LIST_CONSTRUCT", 0, 2);
    if (appends) code.emit("LOADC", 3).emit("OP", append);
    else code.emit("LOADC", 2).emit("LOADC", 3).emit("OP", set);
    code.emit("OP", join).emit("RET");
    check_same({code}, {given}, appends ? "[5, 3, 7, 9]" : "[5, 9, 7]");
  }
  Code twice, pops;  // g() = [3, 7].pop()
  pops.name = "__torch__.g";
  pops.constants = {Value(3), Value(7), Value(-1)};
  pops.types = {Value("List[int]")};
  int64_t pop = pops.op("aten::pop", "t", 2);
  pops.emit("LOADC", 0).emit("LOADC", 1).emit("LIST_CONSTRUCT", 0, 2);
  pops.emit("LOADC", 2).emit("OP", pop).emit("RET");
  twice.functions = {Value("__torch__.g")};
  twice.emit("CALL", 0).emit("CALL", 0).emit("TUPLE_CONSTRUCT", 2).emit("RET");
  check_same({twice, pops}, {}, "(7, 7)");
}

TEST(an_operand_that_is_not_proven_is_checked_once) {
  Code code;  // without a schema nothing is declared
  code.schema = false;
  code.constants = {Value(1)};
  int64_t add = code.op("aten::add", "int", 2);
  code.emit("STORE", 1).emit("LOAD", 1).emit("LOADC", 0).emit("OP", add);
  code.emit("LOAD", 1).emit("OP", add).emit("RET");
  std::shared_ptr<const Program> keep;
  CHECK_EQ(count(lowered(code, &keep), StepOp::GUARD_INT), 1);
  check_same({code}, {Value(20)}, "41");
  CHECK_EQ(outcome({code}, {Value(2.5)}, false),
           "TypeError: expected a value of type int but got float at 3");
}

TEST(declared_types_of_registers_prove_nothing) {
  Code code;
  code.argument("Any");
  code.registers = 1;
  code.register_types = {Value("int")};
  code.constants = {Value(1)};
  int64_t add = code.op("aten::add", "int", 2);
  code.emit("STORE", 1).emit("LOAD", 1).emit("LOADC", 0).emit("OP", add).emit("RET");
  std::shared_ptr<const Program> keep;
  CHECK_EQ(count(lowered(code, &keep), StepOp::GUARD_INT), 1);
  CHECK_EQ(outcome({code}, {Value("text")}, false),
           "TypeError: expected a value of type int but got str at 3");
}

// Carried values that go round in a circle of the given length.
static Code circle(int length) {
  Code code;
  code.registers = length + 2;
  code.argument("int");
  code.constants = {Value(0), Value(true)};
  code.emit("STORE", length + 2);
  code.emit("LOADC", 0).emit("LOAD", length + 2).emit("LOADC", 1);
  for (int k = 0; k < length; ++k) {
    code.constants.push_back(Value(k + 10));
    code.emit("LOADC", 2 + k);
  }
  code.emit("LOOP", length + 4, length + 2).emit("STOREN", 1, length + 1).emit("LOADC", 1);
  for (int k = 0; k < length; ++k) code.emit("MOVE", 2 + (k + 1) % length);
  code.emit("JMP", -(length + 3));
  code.emit("TUPLE_CONSTRUCT", length).emit("RET");
  return code;
}

TEST(values_that_go_round_in_a_circle) {
  check_same({circle(2)}, {Value(3)}, "(11, 10)");
  check_same({circle(3)}, {Value(4)}, "(11, 12, 10)");
  check_same({circle(5)}, {Value(0)}, "(10, 11, 12, 13, 14)");
  Code many = circle(70);  // more than a loop keeps in registers
  CHECK_EQ(outcome({many}, {Value(71)}, false), outcome({many}, {Value(1)}, true));
}

TEST(a_deep_stack) {
  Code code;
  code.argument("int");
  int64_t add = code.op("aten::add", "int", 2);
  code.emit("STORE", 1);
  for (int k = 0; k < 1000; ++k) code.emit("LOAD", 1);
  for (int k = 0; k < 999; ++k) code.emit("OP", add);
  code.emit("RET");
  check_same({code}, {Value(3)}, "3000");
}

TEST(what_is_pending_is_taken_before_its_register_changes) {
  Code code;
  code.argument("List[int]").argument("int");
  int64_t len = code.op("aten::len", "t", 1);
  code.types = {Value("List[int]")};
  // [x] pushed as a copy, then x is replaced by a longer list and both are measured
  code.emit("STOREN", 1, 2).emit("LOAD", 1).emit("LOAD", 1).emit("LOAD", 2).emit("LOAD", 2);
  code.emit("LOAD", 2).emit("LIST_CONSTRUCT", 0, 3).emit("STORE", 1).emit("OP", len);
  code.emit("LOAD", 1).emit("OP", len).emit("TUPLE_CONSTRUCT", 3).emit("RET");
  check_same({code}, {Value(List::make({Value(4)})), Value(5)}, "([4], 1, 3)");
}

TEST(a_number_that_replaces_a_list_stays_for_others) {
  Code code;
  code.argument("int").argument("Any");
  code.emit("STOREN", 1, 2).emit("LOAD", 1).emit("MOVE", 1).emit("STORE", 2).emit("LOAD", 2);
  code.emit("TUPLE_CONSTRUCT", 2).emit("RET");
  check_same({code}, {Value(5), Value(List::make({Value(1)}))}, "(5, 5)");
}

TEST(a_loop_that_pops_its_own_counts) {
  Code code;  // a `while` whose body reads the trip number under its values
  code.constants = {Value(0), Value(int64_t(INT64_MAX)), Value(true), Value(3)};
  int64_t lt = code.op("aten::lt", "int", 2);
  code.emit("LOADC", 0).emit("LOADC", 1).emit("LOADC", 2).emit("LOOP", 10, 2);
  code.emit("DROP").emit("STORE", 2).emit("STORE", 1).emit("LOAD", 1).emit("LOAD", 2);
  code.emit("LOAD", 1).emit("LOADC", 3).emit("OP", lt).emit("JMP", -9).emit("LOAD", 1);
  code.emit("RET");
  check_same({code}, {}, "3");
}

TEST(a_function_without_registers) {
  Code code;
  code.registers = 0;
  code.constants = {Value(7)};
  code.emit("LOADC", 0).emit("RET");
  check_same({code}, {}, "7");
}

TEST(what_a_list_no_longer_holds_is_given_back) {
  Code code;  // for i in range(n): list[0] = zeros([100])
  code.argument("List[Tensor]").argument("int");
  code.constants = {Value(0), Value(true), Value(100), Value()};
  code.types = {Value("List[int]")};
  int64_t zeros = code.op("aten::zeros", "", 1), set = code.op("aten::_set_item", "t", 3);
  code.emit("STOREN", 1, 2).emit("LOADC", 0).emit("LOAD", 2).emit("LOADC", 1);
  code.emit("LOOP", 11, 2).emit("STORE", 3).emit("LOAD", 1).emit("LOADC", 0).emit("LOADC", 2);
  code.emit("LIST_CONSTRUCT", 0, 1).emit("OP", zeros).emit("OP", set).emit("DROP");
  code.emit("LOADC", 1).emit("JMP", -10).emit("LOADC", 0).emit("RET");
  Limits limits;
  limits.memory_bytes = 1 << 20;
  Value list = List::make({Value(Tensor::zeros({1}, ScalarType::Float32))});
  CHECK_EQ(run_code(code, {list, Value(100000)}, limits).as_int(), 0);
}

TEST(a_tuple_that_is_stored_in_parts_is_one_step) {
  Code code;
  code.argument("Any");
  code.registers = 3;
  code.register_types = {Value("int"), Value("str"), Value("Any")};
  int64_t unpack = code.op("prim::TupleUnpack", "", 1), get = code.op("aten::__getitem__", "t", 2);
  code.constants = {Value(0)};
  code.emit("STORE", 3).emit("LOAD", 3).emit("LOADC", 0).emit("OP", get).emit("OP", unpack);
  code.emit("STOREN", 1, 2).emit("DROPR", 2).emit("LOAD", 1).emit("MOVE", 3);
  code.emit("TUPLE_CONSTRUCT", 2).emit("RET");
  std::shared_ptr<const Program> keep;
  const lower::Code& made = lowered(code, &keep);
  CHECK_EQ(count(made, StepOp::UNPACK_AT), 1);
  CHECK_EQ(count(made, StepOp::TUPLE_UNPACK), 0);
  Value pair(Tuple::make({Value(5), Value("a text")}));
  check_same({code}, {List::make({pair})}, "(5, [(5, a text)])");
  check_same({code}, {List::make({Tuple::make({Value(5)})})},
             "RuntimeError: Provided 1 values, the program unpacks 2 from a tuple at 4");
  CHECK_EQ(outcome({code}, {List::make({Tuple::make({Value("x"), Value(1)})})}, false),
           "TypeError: expected a value of type int but got str at 4");
}

TEST(a_part_of_a_tuple_in_a_list_is_one_step) {
  Code code;
  code.argument("Any");
  code.constants = {Value(0), Value(1)};
  int64_t get = code.op("aten::__getitem__", "t", 2), add = code.op("aten::add", "int", 2);
  code.emit("STORE", 1).emit("LOAD", 1).emit("LOADC", 0).emit("OP", get).emit("LOADC", 1);
  code.emit("TUPLE_INDEX").emit("LOADC", 1).emit("OP", add).emit("RET");
  std::shared_ptr<const Program> keep;
  CHECK_EQ(count(lowered(code, &keep), StepOp::PART_GET_INT), 1);
  check_same({code}, {List::make({Tuple::make({Value("a"), Value(6)})})}, "7");
  CHECK_EQ(outcome({code}, {List::make({Tuple::make({Value("a"), Value("b")})})}, false),
           "TypeError: expected a value of type int but got str at 5");
  check_same({code}, {List::make({Tuple::make({Value(1)})})},
             "IndexError: Tuple list index out of range at 5");
  CHECK_EQ(outcome({code}, {List::make({Value(1)})}, false),
           "TypeError: expected a value of type Tuple but got int at 5");
}

TEST(an_element_of_a_row_is_set_by_one_step) {
  Code code;
  code.argument("Any");
  code.constants = {Value(-1), Value(7)};
  int64_t get = code.op("aten::__getitem__", "t", 2), set = code.op("aten::_set_item", "t", 3);
  code.emit("STORE", 1).emit("LOAD", 1).emit("LOADC", 0).emit("OP", get).emit("LOADC", 0);
  code.emit("LOADC", 1).emit("OP", set).emit("DROP").emit("MOVE", 1).emit("RET");
  std::shared_ptr<const Program> keep;
  CHECK_EQ(count(lowered(code, &keep), StepOp::ROW_SET_INT), 1);
  auto rows = [](Value last) {
    Value first(List::make({Value(1), Value(2)}));
    return Value(List::make({first, std::move(last)}));
  };
  CHECK_EQ(outcome({code}, {rows(List::make({Value(3), Value(4)}))}, false), "[[1, 2], [3, 7]]");
  CHECK_EQ(outcome({code}, {rows(List::make({Value("a")}))}, false), "[[1, 2], [7]]");
  CHECK_EQ(outcome({code}, {rows(List::make({}))}, false),
           "IndexError: list index out of range at 6");
  CHECK_EQ(outcome({code}, {rows(Value(3))}, false),
           "TypeError: expected a value of type List but got int at 6");
}

TEST(a_call_with_proven_arguments_skips_the_checks) {
  Code caller, callee;
  callee.name = "__torch__.g";
  callee.argument("int");
  callee.returns = {Code::row("", "int", Value())};
  callee.constants = {Value(2)};
  int64_t mul = callee.op("aten::mul", "int", 2);
  callee.emit("STORE", 1).emit("LOAD", 1).emit("LOADC", 0).emit("OP", mul).emit("RET");
  caller.argument("int").argument("Any");
  caller.functions = {Value("__torch__.g")};
  int64_t add = caller.op("aten::add", "int", 2);
  caller.emit("STOREN", 1, 2).emit("LOAD", 1).emit("CALL", 0).emit("LOAD", 2).emit("CALL", 0);
  caller.emit("OP", add).emit("RET");
  auto program = decode({caller, callee});
  const lower::Code& made = lower::code_of(*program->find(caller.name));
  CHECK_EQ(count(made, StepOp::CALL_PROVEN), 1);
  CHECK_EQ(count(made, StepOp::CALL), 1);
  CHECK_EQ(count(made, StepOp::GUARD_INT), 1);  // of the argument: results are as declared
  CHECK_EQ(run_codes({caller, callee}, {Value(3), Value(4)}).as_int(), 14);
  std::string message;
  try {
    run_codes({caller, callee}, {Value(3), Value("no int")});
  } catch (const Error& e) { message = e.message; }
  CHECK_EQ(message, "expected a value of type int but got str");
}

TEST(a_result_is_what_is_declared_or_an_error) {
  Code code;
  code.argument("Any");
  code.returns = {Code::row("", "int", Value())};
  code.emit("RET");
  check_same({code}, {Value(3)}, "3");
  check_same({code}, {Value("text")}, "TypeError: expected a value of type int but got str at 0");
}

TEST(a_constant_result_is_what_is_declared) {
  Code caller, callee;
  callee.name = "__torch__.g";
  callee.returns = {Code::row("", "float", Value())};
  callee.constants = {Value(3)};
  callee.emit("LOADC", 0).emit("RET");
  caller.functions = {Value("__torch__.g")};
  caller.constants = {Value(0.5)};
  int64_t add = caller.op("aten::add", "float", 2);
  caller.emit("CALL", 0).emit("LOADC", 0).emit("OP", add).emit("RET");
  CHECK_EQ(run_codes({caller, callee}, {}).as_double(), 3.5);
  CHECK_EQ(run_codes({callee}, {}).as_double(), 3.0);
}

TEST(a_loop_is_all_that_an_endless_loop_does) {
  Code code;
  code.constants = {Value(0), Value(3), Value(true)};
  code.emit("JMP", 5).emit("LOOP", 4, 2).emit("DROP").emit("LOADC", 2).emit("JMP", -3);
  code.emit("LOADC", 0).emit("LOADC", 1).emit("LOADC", 2).emit("JMP", -7);
  Limits limits;
  limits.instructions = 10000;
  std::string kind;
  try {
    run_codes({code}, {}, limits);
  } catch (const Error& e) { kind = error_kind_name(e.kind); }
  CHECK_EQ(kind, "LimitError");
}

TEST(a_loop_that_leaves_into_its_own_body_is_counted) {
  Code code;  // the body takes the counts from the stack; with nothing there it can be come to
  code.registers = 3;
  code.constants = {Value(0), Value(int64_t(100)), Value(true), Value(3)};
  int64_t lt = code.op("aten::lt", "int", 2);
  code.emit("STORE", 3).emit("LOADC", 0).emit("LOADC", 1).emit("LOADC", 2).emit("LOOP", 4, 2);
  code.emit("STORE", 3).emit("STORE", 2).emit("STORE", 1).emit("LOADC", 1).emit("LOADC", 1);
  code.emit("LOADC", 1).emit("LOADC", 3).emit("OP", lt).emit("JMP", -9).emit("RET");
  code.argument("int");
  Limits limits;
  limits.instructions = 10000;
  std::string kind;
  try {
    run_codes({code}, {Value(1)}, limits);
  } catch (const Error& e) { kind = error_kind_name(e.kind); }
  CHECK_EQ(kind, "LimitError");
}

int main(int count, char** arguments) { return test::main(count, arguments); }
