// Saves what the derivative rule of an operator needs, and runs the rule in the backward pass.
#include "operator_node.h"

#include <algorithm>

#include "values/plain_text.h"

namespace scriptlang::autograd {

namespace {

// PyTorch's name of an operator's node: aten::mul_.Tensor gives MulBackward0.
std::string node_name(std::string_view qualified_name) {
  std::string_view name = qualified_name.substr(qualified_name.find("::") + 2);
  name = name.substr(0, name.find('.'));
  std::string made;
  bool upper = true;
  for (char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    made += upper ? char(ascii_upper(c)) : c;
    upper = false;
  }
  return made + "Backward0";
}

std::string type_text(const Tensor& t) {
  return concat("torch.", dtype_display_name(t.dtype()), "Tensor ", to_string(t.sizes()));
}

}  // namespace

OperatorNode::OperatorNode(const Operator& op, Args args) : op_(op) {
  for (size_t k = 0; k < op.takes.size(); ++k) {
    const Value& value = args[int(k)];
    first_.push_back(int(next.size()));
    count_.push_back(0);
    if (op.takes[k] == '-') continue;
    if (value.is_tensor()) {
      add_edge(edge_of(value.as_tensor()));
      count_.back() = 1;
    } else if (value.is_list()) {
      for (const Value& item : value.as_list()) {
        add_edge(item.is_tensor() ? edge_of(item.as_tensor()) : Edge());
        ++count_.back();
      }
    }
  }
  arguments_.resize(op.takes.size());
  results_.resize(op.schema->returns.size());
  for (const Rule::Part& part : op.rule->parts) {
    parts_.push_back({&part, is_wanted(part) ? &function_of(part.function) : nullptr});
  }
  for (const auto& [part, rule] : parts_) {
    if (!rule) continue;
    for (const Argument& a : rule->function->arguments) {
      int k = argument(a.name);
      if (k >= 0) {
        save_argument(args, k, asks_layout(*part, a.name));
        continue;
      }
      std::string_view of = sized(a.name);
      if (k = argument(of); k >= 0) sizes_.emplace(a.name, frozen(sizes_of(args[k])));
      if (result(a.name) >= 0 || (k < 0 && result(of) >= 0)) needs_results_ = true;
    }
  }
}

std::string OperatorNode::name() const { return node_name(op_.qualified_name); }

void OperatorNode::save_results(const Value* out) {
  if (!needs_results_) return;
  int32_t output = 0;
  for (size_t k = 0; k < results_.size(); ++k) {
    const char kind = kind_of(*op_.schema->returns[k].type);
    const bool is_layout = kind == 't' && out[k].is_tensor() && wants_layout(k);
    results_[k] = is_layout ? save_layout(out[k].as_tensor()) : save(kind, out[k], true, output);
    result_sizes_.push_back(frozen(sizes_of(out[k])));
    output += kind == 'l' && out[k].is_list() ? int32_t(out[k].as_list().size()) : 1;
  }
}

std::vector<Tensor> OperatorNode::backward(Context& ctx, std::vector<Tensor>& grads,
                                           const std::vector<char>& wanted, const Task& task) {
  if (op_.rule->kind == Rule::Missing) {
    raise(ErrorKind::MissingOperator, "scriptlang cannot go backward through ", op_.qualified_name,
          ": it has no rule for the derivative");
  }
  std::vector<Tensor> gradients(next.size());
  for (const auto& [part, rule] : parts_) {
    Ref<List> needs = List::make({}, TypeRef());
    bool any = false;
    for (const std::string& input : part->inputs) {
      bool needed = needs_input(argument(input), wanted);
      any = any || needed;
      needs->push(Value(needed));
    }
    if (!any || !rule) continue;
    std::vector<Value> arguments;
    for (const Argument& a : rule->function->arguments) {
      arguments.push_back(a.name == "needs" ? Value(needs) : given(a, grads, task.records));
    }
    Value made = run(ctx, *rule, std::move(arguments), task.records);
    if (part->inputs.size() == 1) {
      put(argument(part->inputs[0]), made, &gradients);
    } else {
      const Tuple& all = made.as_tuple();
      for (size_t k = 0; k < part->inputs.size() && k < all.items.size(); ++k) {
        put(argument(part->inputs[k]), all.items[k], &gradients);
      }
    }
  }
  return gradients;
}

bool OperatorNode::release() {
  bool any = false;
  for (std::vector<Saved>* all : {&arguments_, &results_}) {
    for (Saved& saved : *all) {
      if (saved.tensors.empty()) continue;
      saved = Saved();
      any = true;
    }
  }
  return any;
}

bool OperatorNode::asks_layout(const Rule::Part& part, const std::string& name) {
  return std::find(part.shapes.begin(), part.shapes.end(), name) != part.shapes.end();
}

bool OperatorNode::wants_layout(size_t k) const {
  for (const auto& [part, rule] : parts_) {
    if (!rule) continue;
    for (const Argument& a : rule->function->arguments) {
      if (result(a.name) == int(k) && !asks_layout(*part, a.name)) return false;
    }
  }
  return true;
}

void OperatorNode::save_argument(Args args, int k, bool is_layout) {
  Saved& saved = arguments_[size_t(k)];
  if (is_layout && op_.takes[size_t(k)] == 't' && args[k].is_tensor()) {
    if (saved.kind == 0) saved = save_layout(args[k].as_tensor());
  } else if (saved.kind == 0 || saved.kind == 's') {
    saved = save(op_.takes[size_t(k)], original(args, k));
  }
}

Value OperatorNode::original(Args args, int k) const {
  const Value& value = args[k];
  if (!op_.writes[size_t(k)] || !value.is_tensor()) return value;
  const Tensor& t = value.as_tensor();
  Tensor copy = Tensor::empty_like(t, t.dtype());
  Context plain;
  call(plain, "aten::copy_", {copy, detached(t), Value(false)});
  if (t.requires_grad()) {
    Edge edge = edge_of(t);
    set_node(copy, edge.node, edge.output);
  }
  return Value(std::move(copy));
}

int OperatorNode::argument(std::string_view name) const {
  for (size_t k = 0; k < op_.schema->arguments.size(); ++k) {
    if (op_.schema->arguments[k].name == name) return int(k);
  }
  return -1;
}

std::string_view OperatorNode::sized(std::string_view name) {
  constexpr std::string_view kSize = "_size";
  const bool is_size =
      name.size() > kSize.size() && name.substr(name.size() - kSize.size()) == kSize;
  return is_size ? name.substr(0, name.size() - kSize.size()) : std::string_view();
}

int OperatorNode::result(std::string_view name) const {
  if (argument(name) >= 0) return -1;
  const auto& returns = op_.schema->returns;
  if (name == "result") return 0;
  for (size_t k = 0; k < returns.size(); ++k) {
    if (returns[k].name == name || concat("result", k) == name) return int(k);
  }
  return -1;
}

bool OperatorNode::is_wanted(const Rule::Part& part) const {
  return std::any_of(part.inputs.begin(), part.inputs.end(), [&](const std::string& input) {
    return needs_input(argument(input), std::vector<char>(next.size(), 1));
  });
}

bool OperatorNode::needs_input(int k, const std::vector<char>& wanted) const {
  if (k < 0) return false;
  for (int i = first_[size_t(k)]; i < first_[size_t(k)] + count_[size_t(k)]; ++i) {
    if (next[size_t(i)].node && wanted[size_t(i)]) return true;
  }
  return false;
}

Value OperatorNode::given(const Argument& a, const std::vector<Tensor>& grads, bool records) {
  const std::string_view name = a.name;
  int k = argument(name);
  if (k >= 0) return restored(arguments_[size_t(k)], records);
  k = name == "grad" ? 0 : name.substr(0, 5) == "grad_" ? result(name.substr(5)) : -1;
  if (k >= 0) return gradient(a, size_t(k), grads);
  k = result(name);
  if (k >= 0) return restored(results_[size_t(k)], records);
  if (auto it = sizes_.find(a.name); it != sizes_.end()) return it->second;
  k = result(sized(name));
  if (k >= 0) return result_sizes_[size_t(k)];
  raise(ErrorKind::RuntimeError, "the derivative of ", op_.qualified_name, " names ", name);
}

Value OperatorNode::gradient(const Argument& a, size_t k, const std::vector<Tensor>& grads) const {
  if (kind_of(*op_.schema->returns[k].type) != 'l') {
    return k < grads.size() ? Value(grads[k]) : Value();
  }
  std::vector<Value> items;
  const bool optional =
      a.type->kind == TypeKind::List && a.type->elements[0]->kind == TypeKind::Optional;
  for (size_t i = 0; i < grads.size(); ++i) {
    items.push_back(grads[i].defined() || optional ? Value(grads[i]) : Value(zeros(i)));
  }
  return Value(List::make(std::move(items), a.type->elements[0]));
}

Tensor OperatorNode::zeros(size_t output) const {
  return Tensor::zeros(made[output].sizes, made[output].dtype);
}

Value OperatorNode::restored(const Saved& saved, bool records) {
  if (saved.kind == '-' || saved.kind == 0) return saved.value;
  if (saved.kind == 's') return Value(saved.layout->tensor(saved.dtype));
  if (saved.kind == 't') return Value(restored(saved.tensors[0], records));
  std::vector<Value> items;
  size_t at = 0;
  for (char present : saved.present) {
    items.push_back(present ? Value(restored(saved.tensors[at++], records)) : Value());
  }
  return Value(List::make(std::move(items), TypeRef()));
}

Tensor OperatorNode::restored(const SavedTensor& saved, bool records) {
  const uint32_t now = saved.elements.storage()->version();
  if (now != saved.version) {
    raise(ErrorKind::RuntimeError,
          "one of the variables needed for gradient computation has been modified by an inplace "
          "operation: [",
          type_text(saved.elements), "], is at version ", now, "; expected version ", saved.version,
          " instead. It was saved by ", op_.qualified_name, ".");
  }
  Tensor t = detached(saved.elements);
  if (!records || !saved.requires_grad) return t;
  set_node(t, saved.is_result ? NodeRef::share(this) : saved.edge.node, saved.edge.output);
  return t;
}

void OperatorNode::put(int k, const Value& made, std::vector<Tensor>* gradients) const {
  if (k < 0) return;
  const size_t first = size_t(first_[size_t(k)]), count = size_t(count_[size_t(k)]);
  if (made.is_tensor() && count > 0) {
    (*gradients)[first] = made.as_tensor();
  } else if (made.is_list()) {
    for (size_t i = 0; i < count && i < made.as_list().size(); ++i) {
      Value item = made.as_list().get(i);
      if (item.is_tensor()) (*gradients)[first + i] = item.as_tensor();
    }
  }
}

}  // namespace scriptlang::autograd
