// What functions become as register code, and what that gives: as lowered, and as plain code.
#pragma once

#include "assembler.h"
#include "harness.h"
#include "lower/lowering.h"

namespace test {

namespace lower = scriptlang::lower;
using lower::StepOp;

inline int count(const lower::Code& code, StepOp op) {
  int found = 0;
  for (const lower::Step& step : code.steps) found += step.op == op;
  return found;
}

// The register code of a function, as long as its program is kept.
inline const lower::Code& lowered(const Code& code,
                                  std::shared_ptr<const scriptlang::Program>* keep) {
  *keep = decode({code});
  return lower::code_of(*(*keep)->find(code.name));
}

inline const scriptlang::Limits& some_limits() {
  static const scriptlang::Limits limits = [] {
    scriptlang::Limits some;
    some.instructions = 100000;
    return some;
  }();
  return limits;
}

// The text of the first function's result, or of the error and where it happened.
inline std::string outcome(const std::vector<Code>& codes, std::vector<Value> arguments, bool plain,
                           const scriptlang::Limits& limits = some_limits()) {
  auto program = decode(codes);
  for (const auto& f : program->functions()) {
    if (plain) f->lowered.store(lower::plain_code(*f).release());
  }
  scriptlang::Context context;
  try {
    const scriptlang::Function& f = *program->find(codes[0].name);
    return text_of(scriptlang::run(*program, f, std::move(arguments), context, limits));
  } catch (const scriptlang::Error& e) {
    std::string kind = scriptlang::error_kind_name(e.kind);
    std::string place = e.stack.empty() ? "" : " at " + std::to_string(e.stack[0].pc);
    return kind + ": " + e.message + place;
  }
}

inline void check_same(const std::vector<Code>& codes, const std::vector<Value>& arguments,
                       const std::string& want) {
  CHECK_EQ(outcome(codes, arguments, false), want);
  CHECK_EQ(outcome(codes, arguments, true), want);
}

// An error may be raised at another instruction by lowered code, which checks arguments first.
inline std::string without_place(const std::string& outcome) {
  return outcome.substr(0, outcome.rfind(" at "));
}
inline void check_alike(const std::vector<Code>& codes, const std::vector<Value>& arguments,
                        const std::string& want) {
  CHECK_EQ(without_place(outcome(codes, arguments, false)), want);
  CHECK_EQ(without_place(outcome(codes, arguments, true)), want);
}

}  // namespace test
