// What functions of an archive's code run as: bodies in place of calls, groups, decided branches.
#include <algorithm>

#include "optimize/optimize.h"
#include "source_archives.h"

using namespace test;

namespace {

// Code of a module M with functions beside it; f is the method that is looked at.
std::string with_functions(const std::string& functions, const std::string& body) {
  return functions + method(", x: Tensor, n: int) -> Tensor", body);
}

int how_many(const Function& f, Opcode op) {
  return int(std::count_if(f.code.begin(), f.code.end(),
                           [&](const Instruction& i) { return i.op == op; }));
}

std::unique_ptr<Function> made_of(const Module& module) {
  return optimize::optimized(*module.method("f"), true);
}

Tensor numbers(std::vector<float> values) {
  Tensor t = Tensor::empty({int64_t(values.size())}, ScalarType::Float32);
  std::copy(values.begin(), values.end(), static_cast<float*>(t.raw()));
  return t;
}

float first(const Value& v) { return static_cast<float*>(v.as_tensor().raw())[0]; }

}  // namespace

TEST(bodies_take_the_place_of_calls) {
  auto module =
      module_of(with_functions("def g(x: Tensor, n: int) -> Tensor:\n"
                               "  if torch.gt(n, 3):\n"
                               "    return torch.mul(x, n)\n"
                               "  return torch.neg(x)\n",
                               "return torch.matmul(__torch__.g(x, n, ), __torch__.g(x, 5, ))"));
  auto f = made_of(*module);
  CHECK_EQ(how_many(*f, Opcode::CALL), 0);
  CHECK_EQ(f->inlined.size(), 2u);
  CHECK_EQ(first(call(*module, "f", {Value(numbers({2})), Value(4)})), 80.f);
  CHECK_EQ(first(call(*module, "f", {Value(numbers({2})), Value(1)})), -20.f);
}

TEST(branches_on_what_is_passed_are_decided) {
  auto module = module_of(with_functions(
      "def g(x: Tensor, y: Optional[Tensor], train: bool) -> Tensor:\n"
      "  if train:\n"
      "    z = torch.neg(x)\n"
      "  else:\n"
      "    z = x\n"
      "  if torch.__isnot__(y, None):\n"
      "    z0 = torch.mul(z, unchecked_cast(Tensor, y))\n"
      "  else:\n"
      "    z0 = z\n"
      "  return z0\n",
      "return torch.matmul(__torch__.g(x, None, False, ), __torch__.g(x, x, True, ))"));
  auto f = made_of(*module);
  CHECK_EQ(how_many(*f, Opcode::JF), 0);
  CHECK_EQ(first(call(*module, "f", {Value(numbers({2})), Value(0)})), -8.f);
}

TEST(an_empty_dict_that_is_only_counted_is_not_made) {
  auto module = module_of(method(", x: Tensor, n: int) -> Tensor",
                                 "d = annotate(Dict[str, int], {})\n"
                                 "e = torch.len(d)\n"
                                 "return torch.add(x, e)"));
  CHECK_EQ(how_many(*made_of(*module), Opcode::DICT_CONSTRUCT), 0);
  CHECK_EQ(first(call(*module, "f", {Value(numbers({3})), Value(0)})), 3.f);
  // One that gets an item, and one that all rounds of a loop share.
  module = module_of(method(", x: Tensor, n: int) -> Tensor",
                            "d = annotate(Dict[str, int], {})\n"
                            "_0 = torch._set_item(d, \"a\", n)\n"
                            "e = torch.len(d)\n"
                            "return torch.add(x, e)"));
  CHECK_EQ(first(call(*module, "f", {Value(numbers({3})), Value(0)})), 4.f);
  module = module_of(method(", x: Tensor, n: int) -> Tensor",
                            "d = annotate(Dict[int, int], {})\n"
                            "e = 0\n"
                            "for i in range(n):\n"
                            "  f = d\n"
                            "  _0 = torch._set_item(f, i, n)\n"
                            "  e = torch.len(f)\n"
                            "return torch.add(x, e)"));
  CHECK_EQ(first(call(*module, "f", {Value(numbers({3})), Value(4)})), 7.f);
}

TEST(pointwise_operators_become_groups) {
  auto module = module_of(method(", x: Tensor, n: int) -> Tensor",
                                 "y = torch.tanh(torch.mul(x, 2.))\n"
                                 "z = torch.add(y, x)\n"
                                 "w = torch.matmul(z, y)\n"
                                 "return torch.exp(torch.relu(w))"));
  auto f = made_of(*module);
  CHECK_EQ(how_many(*f, Opcode::FUSED), 2);
  CHECK_EQ(f->parts.size(), 2u);
  CHECK(f->parts[0]->group != nullptr);
  CHECK_EQ(f->parts[0]->results, 2);  // the matrix product reads both
  CHECK_EQ(first(call(*module, "f", {Value(numbers({0})), Value(0)})), 1.f);
}

TEST(groups_do_not_cross_writes) {
  auto module = module_of(method(", x: Tensor, n: int) -> Tensor",
                                 "y = torch.mul(x, 2.)\n"
                                 "_0 = torch.add_(x, 1)\n"
                                 "return torch.add(torch.neg(y), x)"));
  CHECK_EQ(first(call(*module, "f", {Value(numbers({3})), Value(0)})), -2.f);
}

TEST(a_fresh_tensor_that_is_written_is_made_anew) {
  auto module = module_of(method(", x: Tensor, n: int) -> Tensor",
                                 "y = torch.sub(x, 2.)\n"
                                 "_0 = torch.relu_(y)\n"
                                 "return torch.add(y, x)"));
  auto f = made_of(*module);
  CHECK_EQ(how_many(*f, Opcode::FUSED), 1);
  CHECK_EQ(first(call(*module, "f", {Value(numbers({-1})), Value(0)})), -1.f);
  // Not where a view shows it, too.
  module = module_of(method(", x: Tensor, n: int) -> Tensor",
                            "y = torch.sub(x, 2.)\n"
                            "v = torch.view(y, [-1])\n"
                            "_0 = torch.relu_(y)\n"
                            "return torch.add(v, x)"));
  CHECK_EQ(first(call(*module, "f", {Value(numbers({-1})), Value(0)})), -1.f);
}

TEST(functions_stop_growing) {
  std::string functions;
  for (int k = 0; k < 30; ++k) {
    std::string next = "__torch__.g" + std::to_string(k + 1);
    functions += "def g" + std::to_string(k) + "(x: Tensor) -> Tensor:\n  return torch.add(" +
                 next + "(x, ), " + next + "(x, ))\n";
  }
  functions += "def g30(x: Tensor) -> Tensor:\n  return x\n";
  auto module = module_of(with_functions(functions, "return __torch__.g0(x, )"));
  auto f = made_of(*module);
  CHECK(f->code.size() < 100'000);
  CHECK(how_many(*f, Opcode::CALL) > 0);
}

TEST(errors_name_the_functions_whose_code_was_put_in) {
  auto module =
      module_of(with_functions("def g(x: Tensor) -> Tensor:\n"
                               "  y = torch.mul(x, 2.)\n"
                               "  return torch.add(torch.tanh(y), torch.zeros([7]))\n",
                               "z = x\n"
                               "return torch.neg(__torch__.g(z, ))"));
  try {
    call(*module, "f", {Value(numbers({1, 2})), Value(0)});
    CHECK(false);
  } catch (const Error& error) {
    CHECK_EQ(error.stack.size(), 2u);
    CHECK_EQ(error.stack[0].function, "__torch__.g at code/__torch__.py:3");
    CHECK_EQ(error.stack[1].function, "__torch__.M.f at code/__torch__.py:9");
  }
}

int main(int count, char** arguments) { return test::main(count, arguments); }
