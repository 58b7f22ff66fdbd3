// Histories of tensors: which tensors require gradients, and where these flow.
#include "history.h"

#include <algorithm>
#include <mutex>

#include "node.h"
#include "rules.h"
#include "values/walk.h"

namespace scriptlang::autograd {

namespace {

std::atomic<int64_t> watched_count{0};
// Guards the histories of tensors that threads share.
std::recursive_mutex lock;
using Guard = std::lock_guard<std::recursive_mutex>;

NodeRef collector_of(const Tensor& leaf) {
  Node*& known = history_of(leaf).collector;
  if (known) {  // unless its last reference is being dropped right now
    uint32_t now = known->refs.load(std::memory_order_relaxed);
    while (now != 0 && !known->refs.compare_exchange_weak(now, now + 1)) {}
    if (now != 0) return NodeRef(known);
  }
  known = make_collector(leaf);
  return NodeRef(known);
}

// The node of a view after its base was written to: it passes the gradient of the view to the part
// of the base's gradient that the view covers.
class ViewNode final : public Node {
 public:
  ViewNode(const Tensor& view, const Tensor& base)
      : splits_(is_complex(base.dtype()) && !is_complex(view.dtype())),
        joins_(!is_complex(base.dtype()) && is_complex(view.dtype())),
        base_(base),
        view_(view) {
    if (splits_) base_.count_reals();
    if (joins_) view_.count_reals();
    view_.offset -= base_.offset;  // the gradient has the base's layout, starting at offset 0
    base_.offset = std::max<int64_t>(0, -view_.offset);
    view_.offset += base_.offset;
    add_edge(edge_of(base));
    made.push_back(made_of(view));
  }
  std::string name() const override { return "AsStridedBackward0"; }
  std::vector<Tensor> backward(Context& ctx, std::vector<Tensor>& grads, const std::vector<char>&,
                               const Task& task) override {
    static const RuleFunction& rule = function_of(rule_of("aten::as_strided").parts.at(0).function);
    const Tensor grad = joins_ ? call(ctx, "aten::view_as_real", {grads[0]}) : grads[0];
    std::vector<Value> arguments;
    for (const Argument& a : rule.function->arguments) {
      arguments.push_back(argument(a.name, grad));
    }
    Tensor made = run(ctx, rule, std::move(arguments), task.records).as_tensor();
    if (!splits_) return {made};
    made = call(ctx, "aten::clone", {made, Value(int64_t(0))});  // makes pairs adjacent
    return {call(ctx, "aten::view_as_complex", {made})};
  }

 private:
  // The value of a named argument of the derivative of as_strided.
  Value argument(std::string_view name, const Tensor& grad) const {
    if (name == "grad") return Value(grad);
    if (name == "self") return Value(base_.tensor(grad.dtype()));  // only its geometry is read
    if (name == "size") return int_list(view_.sizes);
    if (name == "stride") return int_list(view_.strides);
    SL_CHECK(name == "storage_offset", "the derivative of as_strided names ", name);
    return Value(view_.offset);
  }

  const bool splits_, joins_;  // as in WriteNode
  Layout base_, view_;
};

// Removes a tensor with this history from its node's list of tensors that retain their gradients.
void stop_retaining(History* history) noexcept {
  Guard guard(lock);
  std::vector<TensorImpl*>& known = history->node->retained;
  known.erase(std::remove_if(known.begin(), known.end(),
                             [&](TensorImpl* t) { return t->history == history; }),
              known.end());
}

}  // namespace

// Charged per object for what its vectors hold, which is not counted individually.
constexpr size_t kHeld = 256;

void* Charged::operator new(size_t bytes) {
  memory::charge(int64_t(bytes + kHeld));
  return ::operator new(bytes);
}

void Charged::operator delete(void* block, size_t bytes) noexcept {
  memory::uncharge(int64_t(bytes + kHeld));
  ::operator delete(block);
}

void destroy(History* history) noexcept {
  if (history->retains && history->node) stop_retaining(history);
  if (history->watched) watched_count.fetch_sub(1, std::memory_order_relaxed);
  delete history;
}

History* known_history(const Tensor& t) {
  Guard guard(lock);
  return t.impl()->history;
}

History& history_of(const Tensor& t) {
  Guard guard(lock);
  if (!t.impl()->history) t.impl()->history = new History;
  return *t.impl()->history;
}

Tensor gradient_of(const Tensor& t) {
  Guard guard(lock);
  return t.impl()->history ? t.impl()->history->grad : Tensor();
}

void set_gradient(History* history, Tensor grad) {
  Guard guard(lock);
  std::swap(history->grad, grad);  // the caller drops the old one, after the lock was released
}

// Sets the node of a tensor's history and returns the previous one. The caller holds the lock and
// must drop the previous node only after releasing it: dropping a node may release memory of the
// host, whose callback may block.
static NodeRef exchange(const Tensor& t, NodeRef node, int32_t output) {
  t.impl()->requires_grad = true;
  History& history = history_of(t);
  if (history.retains && history.node) stop_retaining(&history);
  if (history.retains) node->retained.push_back(t.impl());
  history.output = output;
  return std::exchange(history.node, std::move(node));
}

void set_node(const Tensor& t, const NodeRef& node, int32_t output) {
  NodeRef before;
  Guard guard(lock);
  before = exchange(t, node, output);
}

bool needs_grad(const Tensor& t) {
  if (t.requires_grad()) return true;
  const History* history = t.impl()->history;
  return history && history->base.defined() && history->base.requires_grad() &&
         is_differentiable(t.dtype());
}

Edge edge_of(const Tensor& t) {
  if (!needs_grad(t)) return {};
  NodeRef before;
  Guard guard(lock);
  History* known = t.impl()->history;
  if (known && known->base.defined() && known->base.impl()->history) {
    History& base = *known->base.impl()->history;
    if (base.writes != known->writes) {
      before = exchange(t, NodeRef(new ViewNode(t, known->base)), 0);
      known->writes = base.writes;
    }
  }
  if (known && known->node) return {known->node, known->output};
  return {collector_of(t), 0};
}

void forget_collector(const Tensor& leaf, const Node* collector) noexcept {
  Guard guard(lock);
  History* history = leaf.impl()->history;
  if (history && history->collector == collector) history->collector = nullptr;
}

void require_grad(const Tensor& t, bool requires_grad, bool watched) {
#if defined(SL_NO_TRAINING)
  if (requires_grad) {
    raise(ErrorKind::RuntimeError,
          "this build of the library computes no derivatives: build with SCRIPTLANG_TRAINING=ON");
  }
#endif
  if (requires_grad && !is_differentiable(t.dtype())) {
    raise(ErrorKind::RuntimeError,
          "Only Tensors of floating point and complex dtype can require gradients");
  }
  if (!requires_grad && !is_leaf(t)) {
    raise(
        ErrorKind::RuntimeError,
        "you can only change requires_grad flags of leaf variables. If you want to use a computed "
        "variable in a subgraph that doesn't require differentiation use "
        "var_no_grad = var.detach().");
  }
  Guard guard(lock);
  t.impl()->requires_grad = requires_grad;
  if (!watched || !requires_grad) return;
  History& history = history_of(t);
  if (!history.watched) watched_count.fetch_add(1, std::memory_order_relaxed);
  history.watched = true;
}

bool any_watched() noexcept { return watched_count.load(std::memory_order_relaxed) != 0; }

bool is_watched(const Value& value) {
  bool found = false;
  walk(value, [&](const Value& inside) {
    if (inside.is_tensor() && inside.as_tensor().requires_grad()) {
      const History* history = known_history(inside.as_tensor());
      found = found || (history && (history->watched || history->node));
    }
    return !found;
  });
  return found;
}

bool is_leaf(const Tensor& t) {
  const History* history = t.requires_grad() ? known_history(t) : nullptr;
  return !history || !history->node;
}

void retain_grad(const Tensor& t) {
  if (is_leaf(t)) return;
  History& history = history_of(t);
  if (history.retains) return;
  (void)edge_of(t);
  history.retains = true;
  history.node->retained.push_back(t.impl());
}

Tensor detached(const Tensor& t) {
  return t.as_strided(t.sizes(), t.strides(), t.storage_offset());
}

void detach_in_place(const Tensor& t) {
  NodeRef before;
  Guard guard(lock);
  if (History* history = t.impl()->history) {
    if (history->base.defined() && needs_grad(t)) {
      raise(ErrorKind::RuntimeError,
            "Can't detach views in-place. Use detach() instead. If you are using "
            "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set as "
            "True, gradients are views of DDP buckets, and hence detach_() cannot be called on "
            "these gradients. To fix this error, please refer to the Optimizer.zero_grad() "
            "function in torch/optim/optimizer.py as the solution.");
    }
    if (history->retains && history->node) stop_retaining(history);
    history->retains = false;
    history->output = 0;
    before = std::move(history->node);
  }
  t.impl()->requires_grad = false;
}

}  // namespace scriptlang::autograd
