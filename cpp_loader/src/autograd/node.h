// The derivative graph, with a node for each recorded operator call.
//
// Nodes are numbered in the order of their creation, and edges lead from later nodes to earlier
// ones, so descending numbers are a valid order for the backward pass. Nodes without edges, which
// accumulate the gradients of leaves, come last.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "history.h"
#include "ops/op.h"

namespace scriptlang::autograd {

// Describes an output of a node; its gradient is converted to this type and shape.
struct Made {
  ScalarType dtype = ScalarType::Float32;
  std::vector<int64_t> sizes;
};

// The memory layout of a tensor.
struct Layout {
  explicit Layout(const Tensor& t)
      : sizes(t.sizes().begin(), t.sizes().end()),
        strides(t.strides().begin(), t.strides().end()),
        offset(t.storage_offset()) {}
  // Returns an uninitialised tensor with this layout, for code that reads only its geometry.
  Tensor tensor(ScalarType dtype) const;
  // Turns the layout of a complex tensor into that of its real view, in which the pairs are one
  // more dimension.
  void count_reals();

  std::vector<int64_t> sizes, strides;
  int64_t offset;
};

// Options of a backward pass.
struct Task {
  bool keeps = false;    // saved tensors are kept for another pass
  bool records = false;  // the backward pass itself is recorded, for higher derivatives
};

class Node : public Charged {
 public:
  Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node() = default;

  // PyTorch's name of the node, such as MulBackward0.
  virtual std::string name() const = 0;
  // Returns the gradients of the inputs, one for each edge of `next`, undefined where none flows.
  // `grads` has one gradient for each of `made`; `wanted` says for which edges to compute one.
  virtual std::vector<Tensor> backward(Context& ctx, std::vector<Tensor>& grads,
                                       const std::vector<char>& wanted, const Task& task) = 0;
  // Drops the saved tensors; returns whether there were any.
  virtual bool release() { return false; }
  // The node of the operator that this one runs, which may be in the graph as well: if a second
  // derivative goes through what it saved.
  virtual const Node* inner() const { return nullptr; }
  // Adds the edge of the next input. If the edge's node is newer than this one (that of a view
  // whose base was written to), this node gets a new, higher number.
  void add_edge(Edge edge);

  std::atomic<uint32_t> refs{1};
  uint64_t number;
  bool is_released = false;
  std::vector<Edge> next;
  std::vector<Made> made;
  std::vector<TensorImpl*> retained;  // tensors among its outputs that retain their gradients
};

Made made_of(const Tensor& t);

// Makes the node that accumulates the gradient of a leaf in its History.
Node* make_collector(const Tensor& leaf);
bool is_collector(const Node& node);
const Tensor& leaf_of(const Node& collector);

// Marks a tensor as computed outside the engine: its gradients end at a node of its own.
void set_outside(const Tensor& t);

// Calls an operator and returns its first result; the call is recorded if the context records.
Tensor call(Context& ctx, const char* qualified_name, std::vector<Value> arguments);

}  // namespace scriptlang::autograd
