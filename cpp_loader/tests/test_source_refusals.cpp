// Code that is not sound: refused with the file, the line and why; and bounds of what is read.
#include "source_archives.h"

using namespace test;

namespace {

void check_refused(const std::string& part, const std::string& signature, const std::string& body) {
  CHECK_RAISES(ArchiveError, part, run(signature, body, {}));
}

}  // namespace

TEST(what_is_wrong_has_a_line) {
  check_refused("code/__torch__.py:5: undefined name 'y'", ") -> int", "return y");
  check_refused("__torch__.py:5: no overload of aten::add takes (str, int)", ") -> int",
                "return torch.add(\"a\", 1)");
  check_refused(":11: variable 'x' previously had type int", ") -> int",
                "x = 1\nif True:\n  pass\nelse:\n  pass\n"
                "for i in range(2):\n  x = \"a\"\nreturn x");
  check_refused("the result is declared as int, this returns str", ") -> int", "return \"a\"");
  check_refused("has no attribute 'z'", ") -> int", "return self.z");
  check_refused("'y' is not defined on every way", ", c: bool=True) -> int",
                "if c:\n  y = 1\nelse:\n  pass\nreturn y");
}

TEST(syntax_is_checked_when_a_file_is_read) {
  auto load = [](const std::string& code) { module_of(code); };
  CHECK_RAISES(ArchiveError, "code/__torch__.py:2: ", load("class M(Module):\n  def f(:\n"));
  CHECK_RAISES(ArchiveError, "a string is not closed",
               load("class M(Module):\n  x : Final[str] = \"abc\n"));
  CHECK_RAISES(ArchiveError, "is not closed", load("class M(Module):\n  x : List[int\n"));
  CHECK_RAISES(ArchiveError, "unknown type Nothing", load("class M(Module):\n  x : Nothing\n"));
  CHECK_RAISES(ArchiveError, "two attributes 'x'",
               load("class M(Module):\n  x : int\n  x : int\n"));
  CHECK_RAISES(ArchiveError, "defined twice", load("class M(Module):\n  pass\nclass M:\n  pass\n"));
  CHECK_RAISES(ArchiveError, "contains itself",
               load("class P(NamedTuple):\n  p : __torch__.P\n"
                    "class M(Module):\n  x : __torch__.P\n"));
}

TEST(a_function_that_is_refused_leaves_the_others) {
  auto module = module_of(
      "class M(Module):\n"
      "  def good(self: __torch__.M) -> int:\n"
      "    return 1\n"
      "  def bad(self: __torch__.M) -> int:\n"
      "    return nowhere\n"
      "  def caller(self: __torch__.M) -> int:\n"
      "    return (self).bad()\n");
  CHECK_EQ(call(*module, "good", {}).as_int(), 1);
  CHECK_RAISES(ArchiveError, "undefined name 'nowhere'", call(*module, "bad", {}));
  CHECK_RAISES(ArchiveError, "undefined name 'nowhere'", call(*module, "caller", {}));
}

TEST(a_class_that_is_wrong_is_refused_wherever_it_is_named) {
  auto module = module_of(
      "class P(NamedTuple):\n"
      "  a : int\n"
      "  b : Nothing\n"
      "class Q(NamedTuple):\n"
      "  a : int=1\n"
      "  b : int\n"
      "class C:\n"
      "  x : int\n"
      "  y : Nothing\n"
      "class D:\n"
      "  c : List[__torch__.C]\n"
      "  def get(self: __torch__.D) -> int:\n"
      "    return 3\n"
      "class M(Module):\n"
      "  def p(self: __torch__.M) -> int:\n"
      "    return __torch__.P(1, 2).a\n"
      "  def p_again(self: __torch__.M) -> int:\n"
      "    return __torch__.P(1, 2).a\n"
      "  def q(self: __torch__.M) -> int:\n"
      "    return __torch__.Q(1, 2).a\n"
      "  def d(self: __torch__.M) -> int:\n"
      "    return (__torch__.D.__new__(__torch__.D)).get()\n"
      "  def c(self: __torch__.M) -> int:\n"
      "    return (__torch__.C.__new__(__torch__.C)).x\n"
      "  def c_again(self: __torch__.M) -> int:\n"
      "    return (__torch__.C.__new__(__torch__.C)).x\n"
      "  def d_again(self: __torch__.M) -> int:\n"
      "    return (__torch__.D.__new__(__torch__.D)).get()\n");
  for (const char* name : {"p", "p_again"}) {
    CHECK_RAISES(ArchiveError, "py:3: unknown type Nothing", call(*module, name, {}));
  }
  CHECK_RAISES(ArchiveError, "b of named tuple Q has no default", call(*module, "q", {}));
  for (const char* name : {"c", "c_again"}) {
    CHECK_RAISES(ArchiveError, "py:9: unknown type Nothing", call(*module, name, {}));
  }
  CHECK_EQ(call(*module, "d", {}).as_int(), 3);
  CHECK_EQ(call(*module, "d_again", {}).as_int(), 3);
}

TEST(with_takes_objects_of_classes) {
  const std::string classes =
      "class I(Interface):\n"
      "  def __enter__(self: __torch__.I) -> int:\n"
      "    pass\n"
      "  def __exit__(self: __torch__.I, a: Any, b: Any, c: Any) -> NoneType:\n"
      "    pass\n"
      "class C:\n"
      "  def __enter__(self: __torch__.C) -> int:\n"
      "    return 7\n"
      "  def __exit__(self: __torch__.C, a: Any, b: Any, c: Any) -> NoneType:\n"
      "    return None\n"
      "class Few:\n"
      "  def __enter__(self: __torch__.Few) -> int:\n"
      "    return 7\n"
      "  def __exit__(self: __torch__.Few) -> NoneType:\n"
      "    return None\n"
      "class M(Module):\n"
      "  def make(self: __torch__.M) -> __torch__.I:\n"
      "    return __torch__.C.__new__(__torch__.C)\n";
  auto method = [](const std::string& name, const std::string& object) {
    return "  def " + name + "(self: __torch__.M) -> int:\n    with " + object +
           " as n:\n      x = n\n    return x\n";
  };
  auto module = module_of(classes + method("of_class", "__torch__.C.__new__(__torch__.C)") +
                          method("of_interface", "(self).make()") +
                          method("of_few", "__torch__.Few.__new__(__torch__.Few)"));
  CHECK_EQ(call(*module, "of_class", {}).as_int(), 7);
  CHECK_RAISES(ArchiveError, "a value of type __torch__.I cannot stand after with",
               call(*module, "of_interface", {}));
  CHECK_RAISES(ArchiveError, "does not take three values", call(*module, "of_few", {}));
}

// A function of one instruction, which may need a value on the stack, and a call of `callee`.
std::unique_ptr<Function> function_of(const std::string& name, Opcode op, const Function* callee) {
  auto made = std::make_unique<Function>();
  made->name = name;
  made->file = "code/__torch__.py";
  made->constants.emplace_back(1);
  Instruction first, last;
  first.op = op;
  last.op = Opcode::RET;
  if (callee) {
    made->callees.push_back(callee);
    made->callee_names.push_back(callee->name);
  }
  made->code = {first, last};
  return made;
}

TEST(a_function_whose_bytecode_is_unsound_leaves_the_others) {
  std::vector<std::unique_ptr<Function>> functions;
  functions.push_back(function_of("bad", Opcode::DROP, nullptr));
  functions.push_back(function_of("good", Opcode::LOADC, nullptr));
  functions.push_back(function_of("caller", Opcode::CALL, functions[0].get()));
  auto program = Program::assemble(std::move(functions), std::make_shared<ClassTable>());
  CHECK(program->find("bad")->refusal.find("unsound at instruction 0 (DROP)") != std::string::npos);
  CHECK(program->find("caller")->refusal == program->find("bad")->refusal);
  CHECK(program->find("good")->refusal.empty());
}

TEST(a_wrong_constant_refuses_only_the_functions_that_use_it) {
  auto module = module_of(
      "class Sum:\n"
      "  def __init__(self: __torch__.Sum, x: int=\"a\" + 1) -> NoneType:\n"
      "    return None\n"
      "class Place:\n"
      "  def __init__(self: __torch__.Place, x: Device=torch.device(\"nowhere\")) -> NoneType:\n"
      "    return None\n"
      "class Table:\n"
      "  x : Final[Dict[int, int]] = {[1]: 2}\n"
      "class M(Module):\n"
      "  def good(self: __torch__.M) -> int:\n"
      "    return 1\n"
      "  def text(self: __torch__.M) -> complex:\n"
      "    return \"a\" + 1.j\n"
      "  def sum(self: __torch__.M) -> int:\n"
      "    x = __torch__.Sum()\n"
      "    return 1\n"
      "  def place(self: __torch__.M) -> int:\n"
      "    x = __torch__.Place()\n"
      "    return 1\n"
      "  def table(self: __torch__.M) -> int:\n"
      "    x = __torch__.Table()\n"
      "    return 1\n");
  CHECK_EQ(call(*module, "good", {}).as_int(), 1);
  CHECK_RAISES(ArchiveError, ":13: this is no constant", call(*module, "text", {}));
  CHECK_RAISES(ArchiveError, ":2: this is no constant", call(*module, "sum", {}));
  CHECK_RAISES(ArchiveError, ":5: Expected one of cpu, cuda", call(*module, "place", {}));
  CHECK_RAISES(ArchiveError, ":8: the key of a dict is no constant", call(*module, "table", {}));
}

TEST(a_default_may_be_a_list_where_the_type_is_no_list) {
  auto module = module_of(
      "class M(Module):\n"
      "  def g(self: __torch__.M, x: Union[List[int], int]=[1]) -> int:\n"
      "    return 1\n"
      "  def f(self: __torch__.M) -> int:\n"
      "    return (self).g()\n");
  CHECK_EQ(call(*module, "f", {}).as_int(), 1);
}

TEST(an_int_fits_64_bits_wherever_it_stands) {
  const std::string least = "9223372036854775808", part = least + " does not fit 64 bits";
  check_refused(part, ") -> int", "return " + least);
  check_refused(part, ") -> int", "return - -" + least);
  check_refused(part, ") -> int", "return (1, 2)[0:" + least + "][0]");
  check_refused(part, ") -> int", "return (1, 2)[" + least + "]");
  check_refused(part, ", x: int=" + least + ") -> int", "return x");
  check_refused(part, ", x: int=- -" + least + ") -> int", "return x");
  CHECK_EQ(run(") -> int", "return -" + least, {}).as_int(), INT64_MIN);
  CHECK_EQ(run(") -> int", "return (1, 2)[-" + least + ":][0]", {}).as_int(), 1);
}

TEST(operators_that_are_lacking_raise_when_they_are_reached) {
  auto module = module_of(
      "class M(Module):\n"
      "  def f(self: __torch__.M, x: int) -> int:\n"
      "    if torch.gt(x, 0):\n"
      "      y : int = ops.library.unheard_of(x)\n"
      "    else:\n"
      "      y = x\n"
      "    return torch.add(y, 1)\n");
  CHECK_EQ(call(*module, "f", {Value(-1)}).as_int(), 0);
  CHECK_RAISES(MissingOperator, "library::unheard_of", call(*module, "f", {Value(1)}));
  CHECK_EQ(module->missing_operators().size(), 1u);
}

TEST(nesting_has_a_bound) {
  std::string deep = std::string(100000, '(') + "1" + std::string(100000, ')');
  check_refused("nested over", ") -> int", "return " + deep);
  std::string chain = "return 1";
  for (int k = 0; k < 5000; ++k) chain += "[0]";
  check_refused("nested over", ") -> int", chain);
  std::string blocks, indent;
  for (int k = 0; k < 5000; ++k) {
    blocks += indent + "if True:\n";
    indent += " ";
  }
  check_refused("nested over", ") -> int", blocks + indent + "pass");
  std::string minus(100000, '-');
  check_refused("nested over", ") -> int", "return " + minus + "x");
}

TEST(attributes_are_of_their_declared_types) {
  const char* code = "class M(Module):\n  x : int\n  y : List[str]\n";
  std::string good = "](" + p_text("a") + "e", bad = "](" + p_int(1) + "e";
  module_of(code, {{"x", p_int(1)}, {"y", good}});
  CHECK_RAISES(ArchiveError, "M.x is declared int", module_of(code, {{"x", "N"}, {"y", good}}));
  CHECK_RAISES(ArchiveError, "M.y is declared str", module_of(code, {{"x", p_int(1)}, {"y", bad}}));
  CHECK_RAISES(ArchiveError, "__torch__.M.y is missing", module_of(code, {{"x", p_int(1)}}));
}

int main(int count, char** arguments) { return test::main(count, arguments); }
