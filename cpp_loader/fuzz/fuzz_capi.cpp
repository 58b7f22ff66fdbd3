// Input: a sequence of calls of the C interface; see calls.h.
#include <cstdint>
#include <fstream>
#include <iterator>

#include "calls.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string archive = [] {
    std::ifstream file(SCRIPTLANG_CLIENT, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  fuzz::run_calls(data, size, archive);
  return 0;
}
