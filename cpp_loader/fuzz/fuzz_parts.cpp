// Input: the records of an archive, cut at the text "#record#": data.pkl, bytecode.pkl,
// constants.pkl and one tensor. They are packed with right checksums, so that what is changed in
// them reaches the readers; the archive is loaded and its methods are listed.
#include "../tests/archives.h"
#include "module.h"

using namespace scriptlang;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string kCut = "#record#";
  static const char* const kNames[] = {"m/data.pkl", "m/bytecode.pkl", "m/constants.pkl",
                                       "m/data/0"};
  std::string input(reinterpret_cast<const char*>(data), size);
  std::vector<test::ZipEntry> entries = {{"m/version", "10\n"}, {"m/byteorder", "little"}};
  size_t at = 0;
  for (const char* name : kNames) {
    size_t end = input.find(kCut, at);
    entries.emplace_back(name, input.substr(at, end == std::string::npos ? end : end - at));
    if (end == std::string::npos) break;
    at = end + kCut.size();
  }
  std::string file = test::make_zip(entries);
  memory::LimitScope scope(1 << 28);
  try {
    auto module = Module::load_memory(file.data(), file.size());
    module->method_names();
  } catch (const Error&) {
  }
  return 0;
}
