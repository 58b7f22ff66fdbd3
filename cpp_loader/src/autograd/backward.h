// The backward pass: computes gradients of leaves, or of the tensors asked for, from those of
// outputs.
#pragma once

#include <vector>

#include "node.h"

namespace scriptlang::autograd {

struct Request {
  std::vector<Tensor> outputs;
  std::vector<Tensor> grad_outputs;  // undefined: ones, for one-element outputs
  std::vector<Tensor> inputs;        // tensors whose gradients are wanted; none: all leaves
  std::vector<Edge> edges;           // wanted as well; these gradients follow
  bool accumulate = false;           // into the leaves; else the gradients are returned
  bool keeps_graph = false;
  bool creates_graph = false;
  bool allows_unused = false;
};

// Returns the gradients of `inputs` and `edges`, in order. With allows_unused, a gradient is
// undefined if the outputs do not depend on the input. Raises RuntimeError as PyTorch does.
std::vector<Tensor> go_backward(Context& ctx, Request request);

}  // namespace scriptlang::autograd
