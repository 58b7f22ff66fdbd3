// What nodes save of operators' arguments and results for the backward pass.
#pragma once

#include <memory>
#include <vector>

#include "node.h"

namespace scriptlang::autograd {

// One saved tensor: its elements and the edge of its gradient. The tensor itself is not kept,
// because its history changes if it is written to.
struct SavedTensor {
  Tensor elements;
  bool requires_grad = false;
  Edge edge;
  bool is_result = false;  // a result of the node itself, for which an edge would be a cycle
  uint32_t version = 0;
};

// A saved value: a tensor, tensors, the layout of a tensor, or another value.
struct Saved {
  char kind = 0;  // 0: not saved; 's': layout and dtype; '-': value; others as in Operator::takes
  std::unique_ptr<const Layout> layout;
  ScalarType dtype = ScalarType::Undefined;
  std::vector<SavedTensor> tensors;
  std::vector<char> present;  // list: whether each item is a tensor
  Value value;
};

Saved save(char kind, const Value& value, bool is_result = false, int32_t output = 0);

// Saves only the layout and dtype of a tensor. This keeps no memory alive, and the tensor may be
// written to.
Saved save_layout(const Tensor& t);

// Copies a list, because the program may change its own; other values are returned as they are.
Value frozen(const Value& value);

// The size of a tensor, or the list of sizes of a list of tensors; an empty list for None.
Value sizes_of(const Value& value);

}  // namespace scriptlang::autograd
