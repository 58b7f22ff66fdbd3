// Programs: what the verifier refuses, and what the interpreter does with the rest.
#include "assembler.h"
#include "harness.h"

using namespace scriptlang;
using namespace test;

static Code sum_to_n() {
  // s = 0; for i in range(n): s = s + i; return s
  Code code;
  code.argument("int");
  code.constants = {Value(0), Value(true)};
  int64_t add = code.op("aten::add", "int", 2);
  code.emit("STOREN", 1, 1).emit("LOADC", 0).emit("LOAD", 1).emit("LOADC", 1).emit("LOADC", 0);
  code.emit("LOOP", 7, 3);
  code.emit("STOREN", 2, 2).emit("LOADC", 1).emit("LOAD", 3).emit("LOAD", 2).emit("OP", add);
  code.emit("JMP", -6).emit("RET");
  return code;
}

TEST(a_loop_carries_values) { CHECK_EQ(run_code(sum_to_n(), {Value(5)}).as_int(), 10); }

TEST(a_loop_that_does_not_run_leaves_its_values) {
  CHECK_EQ(run_code(sum_to_n(), {Value(0)}).as_int(), 0);
}

TEST(instructions_are_limited) {
  Limits limits;
  limits.instructions = 1000;
  CHECK_RAISES(LimitError, "1000 instructions", run_code(sum_to_n(), {Value(1000000)}, limits));
  CHECK_EQ(run_code(sum_to_n(), {Value(10)}, limits).as_int(), 45);
}

TEST(time_is_limited) {
  Limits limits;
  limits.milliseconds = 20;
  CHECK_RAISES(LimitError, "20 ms", run_code(sum_to_n(), {Value(int64_t(1) << 60)}, limits));
}

static Code forever() {
  Code code;
  code.emit("JMP", 0).emit("LOADC", 0).emit("RET");
  code.constants = {Value(1)};
  return code;
}

TEST(an_empty_endless_loop_is_limited) {
  Limits limits;
  limits.instructions = 100000;
  CHECK_RAISES(LimitError, "instructions", run_code(forever(), {}, limits));
}

TEST(memory_is_limited) {
  // s = "x"; loop: s = s + s
  Code code;
  code.argument("str");
  int64_t add = code.op("aten::add", "str", 2);
  code.emit("STOREN", 1, 1).emit("LOAD", 1).emit("LOAD", 1).emit("OP", add).emit("STORE", 1);
  code.emit("JMP", -4).emit("LOAD", 1).emit("RET");
  Limits limits;
  limits.memory_bytes = 1 << 20;
  CHECK_RAISES(MemoryError, "memory limit", run_code(code, {Value("x")}, limits));
}

TEST(growing_lists_count_as_memory) {
  Code code;
  code.types = {Value("List[int]")};
  code.constants = {Value(7)};
  int64_t append = code.op("aten::append", "t", 2);
  code.emit("LIST_CONSTRUCT", 0, 0).emit("STORE", 1).emit("LOAD", 1).emit("LOADC", 0);
  code.emit("OP", append).emit("DROP").emit("JMP", -4).emit("LOAD", 1).emit("RET");
  Limits limits;
  limits.memory_bytes = 1 << 20;
  CHECK_RAISES(MemoryError, "memory limit", run_code(code, {}, limits));
}

TEST(deeply_nested_lists_are_freed_without_deep_recursion) {
  // l = []; a million times: l = [l]
  Code code;
  code.argument("int");
  code.types = {Value("List[Any]")};
  code.constants = {Value(0), Value(true)};
  code.emit("STOREN", 1, 1).emit("LOADC", 0).emit("LOAD", 1).emit("LOADC", 1);
  code.emit("LIST_CONSTRUCT", 0, 0).emit("LOOP", 6, 3);
  code.emit("STOREN", 2, 2).emit("LOADC", 1).emit("MOVE", 3).emit("LIST_CONSTRUCT", 0, 1);
  code.emit("JMP", -5).emit("RET");
  CHECK(run_code(code, {Value(1000000)}).is_list());
}

TEST(calls_nest_and_their_depth_is_limited) {
  Code code;
  code.argument("int");
  code.functions = {Value("__torch__.f")};
  code.emit("CALL", 0).emit("RET");
  CHECK_RAISES(LimitError, "deeper than 2000", run_code(code, {Value(1)}));
}

TEST(a_raised_exception_carries_its_class_and_the_stack) {
  Code inner;
  inner.name = "__torch__.inner";
  inner.constants = {Value("went {} wrong"), Value(1.5), Value("builtins.ValueError")};
  inner.emit("LOADC", 0).emit("LOADC", 1).emit("FORMAT", 2).emit("LOADC", 2);
  inner.emit("RAISE_EXCEPTION").emit("LOADC", 0).emit("RET");
  Code outer;
  outer.name = "__torch__.outer";
  outer.functions = {Value("__torch__.inner")};
  outer.emit("CALL", 0).emit("RET");
  try {
    run_codes({outer, inner}, {});
    CHECK(false);
  } catch (const Error& e) {
    CHECK_EQ(e.message, "went 1.5 wrong");
    CHECK_EQ(e.class_name, "builtins.ValueError");
    CHECK_EQ(e.stack.size(), 2u);
    CHECK_EQ(e.stack[0].function, "__torch__.inner");
    CHECK_EQ(e.stack[0].pc, 4);
    CHECK_EQ(e.stack[1].pc, 0);
  }
}

TEST(a_missing_operator_is_listed_and_raises_only_when_it_is_reached) {
  Code code;
  code.argument("bool");
  code.constants = {Value(3)};
  int64_t missing = code.op("aten::no_such_thing", "x", 1);
  code.emit("STOREN", 1, 1).emit("LOAD", 1).emit("JF", 3);
  code.emit("LOADC", 0).emit("OP", missing).emit("LOADC", 0).emit("RET");
  auto program = decode({code});
  CHECK_EQ(program->missing().size(), 1u);
  CHECK_EQ(program->missing()[0].name, "aten::no_such_thing.x");
  CHECK_EQ(run_code(code, {Value(false)}).as_int(), 3);
  CHECK_RAISES(MissingOperator, "aten::no_such_thing.x", run_code(code, {Value(true)}));
}

TEST(defaults_that_the_program_leaves_out_are_filled_in) {
  Code code;
  code.argument("str");
  int64_t strip = code.op("aten::strip", "", 1);
  code.emit("STOREN", 1, 1).emit("LOAD", 1).emit("OP", strip).emit("RET");
  const Value text = run_code(code, {Value("  a b\n")});
  CHECK_EQ(text.as_string(), "a b");
}

TEST(tuples_unpack_into_what_is_stored_next) {
  Code code;
  code.argument("Any");
  int64_t unpack = code.op("prim::TupleUnpack", "", 1);
  code.emit("STOREN", 1, 1).emit("LOAD", 1).emit("OP", unpack).emit("STOREN", 2, 2);
  code.emit("LOAD", 3).emit("RET");
  CHECK_EQ(run_code(code, {tuple({Value(1), Value(2)})}).as_int(), 2);
  CHECK_RAISES(RuntimeError, "Provided 3", run_code(code, {tuple({Value(1), Value(2), Value(3)})}));
}

TEST(arguments_are_checked_and_converted) {
  Code code;
  code.argument("float").argument("int", Value(4));
  code.emit("STOREN", 1, 2).emit("LOAD", 1).emit("RET");
  CHECK_EQ(run_code(code, {Value(2)}).as_double(), 2.0);
  CHECK_RAISES(RuntimeError, "Expected a value of type 'float'", run_code(code, {Value("x")}));
  CHECK_RAISES(RuntimeError, "missing value", run_code(code, {}));
  CHECK_RAISES(RuntimeError, "at most 2", run_code(code, {Value(1.), Value(1), Value(1)}));
}

// ---- what does not verify

static void check_refused(const char* part, const Code& code) {
  CHECK_RAISES(ArchiveError, part, decode({code}));
}

TEST(the_stack_must_not_run_empty) {
  Code code;
  check_refused("takes 1 values of a stack of 0", code.emit("DROP").emit("RET"));
}

TEST(ways_that_meet_must_have_the_same_depth) {
  Code code;
  code.argument("bool");
  code.constants = {Value(1)};
  code.emit("JF", 2).emit("LOADC", 0).emit("LOADC", 0).emit("RET");
  check_refused("by one way", code);
}

TEST(a_loop_must_not_grow_the_stack) {
  Code code;
  code.constants = {Value(1)};
  check_refused("by another", code.emit("LOADC", 0).emit("JMP", -1).emit("RET"));
}

TEST(control_must_not_leave_the_code) {
  Code end;
  end.constants = {Value(1)};
  check_refused("runs off the end", end.emit("LOADC", 0));
  Code jump;
  check_refused("the jump is out of range", jump.emit("JMP", 100).emit("RET"));
  Code back;
  check_refused("the jump is out of range", back.emit("JMP", -1).emit("RET"));
}

TEST(indices_must_lie_inside_their_tables) {
  struct Row {
    const char* opcode;
    int64_t x, n;
    const char* part;
  };
  const Row rows[] = {
      {"LOADC", 0, 0, "a constant"},      {"LOADC", -1, 0, "a constant"},
      {"LOAD", 0, 0, "register 0"},       {"LOAD", 9, 0, "register 9"},
      {"STOREN", 7, 3, "register 9"},     {"STOREN", 1, -1, "a count"},
      {"OP", 0, 0, "an operator"},        {"CREATE_OBJECT", 0, 0, "a type"},
      {"ISINSTANCE", 0, 1, "a type"},     {"CALL", 0, 0, "a function"},
      {"INTERFACE_CALL", 0, 1, "method"}, {"TUPLE_CONSTRUCT", -5, 0, "a count"},
      {"GET_ATTR", -1, 0, "a count"},     {"LIST_UNPACK", 1 << 30, 0, "a count"},
  };
  for (const Row& row : rows) {
    Code code;
    check_refused(row.part, code.emit(row.opcode, row.x, row.n).emit("RET"));
  }
}

TEST(unknown_and_internal_instructions_are_refused) {
  Code unknown;
  check_refused("unknown", unknown.emit("EXPLODE").emit("RET"));
  Code guard;
  check_refused("not supported", guard.emit("GUARD").emit("RET"));
}

TEST(types_that_contradict_a_schema_are_refused) {
  Code code;
  code.constants = {Value("text"), Value(1)};
  int64_t upper = code.op("aten::upper", "", 1);
  code.emit("LOADC", 1).emit("OP", upper).emit("RET");
  check_refused("argument 'self' of aten::upper is int where str is needed", code);
}

TEST(a_condition_must_be_a_bool) {
  Code code;
  code.constants = {Value(1)};
  code.emit("LOADC", 0).emit("JF", 1).emit("LOADC", 0).emit("RET");
  check_refused("value 0 is int where bool is needed", code);
}

TEST(a_function_must_return_what_it_declares) {
  Code code;
  check_refused("returns 0 values instead of 1", code.emit("RET"));
}

TEST(register_types_are_held_to) {
  Code code;
  code.registers = 1;
  code.register_types = {Value("int")};
  code.constants = {Value("no int")};
  code.emit("LOADC", 0).emit("STORE", 1).emit("LOAD", 1).emit("RET");
  check_refused("value 0 is str where NoneType or int is needed", code);
}

TEST(an_operator_with_other_arguments_than_it_takes_raises_when_it_is_reached) {
  for (int given : {0, 1, 3, 1000}) {
    Code code;
    code.argument("bool");
    code.constants = {Value(3)};
    int64_t add = code.op("aten::add", "int", given);
    code.emit("STOREN", 1, 1).emit("LOAD", 1).emit("JF", 2);
    code.emit("OP", add).emit("LOADC", 0).emit("RET");
    CHECK_EQ(decode({code})->missing().size(), 1u);
    CHECK_EQ(run_code(code, {Value(false)}).as_int(), 3);
    CHECK_RAISES(MissingOperator, "the program calls aten::add.int with",
                 run_code(code, {Value(true)}));
  }
}

TEST(what_follows_an_unknown_operator_need_not_fit_its_results) {
  Code code;
  code.constants = {Value(1)};
  int64_t unknown = code.op("aten::no_such_thing", "", -1);
  code.emit("OP", unknown).emit("STOREN", 1, 2).emit("LOAD", 1).emit("RET");
  CHECK_RAISES(MissingOperator, "aten::no_such_thing", run_code(code, {}));
}

TEST(a_huge_register_file_is_refused) {
  Code code;
  code.registers = int64_t(1) << 40;
  check_refused("register_size", code.emit("RET"));
}

// A function of an int that returns a constant.
static Code constant(const char* name, Value value, const std::string& type = "int") {
  Code code;
  code.name = name;
  code.argument("int");
  code.returns = {Code::row("", type, Value())};
  code.constants = {std::move(value)};
  code.emit("DROP").emit("LOADC", 0).emit("RET");
  return code;
}

static std::vector<Code> with_graph(Code guard) {
  Code f = constant("f", Value(1));
  f.straights = {Value("takes"), Value("graph")};
  return {f, std::move(guard), constant("graph", Value(2))};
}

TEST(a_straight_graph_runs_where_its_guard_says_so) {
  CHECK_EQ(run_codes(with_graph(constant("takes", Value(true), "bool")), {Value(0)}).as_int(), 2);
  CHECK_EQ(run_codes(with_graph(constant("takes", Value(false), "bool")), {Value(0)}).as_int(), 1);
  Context context;  // a host that wants no gradients at all gets the function
  context.grad_enabled = false;
  auto program = decode(with_graph(constant("takes", Value(true), "bool")));
  CHECK_EQ(run(*program, *program->find("f"), {Value(0)}, context, {}).as_int(), 1);
}

TEST(a_guard_gets_the_argument) {
  Code takes = constant("takes", Value(7), "bool");
  const int64_t eq = takes.op("aten::eq", "int", 2);
  takes.instructions.clear();
  takes.emit("LOADC", 0).emit("OP", eq).emit("RET");
  CHECK_EQ(run_codes(with_graph(takes), {Value(7)}).as_int(), 2);
  CHECK_EQ(run_codes(with_graph(takes), {Value(8)}).as_int(), 1);
}

TEST(a_guard_and_its_graph_have_one_limit) {
  Code takes = sum_to_n(), graph = sum_to_n();
  takes.name = "takes";
  takes.returns = {Code::row("", "bool", Value())};
  takes.instructions.pop_back();  // RET
  takes.emit("DROP").emit("LOADC", 1).emit("RET");
  graph.name = "graph";
  graph.returns = {Code::row("", "int", Value())};
  const std::vector<Code> codes = {with_graph(takes)[0], takes, graph};
  const auto run_of = [](const Code& code, Limits limits) {
    return run_code(code, {Value(10000)}, limits);
  };
  Limits limits;
  limits.instructions = 100000;
  run_of(takes, limits);
  run_of(graph, limits);
  CHECK_RAISES(LimitError, "instructions", run_codes(codes, {Value(10000)}, limits));
  limits.instructions = 200000;
  CHECK_EQ(run_codes(codes, {Value(10000)}, limits).as_int(), 49995000);
}

TEST(straight_graphs_that_do_not_fit_are_refused) {
  auto bad = [](std::vector<Code> codes) {
    CHECK_RAISES(ArchiveError, "", run_codes(codes, {Value(0)}));
  };
  const Code good = constant("takes", Value(true), "bool");
  bad(with_graph(constant("takes", Value(1), "int")));      // gives no bool
  bad(with_graph(constant("other", Value(true), "bool")));  // is not there
  std::vector<Code> codes = with_graph(good);
  codes[0].straights = {Value("takes")};  // no pair
  bad(codes);
  codes[0].straights = {Value(1), Value(2)};
  bad(codes);
  codes = with_graph(good);
  codes[2].returns = {Code::row("", "float", Value())};
  bad(codes);
  codes = with_graph(good);
  codes[2].arguments = {Code::row("a", "float", Value())};
  bad(codes);
  codes = with_graph(good);
  codes[2].argument("int");  // one argument more
  bad(codes);
  // Without schemas there are only numbers: what the first instruction stores.
  codes = with_graph(good);
  for (Code& code : codes) code.schema = false;
  codes[0].instructions.clear();
  codes[0].emit("STOREN", 1, 1).emit("LOADC", 0).emit("RET");
  codes[1].instructions = codes[0].instructions;
  codes[2].instructions.clear();
  codes[2].emit("STOREN", 1, 5).emit("LOADC", 0).emit("RET");
  bad(codes);
}

TEST(malformed_trees_are_refused) {
  auto classes = std::make_shared<ClassTable>();
  auto refuse = [&](Value tree) { CHECK_RAISES(ArchiveError, "", Program::decode(tree, classes)); };
  refuse(Value(1));
  refuse(tuple({Value(3)}));
  refuse(tuple({Value(8), Value("x")}));
  refuse(tuple({Value(8), tuple({Value("f")})}));
  refuse(tuple({Value(8), tuple({Value("f"), Value(1)})}));
  refuse(tuple({Value(8), tuple({Value("f"), tuple({Value(2)})})}));
  CHECK_RAISES(ArchiveError, "two functions", decode({sum_to_n(), sum_to_n()}));
}

TEST(a_tag_that_is_not_known_ahead_is_checked_where_it_is_used) {
  Code code;
  code.argument("Any");
  int64_t upper = code.op("aten::upper", "", 1);
  code.emit("STOREN", 1, 1).emit("LOAD", 1).emit("OP", upper).emit("RET");
  const Value text = run_code(code, {Value("a")});
  CHECK_EQ(text.as_string(), "A");
  CHECK_RAISES(TypeError, "expected a value of type str", run_code(code, {Value(3)}));
}

int main(int count, char** arguments) { return test::main(count, arguments); }
