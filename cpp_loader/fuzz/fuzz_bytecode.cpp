// Input: the pickle of a bytecode.pkl without tensors. What verifies is run, within limits, on
// arguments of many kinds, as register code and as plain code, which must agree.
#include "mutations.h"
#include "archive/pickle.h"
#include "runs.h"

using namespace scriptlang;

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

static Value read(const uint8_t* data, size_t size, ClassTable* classes) {
  PickleHooks hooks;
  hooks.classes = classes->resolver();
  return read_pickle({reinterpret_cast<const char*>(data), size}, "input", hooks);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  memory::LimitScope scope(1 << 28);
  try {
    fuzz::run_both_ways([&](ClassTable* classes) { return read(data, size, classes); },
                        fuzz::hash_of(data, size));
  } catch (const Error&) {}
  return 0;
}

#if defined(SCRIPTLANG_LIBFUZZER)
// Mostly changes of the program that keep it verifiable; else changes of bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  if (seed % 16 != 0) {
    try {
      ClassTable classes;
      std::string changed = fuzz::mutate_program(read(data, size, &classes), seed);
      if (!changed.empty() && changed.size() <= max_size) {
        std::copy(changed.begin(), changed.end(), reinterpret_cast<char*>(data));
        return changed.size();
      }
    } catch (const Error&) {}
  }
  return LLVMFuzzerMutate(data, size, max_size);
}
#endif
