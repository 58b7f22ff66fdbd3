// Operators while derivatives are recorded: their nodes, views, and writes.
#include "record.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "lower/code.h"
#include "node.h"
#include "rules.h"
#include "values/list.h"
#include "values/plain_text.h"

namespace scriptlang::autograd {

namespace {

// What recording knows of an operator.
struct Operator {
  const Schema* schema;
  std::string qualified_name;
  std::vector<char> takes;  // of each argument: 't' a tensor or None, 'l' tensors, '-' other values
  std::vector<char> writes;  // whether it is written
  bool is_in_place = false;  // the first argument is written, and is the result
  bool is_turning = false;   // in place, but only how the argument lies in its memory changes
  bool has_out = false;
  bool makes_tensors = false;
  const Rule* rule;
};

char kind_of(const Type& type) {
  if (type.kind == TypeKind::Tensor) return 't';
  if (type.kind == TypeKind::Optional) return kind_of(*type.elements[0]);
  if (type.kind == TypeKind::List) return kind_of(*type.elements[0]) == 't' ? 'l' : '-';
  return '-';
}

// Of "aten::add_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)": which arguments have a "!".
std::vector<char> written_in(std::string_view text, size_t count) {
  std::vector<char> writes(count, 0);
  size_t at = text.find('(') + 1, argument = 0;
  for (int depth = 0; at < text.size() && argument < count; ++at) {
    const char c = text[at];
    if (c == '*' && depth == 0) {  // "*, ": no argument
      ++at;
      continue;
    }
    if (c == '(' || c == '[') ++depth;
    if (c == ']') --depth;
    if (c == ')' && depth-- == 0) break;
    if (c == '!') writes[argument] = 1;
    if (c == ',' && depth == 0) ++argument;
  }
  return writes;
}

Operator describe(const OpEntry& entry) {
  Operator op;
  op.schema = &schema_of(entry);
  op.qualified_name = entry.qualified_name();
  op.writes = written_in(entry.text(), op.schema->arguments.size());
  for (const Argument& a : op.schema->arguments) {
    op.takes.push_back(kind_of(*a.type));
    op.has_out = op.has_out || a.is_out;
  }
  const std::string& name = op.schema->name;
  for (const char* turning :
       {"t_", "transpose_", "swapaxes_", "swapdims_", "squeeze_", "unsqueeze_", "as_strided_"}) {
    op.is_turning = op.is_turning || name == concat("aten::", turning);
  }
  op.is_in_place = !op.has_out && !op.writes.empty() && op.writes[0] && op.takes[0] == 't';
  for (const Argument& r : op.schema->returns) {
    op.makes_tensors = op.makes_tensors || kind_of(*r.type) != '-';
  }
  op.rule = &rule_of(op.qualified_name);
  return op;
}

const Operator& operator_of(const OpEntry& entry) {
  static std::mutex lock;
  static std::unordered_map<const OpEntry*, std::unique_ptr<const Operator>> known;
  std::lock_guard<std::mutex> guard(lock);
  std::unique_ptr<const Operator>& op = known[&entry];
  if (!op) op = std::make_unique<const Operator>(describe(entry));
  return *op;
}

template <class Visit>
void each_tensor(const Value& value, Visit&& visit) {
  if (value.is_tensor()) return visit(value.as_tensor());
  if (!value.is_list() || value.as_list().kind() != List::Kind::Values) return;
  for (const Value& item : value.as_list()) {
    if (item.is_tensor()) visit(item.as_tensor());
  }
}

bool requires_grad(const Operator& op, Args args) {
  bool any = false;
  for (size_t k = 0; k < op.takes.size() && !any; ++k) {
    if (op.takes[k] == '-') continue;
    each_tensor(args[int(k)], [&](const Tensor& t) { any = any || needs_grad(t); });
  }
  return any;
}

// What a node saved of one tensor: its elements and where its gradient goes, not the tensor itself,
// whose history changes if it is written to.
struct SavedTensor {
  Tensor elements;
  bool requires_grad = false;
  Edge edge;
  bool is_result = false;  // of the node itself: that edge would be a cycle
  uint32_t version = 0;
};

SavedTensor save(const Tensor& t, bool is_result, int32_t output) {
  SavedTensor saved;
  saved.elements = detached(t);
  saved.requires_grad = needs_grad(t);
  saved.is_result = is_result;
  saved.edge.output = output;
  if (!is_result) saved.edge = edge_of(t);
  saved.version = t.storage()->version();
  return saved;
}

// The size of a tensor, sizes of a list, no sizes of None.
Value sizes_of(const Value& value) {
  if (value.is_tensor()) return int_list(value.as_tensor().sizes());
  Ref<List> sizes = List::make({}, TypeRef());
  if (value.is_list()) {
    for (const Value& item : value.as_list()) sizes->push(sizes_of(item));
  }
  return Value(std::move(sizes));
}

// A value that a node saved: a tensor, tensors, how a tensor lies in memory, or something else.
struct Saved {
  char kind = 0;  // 0: not saved; 's': layout and dtype; '-': value; others as in Operator::takes
  std::unique_ptr<const Layout> layout;
  ScalarType dtype = ScalarType::Undefined;
  std::vector<SavedTensor> tensors;
  std::vector<char> present;  // of a list: whether there is a tensor at each place
  Value value;
};

// The same list for nobody else: programs may write to theirs.
Value frozen(const Value& value) {
  Value copy = value;
  if (value.is_list()) {
    Ref<List> items = List::like(value.as_list());
    items->extend(value.as_list());
    copy = Value(std::move(items));
  }
  copy.publish();
  return copy;
}

// Of a tensor that only its geometry and type are asked for. It keeps no memory alive, and may be
// written to.
Saved save_layout(const Tensor& t) {
  Saved saved;
  saved.kind = 's';
  saved.layout = std::make_unique<const Layout>(t);
  saved.dtype = t.dtype();
  return saved;
}

Saved save(char kind, const Value& value, bool is_result = false, int32_t output = 0) {
  Saved saved;
  saved.kind = kind == '-' || (kind == 't' && !value.is_tensor()) ? '-' : kind;
  if (saved.kind == '-') {
    saved.value = frozen(value);
  } else if (kind == 't') {
    saved.tensors.push_back(save(value.as_tensor(), is_result, output));
  } else if (!value.is_list()) {
    saved.kind = '-';
    saved.value = frozen(value);
  } else {
    for (const Value& item : value.as_list()) {
      saved.present.push_back(item.is_tensor());
      if (item.is_tensor()) saved.tensors.push_back(save(item.as_tensor(), is_result, output));
      ++output;
    }
  }
  return saved;
}

// PyTorch's names of nodes: aten::mul_.Tensor is MulBackward0.
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

class OperatorNode final : public Node {
 public:
  OperatorNode(const Operator& op, Args args) : op_(op) {
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

  std::string name() const override { return node_name(op_.qualified_name); }

  // After the operator has run.
  void save_results(const Value* out) {
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

  std::vector<Tensor> backward(Context& ctx, std::vector<Tensor>& grads,
                               const std::vector<char>& wanted, const Task& task) override {
    if (op_.rule->kind == Rule::Missing) {
      raise(ErrorKind::MissingOperator, "scriptlang cannot go backward through ",
            op_.qualified_name, ": it has no rule for the derivative");
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

  bool release() override {
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

 private:
  static bool asks_layout(const Rule::Part& part, const std::string& name) {
    return std::find(part.shapes.begin(), part.shapes.end(), name) != part.shapes.end();
  }
  // Whether parts ask a result for no elements.
  bool wants_layout(size_t k) const {
    for (const auto& [part, rule] : parts_) {
      if (!rule) continue;
      for (const Argument& a : rule->function->arguments) {
        if (result(a.name) == int(k) && !asks_layout(*part, a.name)) return false;
      }
    }
    return true;
  }
  void save_argument(Args args, int k, bool is_layout) {
    Saved& saved = arguments_[size_t(k)];
    if (is_layout && op_.takes[size_t(k)] == 't' && args[k].is_tensor()) {
      if (saved.kind == 0) saved = save_layout(args[k].as_tensor());
    } else if (saved.kind == 0 || saved.kind == 's') {
      saved = save(op_.takes[size_t(k)], original(args, k));
    }
  }

  // An in-place operator overwrites what its rule wants of the tensor.
  Value original(Args args, int k) const {
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

  int argument(std::string_view name) const {
    for (size_t k = 0; k < op_.schema->arguments.size(); ++k) {
      if (op_.schema->arguments[k].name == name) return int(k);
    }
    return -1;
  }
  // "self" of "self_size"; "" of a name that is not of a size.
  static std::string_view sized(std::string_view name) {
    constexpr std::string_view kSize = "_size";
    const bool is_size =
        name.size() > kSize.size() && name.substr(name.size() - kSize.size()) == kSize;
    return is_size ? name.substr(0, name.size() - kSize.size()) : std::string_view();
  }
  int result(std::string_view name) const {
    if (argument(name) >= 0) return -1;
    const auto& returns = op_.schema->returns;
    if (name == "result") return 0;
    for (size_t k = 0; k < returns.size(); ++k) {
      if (returns[k].name == name || concat("result", k) == name) return int(k);
    }
    return -1;
  }
  bool is_wanted(const Rule::Part& part) const {
    return std::any_of(part.inputs.begin(), part.inputs.end(), [&](const std::string& input) {
      return needs_input(argument(input), std::vector<char>(next.size(), 1));
    });
  }
  bool needs_input(int k, const std::vector<char>& wanted) const {
    if (k < 0) return false;
    for (int i = first_[size_t(k)]; i < first_[size_t(k)] + count_[size_t(k)]; ++i) {
      if (next[size_t(i)].node && wanted[size_t(i)]) return true;
    }
    return false;
  }

  // The value of an argument of a rule: a gradient, or what was saved.
  Value given(const Argument& a, const std::vector<Tensor>& grads, bool records) {
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

  // The gradient of one return: of a list, those of all elements.
  Value gradient(const Argument& a, size_t k, const std::vector<Tensor>& grads) const {
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
  Tensor zeros(size_t output) const {
    return Tensor::zeros(made[output].sizes, made[output].dtype);
  }

  Value restored(const Saved& saved, bool records) {
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

  Tensor restored(const SavedTensor& saved, bool records) {
    const uint32_t now = saved.elements.storage()->version();
    if (now != saved.version) {
      raise(ErrorKind::RuntimeError,
            "one of the variables needed for gradient computation has been modified by an inplace "
            "operation: [",
            type_text(saved.elements), "], is at version ", now, "; expected version ",
            saved.version, " instead. It was saved by ", op_.qualified_name, ".");
    }
    Tensor t = detached(saved.elements);
    if (!records || !saved.requires_grad) return t;
    set_node(t, saved.is_result ? NodeRef::share(this) : saved.edge.node, saved.edge.output);
    return t;
  }

  void put(int k, const Value& made, std::vector<Tensor>* gradients) const {
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

  const Operator& op_;
  std::vector<int> first_, count_;  // of each argument: its edges in `next`
  std::vector<Saved> arguments_, results_;
  std::unordered_map<std::string, Value> sizes_;  // of arguments, by the names in rules
  std::vector<Value> result_sizes_;
  std::vector<std::pair<const Rule::Part*, const RuleFunction*>> parts_;
  bool needs_results_ = false;
};

// The node of a base after an operator has written to a view of it: the gradient of the part that
// was written goes through the operator's node, the rest to where the base was from.
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
    // The gradient is laid out as the base is, for the view to be the same part of it.
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

 private:
  NodeRef function_;  // its first edge is that of the view
  // The view is of real parts of a complex base, or takes pairs of a real one as complex numbers.
  const bool splits_, joins_;
  Layout base_, view_;
};

// What an in-place operator did to a tensor: its node is the tensor's from now on.
void rewrite(const Tensor& self, const NodeRef& node) {
  History& known = history_of(self);
  node->made.assign(1, made_of(self));
  if (!known.base.defined()) {
    ++known.writes;  // its views see it
    return set_node(self, node, 0);
  }
  const Tensor base = known.base;
  NodeRef whole(new WriteNode(base, self, node));
  set_node(base, whole, 0);
  ++history_of(base).writes;
  self.impl()->requires_grad = true;
  (void)edge_of(self);  // makes its node anew
}

// After an operator that has only changed how a tensor lies in memory: what shares the memory
// stays as it was computed.
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

// Whether a result is a tensor that was given, and not made.
bool is_given(const Tensor& t, Args args, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    bool same = false;
    each_tensor(args[int(k)], [&](const Tensor& given) { same = same || given.is(t); });
    if (same) return true;
  }
  return false;
}

// A result that lies in the memory of an argument is a view: writes to one are seen by the other.
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
  const std::vector<Value> kept(args.data(), args.data() + count);  // operators may take theirs
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
