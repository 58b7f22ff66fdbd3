// Operators by which programs request derivatives and read gradients.
#include "autograd/backward.h"
#include "optable.h"
#include "values/list.h"
#include "values/raw_view.h"

namespace scriptlang {

namespace {

using autograd::Request;

std::vector<Tensor> given(Args args, int k) {
  return args.none(k) ? std::vector<Tensor>() : args.opt_tensors(k);
}

void set_options(Request* request, Args args, int retain, int create) {
  request->creates_graph = args.boolean(create);
  request->keeps_graph = args.boolean(retain, request->creates_graph);
}

void check_counts(const Request& request) {
  const size_t outputs = request.outputs.size(), gradients = request.grad_outputs.size();
  if (gradients == 0 || gradients == outputs) return;
  raise(ErrorKind::RuntimeError, "got ", outputs, " tensors and ", gradients, " gradients");
}

}  // namespace

SL_OP(aten_grad) {
  Request request;
  request.outputs = args.tensors(0);
  request.inputs = args.tensors(1);
  request.grad_outputs = given(args, 2);
  check_counts(request);
  set_options(&request, args, 3, 4);
  request.allows_unused = args.boolean(5);
  if (request.inputs.empty()) { raise(ErrorKind::RuntimeError, "grad requires non-empty inputs."); }
  std::vector<Value> found;
  for (Tensor& t : autograd::go_backward(ctx, std::move(request))) found.emplace_back(std::move(t));
  out[0] = Value(List::make(std::move(found), TypeRef()));
}

SL_OP(aten_backward) {
  Request request;
  request.outputs = {args.tensor(0)};
  request.grad_outputs = {args.opt_tensor(1)};
  set_options(&request, args, 2, 3);
  request.accumulate = true;
  autograd::go_backward(ctx, std::move(request));
}

SL_OP(aten_backward_TensorList) {
  Request request;
  request.outputs = args.tensors(0);
  request.grad_outputs = given(args, 1);
  check_counts(request);
  set_options(&request, args, 2, 3);
  request.accumulate = true;
  autograd::go_backward(ctx, std::move(request));
}

SL_OP(aten_retain_grad) {
  const Tensor& t = args.tensor(0);
  if (!t.requires_grad()) {
    raise(ErrorKind::RuntimeError, "can't retain_grad on Tensor that has requires_grad=False");
  }
  autograd::retain_grad(t);
}

SL_OP(aten__version) { out[0] = Value(int64_t(args.tensor(0).storage()->version())); }

// What was recorded of these tensors cannot go backward any more.
SL_OP(scriptlang_note_writes) {
  for (const Tensor& t : args.tensors(0)) ++t.storage()->version();
}

SL_OP(aten_output_nr) {
  const autograd::History* history = args.tensor(0).impl()->history;
  out[0] = Value(int64_t(history && history->node ? history->output : 0));
}

SL_OP(prim_requires_grad) { out[0].set_bool(autograd::needs_grad(args.tensor(0))); }
SL_OP(aten_requires_grad_) {
  autograd::require_grad(args.tensor(0), args.boolean(1), false);
  out[0] = args.tensor(0);
}
SL_OP(aten_is_leaf) { out[0] = autograd::is_leaf(args.tensor(0)); }
SL_OP(prim_grad) {
  const autograd::History* history = args.tensor(0).impl()->history;
  out[0] = history ? Value(history->grad) : Value();
}
SL_OP(aten_retains_grad) {
  const autograd::History* history = args.tensor(0).impl()->history;
  out[0] = history != nullptr && history->retains;
}
SL_OP(prim_data) {
  const Tensor& t = args.tensor(0);
  out[0] = unchecked_view(t, t.sizes(), t.strides(), t.storage_offset());  // its own geometry
}
SL_OP(aten_detach_) {
  const Tensor& t = args.tensor(0);
  autograd::detach_in_place(t);
  out[0] = t;
}

}  // namespace scriptlang
