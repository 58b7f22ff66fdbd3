// What derivatives need to know of a tensor: the node that made it, or the gradient it collects.
//
// A tensor without a History is a leaf that nobody has recorded anything of.
#pragma once

#include <string>
#include <vector>

#include "values/tensor.h"
#include "values/value.h"

namespace scriptlang::autograd {

// What derivatives make is charged to the memory limit of the run that makes it.
struct Charged {
  static void* operator new(size_t bytes);
  static void operator delete(void* block, size_t bytes) noexcept;
};

class Node;
void destroy(Node* node) noexcept;
using NodeRef = Ref<Node>;

// Where a gradient goes: it is one of output `output` of a node. No node: it goes nowhere.
struct Edge {
  NodeRef node;
  int32_t output = 0;
};

struct History : Charged {
  NodeRef node;  // that made the tensor; null for a leaf
  int32_t output = 0;
  Node* collector = nullptr;  // of a leaf: the node that collects its gradient, while it lives
  Tensor grad;                // of a leaf, or of a tensor that retains it
  bool retains = false;
  bool watched = false;  // the host asked for its gradient
  Tensor base;           // of a view: what it is a view of, which is no view itself
  uint32_t writes = 0;   // of a base: recorded writes to it or to a view; of a view: the base's
                         // when `node` was made
};
void destroy(History* history) noexcept;

// The history of a tensor, made where there is none; null where there is none. Runs of two threads
// may share tensors of a module, so these functions and those below have one lock. What they give
// is changed by runs that are alone (machine/turns.h), or of tensors of their own.
History& history_of(const Tensor& t);
History* known_history(const Tensor& t);

// Lets a node be what made the tensor.
void set_node(const Tensor& t, const NodeRef& node, int32_t output);

// Whether a type has gradients.
constexpr bool is_differentiable(ScalarType t) { return is_floating(t) || is_complex(t); }

// Whether a tensor requires a gradient: a view does, too, from when something that requires one
// was written to its base.
bool needs_grad(const Tensor& t);

// Where the gradient of a tensor goes; nowhere if it requires none. If the base of a view was
// written to since, the view's node is made anew.
Edge edge_of(const Tensor& t);

// The node that collects the gradient of a leaf is no more.
void forget_collector(const Tensor& leaf, const Node* collector) noexcept;

// Makes a leaf require a gradient, or not. Raises RuntimeError for a tensor that is no leaf and for
// types that have no gradients. watched: the host asks, so calls that get the tensor record.
void require_grad(const Tensor& t, bool requires_grad, bool watched);

// Whether the host has asked for gradients of any tensor that lives.
bool any_watched() noexcept;

// The tensor itself, or tensors inside of a value, whose gradients the host has asked for.
bool is_watched(const Value& value);

bool is_leaf(const Tensor& t);

// Has backward runs leave the gradient of a tensor that is no leaf in it, too.
void retain_grad(const Tensor& t);

// Same elements, without a history.
Tensor detached(const Tensor& t);

// Lets a tensor be a leaf that requires no gradient. Raises RuntimeError for a view.
void detach_in_place(const Tensor& t);

}  // namespace scriptlang::autograd
