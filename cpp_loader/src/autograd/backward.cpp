// The backward pass: visits nodes in descending order of their numbers.
#include "backward.h"

#include <algorithm>
#include <unordered_map>

#include "kernels/stop.h"
#include "record.h"

namespace scriptlang::autograd {

namespace {

// The gradients of a node's outputs, summed so far.
using Buffer = std::vector<Tensor>;

class Run {
 public:
  Run(Context& ctx, const Request& request) : ctx_(ctx), request_(request) {
    task_.keeps = request.keeps_graph || request.creates_graph;
    task_.records = request.creates_graph;
    ctx_.records = ctx_.grad_enabled = task_.records;
  }

  std::vector<Tensor> go() {
    for (size_t k = 0; k < request_.inputs.size(); ++k) wanted_.push_back(input_edge(k));
    wanted_.insert(wanted_.end(), request_.edges.begin(), request_.edges.end());
    std::vector<Edge> roots;
    for (const Tensor& output : request_.outputs) roots.push_back(edge_of(output));
    find(roots);
    find_needed();
    for (size_t k = 0; k < roots.size(); ++k) { add(roots[k], root_gradient(k)); }
    std::vector<Tensor> found(wanted_.size());
    for (Node* node : order_) {
      kernels::worked(1 << 12);
      auto it = buffers_.find(node);
      if (it == buffers_.end()) continue;
      Buffer grads = std::move(it->second);
      buffers_.erase(it);
      capture(*node, grads, &found);
      if (!is_run(*node)) continue;
      visit(*node, grads);
    }
    for (Node* node : late_) free(*node);
    return found;
  }

 private:
  // The edge of a tensor whose gradient is wanted, which may be a leaf or not.
  Edge input_edge(size_t k) const {
    if (!request_.inputs[k].requires_grad()) {
      raise(ErrorKind::RuntimeError, "element ", k, " of the input tensors does not require grad");
    }
    return edge_of(request_.inputs[k]);
  }

  Tensor root_gradient(size_t k) {
    const Tensor& output = request_.outputs[k];
    if (k < request_.grad_outputs.size() && request_.grad_outputs[k].defined()) {
      const Tensor& grad = request_.grad_outputs[k];
      if (!expands_to(output.sizes(), grad.sizes())) {
        raise(ErrorKind::RuntimeError, "invalid gradient at index ", k, " - got ",
              to_string(grad.sizes()), " but expected shape compatible with ",
              to_string(output.sizes()));
      }
      if (is_complex(grad.dtype()) != is_complex(output.dtype())) {
        raise(ErrorKind::RuntimeError,
              "For complex Tensors, both grad_output and output are required to have the same "
              "dtype. Mismatch in dtype: grad_output[",
              k, "] has a dtype of ", dtype_name(grad.dtype()), " and output[", k,
              "] has a dtype of ", dtype_name(output.dtype()), ".");
      }
      return grad;
    }
    if (output.numel() != 1) {
      raise(ErrorKind::RuntimeError, "grad can be implicitly created only for scalar outputs");
    }
    if (!is_floating(output.dtype())) {
      raise(ErrorKind::RuntimeError,
            "grad can be implicitly created only for real scalar outputs but got ",
            dtype_name(output.dtype()));
    }
    return call(ctx_, "aten::ones_like", {output, Value(), Value(), Value(), Value(), Value()});
  }

  // Whether a tensor of some size can be expanded to another one; its gradient is a sum then.
  static bool expands_to(IntSpan size, IntSpan larger) {
    if (size.size > larger.size) return false;
    for (int64_t k = 1; k <= size.size; ++k) {
      const int64_t n = size[size.size - k];
      if (n != 1 && n != larger[larger.size - k]) return false;
    }
    return true;
  }

  // Finds all nodes reachable from the roots and sorts them into the order of visits.
  void find(const std::vector<Edge>& roots) {
    std::vector<Node*> queue;
    auto reach = [&](const Edge& edge) {
      if (edge.node && is_needed_.emplace(edge.node.get(), false).second) {
        queue.push_back(edge.node.get());
      }
    };
    for (const Edge& root : roots) reach(root);
    for (size_t k = 0; k < queue.size(); ++k) {
      for (const Edge& edge : queue[k]->next) reach(edge);
    }
    for (const Node* node : queue) {
      if (node->inner() && is_needed_.count(node->inner())) inner_.emplace(node->inner(), true);
    }
    order_ = std::move(queue);
    std::sort(order_.begin(), order_.end(),
              [](const Node* a, const Node* b) { return a->number > b->number; });
  }

  // Marks the nodes that lie on a path to one of the inputs; all nodes if there are no inputs.
  void find_needed() {
    const bool all = wanted_.empty();
    for (const Edge& edge : wanted_) targets_.insert({edge.node.get(), true});
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      bool needed = all || targets_.count(*it);
      for (const Edge& edge : (*it)->next) {
        needed = needed || (edge.node && is_needed_[edge.node.get()]);
      }
      is_needed_[*it] = needed;
    }
  }

  // Whether the node's backward function must run, because something beyond the node is wanted and
  // not only its own gradient.
  bool is_run(const Node& node) const {
    if (is_collector(node)) return request_.accumulate && is_needed_.at(&node);
    return std::any_of(node.next.begin(), node.next.end(), [&](const Edge& edge) {
      return edge.node && is_needed_.at(edge.node.get());
    });
  }

  void capture(Node& node, Buffer& grads, std::vector<Tensor>* found) {
    for (size_t k = 0; k < wanted_.size(); ++k) {
      if (wanted_[k].node.get() == &node) (*found)[k] = grads[size_t(wanted_[k].output)];
    }
    for (TensorImpl* retained : node.retained) {
      const Tensor& grad = grads[size_t(retained->history->output)];
      if (grad.defined() && request_.accumulate) set_gradient(retained->history, grad);
    }
  }

  void visit(Node& node, Buffer& grads) {
    if (std::none_of(grads.begin(), grads.end(), [](const Tensor& g) { return g.defined(); })) {
      return;
    }
    if (node.is_released) {
      raise(
          ErrorKind::RuntimeError,
          "Trying to backward through the graph a second time (or directly access saved tensors "
          "after they have already been freed). Saved intermediate values of the graph are freed "
          "when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
          "backward through the graph a second time or if you need to access saved tensors after "
          "calling backward.");
    }
    std::vector<char> wanted;
    for (const Edge& edge : node.next) {
      wanted.push_back(edge.node && is_needed_[edge.node.get()]);
    }
    std::vector<Tensor> gradients = node.backward(ctx_, grads, wanted, task_);
    if (!task_.keeps) {
      if (is_shared(node)) {
        late_.push_back(&node);
      } else {
        free(node);
      }
    }
    for (size_t k = 0; k < gradients.size(); ++k) {
      if (wanted[k] && gradients[k].defined()) add(node.next[k], std::move(gradients[k]));
    }
  }

  static void free(Node& node) {
    if (node.release()) node.is_released = true;
  }

  // Whether a node shares what it saved with another one of this pass.
  bool is_shared(const Node& node) const {
    return inner_.count(&node) || (node.inner() && is_needed_.count(node.inner()));
  }

  void add(const Edge& edge, Tensor grad) {
    if (!edge.node || !is_needed_[edge.node.get()]) return;
    const Made& made = edge.node->made[size_t(edge.output)];
    grad = fitted(std::move(grad), made);
    Buffer& buffer = buffers_[edge.node.get()];
    buffer.resize(edge.node->made.size());
    Tensor& sum = buffer[size_t(edge.output)];
    sum = sum.defined() ? call(ctx_, "aten::add.Tensor", {sum, grad, Value(1)}) : std::move(grad);
  }

  // Converts a gradient to the dtype and shape of the tensor that it belongs to.
  Tensor fitted(Tensor grad, const Made& made) {
    if (is_complex(grad.dtype()) && !is_complex(made.dtype)) {
      grad = call(ctx_, "aten::real", {grad});
    }
    if (grad.sizes() != IntSpan(made.sizes)) {
      grad = call(ctx_, "aten::sum_to_size", {grad, int_list(made.sizes)});
    }
    if (grad.dtype() != made.dtype) {
      grad = call(ctx_, "aten::to.dtype",
                  {grad, Value(int64_t(made.dtype)), Value(false), Value(false), Value()});
    }
    return grad;
  }

  Context& ctx_;
  const Request& request_;
  Task task_;
  std::vector<Edge> wanted_;
  std::vector<Node*> order_;
  std::unordered_map<const Node*, bool> is_needed_, targets_;
  std::unordered_map<const Node*, bool> inner_;  // nodes that others run, and the graph, too
  std::vector<Node*> late_;                      // what is released at the end for that
  std::unordered_map<Node*, Buffer> buffers_;
};

}  // namespace

std::vector<Tensor> go_backward(Context& ctx, Request request) {
  for (size_t k = 0; k < request.outputs.size(); ++k) {
    if (!request.outputs[k].requires_grad()) {
      raise(ErrorKind::RuntimeError, "element ", k,
            " of tensors does not require grad and does not have a grad_fn");
    }
  }
#if defined(SL_NO_TRAINING)  // the code below is never reached
  raise(ErrorKind::RuntimeError, "this build of the library computes no derivatives");
#endif
  Context inner = ctx;
  std::vector<Tensor> found = Run(inner, request).go();
  for (size_t k = 0; k < found.size() && !request.allows_unused; ++k) {
    if (!found[k].defined()) {
      raise(ErrorKind::RuntimeError, "element ", k,
            "of the differentiated Tensors appears to not have been used in the graph. Set "
            "allow_unused=True if this is the desired behavior.");  // as PyTorch spells it
    }
  }
  return found;
}

}  // namespace scriptlang::autograd
