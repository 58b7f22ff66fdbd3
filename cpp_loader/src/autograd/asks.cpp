// Which functions ask for derivatives themselves, so that their calls are recorded.
#include "asks.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "program/facts.h"
#include "program/program.h"

namespace scriptlang::autograd {

namespace {

bool is_asking(const OperatorUse& use) { return asks_for_derivatives(use.qualified_name()); }

// Whether an instruction is `torch.tensor(x, requires_grad=True)`. Calls in which the last argument
// is left out or the constant False are common in programs without derivatives, so they do not
// count.
bool makes_leaf(const Function& f, size_t at) {
  const Instruction& i = f.code[at];
  const OperatorUse& use = f.operators[size_t(i.x)];
  if (use.name != "aten::tensor" || use.total != 4 || (use.given >= 0 && use.given < 4)) {
    return false;
  }
  if (at == 0 || f.code[at - 1].op != Opcode::LOADC) return true;
  const Value& flag = f.constants[size_t(f.code[at - 1].x)];
  return !flag.is_bool() || flag.as_bool();
}

bool is_operator(Opcode op) {
  return op == Opcode::OP || op == Opcode::OPN || op == Opcode::OP_ONE || op == Opcode::OP_ANY;
}

bool asks_itself(const Function& f) {
  if (std::any_of(f.operators.begin(), f.operators.end(), is_asking)) return true;
  const auto is_tensor = [](const OperatorUse& use) { return use.name == "aten::tensor"; };
  if (std::none_of(f.operators.begin(), f.operators.end(), is_tensor)) return false;
  for (size_t at = 0; at < f.code.size(); ++at) {
    if (is_operator(f.code[at].op) && makes_leaf(f, at)) return true;
  }
  return false;
}

bool calls_by_name(const Function& f) {
  return std::any_of(f.code.begin(), f.code.end(),
                     [](const Instruction& i) { return i.op == Opcode::INTERFACE_CALL; });
}

bool reaches(const Program& program, const Function& from) {
  const std::vector<const Function*> functions = reached(program, from);
  return std::any_of(functions.begin(), functions.end(),
                     [](const Function* f) { return asks_itself(*f); });
}

}  // namespace

// It does not recurse, as chains of calls may be long.
std::vector<const Function*> reached(const Program& program, const Function& from) {
  std::unordered_set<const Function*> seen{&from};
  std::vector<const Function*> found{&from};
  for (size_t at = 0; at < found.size(); ++at) {
    const Function& f = *found[at];
    if (calls_by_name(f)) {  // its callees are unknown: assume all
      found.clear();
      for (const auto& one : program.functions()) found.push_back(one.get());
      return found;
    }
    for (const Function* callee : f.callees) {
      if (callee && seen.insert(callee).second) found.push_back(callee);
    }
  }
  return found;
}

bool asks(const Program& program) {
  return std::any_of(program.functions().begin(), program.functions().end(),
                     [](const auto& f) { return asks_itself(*f); });
}

bool differentiates(const Program& program, const Function& function) {
  int8_t known = function.differentiates.load(std::memory_order_relaxed);
  if (known < 0) {
    known = reaches(program, function);
    function.differentiates.store(known, std::memory_order_relaxed);
  }
  return known != 0;
}

}  // namespace scriptlang::autograd
