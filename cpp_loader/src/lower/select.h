// The table of operators that are lowered to steps instead of calls.
#pragma once

#include <string>

#include "code.h"

namespace scriptlang::lower {

enum class RuleKind : uint8_t {
  Unary,
  Binary,
  Compare,
  FloatCall,
  FloatCallTwo,
  DeriveIndex,
  RangeLength,
  Length,
  ListGet,
  ListSet,
  ListAppend,
  DictGet,
  DictGetOr,
  DictHas,
  DictSet,
  StringAt,
  StringSlice,
  StringAdd,
  ToText,
  StringEqual,
  StringOrder,
  Borrowed,  // an operator that only reads its arguments: see OP_BORROWED
  Changes,   // one that borrows its arguments, and changes the first
  Same,      // the result is the operand: prim::unchecked_cast
  Convert,   // a Scalar to the type of the result
  Numbers,   // on Scalars: the proven tags of the operands choose the step
};

// operands: a letter for each argument. i int, f float, b bool, n an int that is used as a float,
// '-' any value: its type is not checked before the step.
struct Rule {
  const char* name;
  RuleKind kind;
  StepOp op;
  const char* operands;
  char result;  // i f b, or '-' if the type is not known
  double (*function)(double) = nullptr;
  double (*function_two)(double, double) = nullptr;
};

// The rule of an operator, by its qualified name; null if the operator is always called.
const Rule* rule_of(const std::string& qualified_name);

}  // namespace scriptlang::lower
