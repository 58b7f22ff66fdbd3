// Input: a pickle, with storages of 256 bytes behind every key. The value is printed.
#include "archive/pickle.h"
#include "program/program.h"

using namespace scriptlang;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  memory::LimitScope scope(1 << 26);
  try {
    ClassTable classes;
    PickleHooks hooks;
    hooks.classes = classes.resolver();
    hooks.storage = [](const std::string&, ScalarType) { return Storage::allocate(256); };
    Value value = read_pickle({reinterpret_cast<const char*>(data), size}, "input", hooks);
    if (size < 200) to_text(value);  // shared parts print again: keep that small
  } catch (const Error&) {}
  return 0;
}
