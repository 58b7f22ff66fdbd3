// Input: a whole archive. It is loaded and its methods are listed.
#include "archive/module.h"

using namespace scriptlang;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  memory::LimitScope scope(1 << 28);
  try {
    auto module = Module::load_memory(data, size);
    module->method_names();
  } catch (const Error&) {}
  return 0;
}
