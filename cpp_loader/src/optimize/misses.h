// Tells on stderr why operators are in no fused group, where SCRIPTLANG_LOG has the word `misses`
// (or `all`, or 1). The lines have the form of those that scriptlang/logs.py prints.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include "program/program.h"

namespace scriptlang::optimize {

constexpr char kAlone[] = "no neighbour can be in a group with it";

class Misses {
 public:
  // What tells of a function; null if nothing is to be told.
  static std::unique_ptr<Misses> of(const Function& function);

  // Says that `name` does not apply at the operator of an instruction, and why. It is said once.
  void tell(size_t pc, const OperatorUse& use, std::string_view name, const std::string& why);
  // Says it of an operator that is in no group.
  void tell_alone(size_t pc, const OperatorUse& use, const std::string& why) {
    tell(pc, use, "make_groups", why);
  }

 private:
  explicit Misses(const Function& function) : f_(function) {}
  const Function& f_;
  std::unordered_set<std::string> said_;
};

}  // namespace scriptlang::optimize
