// Histories of tensors: who requires gradients, and where these go.
#include "history.h"

#include <algorithm>
#include <mutex>
#include <unordered_set>

#include "node.h"
#include "values/dict.h"
#include "values/list.h"

namespace scriptlang::autograd {

namespace {

std::atomic<int64_t> watched_count{0};
// Guards the histories of tensors that threads share.
std::recursive_mutex lock;
using Guard = std::lock_guard<std::recursive_mutex>;

bool is_differentiable(ScalarType dtype) { return is_floating(dtype) || is_complex(dtype); }

NodeRef collector_of(const Tensor& leaf) {
  Node*& known = history_of(leaf).collector;
  if (known) {  // unless its last reference goes right now
    uint32_t now = known->refs.load(std::memory_order_relaxed);
    while (now != 0 && !known->refs.compare_exchange_weak(now, now + 1)) {}
    if (now != 0) return NodeRef(known);
  }
  known = make_collector(leaf);
  return NodeRef(known);
}

// The node of a view whose base was written to: it takes its part out of the base's gradient.
class ViewNode final : public Node {
 public:
  ViewNode(const Tensor& view, const Tensor& base)
      : sizes_(view.sizes().begin(), view.sizes().end()),
        strides_(view.strides().begin(), view.strides().end()),
        offset_(view.storage_offset() - base.storage_offset()),
        base_sizes_(base.sizes().begin(), base.sizes().end()) {
    next.push_back(edge_of(base));
    made.push_back(made_of(view));
  }
  std::string name() const override { return "AsStridedBackward0"; }
  std::vector<Tensor> backward(Context& ctx, std::vector<Tensor>& grads, const std::vector<char>&,
                               const Task&) override {
    Tensor whole = call(ctx, "aten::new_zeros",
                        {grads[0], int_list(base_sizes_), Value(), Value(), Value(), Value()});
    return {call(ctx, "aten::as_strided_scatter",
                 {whole, grads[0], int_list(sizes_), int_list(strides_), Value(offset_)})};
  }

 private:
  std::vector<int64_t> sizes_, strides_;
  int64_t offset_;
  std::vector<int64_t> base_sizes_;
};

// Gradients that a tensor retains come to its node.
void stop_retaining(History* history) noexcept {
  Guard guard(lock);
  std::vector<TensorImpl*>& known = history->node->retained;
  known.erase(std::remove_if(known.begin(), known.end(),
                             [&](TensorImpl* t) { return t->history == history; }),
              known.end());
}

bool find_watched(const Value& value, std::unordered_set<const void*>& seen) {
  if (value.is_tensor()) {
    const Tensor& t = value.as_tensor();
    const History* history = t.requires_grad() ? known_history(t) : nullptr;
    return history && (history->watched || history->node);
  }
  auto any = [&](const auto& items) {
    if (!seen.insert(&items).second) return false;
    for (const Value& item : items) {
      if (find_watched(item, seen)) return true;
    }
    return false;
  };
  if (value.is_list()) return value.as_list().kind() == List::Kind::Values && any(value.as_list());
  if (value.is_tuple()) return any(value.as_tuple().items);
  if (value.is_object()) return any(value.as_object().slots);
  if (value.is_dict()) {
    if (!seen.insert(&value.as_dict()).second) return false;
    const Dict::Entry* entry;
    for (size_t cursor = 0; value.as_dict().next(&cursor, &entry);) {
      if (find_watched(entry->key, seen) || find_watched(entry->value, seen)) return true;
    }
  }
  return false;
}

}  // namespace

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

// Puts a node into a history; gives the one that was there. To be called with the lock, under which
// nothing may be dropped: memory of a host may go with it, whose release waits for who knows what.
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

Edge edge_of(const Tensor& t) {
  if (!t.requires_grad()) return {};
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
  if (requires_grad && !is_differentiable(t.dtype())) {
    raise(ErrorKind::RuntimeError, "only Tensors of floating point dtype can require gradients");
  }
  if (!requires_grad && !is_leaf(t)) {
    raise(
        ErrorKind::RuntimeError,
        "you can only change requires_grad flags of leaf variables. If you want to use a computed "
        "variable in a subgraph that doesn't require differentiation use "
        "var_no_grad = var.detach().");
  }
  t.impl()->requires_grad = requires_grad;
  if (!watched || !requires_grad) return;
  History& history = history_of(t);
  if (!history.watched) watched_count.fetch_add(1, std::memory_order_relaxed);
  history.watched = true;
}

bool any_watched() noexcept { return watched_count.load(std::memory_order_relaxed) != 0; }

bool is_watched(const Value& value) {
  std::unordered_set<const void*> seen;
  return find_watched(value, seen);
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

}  // namespace scriptlang::autograd
