// What the derivative graph knows about a tensor: the node that made it, or the gradient that it
// accumulates.
//
// A tensor without a History is a leaf about which nothing is recorded.
#pragma once

#include <string>
#include <vector>

#include "values/tensor.h"
#include "values/value.h"

namespace scriptlang::autograd {

// Base of objects of the derivative graph, which are charged to the memory limit of the current
// run.
struct Charged {
  static void* operator new(size_t bytes);
  static void operator delete(void* block, size_t bytes) noexcept;
};

class Node;
void destroy(Node* node) noexcept;
using NodeRef = Ref<Node>;

// Where a gradient flows: to output number `output` of a node. Null: nowhere.
struct Edge {
  NodeRef node;
  int32_t output = 0;
};

struct History : Charged {
  NodeRef node;  // the node that made the tensor; null for a leaf
  int32_t output = 0;
  Node* collector = nullptr;  // leaf: its accumulation node, while that exists; not owned
  Tensor grad;                // of a leaf, or of a tensor that retains its gradient
  bool retains = false;
  bool watched = false;  // the host asked for its gradient
  Tensor base;           // of a view: the tensor it is a view of, itself not a view
  uint32_t writes = 0;   // base: number of recorded writes to it or its views; view: that number
                         // when `node` was made
};
void destroy(History* history) noexcept;

// history_of returns a tensor's history and creates it if needed; known_history returns null if
// there is none. Threads may share tensors of a module, so these functions and those below take one
// lock. The History itself may be changed only by runs that are alone (machine/turns.h), or if the
// tensor belongs to the run.
History& history_of(const Tensor& t);
History* known_history(const Tensor& t);

// The gradient that a tensor has accumulated, or none.
Tensor gradient_of(const Tensor& t);
void set_gradient(History* history, Tensor grad);

// Makes output number `output` of a node the origin of a tensor.
void set_node(const Tensor& t, const NodeRef& node, int32_t output);

// Whether tensors of a type can have gradients.
constexpr bool is_differentiable(ScalarType t) { return is_floating(t) || is_complex(t); }

// Whether a tensor requires a gradient. A view also does once something that requires one was
// written to its base.
bool needs_grad(const Tensor& t);

// Where the gradient of a tensor flows; nowhere if it requires none. If the base of a view was
// written to since the view's node was made, the node is replaced.
Edge edge_of(const Tensor& t);

// Clears the pointer to an accumulation node that is being destroyed.
void forget_collector(const Tensor& leaf, const Node* collector) noexcept;

// Sets whether a leaf requires a gradient. Raises RuntimeError for non-leaf tensors and for types
// without gradients. `watched` means that the host asks, so that calls with the tensor are
// recorded.
void require_grad(const Tensor& t, bool requires_grad, bool watched);

// Whether the host has asked for gradients of any living tensor.
bool any_watched() noexcept;

// Whether a value is or contains a tensor that requires a gradient for the host: the host asked for
// it, or it was computed by recorded operators.
bool is_watched(const Value& value);

bool is_leaf(const Tensor& t);

// Makes backward passes store the gradient of a non-leaf tensor in it, too.
void retain_grad(const Tensor& t);

// A view of the same elements without a history.
Tensor detached(const Tensor& t);

// Turns a tensor into a leaf that requires no gradient. Raises RuntimeError for a view that
// requires one.
void detach_in_place(const Tensor& t);

}  // namespace scriptlang::autograd
