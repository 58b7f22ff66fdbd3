// The C interface from several threads: what one of them gives other memory or another shape, while
// another one saves, copies or differentiates it. For the sanitizers above all.
#include <scriptlang/scriptlang.hpp>

#include <atomic>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "archives.h"
#include "checks.h"

using namespace test;
using scriptlang::Module;
using scriptlang::Tensor;

// A module with a parameter w = [0, 1, 2, 3].
static Module module_with_weight() {
  std::string weights;
  for (int k = 0; k < 4; ++k) put<float>(&weights, float(k));
  const std::string code =
      "class M(Module):\n  __parameters__ = [\"w\", ]\n  __buffers__ = []\n  w : Tensor\n"
      "  def forward(self, x: Tensor) -> Tensor:\n"
      "    w = self.w\n"
      "    return torch.sum(torch.mul(w, x))\n"
      "  def resize(self, x: Tensor, n: int) -> NoneType:\n"
      "    _0 = torch.resize_(x, [n])\n"
      "    return None\n";
  const std::string w = p_tensor(p_storage("FloatStorage", "0", 4), 0, {4}, {1});
  const std::string file = make_zip({{"m/version", "10"},
                                     {"m/data.pkl", pickle(p_object("__torch__", "M", {{"w", w}}))},
                                     {"m/data/0", weights},
                                     {"m/code/__torch__.py", code},
                                     {"m/constants.pkl", pickle(")")}});
  return scriptlang::load(file.data(), file.size());
}

// Runs `body` again and again in another thread while `beside` runs.
static void while_running(const std::function<void()>& beside, const std::function<void()>& body) {
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) body();
  });
  beside();
  done = true;
  other.join();
}

// The archive of a module. In the middle of saving, another thread runs `meanwhile`.
static sl_status saved_beside(Module& module, const std::function<void()>& meanwhile,
                              std::string* archive) {
  bool first = true;
  auto status = module.try_save([&](const void* data, size_t size) {
    if (first) std::thread(meanwhile).join();
    first = false;
    archive->append(static_cast<const char*>(data), size);
    return true;
  });
  return status.ok() ? SL_OK : status.error().status();
}

static void a_module_is_saved_as_it_was_before_it_was_converted() {
  Module module = module_with_weight();
  std::string archive;
  CHECK(saved_beside(module, [&] { module.to(SL_FLOAT64); }, &archive) == SL_OK);
  const Tensor w = scriptlang::load(archive.data(), archive.size()).attribute("w").tensor();
  CHECK(w.dtype() == SL_FLOAT32);
  CHECK(w.values<float>()[3] == 3);
}

static void a_module_that_is_resized_while_it_is_saved_is_refused() {
  Module module = module_with_weight();
  const Tensor w = Tensor::copy(std::vector<float>(4).data(), {4});
  module.set_attribute("w", w);
  std::string archive;
  auto grow = [&] { module("resize", {w, 1000}); };
  CHECK(saved_beside(module, grow, &archive) == SL_RUN_ERROR);
}

static void modules_are_saved_copied_and_printed_beside_one_that_resizes_their_tensor() {
  Module module = module_with_weight(), other = module_with_weight();
  const Tensor w = Tensor::copy(std::vector<float>(1000).data(), {1000});
  module.set_attribute("w", w);
  auto resize = [&] {
    for (int k = 0; k < 100; ++k) other("resize", {w, 1000 + k % 10 * 1000});
  };
  while_running(resize, [&] { (void)module.clone(); });
  while_running(resize, [&] { (void)module.try_save([](const void*, size_t) { return true; }); });
  while_running(resize, [&] { (void)module.text(); });
  while_running(resize, [&] { (void)module.value().text(); });
}

static void gradients_are_read_and_dropped_beside_a_backward_pass() {
  Module module = module_with_weight();
  const Tensor w = module.attribute("w").tensor();
  scriptlang::require_grad(w);
  const std::vector<float> ones(4, 1);
  const Tensor x = Tensor::copy(ones.data(), {4});
  auto train = [&] {
    for (int k = 0; k < 200; ++k) scriptlang::backward({module.forward({x}).tensor()});
  };
  while_running(train, [&] { (void)scriptlang::grad_of(w); });
  while_running(train, [&] { CHECK(sl_tensor_set_grad(w.handle(), nullptr) == SL_OK); });
  while_running(train, [&] {
    CHECK(sl_tensor_set_grad(w.handle(), Tensor::copy(ones.data(), {4}).handle()) == SL_OK);
  });
}

int main() {
  a_module_is_saved_as_it_was_before_it_was_converted();
  a_module_that_is_resized_while_it_is_saved_is_refused();
  modules_are_saved_copied_and_printed_beside_one_that_resizes_their_tensor();
  gradients_are_read_and_dropped_beside_a_backward_pass();
  if (failures) std::printf("%d checks failed\n", failures);
  return failures != 0;
}
