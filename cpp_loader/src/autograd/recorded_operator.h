// What recording knows of an operator: which arguments are tensors, which are written, and the rule
// of its derivative.
#pragma once

#include <string>
#include <vector>

#include "ops/op.h"
#include "ops/optable.h"
#include "rules.h"
#include "values/list.h"

namespace scriptlang::autograd {

// What recording knows of an operator.
struct Operator {
  const Schema* schema;
  std::string qualified_name;
  std::vector<char> takes;  // of each argument: 't' a tensor or None, 'l' tensors, '-' other values
  std::vector<char> writes;  // whether it is written
  bool is_in_place = false;  // the first argument is written, and is the result
  bool is_turning = false;   // in place, but only how the argument lies in its memory changes
  bool has_out = false;
  bool makes_tensors = false;
  const Rule* rule;
};

// 't' of a tensor or None, 'l' of tensors, '-' of others.
char kind_of(const Type& type);

const Operator& operator_of(const OpEntry& entry);

template <class Visit>
void each_tensor(const Value& value, Visit&& visit) {
  if (value.is_tensor()) return visit(value.as_tensor());
  if (!value.is_list() || value.as_list().kind() != List::Kind::Values) return;
  for (const Value& item : value.as_list()) {
    if (item.is_tensor()) visit(item.as_tensor());
  }
}

}  // namespace scriptlang::autograd
