// Which operators are a step of their own.
#pragma once

#include <string>

#include "code.h"

namespace scriptlang::lower {

enum class Form : uint8_t {
  Unary, Binary, Compare, FloatCall, FloatCallTwo, DeriveIndex, RangeLength,
  Length, ListGet, ListSet, ListAppend, DictGet, DictGetOr, DictHas, DictSet, StringAt, StringSlice,
  StringAdd,
  ToText,
  StringEqual,
  StringOrder,
  Lent,     // an operator that neither keeps nor takes its arguments: see OP_LENT
  Same,     // the value as it is: prim::unchecked_cast
  Convert,  // of a Scalar: to the type of the result
  Numbers,  // of a Scalar each: what it is depends on the tags
};

// operands: a letter for each argument. i int, f float, b bool, n an int that is used as a float,
// '-' what is not looked at ahead.
struct Rule {
  const char* name;
  Form form;
  StepOp op;
  const char* operands;
  char result;  // i f b, or - where it is not known
  double (*function)(double) = nullptr;
  double (*function_two)(double, double) = nullptr;
};

// The rule of an operator by its qualified name; null when it is called as an operator.
const Rule* rule_of(const std::string& qualified_name);

}  // namespace scriptlang::lower
