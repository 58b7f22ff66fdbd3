// Nodes that do not belong to operators: accumulation nodes of leaves, and nodes of outside
// results.
#include "node.h"

#include <algorithm>

#include "record.h"

namespace scriptlang::autograd {

namespace {

std::atomic<uint64_t> next_number{1};

class Collector final : public Node {
 public:
  explicit Collector(const Tensor& leaf) : leaf_(leaf) {
    number = 0;  // visited after all others
    made.push_back(made_of(leaf));
  }
  ~Collector() override { forget_collector(leaf_, this); }
  std::string name() const override { return "AccumulateGrad"; }
  std::vector<Tensor> backward(Context& ctx, std::vector<Tensor>& grads, const std::vector<char>&,
                               const Task& task) override {
    History& history = history_of(leaf_);
    const Tensor sum = gradient_of(leaf_);
    if (!sum.defined()) {
      // The gradient may be shared, and later ones are added to it in place: copy it unless this is
      // the only reference.
      const bool alone = grads[0].impl()->refs.load(std::memory_order_acquire) == 1 &&
                         grads[0].storage()->unique();
      set_gradient(&history, task.records || alone ? std::move(grads[0])
                                                   : call(ctx, "aten::clone", {grads[0], Value()}));
    } else if (task.records) {
      set_gradient(&history, call(ctx, "aten::add.Tensor", {sum, grads[0], Value(1)}));
    } else {
      call(ctx, "aten::add_.Tensor", {sum, grads[0], Value(1)});
    }
    return {};
  }
  const Tensor& leaf() const { return leaf_; }

 private:
  Tensor leaf_;
};

class Outside final : public Node {
 public:
  explicit Outside(const Tensor& t) { made.push_back(made_of(t)); }
  std::string name() const override { return "Outside"; }
  std::vector<Tensor> backward(Context&, std::vector<Tensor>&, const std::vector<char>&,
                               const Task&) override {
    return {};
  }
};

}  // namespace

void set_outside(const Tensor& t) { set_node(t, NodeRef(new Outside(t)), 0); }

Node::Node() : number(next_number.fetch_add(1, std::memory_order_relaxed)) {}

void Node::add_edge(Edge edge) {
  if (edge.node && edge.node->number > number) {
    number = next_number.fetch_add(1, std::memory_order_relaxed);
  }
  next.push_back(std::move(edge));
}

// A chain of nodes may be long, so it is destroyed by a loop instead of nested destructors.
void destroy(Node* node) noexcept {
  static thread_local std::vector<Node*>* pending = nullptr;
  if (pending) return pending->push_back(node);
  std::vector<Node*> queue{node};
  pending = &queue;
  while (!queue.empty()) {
    Node* last = queue.back();
    queue.pop_back();
    delete last;
  }
  pending = nullptr;
}

Made made_of(const Tensor& t) { return {t.dtype(), {t.sizes().begin(), t.sizes().end()}}; }

Tensor Layout::tensor(ScalarType dtype) const {
  int64_t count = offset;
  if (std::find(sizes.begin(), sizes.end(), 0) == sizes.end()) {
    ++count;
    for (size_t k = 0; k < sizes.size(); ++k) count += (sizes[k] - 1) * strides[k];
  }
  return Tensor::empty({count}, dtype).as_strided(sizes, strides, offset);
}

void Layout::count_reals() {
  for (int64_t& stride : strides) stride *= 2;
  sizes.push_back(2);
  strides.push_back(1);
  offset *= 2;
}

Node* make_collector(const Tensor& leaf) { return new Collector(leaf); }
bool is_collector(const Node& node) { return node.number == 0; }
const Tensor& leaf_of(const Node& collector) {
  return static_cast<const Collector&>(collector).leaf();
}

Tensor call(Context& ctx, const char* qualified_name, std::vector<Value> arguments) {
  const OpEntry* entry = find_op(qualified_name);
  if (!entry) raise(ErrorKind::MissingOperator, "this build lacks ", qualified_name);
  Value out;
  Args args(arguments.data(), int(arguments.size()));
  if (ctx.records) {
    run_recorded(ctx, entry, entry->run, args, &out, 1);
  } else {
    entry->run(ctx, args, &out);
  }
  return out.as_tensor();
}

}  // namespace scriptlang::autograd
