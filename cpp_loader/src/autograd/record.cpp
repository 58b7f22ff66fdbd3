// Runs operators while derivatives are recorded: makes nodes, and keeps track of views and writes.
#include "record.h"

#include "lower/code.h"
#include "operator_node.h"
#include "values/list.h"

namespace scriptlang::autograd {

namespace {

bool requires_grad(const Operator& op, Args args) {
  bool any = false;
  for (size_t k = 0; k < op.takes.size() && !any; ++k) {
    if (!op.counts[k]) continue;
    each_tensor(args[int(k)], [&](const Tensor& t) { any = any || needs_grad(t); });
  }
  return any;
}

// The node of a base after an operator has written to a view of it: the gradient of the part that
// was written flows through the operator's node, the rest to the base's previous node.
class WriteNode final : public Node {
 public:
  WriteNode(const Tensor& base, const Tensor& view, NodeRef function)
      : function_(std::move(function)),
        splits_(is_complex(base.dtype()) && !is_complex(view.dtype())),
        joins_(!is_complex(base.dtype()) && is_complex(view.dtype())),
        base_(base),
        view_(view) {
    if (joins_) view_.count_reals();
    view_.offset -= splits_ ? 2 * base_.offset : base_.offset;
    add_edge(edge_of(base));
    for (size_t k = 1; k < function_->next.size(); ++k) add_edge(function_->next[k]);
    made.push_back(made_of(base));
  }
  std::string name() const override { return "CopySlices"; }
  std::vector<Tensor> backward(Context& ctx, std::vector<Tensor>& grads,
                               const std::vector<char>& wanted, const Task& task) override {
    // The gradient gets the base's layout, so that the view covers the same part of it.
    Tensor whole = call(ctx, "aten::empty_strided",
                        {int_list(base_.sizes), int_list(base_.strides),
                         Value(int64_t(grads[0].dtype())), Value(), Value(), Value()});
    call(ctx, "aten::copy_", {whole, grads[0], Value(false)});
    Tensor part = splits_ ? call(ctx, "aten::view_as_real", {whole}) : whole;
    part = call(ctx, "aten::as_strided",
                {part, int_list(view_.sizes), int_list(view_.strides),
                 Value(part.storage_offset() + view_.offset)});
    if (joins_) part = call(ctx, "aten::view_as_complex", {part});
    std::vector<Tensor> given{call(ctx, "aten::clone", {part, Value()})};
    std::vector<Tensor> gradients = function_->backward(ctx, given, wanted, task);
    Tensor of_view = std::move(gradients.at(0));
    if (!wanted[0]) {
      whole = Tensor();
    } else if (of_view.defined()) {
      call(ctx, "aten::copy_", {part, of_view, Value(false)});
    } else {
      call(ctx, "aten::zero_", {part});
    }
    gradients[0] = std::move(whole);
    return gradients;
  }
  bool release() override { return function_->release(); }
  const Node* inner() const override { return function_.get(); }

 private:
  NodeRef function_;  // the operator's node; its first edge is that of the view
  // splits_: the base is complex and the view real. joins_: the base is real and the view takes
  // pairs of its numbers as complex ones.
  const bool splits_, joins_;
  Layout base_, view_;
};

// After an in-place operator: makes `node` the node of the tensor and, if that is a view, updates
// its base.
void rewrite(const Tensor& self, const NodeRef& node) {
  History& known = history_of(self);
  node->made.assign(1, made_of(self));
  if (!known.base.defined()) {
    ++known.writes;  // so that its views renew their nodes
    return set_node(self, node, 0);
  }
  const Tensor base = known.base;
  NodeRef whole(new WriteNode(base, self, node));
  set_node(base, whole, 0);
  ++history_of(base).writes;
  self.impl()->requires_grad = true;
  (void)edge_of(self);  // replaces its node
}

// After an in-place operator that changed only the tensor's layout: tensors that share the memory
// are not affected.
void turn(const Tensor& self, const NodeRef& node) {
  node->made.assign(1, made_of(self));
  set_node(self, node, 0);
}

void check_in_place(const Tensor& self) {
  if (self.requires_grad() && is_leaf(self)) {
    raise(ErrorKind::RuntimeError,
          "a leaf Variable that requires grad is being used in an in-place operation.");
  }
  const History* history = known_history(self);
  if (!history || !history->base.defined()) return;
  const Tensor& base = history->base;
  if (base.requires_grad() && is_leaf(base)) {
    raise(ErrorKind::RuntimeError,
          "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  }
}

// Whether a result is one of the arguments itself.
bool is_given(const Tensor& t, Args args, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    bool same = false;
    each_tensor(args[int(k)], [&](const Tensor& given) { same = same || given.is(t); });
    if (same) return true;
  }
  return false;
}

// Notes that a result is a view if it shares the memory of an argument: a write to one changes the
// other.
void note_view(const Operator& op, const std::vector<Value>& kept, const Tensor& made) {
  for (size_t k = 0; k < op.takes.size(); ++k) {
    if (op.takes[k] != 't' || !kept[k].is_tensor()) continue;
    const Tensor& of = kept[k].as_tensor();
    if (of.storage() != made.storage() || of.is(made)) continue;
    History& history = history_of(made);
    const History* known = known_history(of);
    history.base = known && known->base.defined() ? known->base : of;
    const History* base = known_history(history.base);
    history.writes = base ? base->writes : 0;
    return;
  }
}

template <class Visit>
void each_result(const Operator& op, const Value* out, Visit&& visit) {
  int32_t output = 0;
  for (size_t k = 0; k < op.schema->returns.size(); ++k) {
    const char kind = kind_of(*op.schema->returns[k].type);
    if (kind == 'l' && out[k].is_list()) {
      for (const Value& item : out[k].as_list()) {
        if (item.is_tensor()) visit(item.as_tensor(), output);
        ++output;
      }
    } else {
      if (kind == 't' && out[k].is_tensor()) visit(out[k].as_tensor(), output);
      ++output;
    }
  }
}

void run_instead(Context& ctx, const Operator& op, Args args, Value* out, int results) {
  const RuleFunction& body = function_of(op.rule->parts[0].function);
  std::vector<Value> arguments;
  for (const Argument& a : body.function->arguments) {
    for (size_t k = 0; k < op.schema->arguments.size(); ++k) {
      if (op.schema->arguments[k].name == a.name) arguments.push_back(args[int(k)]);
    }
  }
  Value made = run(ctx, body, std::move(arguments), true);
  if (op.is_in_place) {
    call(ctx, "aten::copy_", {args[0], made, Value(false)});
    out[0] = args[0];
  } else if (results == 1) {
    out[0] = std::move(made);
  } else {
    for (int k = 0; k < results; ++k) out[k] = made.as_tuple().items[size_t(k)];
  }
}

void count_writes(const Operator& op, const std::vector<Value>& kept) {
  for (size_t k = 0; k < op.writes.size(); ++k) {
    if (!op.writes[k]) continue;
    each_tensor(kept[k], [](const Tensor& t) { ++t.storage()->version(); });
  }
}

}  // namespace

void run_recorded(Context& ctx, const OpEntry* entry, OpFn run, Args args, Value* out,
                  int results) {
  if (!entry) return run(ctx, args, out);
  const Operator& op = operator_of(*entry);
  const bool is_apart = op.rule->kind == Rule::Apart;
  if (!op.makes_tensors || is_apart || op.schema->variadic_arguments) return run(ctx, args, out);
  const size_t count = op.takes.size();
  const bool records = ctx.grad_enabled && requires_grad(op, args);
  if (records && op.has_out) {
    raise(
        ErrorKind::RuntimeError, op.schema->name.substr(op.schema->name.find("::") + 2),
        "(): functions with out=... arguments don't support automatic differentiation, but one of "
        "the arguments requires grad.");
  }
  if (records && op.rule->kind == Rule::Instead) return run_instead(ctx, op, args, out, results);
  // A copy, because operators may move from their arguments.
  const std::vector<Value> kept(args.data(), args.data() + count);
  NodeRef node;
  if (records && op.rule->kind != Rule::Nothing) {
    if (op.is_in_place) check_in_place(args.tensor(0));
    node = NodeRef(new OperatorNode(op, args));
  }
  run(ctx, args, out);
  count_writes(op, kept);
  if (node && op.is_in_place) {
    const Tensor& self = kept[0].as_tensor();
    if (!is_differentiable(self.dtype())) return;
    static_cast<OperatorNode*>(node.get())->save_results(out);
    return op.is_turning ? turn(self, node) : rewrite(self, node);
  }
  if (node) {
    int32_t made = 0;
    each_result(op, out, [&](const Tensor& t, int32_t output) {
      node->made.resize(size_t(output) + 1);
      node->made[size_t(output)] = made_of(t);
      if (!is_differentiable(t.dtype()) ||
          is_given(t, Args(const_cast<Value*>(kept.data()), int(count)), count)) {
        return;
      }
      set_node(t, node, output);
      ++made;
    });
    if (made > 0) static_cast<OperatorNode*>(node.get())->save_results(out);
  }
  if (op.rule->kind == Rule::Nothing || op.is_in_place) return;
  each_result(op, out, [&](const Tensor& t, int32_t) { note_view(op, kept, t); });
}

void run_recorded(Context& ctx, const lower::Call& call, Args args, Value* out) {
  run_recorded(ctx, call.use->entry, call.run, args, out, call.results);
}

}  // namespace scriptlang::autograd
