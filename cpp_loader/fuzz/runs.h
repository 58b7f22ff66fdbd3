// Runs of what a fuzzer's program holds, on arguments that nobody would choose.
#pragma once

#include <functional>
#include <random>

#include "archive/module.h"

namespace fuzz {

// Values of declared types and of no type: extreme numbers, empty and odd tensors, lists whose
// elements are not what the list says.
class Arguments {
 public:
  explicit Arguments(uint64_t seed) : random_(seed) {}
  scriptlang::Value of(const scriptlang::Type& type, int depth = 0);
  scriptlang::Value any(int depth = 0);
  int pick(int n) { return int(random_() % uint64_t(n)); }

 private:
  int64_t integer();
  double number();
  std::string text();
  scriptlang::Value tensor();
  scriptlang::Value list(const scriptlang::Type* element, int depth);
  scriptlang::Value dict(const scriptlang::Type* key, const scriptlang::Type* value, int depth);
  std::mt19937_64 random_;
};

// Reads a program twice and runs each function in both: as register code with all its proofs and
// with fused groups; and as plain code, which proves nothing, with no groups. Both may raise; a
// difference between them ends the process. `read` gives the tree of bytecode.pkl, a new one each
// time: programs may change their constants.
using ReadTree = std::function<scriptlang::Value(scriptlang::ClassTable* classes)>;
void run_both_ways(const ReadTree& read, uint64_t seed);

// Runs each function of a program, within limits that end it soon; errors are swallowed.
void run_functions(const scriptlang::Program& program, uint64_t seed);

// Calls every method of a module, within limits that end it soon; errors are swallowed.
void call_methods(scriptlang::Module& module, uint64_t seed);

uint64_t hash_of(const uint8_t* data, size_t size);

}  // namespace fuzz
