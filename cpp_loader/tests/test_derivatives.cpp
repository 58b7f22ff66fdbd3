// Going backward through recorded programs: values, views, writes, second derivatives, errors.
#include <sstream>

#include "autograd/backward.h"
#include "source_archives.h"

using namespace test;
using autograd::Request;

namespace {

Tensor numbers(std::vector<double> values) {
  Tensor t = Tensor::empty({int64_t(values.size())}, ScalarType::Float64);
  std::copy(values.begin(), values.end(), static_cast<double*>(t.raw()));
  return t;
}

Tensor leaf(std::vector<double> values) {
  Tensor t = numbers(std::move(values));
  autograd::require_grad(t, true, true);
  return t;
}

// "8 20 36"
std::string values_of(const Tensor& t) {
  if (!t.defined()) return "none";
  const double* first = static_cast<const double*>(t.raw());
  std::ostringstream text;
  for (int64_t k = 0; k < t.numel(); ++k) {
    text << (k ? " " : "") << first[t.dim() ? k * t.strides()[0] : 0];
  }
  return text.str();
}

// f(x, y) with this body, as code of an archive.
std::shared_ptr<Module> program(const std::string& body) {
  return module_of(method(", x: Tensor, y: Tensor) -> Tensor", body));
}

std::vector<Tensor> gradients(const Tensor& output, std::vector<Tensor> inputs,
                              bool creates = false, bool keeps = false) {
  Request request;
  request.outputs = {output};
  request.inputs = std::move(inputs);
  request.creates_graph = creates;
  request.keeps_graph = keeps || creates;
  request.allows_unused = true;
  Context context;
  return autograd::go_backward(context, std::move(request));
}

Tensor run_on(const std::string& body, const Tensor& x, const Tensor& y) {
  return call(*program(body), "f", {Value(x), Value(y)}).as_tensor();
}

}  // namespace

TEST(products_and_sums) {
  Tensor x = leaf({1, 2, 3}), y = leaf({4, 5, 6});
  Tensor z = run_on("return torch.sum(torch.mul(torch.mul(x, y), x))", x, y);
  CHECK(z.requires_grad());
  auto found = gradients(z, {x, y});
  CHECK_EQ(values_of(found[0]), std::string("8 20 36"));
  CHECK_EQ(values_of(found[1]), std::string("1 4 9"));
}

TEST(nothing_is_recorded_unless_the_host_asks) {
  Tensor x = numbers({1, 2});
  x.impl()->requires_grad = true;  // as an archive says of parameters
  Tensor z = run_on("return torch.sum(torch.mul(x, y))", x, numbers({3, 4}));
  CHECK(!z.requires_grad());
}

TEST(branches_loops_and_calls) {
  auto module = module_of(
      "def g(x: Tensor, n: int) -> Tensor:\n"
      "  if torch.gt(n, 1):\n"
      "    return torch.mul(x, 2.)\n"
      "  return torch.mul(x, x)\n" +
      method(", x: Tensor, n: int) -> Tensor",
             "y = x\n"
             "for i in range(n):\n"
             "  y = __torch__.g(y, i, )\n"
             "return torch.sum(y)"));
  Tensor x = leaf({3});
  Tensor z = call(*module, "f", {Value(x), Value(4)}).as_tensor();  // 4 x^4
  CHECK_EQ(values_of(gradients(z, {x})[0]), std::string("432"));
}

TEST(gradients_add_up) {
  Tensor x = leaf({2, 3});
  for (int k = 0; k < 2; ++k) {
    Request request;
    request.outputs = {run_on("return torch.sum(torch.mul(x, x))", x, x)};
    request.accumulate = true;
    Context context;
    CHECK(autograd::go_backward(context, std::move(request)).empty());
  }
  CHECK_EQ(values_of(x.impl()->history->grad), std::string("8 12"));
}

TEST(second_derivatives) {
  Tensor x = leaf({2, 3});
  Tensor z = run_on("return torch.sum(torch.mul(torch.mul(x, x), x))", x, x);
  Tensor first = gradients(z, {x}, true)[0];
  CHECK_EQ(values_of(first), std::string("12 27"));
  CHECK(first.requires_grad());
  Tensor total = run_on("return torch.sum(x)", first, x);
  CHECK_EQ(values_of(gradients(total, {x})[0]), std::string("12 18"));
}

TEST(a_program_differentiates) {
  Tensor x = numbers({2, 3});
  Tensor force = run_on(
      "x0 = torch.requires_grad_(x)\n"
      "energy = torch.sum(torch.mul(torch.mul(x0, x0), y))\n"
      "found = torch.grad([energy], [x0], None, None, False, False)\n"
      "return torch.neg(unchecked_cast(Tensor, found[0]))",
      x, numbers({1, 10}));
  CHECK_EQ(values_of(force), std::string("-4 -60"));
}

TEST(writes_to_views_are_seen_by_the_base) {
  Tensor x = leaf({2, 3}), y = leaf({5, 7});
  Tensor z = run_on(
      "out = torch.mul(x, 1.)\n"
      "part = torch.slice(out, 0, 0, 1)\n"
      "_0 = torch.mul_(part, torch.slice(y, 0, 1, 2))\n"
      "return torch.sum(torch.mul(out, out))",  // (x0 y1)^2 + x1^2
      x, y);
  auto found = gradients(z, {x, y});
  CHECK_EQ(values_of(found[0]), std::string("196 6"));
  CHECK_EQ(values_of(found[1]), std::string("0 56"));
}

TEST(a_buffer_is_filled_part_by_part) {
  Tensor x = leaf({2, 3});
  Tensor z = run_on(
      "out = torch.zeros_like(y)\n"
      "for i in range(2):\n"
      "  part = torch.slice(out, 0, i, torch.add(i, 1))\n"
      "  _0 = torch.copy_(part, torch.mul(torch.slice(x, 0, i, torch.add(i, 1)), 3.))\n"
      "return torch.sum(torch.mul(out, out))",
      x, numbers({0, 0}));
  CHECK_EQ(values_of(gradients(z, {x})[0]), std::string("36 54"));
}

TEST(errors_are_those_of_pytorch) {
  Tensor x = leaf({2, 3});
  Tensor z = run_on("return torch.sum(torch.mul(x, x))", x, x);
  gradients(z, {x});
  CHECK_RAISES(RuntimeError, "Trying to backward through the graph a second time",
               gradients(z, {x}));
  CHECK_RAISES(RuntimeError, "grad can be implicitly created only for scalar outputs",
               gradients(run_on("return torch.mul(x, x)", x, x), {x}));
  CHECK_RAISES(RuntimeError, "does not require grad and does not have a grad_fn",
               gradients(numbers({1}), {x}));
  CHECK_RAISES(RuntimeError, "a leaf Variable that requires grad",
               run_on("return torch.mul_(x, y)", x, x));
  Tensor w = run_on(
      "a = torch.mul(x, 1.)\n"
      "b = torch.sum(torch.mul(a, a))\n"
      "_0 = torch.mul_(a, 2.)\n"
      "return b",
      x, x);
  CHECK_RAISES(RuntimeError, "has been modified by an inplace operation", gradients(w, {x}));
}

TEST(a_long_chain_is_taken_apart_without_recursion) {
  Tensor x = leaf({1});
  {
    Tensor z = run_on(
        "y0 = x\n"
        "for i in range(200000):\n"
        "  y0 = torch.mul(y0, 1.)\n"
        "return torch.sum(y0)",
        x, x);
    CHECK_EQ(values_of(gradients(z, {x}, false, true)[0]), std::string("1"));
  }
}

int main(int count, char** arguments) { return test::main(count, arguments); }
