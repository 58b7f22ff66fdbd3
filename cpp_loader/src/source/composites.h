// Bodies of operators for programs that come as bytecode: composites without a kernel, and what
// operators meant in files as old as the program's.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "compiler.h"

namespace scriptlang::source {

class Composites final : public OperatorBodies {
 public:
  explicit Composites(int version) : version_(version) {}
  const Function* find(const OperatorUse& use) override;
  std::vector<std::unique_ptr<Function>> take() override;

 private:
  const Function* wrapped(const Function* body, const Signature& signature, int given);
  int version_;
  std::unique_ptr<Compiler> compiler_;  // once there is something to compile
  std::vector<std::unique_ptr<Function>> wrappers_;
  std::unordered_map<std::string, const Function*> known_;
};

}  // namespace scriptlang::source
