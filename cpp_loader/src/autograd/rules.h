// The derivatives of operators, as derivatives.txt has them: programs in the scripted language,
// compiled when they are needed for the first time.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace scriptlang::autograd {

// A compiled function of derivatives.txt, with the program that it is in.
struct RuleFunction {
  std::shared_ptr<const Program> program;
  const Function* function = nullptr;
};

struct Rule {
  enum Kind : uint8_t {
    Missing,    // nobody has told how to go backward
    Nothing,    // the results have no gradients
    Apart,      // the operator is about derivatives itself, and nothing is recorded of it
    Instead,    // the operator runs as another function, which is recorded
    Gradients,  // each part gives the gradients of some inputs
  } kind = Missing;
  struct Part {
    std::vector<std::string> inputs;  // names of arguments
    std::vector<std::string> shapes;  // names whose geometry and type suffice
    std::string function;             // its name in derivatives.txt
  };
  std::vector<Part> parts;
};

// The rule of an operator or of what it is a form of, by "aten::mul.Tensor".
const Rule& rule_of(std::string_view qualified_name);

// Raises RuntimeError where the library's own text does not compile.
const RuleFunction& function_of(const std::string& name);

// Runs it. records: what it computes can be differentiated.
Value run(Context& ctx, const RuleFunction& rule, std::vector<Value> arguments, bool records);

}  // namespace scriptlang::autograd
