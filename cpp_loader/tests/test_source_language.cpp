// What code of archives means: each body runs, and its result is what Python's engine gives.
#include "source_archives.h"

using namespace test;

TEST(numbers_and_operators_have_their_overloads) {
  CHECK_EQ(run(", x: int) -> int", "return torch.add(torch.mul(x, 2), 1)", {Value(20)}).as_int(),
           41);
  CHECK_EQ(run(", x: int) -> float", "return torch.div(x, 2)", {Value(5)}).as_double(), 2.5);
  CHECK_EQ(run(", x: float) -> int", "return int(x)", {Value(3.75)}).as_int(), 3);
  CHECK_EQ(run(", x: int) -> bool", "return torch.__not__(torch.lt(x, 3))", {Value(3)}).as_bool(),
           true);
  CHECK_EQ(run(") -> float", "return -inf", {}).as_double(), -HUGE_VAL);
  CHECK_EQ(run(") -> int", "return -9223372036854775808", {}).as_int(), INT64_MIN);
}

TEST(branches_join_what_they_assign) {
  const char* body =
      "if torch.gt(x, 0):\n"
      "  y = \"positive\"\n"
      "else:\n"
      "  if torch.eq(x, 0):\n"
      "    y = \"zero\"\n"
      "  else:\n"
      "    y = \"negative\"\n"
      "return y";
  CHECK_EQ(text(run(", x: int) -> str", body, {Value(4)})), "positive");
  CHECK_EQ(text(run(", x: int) -> str", body, {Value(0)})), "zero");
  CHECK_EQ(text(run(", x: int) -> str", body, {Value(-1)})), "negative");
}

TEST(loops_carry_variables) {
  CHECK_EQ(run(", n: int) -> int",
               "s = 0\n"
               "for i in range(n):\n"
               "  s0 = torch.add(s, i)\n"
               "  s = s0\n"
               "return s",
               {Value(10)})
               .as_int(),
           45);
  CHECK_EQ(run(", n: int) -> Tuple[int, int]",
               "a, b, i = 0, 1, 0\n"
               "_0 = torch.lt(i, n)\n"
               "while _0:\n"
               "  i0 = torch.add(i, 1)\n"
               "  _0, a, b, i = torch.lt(i0, n), b, torch.add(a, b), i0\n"
               "return (a, b)",
               {Value(20)})
               .as_tuple()
               .items[0]
               .as_int(),
           6765);
  const char* left =
      "for i in range(100):\n"
      "  if torch.gt(torch.mul(i, i), n):\n"
      "    return i\n"
      "  else:\n"
      "    pass\n"
      "return -1";
  CHECK_EQ(run(", n: int) -> int", left, {Value(50)}).as_int(), 8);
  CHECK_EQ(run(", n: int) -> int", left, {Value(1 << 20)}).as_int(), -1);
}

TEST(empty_literals_take_the_type_that_is_declared) {
  Value list = run(") -> List[int]", "x = annotate(List[int], [])\nreturn x", {});
  CHECK(list.as_list().element->kind == TypeKind::Int);
  Value tuple = run(") -> Tuple[int, List[str]]", "return (1, [])", {});
  CHECK(tuple.as_tuple().items[1].as_list().element->kind == TypeKind::String);
  Value none =
      run(") -> List[Optional[int]]", "return annotate(List[Optional[int]], [None, 1])", {});
  CHECK_EQ(none.as_list().size(), 2u);
}

TEST(conversions_of_arguments) {
  // A tuple where a list is wanted, a single number for int[2], an int where a float is declared.
  Value x = run(") -> Tensor", "return torch.zeros((2, 3))", {});
  CHECK_EQ(x.as_tensor().numel(), 6);
  Value y = run(", x: Tensor) -> Tensor", "return torch.flip(x, [0])", {x});
  CHECK_EQ(y.as_tensor().size(1), 3);
  const char* sum = "return annotate(int, torch.sum(torch.ones([4], dtype=4)))";
  CHECK_EQ(run(") -> int", sum, {}).as_int(), 4);
  CHECK_EQ(run(") -> Tensor", "return torch.zeros(2, 3)", {}).as_tensor().numel(), 6);
}

TEST(arguments_by_name_in_any_order) {
  Value x = run(") -> Tensor", "return torch.full(dtype=6, fill_value=2, size=[3])", {});
  CHECK_EQ(x.as_tensor().numel(), 3);
  CHECK(x.as_tensor().dtype() == ScalarType::Float32);
}

TEST(classes_attributes_and_methods) {
  auto module = module_of(
      "class M(Module):\n"
      "  __parameters__ = []\n"
      "  __buffers__ = []\n"
      "  __annotations__ = []\n"
      "  __annotations__[\"0\"] = int\n"
      "  count : int\n"
      "  scale : Final[float] = 2\n"
      "  def forward(self: __torch__.M, x: int) -> float:\n"
      "    self.count = torch.add(self.count, x)\n"
      "    _0 = getattr(self, \"0\")\n"
      "    return torch.mul((self).total(_0, ), self.scale)\n"
      "  def total(self: __torch__.M, more: int=0) -> float:\n"
      "    return float(torch.add(self.count, more))\n",
      {{"count", p_int(5)}, {"0", p_int(100)}});
  CHECK_EQ(call(*module, "forward", {Value(1)}).as_double(), 212.0);
  CHECK_EQ(call(*module, "forward", {Value(1)}).as_double(), 214.0);
  CHECK_EQ(call(*module, "total", {}).as_double(), 7.0);
}

TEST(functions_of_other_classes_tuples_and_enums) {
  auto module = module_of(
      "class Point(NamedTuple):\n"
      "  x : int\n"
      "  y : int\n"
      "class Color(Enum):\n"
      "  RED = 1\n"
      "  BLUE = 2\n"
      "class Box:\n"
      "  size : int\n"
      "  def __init__(self: __torch__.Box, size: int) -> NoneType:\n"
      "    self.size = size\n"
      "    return None\n"
      "  def twice(self: __torch__.Box) -> int:\n"
      "    return torch.mul(self.size, 2)\n"
      "def swapped(p: __torch__.Point) -> __torch__.Point:\n"
      "  x, y, = p\n"
      "  return __torch__.Point(y, x)\n"
      "class M(Module):\n"
      "  def f(self: __torch__.M, x: int) -> Tuple[int, int, str, int]:\n"
      "    _0 = __torch__.swapped\n"
      "    p = _0(__torch__.Point(x, 7), )\n"
      "    b = __torch__.Box.__new__(__torch__.Box)\n"
      "    _1 = (b).__init__((p)[1], )\n"
      "    c = __torch__.Color.BLUE\n"
      "    return ((p)[0], (b).twice(), c.name, c.value)\n");
  Value made = call(*module, "f", {Value(3)});
  const Tuple::Items& items = made.as_tuple().items;
  CHECK_EQ(items[0].as_int(), 7);
  CHECK_EQ(items[1].as_int(), 6);
  CHECK_EQ(items[2].as_string(), "BLUE");
  CHECK_EQ(items[3].as_int(), 2);
}

TEST(interfaces_call_the_method_of_the_object) {
  auto module = module_of(
      "class Shape(Interface):\n"
      "  def area(self, k: int) -> int:\n"
      "    pass\n"
      "class Square:\n"
      "  a : int\n"
      "  def area(self: __torch__.Square, k: int) -> int:\n"
      "    return torch.mul(torch.mul(self.a, self.a), k)\n"
      "class M(Module):\n"
      "  shape : __torch__.Shape\n"
      "  def f(self: __torch__.M, k: int) -> int:\n"
      "    return (self.shape).area(k, )\n",
      {{"shape", p_object("__torch__", "Square", {{"a", p_int(3)}})}});
  CHECK_EQ(call(*module, "f", {Value(2)}).as_int(), 18);
}

TEST(forks_see_the_variables_around_them) {
  const char* body =
      "y = torch.mul(x, 3)\n"
      "def __forked_function():\n"
      "  return torch.add(y, 1)\n"
      "_0 = fork(__forked_function)\n"
      "return torch.wait(_0)";
  CHECK_EQ(run(", x: int) -> int", body, {Value(5)}).as_int(), 16);
}

TEST(exceptions_end_a_branch) {
  const char* body =
      "_0 = uninitialized(int)\n"
      "if torch.lt(x, 0):\n"
      "  ops.prim.RaiseException(\"negative\", \"builtins.ValueError\")\n"
      "  y = _0\n"
      "else:\n"
      "  y = torch.mul(x, 2)\n"
      "return y";
  CHECK_EQ(run(", x: int) -> int", body, {Value(4)}).as_int(), 8);
  CHECK_RAISES(Raised, "negative", run(", x: int) -> int", body, {Value(-4)}));
}

TEST(isinstance_is_asked_or_known) {
  const char* body =
      "if isinstance(x, int):\n"
      "  y = 1\n"
      "else:\n"
      "  y = 2\n"
      "return y";
  CHECK_EQ(run(", x: Union[int, str]) -> int", body, {Value(4)}).as_int(), 1);
  CHECK_EQ(run(", x: Union[int, str]) -> int", body, {Value("a")}).as_int(), 2);
  CHECK_EQ(run(", x: str) -> int", body, {Value("a")}).as_int(), 2);
}

TEST(strings_dicts_and_slices) {
  CHECK_EQ(text(run(", x: str) -> str", "return torch.format(\"{} and {}\", x, 2)", {Value("a")})),
           "a and 2");
  CHECK_EQ(text(run(") -> str", "return \"a\\n\\x41\\u00e9\" \"b\"", {})), "a\nA\u00e9b");
  CHECK_EQ(
      run(", k: str) -> int",
          "d = {\"a\": 1, \"b\": 2}\n_0 = torch._set_item(d, \"c\", 3)\nreturn d[k]", {Value("c")})
          .as_int(),
      3);
  CHECK_EQ(run(") -> int", "x = [1, 2, 3, 4]\nreturn torch.len(x[1:3])", {}).as_int(), 2);
}

TEST(a_program_does_not_change_its_constant_lists) {
  auto module = module_of(method(") -> int",
                                 "x = [1, 2]\n"
                                 "_0 = torch.append(x, 3)\n"
                                 "return torch.len(x)"));
  CHECK_EQ(call(*module, "f", {}).as_int(), 3);
  CHECK_EQ(call(*module, "f", {}).as_int(), 3);
}

TEST(operators_with_a_body_in_the_language) {
  Value x = run(") -> Tensor", "return torch.sub(5, torch.ones([2]))", {});
  CHECK_EQ(run(", x: Tensor) -> float", "return float(torch.sum(x))", {x}).as_double(), 8.0);
  CHECK_EQ(run(") -> bool", "return torch.__contains__(\"abc\", \"bc\")", {}).as_bool(), true);
  CHECK_EQ(run(", x: Tensor) -> int", "return torch.dim(torch.alpha_dropout(x, 0.5, True))", {x})
               .as_int(),
           1);
}

TEST(objects_are_sorted_by_their_method) {
  const char* box =
      "class Box:\n"
      "  __parameters__ = []\n"
      "  __buffers__ = []\n"
      "  key : int\n"
      "  def __init__(self: __torch__.Box, key: int) -> NoneType:\n"
      "    self.key = key\n"
      "    return None\n"
      "  def __lt__(self: __torch__.Box, other: __torch__.Box) -> bool:\n"
      "    return torch.lt(self.key, other.key)\n";
  const char* body =
      "boxes = annotate(List[Tuple[__torch__.Box, int]], [])\n"
      "for i in range(20):\n"
      "  box = __torch__.Box.__new__(__torch__.Box)\n"
      "  _0 = (box).__init__(torch.remainder(torch.mul(i, 7), 5), )\n"
      "  _1 = torch.append(boxes, (box, i))\n"
      "torch.sort(boxes, reverse)\n"
      "a, b = boxes[0]\n"
      "return torch.add(torch.mul(a.key, 100), b)";
  auto module = module_of(method(", reverse: bool) -> int", body) + box);
  CHECK_EQ(call(*module, "f", {Value(false)}).as_int(), 0);
  CHECK_EQ(call(*module, "f", {Value(true)}).as_int(), 402);
}

TEST(old_files_mean_what_they_meant) {
  const char* body =
      "x = torch.full([3], 7, dtype=4)\n"
      "return float(torch.sum(torch.div(x, 2)))";
  CHECK_EQ(call(*module_of(method(") -> float", body), {}, "3"), "f", {}).as_double(), 9.0);
  CHECK_EQ(call(*module_of(method(") -> float", body), {}, "10"), "f", {}).as_double(), 10.5);
  const char* steps = "return torch.len(torch.linspace(0, 1))";
  CHECK_EQ(call(*module_of(method(") -> int", steps), {}, "3"), "f", {}).as_int(), 100);
  CHECK_RAISES(ArchiveError, "linspace",
               call(*module_of(method(") -> int", steps), {}, "10"), "f", {}));
}

int main(int count, char** arguments) { return test::main(count, arguments); }
