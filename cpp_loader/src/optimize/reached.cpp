// Finds the operators that a program can call. It walks over the optimised functions, in which
// calls are inlined, operators are in groups, and branches on constants are decided.
#include "reached.h"

#include <set>

#include "lower/code.h"
#include "ops/custom.h"

namespace scriptlang::optimize {

namespace {

class Walk {
 public:
  explicit Walk(const Program& program) : program_(program) {}

  void add(const Function* f) {
    if (f && seen_.insert(f).second) left_.push_back(f);
  }

  std::vector<std::string> run() {
    while (!left_.empty()) {
      const Function* f = left_.back();
      left_.pop_back();
      add_operator_of_body(f->name);
      const Function* runs = f;
      if (f->is_raw) {
        const lower::Code& code = lower::code_of(*f);
        if (code.made) runs = code.made.get();
      }
      for (const InlinedCall& call : runs->inlined) { add_operator_of_body(call.function->name); }
      look_into(*runs);
    }
    return {names_.begin(), names_.end()};
  }

 private:
  void look_into(const Function& f) {
    for (const Instruction& i : f.code) {
      if (bytecode::info_of(i.op).x == bytecode::Operand::Operator) {
        const OperatorUse& use = f.operators[size_t(i.x)];
        const bool of_plugin = use.entry ? use.entry->at & kCustomEntry : !is_built_in(use.name);
        if (!of_plugin) names_.insert(use.qualified_name());
      } else if (i.op == Opcode::INTERFACE_CALL) {
        add_methods(f.constants[size_t(i.x)].as_string());
      } else if (i.op == Opcode::ENTER) {
        add_methods("__enter__");
        add_methods("__exit__");
      }
    }
    for (const Function* callee : f.callees) add(callee);
    for (const auto& part : f.parts) add(part.get());
  }

  // Adds the methods of this name of all classes, because the class is only known at run time.
  void add_methods(std::string_view name) {
    for (const auto& f : program_.functions()) {
      const std::string_view full = f->name;
      if (full.size() > name.size() && full[full.size() - name.size() - 1] == '.' &&
          full.substr(full.size() - name.size()) == name) {
        add(f.get());
      }
    }
  }

  // If the function is the body of a composite operator, adds the operator. Such a function has a
  // name like "aten__name__overload" (bodies.txt), with the prefix "former__" if the body is that
  // of a former version, and a suffix like "/2" if arguments have their defaults. Functions of
  // archives have other names.
  void add_operator_of_body(std::string_view name) {
    constexpr std::string_view kFormer = "former__", kArchives = "__torch__";
    if (name.substr(0, kArchives.size()) == kArchives) return;
    name = name.substr(0, name.find('/'));
    if (name.substr(0, kFormer.size()) == kFormer) name.remove_prefix(kFormer.size());
    const size_t space = name.find("__"), overload = name.rfind("__");
    if (space == std::string_view::npos || overload < space + 2) return;
    std::string made =
        concat(name.substr(0, space), "::", name.substr(space + 2, overload - space - 2));
    if (overload + 2 < name.size()) made.append(1, '.').append(name.substr(overload + 2));
    names_.insert(std::move(made));
  }

  const Program& program_;
  std::set<const Function*> seen_;
  std::vector<const Function*> left_;
  std::set<std::string> names_;
};

}  // namespace

std::vector<std::string> reached_operators(const Program& program,
                                           const std::vector<const Function*>& from) {
  Walk walk(program);
  for (const Function* f : from) walk.add(f);
  return walk.run();
}

}  // namespace scriptlang::optimize
