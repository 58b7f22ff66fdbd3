// Programs that ask for blocks of 4 GiB and a little more, of which addresses of 32 bits would keep
// the little: each is refused, and nothing is written behind what there is. Elsewhere a limit of
// memory refuses them.
#include "kernels/scratch.h"
#include "source_archives.h"

using namespace scriptlang;
using namespace test;

namespace {

Limits limits_below_4_gib() {
  Limits limits;
  if (sizeof(void*) > 4) limits.memory_bytes = (int64_t(1) << 32) - 1;
  return limits;
}

void refused(const std::string& type, const std::string& body) {
  const std::shared_ptr<Module> module =
      module_of(method(", x: Tensor, text: str) -> " + type, body));
  Context context;
  const Value text = Value::of_text(std::string(1 << 20, 'a'));
  CHECK_RAISES(MemoryError, "",
               module->call("f", {Tensor::zeros({4}, ScalarType::Float32), text}, context,
                            limits_below_4_gib()));
}

}  // namespace

TEST(tensors) {
  refused("Tensor", "return torch.zeros([1073741824], dtype=6)");
  refused("Tensor", "return torch.zeros([1073741840], dtype=6)");
  refused("Tensor", "return torch.zeros([536870920], dtype=7)");
  refused("Tensor", "return torch.contiguous(torch.expand(torch.select(x, 0, 0), [1073741840]))");
  refused("Tensor", "return torch.repeat(x, [268435460])");
}

TEST(a_storage_that_grows) {
  refused("Tensor", "y = torch.resize_(torch.clone(x), [1073741840])\nreturn y");
}

TEST(lists) {
  refused("List[int]", "return torch.mul([1, 2, 3, 4], 134217732)");
  refused("List[str]", "return torch.mul([text], 536870920)");
}

TEST(strings) {
  refused("str", "return torch.join(text, torch.mul([\"\"], 4100))");
  refused("str", "return torch.replace(text, \"a\", torch.slice(text, 0, 4097, 1), -1)");
  refused("str", "return torch.ljust(text, 4294967300, \" \")");
}

TEST(memory_of_kernels) {
  CHECK_EQ(kernels::Scratch(64).as<char>() != nullptr, true);
  if (sizeof(void*) > 4) return;
  bool raised = false;
  try {
    kernels::Scratch space((uint64_t(1) << 32) + 64);
  } catch (const std::bad_alloc&) { raised = true; }
  CHECK(raised);
}

TEST(a_convolution_that_is_scattered) {
  if (sizeof(void*) > 4) return;
  refused("Tensor",
          "return torch.conv_transpose2d(torch.expand(torch.select(x, 0, 0), [1, 1, 1024, 1024]), "
          "torch.expand(torch.select(x, 0, 0), [1, 1, 32, 32]), None, [1, 1], [15, 15])");
}

int main(int count, char** arguments) { return test::main(count, arguments); }
