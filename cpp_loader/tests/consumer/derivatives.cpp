// A client in C++17 that differentiates: forces, a second derivative, training, errors.
#include <scriptlang/scriptlang.hpp>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "check.h"

using scriptlang::BackwardOptions;
using scriptlang::Error;
using scriptlang::Module;
using scriptlang::Tensor;
using scriptlang::Value;

static Tensor leaf(std::vector<float> values) {
  const int64_t size = int64_t(values.size());
  Tensor t = Tensor::take(std::move(values), {size});
  scriptlang::require_grad(t);
  return t;
}

template <class F>
static void fails(const char* part, F&& f) {
  try {
    f();
    CHECK(!"an error was wanted");
  } catch (const Error& e) {
    if (e.message().find(part) == std::string::npos) {
      ++failures;
      std::printf("the message lacks '%s': %s\n", part, e.what());
    }
  }
}

static void forces(const Module& model) {
  Tensor x = leaf({1, 2});
  Tensor energy = model("energy", {x}).tensor();  // 2 x^3
  CHECK(scriptlang::requires_grad(energy));
  BackwardOptions options;
  options.create_graph = true;
  Tensor first = scriptlang::grad({energy}, {x}, options)[0];
  CHECK(first.values<float>() == (std::vector<float>{6, 24}));
  options.create_graph = false;
  options.gradients = {Tensor::take<float>({1, 1}, {2})};
  Tensor second = scriptlang::grad({first}, {x}, options)[0];
  CHECK(second.values<float>() == (std::vector<float>{12, 24}));
  // The program asks by itself, of tensors that the host asked nothing of.
  Tensor found = model("forces", {Tensor::take<float>({1, 2}, {2})}).tensor();
  CHECK(found.values<float>() == (std::vector<float>{-6, -24}));
}

// A program that asks for gradients: it is recorded, or runs the graph for two positions that the
// archive has. The results of that have no history.
static void both(Module& model, bool has_graph) {
  const float weight = model.attribute("line.weight").tensor().item<float>();
  const auto run = [&](std::vector<float> positions, bool is_straight, float scale) {
    std::vector<float> wanted;
    float energy = 0;
    for (float x : positions) {
      wanted.push_back(-6 * x * x * scale);
      energy += 2 * x * x * x * scale;
    }
    const int64_t size = int64_t(positions.size());
    const Value result = model("both", {Tensor::take(std::move(positions), {size})});
    const Tensor first = result[0].tensor(), second = result[1].tensor();
    CHECK(std::fabs(first.item<float>() - energy) <= 1e-5f * std::fabs(energy));
    const std::vector<float> found = second.values<float>();
    CHECK(found.size() == wanted.size());
    for (size_t k = 0; k < found.size(); ++k) {
      CHECK(std::fabs(found[k] - wanted[k]) <= 1e-5f * std::fabs(wanted[k]));
    }
    CHECK(scriptlang::requires_grad(first) == !is_straight);
  };
  run({1, 2}, has_graph, weight);
  run({3, 1}, has_graph, weight);
  run({1, 2, 3}, false, weight);
  model.set_attribute("scale", Value(4.0));  // the graph was made for another one
  run({1, 2}, false, 2 * weight);
  model.set_attribute("scale", Value(2.0));
  run({1, 2}, has_graph, weight);
}

static void training(const Module& model) {
  std::vector<Tensor> parameters;
  for (auto& [name, value] : model.parameters()) parameters.push_back(value.tensor());
  CHECK(parameters.size() == 2);
  const std::vector<float> inputs{-1, 0, 1, 2}, wanted{-1, 1, 3, 5};  // y = 2 x + 1
  Tensor x = Tensor::copy(inputs.data(), {4, 1}), y = Tensor::copy(wanted.data(), {4, 1});
  CHECK(!scriptlang::requires_grad(model("loss", {x, y}).tensor()));  // nobody asked yet
  for (Tensor& p : parameters) scriptlang::require_grad(p);
  float loss = 0;
  for (int step = 0; step < 200; ++step) {
    Tensor error = model("loss", {x, y}).tensor();
    loss = error.item<float>();
    scriptlang::backward(error);
    for (Tensor& p : parameters) {
      std::vector<float> values = p.values<float>(), grad = scriptlang::grad_of(p).values<float>();
      for (size_t k = 0; k < values.size(); ++k) values[k] -= 0.1f * grad[k];
      p.assign(Tensor::copy(values.data(), p.shape()));
      scriptlang::forget_grad(p);
      CHECK(!scriptlang::grad_of(p).defined());
    }
  }
  CHECK(loss < 1e-6f);
  CHECK(std::fabs(model.forward({Tensor::take<float>({10}, {1, 1})}).tensor().item<float>() - 21) <
        1e-2f);
  {
    scriptlang::NoGrad scope;
    CHECK(!scriptlang::requires_grad(model("loss", {x, y}).tensor()));
  }
  Tensor error = model("loss", {x, y}).tensor();
  CHECK(scriptlang::requires_grad(error) && !scriptlang::requires_grad(scriptlang::detach(error)));
}

static void conversion(const Module& model) {
  Module copy = model.clone();
  std::vector<Tensor> parameters;
  for (auto& [name, value] : copy.parameters()) parameters.push_back(value.tensor());
  for (Tensor& p : parameters) scriptlang::require_grad(p);
  const float one = 1;
  Tensor x = Tensor::copy(&one, {1, 1});
  scriptlang::backward(copy("loss", {x, x}).tensor());
  std::vector<double> before = scriptlang::grad_of(parameters[0]).values<double>();
  copy.to(SL_FLOAT64);
  const Tensor grad = scriptlang::grad_of(parameters[0]);
  CHECK(grad.dtype() == SL_FLOAT64 && grad.values<double>() == before);
  x = x.to(SL_FLOAT64);
  scriptlang::backward(copy("loss", {x, x}).tensor());
  CHECK(grad.values<double>()[0] == 2 * before[0]);
}

static void errors(const Module& model) {
  Tensor x = leaf({1, 2}), y = leaf({3, 4});
  Tensor energy = model("energy", {x}).tensor();
  fails("appears to not have been used in the", [&] {
    BackwardOptions keep;
    keep.keep_graph = true;
    scriptlang::grad({energy}, {y}, keep);
  });
  BackwardOptions unused;
  unused.allow_unused = true;
  unused.keep_graph = true;
  CHECK(!scriptlang::grad({energy}, {y}, unused)[0].defined());
  scriptlang::grad({energy}, {x});
  fails("a second time", [&] { scriptlang::grad({energy}, {x}); });
  fails("does not require grad", [&] { scriptlang::backward(Tensor::take<float>({1}, {1})); });
  fails("a gradient for each output", [&] {
    BackwardOptions two;
    two.gradients = {x, y};
    scriptlang::backward({energy}, two);
  });
  Tensor whole = Tensor::take<int64_t>({1}, {1});
  fails("floating point", [&] { scriptlang::require_grad(whole); });
  sl_error* error = nullptr;
  auto misused = [&](sl_status status) {
    const bool is_told = sl_error_status(error) == SL_INVALID_ARGUMENT;
    sl_error_release(error);
    error = nullptr;
    return status == SL_INVALID_ARGUMENT && is_told;
  };
  const Value number(1);
  sl_value *tensor = x.handle(), *other = number.handle(), *none = nullptr, *result = nullptr;
  CHECK(misused(sl_tensor_require_grad(nullptr, 1, &error)));
  CHECK(misused(sl_tensor_require_grad(other, 1, &error)));
  CHECK(misused(sl_backward(nullptr, nullptr, 1, nullptr, &error)));
  CHECK(misused(sl_backward(&none, nullptr, 1, nullptr, &error)));
  CHECK(misused(sl_backward(&other, nullptr, 1, nullptr, &error)));
  CHECK(misused(sl_backward(&tensor, &other, 1, nullptr, &error)));
  const sl_backward_options unset = {};
  CHECK(misused(sl_backward(&tensor, nullptr, 1, &unset, &error)));
  CHECK(misused(sl_grad(&tensor, nullptr, 1, &none, 1, nullptr, &result, &error)));
  CHECK(misused(sl_grad(&tensor, nullptr, 1, &other, 1, nullptr, &result, &error)));
  CHECK(misused(sl_grad(&tensor, nullptr, 1, &tensor, 1, nullptr, nullptr, &error)));
  CHECK(misused(sl_grad(&tensor, nullptr, 1, nullptr, 0, nullptr, nullptr, &error)));
  CHECK(sl_tensor_set_grad(tensor, other) == SL_INVALID_ARGUMENT);
  CHECK(sl_tensor_grad(Value(1).handle()) == nullptr && sl_tensor_requires_grad(nullptr) == 0);
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  Module model = scriptlang::load(arguments[1]);
  forces(model);
  both(model, std::string(arguments[1]).find("straight") != std::string::npos);
  conversion(model);
  training(model);
  errors(model);
  std::printf("%d failures\n", failures);
  return failures != 0;
}
