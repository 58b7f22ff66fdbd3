// Arguments for operators, chosen by the bytes of an input.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "ops/optable.h"

namespace fuzz {

// Choices that the bytes make; when they are used up, numbers that follow from them.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size);
  int pick(int n);
  bool chance(int percent) { return pick(100) < percent; }

 private:
  const uint8_t *at_, *end_;
  std::mt19937_64 random_;
};

// The arguments of one call: tensors have a size and a type in common, most of the time; numbers
// are what their names suggest, or extreme.
class OperatorArguments {
 public:
  explicit OperatorArguments(Choices& choices);
  std::vector<scriptlang::Value> of(const scriptlang::Schema& schema);

 private:
  scriptlang::Value of(const scriptlang::Type& type, const std::string& name);
  int64_t integer(const std::string& name);
  double number();
  scriptlang::Value text();
  scriptlang::Value list(const scriptlang::TypeRef& element, const std::string& name);
  scriptlang::Value tensor(const std::string& name);
  scriptlang::Value laid_out(scriptlang::ScalarType type, const std::vector<int64_t>& sizes,
                             bool is_index);
  void fill(char* data, int64_t count, scriptlang::ScalarType type, bool is_index);
  int pick(int n) { return choices_.pick(n); }

  Choices& choices_;
  int hostility_;  // percent
  std::vector<int64_t> sizes_;
  scriptlang::ScalarType type_;
  scriptlang::TypeKind element_;  // what a type variable stands for
  std::vector<scriptlang::Value> tensors_;
};

}  // namespace fuzz
