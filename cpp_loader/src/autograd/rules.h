// The derivatives of operators in derivatives.txt. They are programs in the scripted language, each
// compiled at its first use.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "program/program.h"

namespace scriptlang::autograd {

// A compiled function of derivatives.txt with its program.
struct RuleFunction {
  std::shared_ptr<const Program> program;
  const Function* function = nullptr;
};

struct Rule {
  enum Kind : uint8_t {
    Missing,    // no derivative is known
    Nothing,    // the results are not differentiable
    Apart,      // the operator deals with derivatives itself, so it is not recorded
    Instead,    // another function runs in place of the operator and is recorded
    Gradients,  // each part computes the gradients of some inputs
  } kind = Missing;
  struct Part {
    std::vector<std::string> inputs;  // names of arguments
    std::vector<std::string> shapes;  // names of values of which only the layout and dtype are read
    std::string function;             // its name in derivatives.txt
  };
  std::vector<Part> parts;
};

// The rule of an operator such as "aten::mul.Tensor"; of kind Missing if there is none.
const Rule& rule_of(std::string_view qualified_name);

// Returns a function of derivatives.txt, compiled. Raises RuntimeError if it is absent or does not
// compile.
const RuleFunction& function_of(const std::string& name);

// Runs a rule. `records`: its operators are recorded, so that the results can be differentiated.
Value run(Context& ctx, const RuleFunction& rule, std::vector<Value> arguments, bool records);

}  // namespace scriptlang::autograd
