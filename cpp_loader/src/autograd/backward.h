// Going backward: gradients of outputs become gradients of leaves, or of the tensors asked for.
#pragma once

#include <vector>

#include "node.h"

namespace scriptlang::autograd {

struct Request {
  std::vector<Tensor> outputs;
  std::vector<Tensor> grad_outputs;  // undefined: 1, for outputs of one element
  std::vector<Tensor> inputs;        // whose gradients are wanted; none: all leaves
  std::vector<Edge> edges;           // the same, where their gradients go: those behind `inputs`
  bool accumulate = false;           // into the leaves; else the gradients are given back
  bool keeps_graph = false;
  bool creates_graph = false;
  bool allows_unused = false;
};

// The gradients of `inputs`, in order, undefined where nothing flows (with allows_unused); empty if
// they were accumulated. Raises RuntimeError as PyTorch does.
std::vector<Tensor> go_backward(Context& ctx, Request request);

}  // namespace scriptlang::autograd
