// The overloads of operators, and overload resolution. Overloads are tried in PyTorch's order,
// first all without implicit conversions, then all with them, as in frontend/overloads/matching.py.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "types.h"

namespace scriptlang::source {

// An argument of a call, as overload resolution sees it.
struct Actual {
  T type = nullptr;
  Openness open;
  std::string_view name;  // empty if it is given by position
};

// Where the value of a formal comes from.
struct Slot {
  int source = -1;          // index of the actual; -1: the default
  int gathered = 0;         // so many actuals from `source` on become one list; 0: it is one actual
  Step step;                // the conversion of the actual
  std::vector<Step> steps;  // the conversions of those that are gathered
};

struct Match {
  const Signature* signature = nullptr;
  std::vector<Slot> slots;
  std::vector<T> returns;
  size_t extra = 0;  // the first actual beyond the formals of a variadic signature
};

// Matches a call with one signature. Returns false if it does not fit, and says why in *why, if
// that is not null. Actuals that are given by name must come last.
bool try_match(Types* types, const Signature& signature, const std::vector<Actual>& actuals,
               bool implicit, Match* match, std::string* why);

using Candidates = std::vector<const Signature*>;

// Finds the first overload that fits. Returns false if none does, and says why in *why.
bool choose(Types* types, const Candidates& candidates, const std::vector<Actual>& actuals,
            Match* match, std::string* why);

// A signature as error texts show it.
std::string describe(const Signature& signature);

class Overloads {
 public:
  explicit Overloads(Types* types) : types_(*types) {}
  // The overloads of an operator ("aten::add"), in the order in which they are tried. Empty if the
  // operator is unknown. A signature that `needs_body` has no kernel; bodies.txt has its body.
  const Candidates& of(const std::string& name);
  // The signature of a schema; `tail` is its text from the first bracket on.
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
