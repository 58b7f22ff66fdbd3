// Derivatives in C++: gradients of what modules computed, as scriptlang.h has them.
//
//   Tensor x = ...;
//   scriptlang::require_grad(x);
//   Tensor energy = model("forward", {x}).tensor();
//   Tensor force = scriptlang::grad({energy}, {x})[0];
//
// Training: require_grad of each of module.parameters(), backward(loss), and their grad_of().
#pragma once

#include <vector>

#include "value.hpp"

namespace scriptlang {
inline namespace api {

struct BackwardOptions {
  std::vector<Tensor> gradients;  // of something with respect to the outputs; none: 1 for each
  bool keep_graph = false;        // to go backward through it again
  bool create_graph = false;      // the gradients can be differentiated
  bool allow_unused = false;      // inputs that the outputs do not depend on get no tensor
};

namespace detail {

template <class Items>
std::vector<sl_value*> handles(const Items& items) {
  std::vector<sl_value*> found;
  for (const auto& item : items) found.push_back(item.handle());
  return found;
}

inline sl_backward_options given(const BackwardOptions& options) {
  return {sizeof(sl_backward_options), options.keep_graph, options.create_graph,
          options.allow_unused};
}

}  // namespace detail

// Makes a tensor that no call has made require a gradient: calls that get it record.
inline Result<void> try_require_grad(const Tensor& tensor, bool on = true) {
  return detail::done(
      [&](sl_error** error) { return sl_tensor_require_grad(tensor.handle(), on, error); });
}
inline void require_grad(const Tensor& tensor, bool on = true) {
  try_require_grad(tensor, on).value();
}
inline bool requires_grad(const Tensor& tensor) { return sl_tensor_requires_grad(tensor.handle()); }

// What backward() has added up for a tensor; undefined where nothing.
inline Tensor grad_of(const Tensor& tensor) {
  Value found(sl_tensor_grad(tensor.handle()));
  return found.is_none() ? Tensor() : found.tensor();
}
inline void forget_grad(const Tensor& tensor) { sl_tensor_set_grad(tensor.handle(), nullptr); }
// The same elements, without where they came from.
inline Tensor detach(const Tensor& tensor) {
  return Value(sl_tensor_detach(tensor.handle())).tensor();
}

// Adds the gradients of outputs to all tensors that require them.
inline Result<void> try_backward(const std::vector<Tensor>& outputs,
                                 const BackwardOptions& options = {}) {
  std::vector<sl_value*> of = detail::handles(outputs), by = detail::handles(options.gradients);
  if (!by.empty() && by.size() != of.size()) {
    return detail::misused("a gradient for each output is needed");
  }
  sl_backward_options given = detail::given(options);
  return detail::done([&](sl_error** error) {
    return sl_backward(of.data(), by.empty() ? nullptr : by.data(), of.size(), &given, error);
  });
}
inline void backward(const std::vector<Tensor>& outputs, const BackwardOptions& options = {}) {
  try_backward(outputs, options).value();
}
inline void backward(const Tensor& output) { backward(std::vector<Tensor>{output}); }

// The gradients of outputs with respect to inputs, in their order.
inline Result<std::vector<Tensor>> try_grad(const std::vector<Tensor>& outputs,
                                            const std::vector<Tensor>& inputs,
                                            const BackwardOptions& options = {}) {
  std::vector<sl_value*> of = detail::handles(outputs), by = detail::handles(options.gradients);
  std::vector<sl_value*> to = detail::handles(inputs), found(inputs.size());
  if (!by.empty() && by.size() != of.size()) {
    return detail::misused("a gradient for each output is needed");
  }
  sl_backward_options given = detail::given(options);
  Result<void> done = detail::done([&](sl_error** error) {
    return sl_grad(of.data(), by.empty() ? nullptr : by.data(), of.size(), to.data(), to.size(),
                   &given, found.data(), error);
  });
  if (!done) return done.error();
  std::vector<Tensor> tensors;
  for (sl_value* handle : found) {
    Value value(handle);
    tensors.push_back(value.is_none() ? Tensor() : value.tensor());
  }
  return tensors;
}
inline std::vector<Tensor> grad(const std::vector<Tensor>& outputs,
                                const std::vector<Tensor>& inputs,
                                const BackwardOptions& options = {}) {
  return try_grad(outputs, inputs, options).value();
}

// While it lives, calls of this thread record nothing.
class NoGrad {
 public:
  NoGrad() : before_(sl_grad_enabled()) { sl_set_grad_enabled(0); }
  ~NoGrad() { sl_set_grad_enabled(before_); }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  int before_;
};

}  // namespace api
}  // namespace scriptlang
