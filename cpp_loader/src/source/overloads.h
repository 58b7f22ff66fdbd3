// The overloads of operators, and which of them a call means: PyTorch's order, without implicit
// conversions first, then with them. Decided as frontend/overloads/matching.py does.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "types.h"

namespace scriptlang::source {

// An argument of a call: what type it has.
struct Actual {
  T type = nullptr;
  Openness open;
  std::string_view name;  // of one that is given by name
};

// Where the value of a formal comes from.
struct Slot {
  int source = -1;   // which actual; -1: its default
  int gathered = 0;  // so many actuals from `source` on become one list
  Step step;
  std::vector<Step> steps;  // of those that are gathered
};

struct Match {
  const Signature* signature = nullptr;
  std::vector<Slot> slots;
  std::vector<T> returns;
  size_t extra = 0;  // the first actual beyond the formals of a variadic signature
};

// Fits one signature. False with *why for one that does not; actuals by name come last.
bool try_match(Types* types, const Signature& signature, const std::vector<Actual>& actuals,
               bool implicit, Match* match, std::string* why);

using Candidates = std::vector<const Signature*>;

// The first that fits; null with a text that says why none does.
bool choose(Types* types, const Candidates& candidates, const std::vector<Actual>& actuals,
            Match* match, std::string* why);

// A signature as error texts show it.
std::string describe(const Signature& signature);

class Overloads {
 public:
  explicit Overloads(Types* types) : types_(*types) {}
  // In the order in which they are tried; empty for a name that nobody knows. A signature that
  // `needs_body` has no kernel: its body is to be found under name.overload.
  const Candidates& of(const std::string& name);
  // Signature of a schema's text from its first bracket on.
  std::unique_ptr<Signature> parse(const std::string& name, std::string_view overload,
                                   std::string_view tail);

 private:
  std::unique_ptr<Signature> convert(const Schema& schema, const OpEntry* entry);
  void add_operator(const std::string& qualified, Candidates* out);
  void add_listed(const std::string& name, Candidates* out);
  void keep(std::unique_ptr<Signature> signature, Candidates* out);
  Types& types_;
  std::unordered_map<std::string, Candidates> known_;
  std::vector<std::unique_ptr<Signature>> signatures_;
};

}  // namespace scriptlang::source
