// Input: the code of an archive, one file. All that it defines is compiled; what is sound is run,
// within limits, on arguments of many kinds.
//
// The mutator exchanges, repeats and leaves out words of the code, so that much of it still parses.
#include <algorithm>
#include <cstring>

#include "runs.h"
#include "source/compiler.h"

using namespace scriptlang;

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

source::Sources sources_of(std::string_view code) {
  source::Sources made;
  made.read = [code](const std::string& record, std::string_view* text) {
    *text = code;
    return record == "code/__torch__.py";
  };
  made.has_folder = [](const std::string& folder) { return folder == "code/__torch__"; };
  return made;
}

// Names that the code defines at its top.
std::vector<std::string> names_in(std::string_view code, std::string_view keyword) {
  std::vector<std::string> found;
  for (size_t at = 0; at < code.size() && found.size() < 64;) {
    size_t end = std::min(code.find('\n', at), code.size());
    std::string_view line = code.substr(at, end - at);
    if (line.substr(0, keyword.size()) == keyword) {
      line.remove_prefix(keyword.size());
      found.push_back("__torch__." + std::string(line.substr(0, line.find_first_of("(: "))));
    }
    at = end + 1;
  }
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  memory::LimitScope scope(1 << 28);
  std::string_view code(reinterpret_cast<const char*>(data), size);
  try {
    auto classes = std::make_shared<ClassTable>();
    source::Compiler compiler(sources_of(code), classes, int(size % 10) + 1);
    for (const std::string& name : names_in(code, "class ")) compiler.take_class(name);
    for (const std::string& name : names_in(code, "def ")) compiler.take_function(name);
    fuzz::run_functions(*compiler.program(), fuzz::hash_of(data, size));
  } catch (const Error&) {}
  return 0;
}

#if defined(SCRIPTLANG_LIBFUZZER)
static bool in_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  std::string_view code(reinterpret_cast<const char*>(data), size);
  std::vector<std::string_view> words;
  for (size_t at = 0; at < size;) {
    size_t end = at + 1;
    while (in_word(code[at]) && end < size && in_word(code[end])) ++end;
    words.push_back(code.substr(at, end - at));
    at = end;
  }
  if (words.size() < 4 || seed % 8 == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::mt19937 random(seed);
  for (int k = 0; k < 1 + int(seed % 4); ++k) {
    size_t a = random() % words.size(), b = random() % words.size();
    switch (random() % 4) {
      case 0: std::swap(words[a], words[b]); break;
      case 1: words[a] = words[b]; break;
      case 2: words.insert(words.begin() + long(a), words[b]); break;
      default: words.erase(words.begin() + long(a)); break;
    }
    if (words.empty()) break;
  }
  std::string changed;
  for (std::string_view word : words) changed += word;
  if (changed.size() > max_size) changed.resize(max_size);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}
#endif
