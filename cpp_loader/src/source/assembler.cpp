// The assembler of the source compiler.
#include "assembler.h"

#include <cstring>

#include "ops/optable.h"

namespace scriptlang::source {

void Assembler::insert(size_t pc, Opcode op, int64_t x, int64_t n) {
  budget_.spend(&Budget::instructions, 1, "instructions");
  Instruction i;
  i.op = op;
  i.x = int32_t(x);
  i.n = int32_t(n);
  f_.code.insert(f_.code.begin() + ptrdiff_t(pc), i);
  f_.lines.insert(f_.lines.begin() + ptrdiff_t(pc), line);
}

void Assembler::erase(size_t begin, size_t end) {
  f_.code.erase(f_.code.begin() + ptrdiff_t(begin), f_.code.begin() + ptrdiff_t(end));
  f_.lines.erase(f_.lines.begin() + ptrdiff_t(begin), f_.lines.begin() + ptrdiff_t(end));
}

bool Assembler::end_block(size_t outer) {
  bool goes_on = dead_ == kAlive;
  if (!goes_on) erase(dead_, size());
  dead_ = outer;
  return goes_on;
}

int Assembler::constant(const Value& value) {
  std::string key(1, char(value.tag()));
  if (value.is_string()) {
    key.append(value.as_string());
  } else {  // numbers by their bits, which distinguish 0.0 from -0.0; others by identity
    uint64_t bits = value.is_none() ? 0 : value.bits();
    key.append(reinterpret_cast<const char*>(&bits), sizeof bits);
  }
  auto [it, fresh] = constants_.try_emplace(std::move(key), int(f_.constants.size()));
  if (fresh) f_.constants.push_back(value);
  return it->second;
}

int Assembler::type(T type) {
  auto [it, fresh] = types_.try_emplace(type, int(f_.types.size()));
  if (fresh) f_.types.push_back(Types::held(type));
  return it->second;
}

int Assembler::types(const std::vector<T>& row) {
  if (row.size() == 1) return type(row[0]);
  int first = int(f_.types.size());
  for (T t : row) f_.types.push_back(Types::held(t));
  return first;
}

int Assembler::callee(const Function* function) {
  auto [it, fresh] = callees_.try_emplace(function, int(f_.callees.size()));
  if (fresh) {
    f_.callees.push_back(function);
    f_.callee_names.push_back(function->name);
  }
  return it->second;
}

int Assembler::add_operation(OperatorUse use) {
  std::string key = use.qualified_name();
  key.append(1, '/').append(std::to_string(use.given));
  auto [it, fresh] = operations_.try_emplace(std::move(key), int(f_.operators.size()));
  if (fresh) f_.operators.push_back(std::move(use));
  return it->second;
}

int Assembler::operation(const Signature& signature, int given) {
  OperatorUse use;
  use.name = signature.name;
  use.overload = signature.overload;
  use.given = given;
  use.entry = signature.entry;
  use.results = int(signature.returns.size());
  use.total = int(signature.formals.size());
  for (auto f = signature.formals.rbegin(); f != signature.formals.rend() && f->written; ++f) {
    ++use.trailing_out;
  }
  for (int k = given - use.trailing_out; k < use.total - use.trailing_out; ++k) {
    use.defaults.push_back(signature.formals[size_t(k)].value);
  }
  return add_operation(std::move(use));
}

int Assembler::variadic_operation(const Signature& signature) {
  OperatorUse use;
  use.name = signature.name;
  use.overload = signature.overload;
  use.entry = signature.entry;
  use.results = int(signature.returns.size());
  use.variadic = true;
  return add_operation(std::move(use));
}

int Assembler::unknown_operation(const std::string& name) {
  OperatorUse use;
  use.name = name;
  return add_operation(std::move(use));
}

}  // namespace scriptlang::source
