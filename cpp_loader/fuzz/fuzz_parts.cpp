// Input: the records of an archive, cut at the text "#record#": data.pkl, bytecode.pkl,
// constants.pkl, one tensor, scriptlang/program.pkl, one constant and names.pkl. They are packed
// with right checksums, beside tensors that pickles may name, so that what is changed in them
// reaches the readers; the archive is loaded, its methods are called on arguments of many kinds.
#include <cstdio>
#include <cstdlib>
#include <random>

#include "../tests/archives.h"
#include "archive/module.h"
#include "mutations.h"
#include "archive/pickle.h"
#include "runs.h"

using namespace scriptlang;

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

const std::string kCut = "#record#";
const char* const kNames[] = {"m/data.pkl",
                              "m/bytecode.pkl",
                              "m/constants.pkl",
                              "m/data/0",
                              "m/scriptlang/program.pkl",
                              "m/constants/0",
                              "m/scriptlang/names.pkl"};
constexpr size_t kParts = 7;
constexpr size_t kTensorBytes = 4096;  // of those that are not in the input

std::vector<std::string> parts_of(const std::string& input) {
  std::vector<std::string> parts;
  for (size_t at = 0; parts.size() < kParts;) {
    size_t end = input.find(kCut, at);
    parts.push_back(input.substr(at, end == std::string::npos ? end : end - at));
    if (end == std::string::npos) break;
    at = end + kCut.size();
  }
  return parts;
}

std::string packed(const std::vector<std::string>& parts) {
  static const std::string kNumbers(kTensorBytes, '\x3c');  // 0.0115 as floats
  std::vector<test::ZipEntry> entries = {{"m/version", "10\n"}, {"m/byteorder", "little"}};
  for (size_t k = 0; k < parts.size(); ++k) {
    if (!parts[k].empty()) entries.emplace_back(kNames[k], parts[k]);
  }
  for (int k = 1; k < 24; ++k) entries.emplace_back(concat("m/data/", k), kNumbers);
  for (int k = 1; k < 8; ++k) entries.emplace_back(concat("m/constants/", k), kNumbers);
  return test::make_zip(entries);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string file = packed(parts_of({reinterpret_cast<const char*>(data), size}));
  memory::LimitScope scope(1 << 28);
  try {
    fuzz::call_methods(*Module::load_memory(file.data(), file.size()), fuzz::hash_of(data, size));
  } catch (const Error& error) {
    if (std::getenv("FUZZ_SHOW")) std::fprintf(stderr, "loading: %s\n", error.message.c_str());
  }
  return 0;
}

#if defined(SCRIPTLANG_LIBFUZZER)
namespace {

bool is_program(size_t k) { return k == 1 || k == 4; }

std::string changed_program(const std::string& part, uint32_t seed) {
  PickleHooks hooks;
  ClassTable classes;
  hooks.classes = classes.resolver();
  hooks.storage = [](const std::string&, ScalarType) { return Storage::allocate(kTensorBytes); };
  try {
    return fuzz::mutate_program(read_pickle(part, "input", hooks), seed);
  } catch (const Error&) { return {}; }
}

std::string changed_bytes(std::string part, size_t room) {
  size_t size = part.size();
  part.resize(size + room);
  part.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(&part[0]), size, part.size()));
  return part;
}

}  // namespace

// One part is changed: a program mostly so that it still verifies, the others by bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  std::vector<std::string> parts = parts_of({reinterpret_cast<const char*>(data), size});
  std::minstd_rand random(seed);
  size_t k = random() % 3 ? 1 + 3 * (random() % 2) : random() % kParts;
  if (k < parts.size()) {
    std::string changed;
    if (is_program(k) && random() % 8) changed = changed_program(parts[k], seed);
    bool is_changed = !changed.empty();
    size_t room = std::min<size_t>(max_size - size, 64);
    parts[k] = is_changed ? changed : changed_bytes(parts[k], room);
    std::string all;
    for (size_t p = 0; p < parts.size(); ++p) all += (p ? kCut : "") + parts[p];
    if (!all.empty() && all.size() <= max_size) {
      std::copy(all.begin(), all.end(), reinterpret_cast<char*>(data));
      return all.size();
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}
#endif
