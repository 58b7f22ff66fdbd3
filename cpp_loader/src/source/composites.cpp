// Finds and compiles the bodies of operators for programs that come as bytecode.
#include "composites.h"

#include <algorithm>

namespace scriptlang::source {

const Function* Composites::find(const OperatorUse& use) {
  if (use.entry && !Compiler::has_changed(use.name, version_)) return nullptr;  // the usual case
  std::string key = use.qualified_name();
  key.append(1, '/').append(std::to_string(use.given));
  auto [it, fresh] = known_.try_emplace(std::move(key), nullptr);
  if (!fresh) return it->second;
  if (!compiler_) {
    compiler_ = std::make_unique<Compiler>(Sources(), std::make_shared<ClassTable>(), version_);
  }
  const Signature* signature = nullptr;
  const Function* body = compiler_->body(use.name, use.overload, &signature);
  if (!body || signature->returns.size() != 1) return nullptr;
  const int total = int(signature->formals.size());
  const int given = use.given < 0 ? total : use.given;
  if (given > total) return nullptr;
  return it->second = given == total ? body : wrapped(body, *signature, given);
}

// Makes a function of `given` arguments that calls `body` with the defaults of the others. These
// are the first arguments, and all out arguments, which come last. Null if an argument has no
// default.
const Function* Composites::wrapped(const Function* body, const Signature& signature, int given) {
  const auto& formals = signature.formals;
  const int total = int(formals.size());
  int outs = 0;
  while (outs < total && formals[size_t(total - 1 - outs)].written) ++outs;
  const int first = given - outs;
  if (first < 0) return nullptr;
  auto made = std::make_unique<Function>();
  Function& f = *made;
  f.name = concat(body->name, "/", given);
  f.file = body->file;
  f.parameters = f.registers = given;
  auto emit = [&](Opcode op, int x, int n = 0) {
    Instruction i;
    i.op = op;
    i.x = x;
    i.n = n;
    f.code.push_back(i);
    f.lines.push_back(1);
  };
  if (given == 1) emit(Opcode::STORE, 1);
  if (given > 1) emit(Opcode::STOREN, 1, given);
  for (int k = 0; k < first; ++k) emit(Opcode::MOVE, k + 1);
  for (int k = first; k < total - outs; ++k) {
    if (!formals[size_t(k)].has_default) return nullptr;
    emit(Opcode::LOADC, int(f.constants.size()));
    f.constants.push_back(formals[size_t(k)].value);
  }
  for (int k = first; k < given; ++k) emit(Opcode::MOVE, k + 1);
  f.callees.push_back(body);
  f.callee_names.push_back(body->name);
  emit(Opcode::CALL, 0);
  emit(Opcode::RET, 0);
  wrappers_.push_back(std::move(made));
  return wrappers_.back().get();
}

std::vector<std::unique_ptr<Function>> Composites::take() {
  std::vector<std::unique_ptr<Function>> made;
  if (compiler_) made = compiler_->functions();
  std::move(wrappers_.begin(), wrappers_.end(), std::back_inserter(made));
  wrappers_.clear();
  return made;
}

}  // namespace scriptlang::source
