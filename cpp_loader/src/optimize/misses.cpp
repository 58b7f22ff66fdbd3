// Words of SCRIPTLANG_LOG, places in the source, and the lines on stderr.
#include "misses.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace scriptlang::optimize {

namespace {

// Whether the words of SCRIPTLANG_LOG, with commas between, select what is told here.
bool is_wanted() noexcept {
  static const bool wanted = [] {
    const char* value = std::getenv("SCRIPTLANG_LOG");
    std::string_view words = value ? value : "";
    while (!words.empty()) {
      const size_t end = std::min(words.find(','), words.size());
      std::string_view word = words.substr(0, end);
      words.remove_prefix(std::min(end + 1, words.size()));
      while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
      while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
      if (word == "misses" || word == "all" || word == "1") return true;
    }
    return false;
  }();
  return wanted;
}

// file:line:column; the column is counted from 0.
std::string place_of(const Function& in, uint32_t offset) {
  if (!in.line_starts) return concat(in.file, ":", offset);
  const uint32_t line = line_of(*in.line_starts, offset);
  const uint32_t column = line ? offset - (*in.line_starts)[line - 1] : offset;
  return concat(in.file, ":", line, ":", column);
}

}  // namespace

std::unique_ptr<Misses> Misses::of(const Function& function) {
  return is_wanted() ? std::unique_ptr<Misses>(new Misses(function)) : nullptr;
}

void Misses::tell(size_t pc, const OperatorUse& use, std::string_view name,
                  const std::string& why) {
  std::string place = "unknown";
  if (pc < f_.lines.size()) {
    const int32_t call = pc < f_.calls.size() ? f_.calls[pc] : -1;
    if (call < 0) {
      place = place_of(f_, f_.lines[pc]);
    } else {
      const InlinedCall& inner = f_.inlined[size_t(call)];
      const Function& outer = inner.caller < 0 ? f_ : *f_.inlined[size_t(inner.caller)].function;
      place = concat(place_of(*inner.function, f_.lines[pc]), ", called at ",
                     place_of(outer, inner.line));
    }
  }
  std::string line = concat("scriptlang misses: ", name, " does not apply at ", use.name, " (",
                            place, "): ", why, "\n");
  if (said_.insert(line).second) std::fputs(line.c_str(), stderr);
}

}  // namespace scriptlang::optimize
