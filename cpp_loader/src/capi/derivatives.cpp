// The C API: gradients of tensors, and the backward pass.
#include <algorithm>
#include <cstring>

#include "../../kernels/parallel.h"
#include "autograd/backward.h"
#include "capi.h"

using namespace scriptlang;
using namespace scriptlang::capi;

namespace {

bool is_tensor(const sl_value* value) { return value && value->value.is_tensor(); }

const Tensor& tensor_of(const sl_value* value) {
  if (!is_tensor(value)) throw Misuse{"a value is null or no tensor"};
  return value->value.as_tensor();
}

std::vector<Tensor> tensors_of(sl_value* const* values, size_t count) {
  if (!values && count > 0) throw Misuse{"the pointer to the tensors is null"};
  check_count(values, count);
  std::vector<Tensor> tensors;
  for (size_t k = 0; k < count; ++k) tensors.push_back(tensor_of(values[k]));
  return tensors;
}

autograd::Request request_of(sl_value* const* outputs, sl_value* const* gradients, size_t count,
                             const sl_backward_options* given) {
  autograd::Request request;
  request.outputs = tensors_of(outputs, count);
  for (size_t k = 0; gradients && k < count; ++k) {
    const bool none = !gradients[k] || gradients[k]->value.is_none();
    request.grad_outputs.push_back(none ? Tensor() : tensor_of(gradients[k]));
  }
  sl_backward_options options = {};
  if (given) {
    if (given->size < sizeof(size_t)) {
      throw Misuse{"the size of options is not set: it is sizeof(sl_backward_options)"};
    }
    std::memcpy(&options, given, std::min(given->size, sizeof options));
  }
  request.creates_graph = options.creates_graph != 0;
  request.keeps_graph = options.keeps_graph != 0 || request.creates_graph;
  request.allows_unused = options.allows_unused != 0;
  return request;
}

Context context_of_host() {
  Context context;
  context.threads = kernels::thread_count();
  context.generator = &default_generator();
  return context;
}

}  // namespace

sl_status sl_tensor_require_grad(sl_value* tensor, int on, sl_error** error) {
  return guarded(error, [&] { autograd::require_grad(tensor_of(tensor), on != 0, true); });
}

int sl_tensor_requires_grad(const sl_value* tensor) {
  return is_tensor(tensor) && tensor->value.as_tensor().requires_grad();
}

sl_value* sl_tensor_grad(const sl_value* tensor) {
  return made([&] { return Value(autograd::gradient_of(tensor_of(tensor))); });
}

sl_status sl_tensor_set_grad(sl_value* tensor, const sl_value* grad) {
  return guarded(nullptr, [&] {
    const Tensor& t = tensor_of(tensor);
    if (!grad) {
      if (autograd::History* known = autograd::known_history(t)) set_gradient(known, Tensor());
      return;
    }
    const Tensor& set = tensor_of(grad);
    if (set.sizes() != t.sizes() || set.dtype() != t.dtype()) {
      throw Misuse{"the gradient is of another size or type"};
    }
    set_gradient(&autograd::history_of(t), set);
  });
}

sl_value* sl_tensor_detach(const sl_value* tensor) {
  return made([&] { return Value(autograd::detached(tensor_of(tensor))); });
}

sl_status sl_backward(sl_value* const* outputs, sl_value* const* gradients, size_t count,
                      const sl_backward_options* options, sl_error** error) {
  return guarded(error, [&] {
    autograd::Request request = request_of(outputs, gradients, count, options);
    request.accumulate = true;
    Context context = context_of_host();
    autograd::go_backward(context, std::move(request));
  });
}

sl_status sl_grad(sl_value* const* outputs, sl_value* const* gradients, size_t count,
                  sl_value* const* inputs, size_t input_count, const sl_backward_options* options,
                  sl_value** results, sl_error** error) {
  for (size_t k = 0; results && k < input_count; ++k) results[k] = nullptr;
  return guarded(error, [&] {
    if (!results && input_count > 0) throw Misuse{"the pointer to the results is null"};
    autograd::Request request = request_of(outputs, gradients, count, options);
    request.inputs = tensors_of(inputs, input_count);
    if (request.inputs.empty()) throw Misuse{"there are no inputs"};
    Context context = context_of_host();
    std::vector<Tensor> found = autograd::go_backward(context, std::move(request));
    std::vector<std::unique_ptr<sl_value>> handles;
    for (Tensor& t : found) handles.push_back(std::make_unique<sl_value>(sl_value{Value(t)}));
    for (size_t k = 0; k < input_count; ++k) results[k] = handles[k].release();
  });
}

namespace scriptlang::capi {
namespace {
thread_local bool grad_enabled = true;
}
bool records_here() { return grad_enabled; }
}  // namespace scriptlang::capi

void sl_set_grad_enabled(int on) { capi::grad_enabled = on != 0; }
int sl_grad_enabled(void) { return capi::grad_enabled; }
