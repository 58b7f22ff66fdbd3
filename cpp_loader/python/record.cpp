// A recorded call of a program: its inputs and outputs, and going backward through it.
#include "record.h"

#include <algorithm>

#include "../kernels/parallel.h"
#include "autograd/backward.h"
#include "ops/optable.h"
#include "values/dict.h"
#include "values/list.h"

namespace scriptlang::python {

namespace {

template <class Visit>
void each_tensor(const Value& value, Visit&& visit, int depth = 0) {
  if (depth > kMaxNesting) return;
  if (value.is_tensor()) return visit(value.as_tensor());
  auto all = [&](const auto& items) {
    for (const Value& item : items) each_tensor(item, visit, depth + 1);
  };
  if (value.is_list() && value.as_list().kind() == List::Kind::Values) all(value.as_list());
  if (value.is_tuple()) all(value.as_tuple().items);
  if (!value.is_dict()) return;
  const Dict::Entry* entry;
  for (size_t cursor = 0; value.as_dict().next(&cursor, &entry);) {
    each_tensor(entry->value, visit, depth + 1);
  }
}

bool is_recorded(const Tensor& t) {
  return t.requires_grad() && t.impl()->history && t.impl()->history->node;
}

}  // namespace

nb::tuple Record::backward(nb::list gradients, nb::list wanted, bool creates) {
  autograd::Request request;
  ToNative convert;
  auto made = std::make_unique<Record>();
  nb::list taken, given;
  size_t k = 0;
  for (nb::handle gradient : gradients) {
    const size_t at = k++;
    if (gradient.is_none()) continue;
    Tensor grad = convert.tensor(gradient);
    if (creates && grad.requires_grad()) {
      autograd::set_outside(grad);
      made->inputs.push_back(autograd::edge_of(grad));
      taken.append(at);
    }
    request.outputs.push_back(outputs[at]);
    request.grad_outputs.push_back(std::move(grad));
  }
  std::vector<size_t> places;
  k = 0;
  for (nb::handle is_wanted : wanted) {
    if (nb::cast<bool>(is_wanted)) {
      request.edges.push_back(inputs[k]);
      places.push_back(k);
    }
    ++k;
  }
  request.keeps_graph = true;
  request.creates_graph = creates;
  request.allows_unused = true;
  Context context;
  context.threads = kernels::thread_count();
  context.generator = &default_generator();
  std::vector<Tensor> all(inputs.size());
  std::vector<Tensor> found = autograd::go_backward(context, std::move(request));
  for (size_t i = 0; i < places.size(); ++i) all[places[i]] = std::move(found[i]);
  ToPython back;
  nb::list results;
  for (size_t i = 0; i < all.size(); ++i) {
    results.append(back(Value(all[i])));
    if (!creates || !all[i].defined() || !is_recorded(all[i])) continue;
    made->outputs.push_back(all[i]);
    given.append(i);
  }
  if (made->outputs.empty()) return nb::make_tuple(results, nb::none(), taken, given);
  made->inputs.insert(made->inputs.end(), inputs.begin(), inputs.end());
  return nb::make_tuple(results, nb::cast(made.release(), nb::rv_policy::take_ownership), taken,
                        given);
}

Recording::Recording(nb::list wanted, nb::list leaves) {
  for (size_t k = 0; k < nb::len(wanted); ++k) {
    wanted_.emplace_back(nb::borrow(wanted[k]), nb::cast<bool>(leaves[k]));
    Tensor t = ToNative().tensor(wanted[k]);
    by_memory_.emplace(t.raw(), std::make_pair(wanted_.back().first, t));
  }
}

void Recording::take(const ToNative& convert, const std::vector<Value>& values) {
  for (const auto& [tensor, value] : convert.watched()) {
    given_.emplace_back(tensor, value.as_tensor());
    add(tensor, value.as_tensor());
  }
  for (const Value& value : values) find(value, 0);
}

void Recording::add(nb::handle tensor, const Tensor& t) {
  auto it = std::find_if(wanted_.begin(), wanted_.end(),
                         [&](const auto& w) { return w.first.is(tensor); });
  if (it == wanted_.end() ||
      std::any_of(natives_.begin(), natives_.end(), [&](const Tensor& n) { return n.is(t); })) {
    return;
  }
  t.impl()->requires_grad = true;
  if (!it->second) autograd::set_outside(t);
  tensors_.push_back(nb::borrow(tensor));
  natives_.push_back(t);
  record_->inputs.push_back(autograd::edge_of(t));
}

// Tensors that Python has of what lies in objects.
void Recording::find(const Value& value, int depth) {
  if (depth > kMaxNesting) return;
  if (value.is_tensor()) {
    if (!value.as_tensor().requires_grad()) return;
    const Tensor& t = value.as_tensor();
    auto [first, last] = by_memory_.equal_range(t.raw());
    for (auto it = first; it != last; ++it) {
      const auto& [tensor, same] = it->second;
      if (same.sizes() == t.sizes() && same.strides() == t.strides()) add(tensor, t);
    }
    return;
  }
  auto all = [&](const auto& items) {
    if (std::find(seen_.begin(), seen_.end(), &items) != seen_.end()) return;
    seen_.push_back(&items);
    for (const Value& item : items) find(item, depth + 1);
  };
  if (value.is_object()) all(value.as_object().slots);
  if (value.is_list() && value.as_list().kind() == List::Kind::Values) all(value.as_list());
  if (value.is_tuple()) all(value.as_tuple().items);
  if (!value.is_dict()) return;
  const Dict::Entry* entry;
  for (size_t cursor = 0; value.as_dict().next(&cursor, &entry);) find(entry->value, depth + 1);
}

nb::tuple Recording::finish(const Value& result, ToPython& convert) {
  nb::list outputs, written, inputs, required;
  for (const auto& [tensor, t] : given_) {
    const Tensor& found = t;
    convert.remember(Value(t), tensor);  // what comes back as it was given is the same Tensor
    if (!t.requires_grad() || std::any_of(natives_.begin(), natives_.end(),
                                          [&](const Tensor& n) { return n.is(found); })) {
      continue;
    }
    if (may_need_gradient(tensor)) continue;  // nobody wants it
    required.append(tensor);
    tensors_.push_back(tensor);
    natives_.push_back(t);
    record_->inputs.push_back(autograd::edge_of(t));
  }
  auto add_output = [&](const Tensor& t, nb::object tensor) {
    for (const Tensor& known : record_->outputs) {
      if (known.is(t)) return;
    }
    record_->outputs.push_back(t);
    outputs.append(tensor);
  };
  for (size_t k = 0; k < natives_.size(); ++k) {
    inputs.append(tensors_[k]);
    autograd::Edge now = autograd::edge_of(natives_[k]);
    if (now.node.get() == record_->inputs[k].node.get()) continue;
    add_output(natives_[k], tensors_[k]);
    written.append(tensors_[k]);
  }
  each_tensor(result, [&](const Tensor& t) {
    const bool is_input =
        std::any_of(natives_.begin(), natives_.end(), [&](const Tensor& n) { return n.is(t); });
    if (!is_input && is_recorded(t)) add_output(t, convert(Value(t), 1));  // and so again
  });
  nb::object record = nb::none();
  if (!record_->outputs.empty()) {
    record = nb::cast(record_.release(), nb::rv_policy::take_ownership);
  }
  return nb::make_tuple(record, inputs, outputs, written, required);
}

}  // namespace scriptlang::python
