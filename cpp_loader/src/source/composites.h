// Bodies of operators for programs that come as bytecode: those of composite operators without a
// kernel, and those of operators that did something else in files of the program's version.
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
  std::unique_ptr<Compiler> compiler_;  // made when first needed
  std::vector<std::unique_ptr<Function>> wrappers_;
  std::unordered_map<std::string, const Function*> known_;
};

}  // namespace scriptlang::source
