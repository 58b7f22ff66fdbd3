// What recording knows about an operator: which arguments are tensors, which are written to, and
// the rule of its derivative.
#pragma once

#include <string>
#include <vector>

#include "ops/op.h"
#include "ops/optable.h"
#include "rules.h"
#include "values/list.h"

namespace scriptlang::autograd {

struct Operator {
  const Schema* schema;
  std::string qualified_name;
  std::vector<char> takes;   // per argument: 't' a tensor or None, 'l' tensors, '-' others
  std::vector<char> writes;  // per argument: whether it is written to
  // Per argument: whether the call is recorded if that requires a gradient. Where the rule has a
  // gradient for others alone, it is not.
  std::vector<char> counts;
  bool is_in_place = false;  // the first argument is written to and returned
  bool is_turning = false;   // in place, but changes only the layout of the argument
  bool has_out = false;
  bool makes_tensors = false;
  const Rule* rule;
};

// Returns 't' for a tensor or None, 'l' for a list of tensors, '-' for other types.
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
