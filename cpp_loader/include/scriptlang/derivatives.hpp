// Derivatives in C++: gradients of what modules have computed. scriptlang.h says which calls are
// recorded for that.
//
//   Tensor x = ...;
//   scriptlang::require_grad(x);
//   Tensor energy = model("forward", {x}).tensor();
//   Tensor force = scriptlang::grad({energy}, {x})[0];
//
// For training, call require_grad for each of module.parameters(), then backward(loss), and read
// grad_of() of the parameters.
#pragma once

#include <vector>

#include "value.hpp"

namespace scriptlang {
inline namespace api {

struct BackwardOptions {
  std::vector<Tensor> gradients;  // those of the outputs; if empty, 1 for each
  bool keep_graph = false;        // keep the recorded calls, for another backward pass
  bool create_graph = false;      // the gradients can be differentiated
  bool allow_unused = false;      // grad(): undefined for inputs on which no output depends
};

namespace detail {

template <class Items>
std::vector<sl_value*> handles(const Items& items) {
  std::vector<sl_value*> found;
  for (const auto& item : items) found.push_back(item.handle());
  return found;
}

// What is wrong with an undefined tensor; null for others.
inline const char* no_tensor(const Tensor& tensor) {
  return tensor.defined() ? nullptr : "the tensor is undefined";
}

inline sl_backward_options given(const BackwardOptions& options) {
  return {sizeof(sl_backward_options), options.keep_graph, options.create_graph,
          options.allow_unused};
}

}  // namespace detail

// Sets whether a tensor requires a gradient. Calls with a tensor that does are recorded.
inline Result<void> try_require_grad(const Tensor& tensor, bool on = true) {
  return detail::done(
      [&](sl_error** error) { return sl_tensor_require_grad(tensor.handle(), on, error); });
}
inline void require_grad(const Tensor& tensor, bool on = true) {
  try_require_grad(tensor, on).value();
}
inline bool requires_grad(const Tensor& tensor) { return sl_tensor_requires_grad(tensor.handle()); }

// The gradient that backward() has accumulated for a tensor; undefined if there is none.
inline Tensor grad_of(const Tensor& tensor) {
  Value found(detail::needed(sl_tensor_grad(tensor.handle()), detail::no_tensor(tensor)));
  return found.is_none() ? Tensor() : found.tensor();
}
inline void forget_grad(const Tensor& tensor) { sl_tensor_set_grad(tensor.handle(), nullptr); }
// A tensor on the same memory that is not connected to what was recorded.
inline Tensor detach(const Tensor& tensor) {
  sl_value* made = detail::needed(sl_tensor_detach(tensor.handle()), detail::no_tensor(tensor));
  return Value(made).tensor();
}

// Runs the backward pass from the outputs, and adds the gradients to all tensors that require one.
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

// The gradients of the outputs with respect to the inputs, in the order of the inputs.
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

// While it exists, calls of this thread are not recorded.
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
