// The graph of derivatives: a node for each recorded call of an operator.
//
// Nodes have numbers that grow as they are made, and edges go from later nodes to earlier ones: the
// numbers are an order in which to go backward. Nodes without edges, which collect the gradients of
// leaves, come last.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "history.h"
#include "ops/op.h"

namespace scriptlang::autograd {

// What is known of a tensor whose gradient comes to a node: the gradient gets its type and shape.
struct Made {
  ScalarType dtype = ScalarType::Float32;
  std::vector<int64_t> sizes;
};

// How a tensor lies in its memory.
struct Layout {
  explicit Layout(const Tensor& t)
      : sizes(t.sizes().begin(), t.sizes().end()),
        strides(t.strides().begin(), t.strides().end()),
        offset(t.storage_offset()) {}
  // A tensor that lies so, of any elements: to be asked for its geometry.
  Tensor tensor(ScalarType dtype) const;
  // That of a complex tensor, for the real numbers in it: pairs are another dimension.
  void count_reals();

  std::vector<int64_t> sizes, strides;
  int64_t offset;
};

// What a backward run is asked for.
struct Task {
  bool keeps = false;    // what nodes saved stays, for another run
  bool records = false;  // the gradients can be differentiated
};

class Node : public Charged {
 public:
  Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  virtual ~Node() = default;

  // PyTorch's name of it: MulBackward0.
  virtual std::string name() const = 0;
  // The gradients of the inputs, one for each edge of `next`, undefined where none flows. grads:
  // one for each of `made`. wanted: which edges to compute.
  virtual std::vector<Tensor> backward(Context& ctx, std::vector<Tensor>& grads,
                                       const std::vector<char>& wanted, const Task& task) = 0;
  // Drops the tensors that were saved; whether there were any.
  virtual bool release() { return false; }
  // Adds where the gradient of the next input goes. An edge may be made while a node is (that of a
  // view whose base was written): the number of the node grows with it.
  void add_edge(Edge edge);

  std::atomic<uint32_t> refs{1};
  uint64_t number;
  bool is_released = false;
  std::vector<Edge> next;
  std::vector<Made> made;
  std::vector<TensorImpl*> retained;  // tensors among its outputs that retain their gradients
};

Made made_of(const Tensor& t);

// The node that collects the gradient of a leaf in its History.
Node* make_collector(const Tensor& leaf);
bool is_collector(const Node& node);
const Tensor& leaf_of(const Node& collector);

// Makes a tensor one that something outside has computed: gradients of it end at its node.
void set_outside(const Tensor& t);

// Calls an operator on tensors and other values, recorded if the context records.
Tensor call(Context& ctx, const char* qualified_name, std::vector<Value> arguments);

}  // namespace scriptlang::autograd
