// Reads derivatives.txt, and compiles and runs its functions.
#include "rules.h"

#include <mutex>
#include <unordered_map>

#include "machine/vm.h"
#include "source/compiler.h"
#include "source/packed.h"

namespace scriptlang::autograd {

namespace {

// The name of the function in derivatives.txt for part k of an operator's rule.
std::string function_name(std::string_view qualified_name, size_t k) {
  const size_t colons = qualified_name.find("::"), dot = qualified_name.find('.');
  const std::string_view none;
  std::string_view overload = dot == none.npos ? none : qualified_name.substr(dot + 1);
  return concat("derivative__", qualified_name.substr(0, colons), "__",
                qualified_name.substr(colons + 2, dot == none.npos ? dot : dot - colons - 2), "__",
                overload, "__", k);
}

// Splits at a separator and strips blanks from the parts.
std::vector<std::string_view> cut(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at <= text.size();) {
    size_t end = std::min(text.find(separator, at), text.size());
    std::string_view part = text.substr(at, end - at);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    parts.push_back(part);
    at = end + 1;
  }
  return parts;
}

// Parses the parts of a rule, which bars separate: "self, end | weight [self]".
Rule read(std::string_view name, std::string_view text) {
  Rule rule;
  if (text == "none" || text == "apart") {
    rule.kind = text == "none" ? Rule::Nothing : Rule::Apart;
    return rule;
  }
  rule.kind = text == "instead" ? Rule::Instead : Rule::Gradients;
  for (std::string_view inputs : cut(text, '|')) {
    Rule::Part part;
    if (const size_t bracket = inputs.find(" ["); bracket != inputs.npos) {
      const std::string_view shapes = inputs.substr(bracket + 2, inputs.size() - bracket - 3);
      for (std::string_view name : cut(shapes, ' ')) part.shapes.emplace_back(name);
      inputs = inputs.substr(0, bracket);
    }
    for (std::string_view input : cut(inputs, ',')) part.inputs.emplace_back(input);
    part.function = function_name(name, rule.parts.size());
    rule.parts.push_back(std::move(part));
  }
  return rule;
}

using Rules = std::unordered_map<std::string, Rule>;

// Reads the lines "#! operator parts" and "#= form operator" of the text; the latter give a form of
// an operator the same rule and must follow it.
Rules read_all() {
  Rules rules;
  for (std::string_view line : cut(source::derivatives_text(), '\n')) {
    const std::string_view mark = line.substr(0, 3);
    if (mark != "#! " && mark != "#= ") continue;
    line.remove_prefix(3);
    const size_t blank = line.find(' ');
    const std::string name(line.substr(0, blank));
    line.remove_prefix(blank + 1);
    rules[name] = mark == "#! " ? read(name, line) : rules.at(std::string(line));
  }
  return rules;
}

}  // namespace

const Rule& rule_of(std::string_view qualified_name) {
  static const Rules rules = read_all();
  static const Rule missing;
  auto it = rules.find(std::string(qualified_name));
  return it == rules.end() ? missing : it->second;
}

const RuleFunction& function_of(const std::string& name) {
  static std::mutex lock;
  static std::unordered_map<std::string, std::unique_ptr<const RuleFunction>> known;
  std::lock_guard<std::mutex> guard(lock);
  std::unique_ptr<const RuleFunction>& found = known[name];
  if (found) return *found;
  auto classes = std::make_shared<ClassTable>();
  constexpr int kToday = 1 << 20;  // newer than any file: operators have today's meaning
  source::Compiler compiler(source::Sources(), classes, kToday);
  auto made = std::make_unique<RuleFunction>();
  made->function = compiler.derivative(name);
  SL_CHECK(made->function, "the library has no ", name);
  made->program = Program::assemble(compiler.functions(), classes);
  SL_CHECK(made->function->refusal.empty(), made->function->refusal);
  found = std::move(made);
  return *found;
}

Value run(Context& ctx, const RuleFunction& rule, std::vector<Value> arguments, bool records) {
  Context inner = ctx;
  inner.records = inner.grad_enabled = records;
  inner.nested = true;
  for (const Value& argument : arguments) argument.publish();
  return execute(*rule.program, *rule.function, arguments, inner, Limits());
}

}  // namespace scriptlang::autograd
