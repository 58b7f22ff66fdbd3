// A recorded call of a program: its inputs and outputs, and the backward pass through it.
#include "record.h"

#include <algorithm>

#include "../kernels/parallel.h"
#include "../kernels/stop.h"
#include "autograd/backward.h"
#include "interrupts.h"
#include "names.h"
#include "ops/optable.h"
#include "values/walk.h"

namespace scriptlang::python {

namespace {

bool is_recorded(const Tensor& t) {
  return t.requires_grad() && t.impl()->history && t.impl()->history->node;
}

// A tensor with the memory and history of one that stays where it was, in an object: a later call
// that has that one as an input gives it another history.
Tensor with_history_of(const Tensor& t) {
  Tensor made =
      Tensor::on_storage(t.storage(), t.dtype(), t.sizes(), t.strides(), t.storage_offset());
  const autograd::Edge edge = autograd::edge_of(t);
  autograd::set_node(made, edge.node, edge.output);
  return made;
}

// Runs the backward pass. Python's signals end it, as they end a program.
std::vector<Tensor> gradients_of(Context& context, autograd::Request request) {
  Interrupts interrupts;
  kernels::Stop stop;
  stop.set_interrupted(Interrupts::ask, &interrupts);
  kernels::StopScope scope(&stop);
  try {
    return autograd::go_backward(context, std::move(request));
  } catch (...) {
    if (!interrupts.raised()) throw;
  }
  interrupts.restore();
  throw nb::python_error();
}

}  // namespace

nb::tuple Record::backward(nb::list gradients, nb::list wanted, bool creates) {
  Recorder alone;
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
  std::vector<Tensor> found = gradients_of(context, std::move(request));
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

void Record::note_writes(nb::list numbers) {
  for (nb::handle number : numbers) ++memory[nb::cast<size_t>(number)].storage()->version();
}

Recording::Recording(nb::list wanted, nb::list leaves) {
  for (size_t k = 0; k < nb::len(wanted); ++k) {
    nb::object tensor = nb::borrow(wanted[k]);
    Tensor t = ToNative().tensor(tensor);
    if (leaves[k].is_none()) {
      turned_.emplace(t.raw(), std::move(t));
      continue;
    }
    wanted_.emplace(tensor.ptr(), nb::cast<bool>(leaves[k]));
    by_memory_.emplace(t.raw(), std::make_pair(std::move(tensor), t));
  }
}

void Recording::take(const ToNative& convert, const std::vector<Value>& values) {
  for (const auto& [tensor, value] : convert.watched()) {
    given_.emplace_back(tensor, value.as_tensor());
    add(tensor, value.as_tensor());
  }
  for (const Value& value : values) {
    find(value);
    if (value.is_object()) objects_.push_back(value);
  }
}

void Recording::add(nb::handle tensor, const Tensor& t) {
  auto it = wanted_.find(tensor.ptr());
  if (it == wanted_.end() || is_input(t)) return;
  t.impl()->requires_grad = true;
  if (!it->second) autograd::set_outside(t);
  add_input(nb::borrow(tensor), t);
}

void Recording::add_input(nb::object tensor, const Tensor& t) {
  inputs_.insert(t.impl());
  tensors_.push_back(std::move(tensor));
  natives_.push_back(t);
  record_->inputs.push_back(autograd::edge_of(t));
}

// Finds the wanted Tensors that have the memory and shape of tensors inside a value.
void Recording::find(const Value& value) {
  const auto turn = [&](const Tensor& t) {
    auto [first, last] = turned_.equal_range(t.raw());
    for (auto it = first; it != last; ++it) {
      const Tensor& now = it->second;
      if (now.sizes() != t.sizes() || now.strides() != t.strides()) continue;
      const autograd::History* history = t.impl()->history;
      if (!now.requires_grad() && history && !history->base.defined()) {
        autograd::detach_in_place(t);  // as Python did with its Tensor
      }
      t.impl()->requires_grad = now.requires_grad();
    }
  };
  walk(value, [&](const Value& inside) {
    if (!turned_.empty() && inside.is_tensor()) turn(inside.as_tensor());
    if (inside.is_tensor() && inside.as_tensor().requires_grad()) {
      const Tensor& t = inside.as_tensor();
      auto [first, last] = by_memory_.equal_range(t.raw());
      for (auto it = first; it != last; ++it) {
        const auto& [tensor, same] = it->second;
        if (same.sizes() == t.sizes() && same.strides() == t.strides()) add(tensor, t);
      }
    }
    return true;
  });
}

void Recording::note(Passed* passed) const {
  for (size_t k = 0; k < natives_.size(); ++k) {
    if (shares_memory(natives_[k], tensors_[k])) passed->add(tensors_[k], natives_[k]);
  }
}

void Recording::add_memory(const Tensor& t, nb::handle tensor) {
  record_->memory.push_back(
      Tensor::on_storage(t.storage(), t.dtype(), t.sizes(), t.strides(), t.storage_offset()));
  memory_.append(tensor);
}

nb::tuple Recording::finish(const Value& result, ToPython& convert, bool writes) {
  nb::list outputs, written, inputs, required;
  std::unordered_set<const TensorImpl*> known;
  auto add_output = [&](const Tensor& t, nb::object tensor) {
    if (!known.insert(t.impl()).second) return;
    record_->outputs.push_back(t);
    outputs.append(tensor);
    add_memory(t, tensor);
  };
  auto add_written = [&](const Tensor& t, nb::object tensor) {
    if (!known.insert(t.impl()).second) return;
    record_->outputs.push_back(with_history_of(t));
    outputs.append(tensor);
    written.append(tensor);
  };
  for (const auto& [tensor, t] : given_) {
    add_memory(t, tensor);
    convert.remember(Value(t), tensor);  // an argument that is returned stays the same Tensor
    if (!t.requires_grad() || is_input(t)) continue;
    if (is_recorded(t)) add_written(t, tensor);
    if (is_recorded(t) || may_need_gradient(tensor)) continue;
    required.append(tensor);
    add_input(tensor, t);
  }
  // A leaf that the program made and gives away is an input, too: its gradient is wanted outside.
  walk(result, [&](const Value& inside) {
    if (inside.is_tensor()) {
      const Tensor& t = inside.as_tensor();
      if (t.requires_grad() && !is_recorded(t) && !is_input(t)) add_input(convert(Value(t), 1), t);
    }
    return !inside.is_object();
  });
  for (size_t k = 0; k < natives_.size(); ++k) {
    add_memory(natives_[k], tensors_[k]);
    inputs.append(tensors_[k]);
    autograd::Edge now = autograd::edge_of(natives_[k]);
    if (now.node.get() == record_->inputs[k].node.get()) continue;
    add_written(natives_[k], tensors_[k]);
  }
  walk(result, [&](const Value& inside) {
    if (inside.is_tensor() && is_recorded(inside.as_tensor())) {
      const Tensor& t = inside.as_tensor();
      // The tensor has several references, so it is remembered, and the conversion of the whole
      // result gives the same Tensor again.
      if (!is_input(t)) add_output(t, convert(Value(t), 1));
    }
    return !inside.is_object();
  });
  // Tensors of objects that did not require a gradient before the run wrote to them.
  for (size_t k = 0; writes && k < objects_.size(); ++k) {
    walk(objects_[k], [&](const Value& inside) {
      if (inside.is_tensor() && is_recorded(inside.as_tensor()) && !is_input(inside.as_tensor())) {
        add_written(inside.as_tensor(), convert.same_tensor(inside.as_tensor(), {}));
      }
      return true;
    });
  }
  nb::object record = nb::none();
  if (!record_->outputs.empty()) {
    record = nb::cast(record_.release(), nb::rv_policy::take_ownership);
  }
  return nb::make_tuple(record, inputs, outputs, written, required, memory_);
}

}  // namespace scriptlang::python
