// Where register code keeps values: slots that registers share, arguments that go straight into
// the callee's frame or are only seen, frames of numbers.
#include "lowered.h"

using namespace scriptlang;
using namespace test;

namespace {

void check_limit(const Code& code, const Limits& limits) {
  CHECK_EQ(outcome({code}, {}, false, limits).substr(0, 11), "LimitError:");
  CHECK_EQ(outcome({code}, {}, true, limits).substr(0, 11), "LimitError:");
}

// a = b = 0; for i in range(n): if i % 2 == 1: a += 1 else: b += 10 (by registers of the join);
// then the ends of the loop's registers are dropped or kept, and a + b is the result.
Code branches_in_a_loop(bool drops_late) {
  Code code;
  code.argument("int");
  code.registers = 8;
  code.constants = {Value(0), Value(true), Value(2), Value(1), Value(10)};
  int64_t add = code.op("aten::add", "int", 2), rest = code.op("aten::remainder", "int", 2);
  int64_t eq = code.op("aten::eq", "int", 2);
  code.emit("STORE", 1).emit("LOADC", 0).emit("LOAD", 1).emit("LOADC", 1);
  code.emit("LOADC", 0).emit("LOADC", 0);
  code.emit("LOOP", 25, 4).emit("STOREN", 2, 3);  // i a b
  code.emit("MOVE", 2).emit("LOADC", 2).emit("OP", rest).emit("LOADC", 3).emit("OP", eq);
  code.emit("JF", 6);
  code.emit("LOAD", 3).emit("LOADC", 3).emit("OP", add).emit("LOAD", 4).emit("JMP", 5);
  code.emit("LOAD", 3).emit("LOAD", 4).emit("LOADC", 4).emit("OP", add);
  code.emit("STOREN", 5, 2);
  if (drops_late) {
    code.emit("DROPR", 3).emit("DROPR", 4);
  } else {
    code.emit("LOADC", 0).emit("DROP");
  }
  code.emit("LOADC", 1).emit("MOVE", 5).emit("MOVE", 6).emit("JMP", -23);
  code.emit("STOREN", 7, 2).emit("MOVE", 7).emit("MOVE", 8).emit("OP", add).emit("RET");
  code.instructions[6] = tuple({Value("LOOP"), Value(int64_t(24)), Value(int64_t(4))});
  return code;
}

}  // namespace

TEST(registers_that_only_hand_on_a_value_share_a_slot) {
  for (bool drops_late : {false, true}) {
    Code code = branches_in_a_loop(drops_late);
    std::shared_ptr<const Program> keep;
    const lower::Code& made = lowered(code, &keep);
    size_t loop = made.steps.size();
    for (size_t k = 0; k < made.steps.size(); ++k) {
      if (made.steps[k].op == StepOp::AND_INT_BY) loop = k;  // i % 2
    }
    CHECK(loop < made.steps.size());
    for (size_t k = loop; k < made.steps.size(); ++k) {
      CHECK(made.steps[k].op != StepOp::COPY_RAW);
    }
    check_alike({code}, {Value(5)}, "32");
    check_alike({code}, {Value(0)}, "0");
  }
}

TEST(no_jump_leads_to_a_jump_or_to_what_follows) {
  for (bool drops_late : {false, true}) {
    std::shared_ptr<const Program> keep;
    const lower::Code& made = lowered(branches_in_a_loop(drops_late), &keep);
    for (size_t k = 0; k < made.steps.size(); ++k) {
      const lower::Step& step = made.steps[k];
      if (!lower::is_jump(step.op)) continue;
      CHECK(made.steps[size_t(int64_t(k) + step.x)].op != StepOp::JUMP);
      CHECK(step.op != StepOp::JUMP || step.x != 1);
    }
  }
}

TEST(jumps_in_a_circle_end_at_the_limit) {
  Code code;
  code.emit("JMP", 2).emit("JMP", 2).emit("JMP", -1).emit("JMP", -2);
  Limits limits;
  limits.instructions = 10000;
  check_limit(code, limits);
}

// x = 1; y = x; x = y + 5: y is wanted after x changed.
TEST(a_register_that_is_wanted_later_keeps_its_own_slot) {
  Code code;
  code.constants = {Value(1), Value(5)};
  int64_t add = code.op("aten::add", "int", 2);
  code.emit("LOADC", 0).emit("STORE", 1).emit("LOAD", 1).emit("STORE", 2);
  code.emit("LOAD", 2).emit("LOADC", 1).emit("OP", add).emit("STORE", 1);
  code.emit("LOAD", 1).emit("LOAD", 2).emit("TUPLE_CONSTRUCT", 2).emit("RET");
  check_alike({code}, {}, "(6, 1)");
}

TEST(a_register_that_is_read_before_it_is_written_is_none) {
  Code code;
  code.argument("Any");
  code.emit("STORE", 1).emit("MOVE", 1).emit("STORE", 2).emit("LOAD", 1).emit("LOAD", 3);
  code.emit("LOAD", 2).emit("TUPLE_CONSTRUCT", 3).emit("RET");
  check_alike({code}, {Value("text")}, "(None, None, text)");
}

TEST(tuples_and_lists_are_made_of_values_where_they_lie) {
  Code code;
  code.argument("Any");
  code.constants = {Value("a constant text"), Value(2)};
  code.types = {Value("List[Any]")};
  code.emit("STORE", 1).emit("LOAD", 1).emit("LOADC", 0).emit("LOAD", 1);
  code.emit("TUPLE_CONSTRUCT", 2).emit("LOADC", 1).emit("MOVE", 1);
  code.emit("LIST_CONSTRUCT", 0, 4).emit("RET");
  std::shared_ptr<const Program> keep;
  const lower::Code& made = lowered(code, &keep);
  CHECK_EQ(count(made, StepOp::FILL), 0);
  check_alike({code}, {Value(7)}, "[7, (a constant text, 7), 2, 7]");
  Value text(std::string("a text that is not short"));
  check_alike({code}, {text},
              "[a text that is not short, (a constant text, a text that is not short), 2, "
              "a text that is not short]");
  CHECK(text.raw_string().is_alone());
}

TEST(a_tuple_counts_against_the_memory_limit_and_is_given_back) {
  Code code;  // for i in range(n): t = (i, i, i)
  code.argument("int");
  code.registers = 3;
  code.constants = {Value(0), Value(true)};
  code.emit("STORE", 1).emit("LOADC", 0).emit("LOAD", 1).emit("LOADC", 1).emit("LOADC", 0);
  code.emit("LOOP", 9, 3).emit("STOREN", 2, 2).emit("LOADC", 1).emit("LOAD", 2).emit("LOAD", 2);
  code.emit("MOVE", 2).emit("TUPLE_CONSTRUCT", 3).emit("JMP", -7).emit("NOP").emit("RET");
  code.instructions.erase(code.instructions.begin() + 13);
  code.instructions[5] = tuple({Value("LOOP"), Value(int64_t(8)), Value(int64_t(3))});
  Limits limits;
  limits.memory_bytes = 1000;
  CHECK_EQ(outcome({code}, {Value(100)}, false, limits), "(99, 99, 99)");
  limits.memory_bytes = 60;
  std::string refused = outcome({code}, {Value(100)}, false, limits);
  CHECK_EQ(refused.substr(0, 12), "MemoryError:");
}

TEST(an_operator_that_only_looks_sees_its_arguments_where_they_are) {
  Code code;
  code.argument("Any").argument("Any");
  int64_t starts = code.op("aten::startswith", "", 2), cut = code.op("aten::slice", "str", 3);
  code.constants = {Value(-4), Value()};
  code.emit("STOREN", 1, 2).emit("LOAD", 1).emit("LOADC", 0).emit("LOADC", 1).emit("OP", cut);
  code.emit("LOAD", 1).emit("MOVE", 2).emit("OP", starts).emit("MOVE", 1);
  code.emit("TUPLE_CONSTRUCT", 3).emit("RET");
  std::shared_ptr<const Program> keep;
  const lower::Code& made = lowered(code, &keep);
  CHECK_EQ(count(made, StepOp::OP_BORROWED), 1);
  CHECK_EQ(count(made, StepOp::STRING_SLICE), 1);
  CHECK_EQ(count(made, StepOp::OP), 0);
  CHECK_EQ(count(made, StepOp::GUARD_BOOL), 0);
  Value text(std::string("a text that is not short")), head(std::string("a text that is not"));
  check_alike({code}, {text, head}, "(hort, True, a text that is not short)");
  check_alike({code}, {text, Value("b")}, "(hort, False, a text that is not short)");
  check_alike({code}, {text, Value(3)}, "TypeError: expected a value of type str but got int");
  check_alike({code}, {Value(3), head}, "TypeError: expected a value of type str but got int");
  CHECK(text.raw_string().is_alone());
  CHECK(head.raw_string().is_alone());
}

namespace {

// g(a, b) = b if a < 1 else g(a - 1, b) + 1
Code counting_calls() {
  Code code;
  code.name = "__torch__.g";
  code.argument("int").argument("int");
  code.returns = {Code::row("", "int", Value())};
  code.functions = {Value("__torch__.g")};
  code.constants = {Value(1)};
  int64_t less = code.op("aten::lt", "int", 2), sub = code.op("aten::sub", "int", 2);
  int64_t add = code.op("aten::add", "int", 2);
  code.emit("STOREN", 1, 2).emit("LOAD", 1).emit("LOADC", 0).emit("OP", less).emit("JF", 3);
  code.emit("MOVE", 2).emit("RET");
  code.emit("LOAD", 1).emit("LOADC", 0).emit("OP", sub).emit("LOAD", 2).emit("CALL", 0);
  code.emit("LOADC", 0).emit("OP", add).emit("RET");
  return code;
}

// f(a, b) = g(a, b), where nothing is known of a and b
Code calling() {
  Code code;
  code.argument("Any").argument("Any");
  code.functions = {Value("__torch__.g")};
  code.emit("STOREN", 1, 2).emit("MOVE", 1).emit("MOVE", 2).emit("CALL", 0).emit("RET");
  return code;
}

}  // namespace

TEST(an_operator_sees_a_constant_list_where_it_is) {
  Code code;  // (a + [5]) + [5]
  code.argument("Any");
  code.constants = {List::make({Value(5)})};
  int64_t join = code.op("aten::add", "t", 2);
  code.emit("STORE", 1).emit("MOVE", 1).emit("LOADC", 0).emit("OP", join).emit("LOADC", 0);
  code.emit("OP", join).emit("RET");
  std::shared_ptr<const Program> keep;
  const lower::Code& made = lowered(code, &keep);
  CHECK_EQ(count(made, StepOp::OP_BORROWED), 2);
  CHECK_EQ(count(made, StepOp::CONSTANT), 0);
  check_alike({code}, {List::make({Value(1)})}, "[1, 5, 5]");
}

TEST(frames_of_numbers_are_bare) {
  auto program = decode({calling(), counting_calls()});
  CHECK(lower::code_of(*program->find("__torch__.g")).trivial_frame);
  CHECK(!lower::code_of(*program->find("__torch__.f")).trivial_frame);
  check_alike({calling(), counting_calls()}, {Value(500), Value(7)}, "507");
  check_alike({counting_calls()}, {Value(500), Value(7)}, "507");
}

TEST(a_frame_that_is_read_before_it_is_written_is_not_bare) {
  Code code;
  code.argument("int").argument("bool");
  code.emit("STORE", 4).emit("DROP").emit("LOAD", 1).emit("RET");
  CHECK(!lower::code_of(*decode({code})->find("__torch__.f")).trivial_frame);
  check_same({code}, {Value(5), Value(true)}, "None");
}

TEST(a_bare_frame_drops_arguments_that_are_refused) {
  Value first(std::string("a text that is not short")), second(std::string("another such text"));
  check_alike({calling(), counting_calls()}, {first, second},
              "TypeError: expected a value of type int but got str");
  check_alike({calling(), counting_calls()}, {Value(3), second},
              "TypeError: expected a value of type int but got str");
  CHECK(first.raw_string().is_alone());
  CHECK(second.raw_string().is_alone());
}

TEST(calls_are_as_deep_as_the_limit_says) {
  Limits limits;
  for (int64_t depth : {1, 2, 15, 16, 17, 40}) {
    limits.depth = depth;
    std::string most = outcome({counting_calls()}, {Value(depth - 1), Value(0)}, false, limits);
    CHECK_EQ(most, std::to_string(depth - 1));
    std::string refused = outcome({counting_calls()}, {Value(depth), Value(0)}, false, limits);
    CHECK_EQ(refused, concat("LimitError: calls are nested deeper than ", depth, " at 11"));
  }
  limits.depth = 0;
  CHECK_EQ(outcome({counting_calls()}, {Value(0), Value(0)}, false, limits),
           "LimitError: calls are nested deeper than 0");
  limits.depth = 3000;  // frames in several chunks of slots
  CHECK_EQ(outcome({counting_calls()}, {Value(2999), Value(0)}, true, limits), "2999");
  CHECK_EQ(outcome({counting_calls()}, {Value(2999), Value(0)}, false, limits), "2999");
}

int main(int count, char** arguments) { return test::main(count, arguments); }
