// What nodes save of the arguments and results of operators, for the way back.
#pragma once

#include <memory>
#include <vector>

#include "node.h"

namespace scriptlang::autograd {

// What a node saved of one tensor: its elements and where its gradient goes, not the tensor itself,
// whose history changes if it is written to.
struct SavedTensor {
  Tensor elements;
  bool requires_grad = false;
  Edge edge;
  bool is_result = false;  // of the node itself: that edge would be a cycle
  uint32_t version = 0;
};

// A value that a node saved: a tensor, tensors, how a tensor lies in memory, or something else.
struct Saved {
  char kind = 0;  // 0: not saved; 's': layout and dtype; '-': value; others as in Operator::takes
  std::unique_ptr<const Layout> layout;
  ScalarType dtype = ScalarType::Undefined;
  std::vector<SavedTensor> tensors;
  std::vector<char> present;  // of a list: whether there is a tensor at each place
  Value value;
};

Saved save(char kind, const Value& value, bool is_result = false, int32_t output = 0);

// Of a tensor that only its geometry and type are asked for. It keeps no memory alive, and may be
// written to.
Saved save_layout(const Tensor& t);

// The same list for nobody else: programs may write to theirs.
Value frozen(const Value& value);

// The size of a tensor, sizes of a list, no sizes of None.
Value sizes_of(const Value& value);

}  // namespace scriptlang::autograd
