// Operators about derivatives, where none are recorded: flags are kept, and nothing was computed of
// anything. Programs that ask for gradients lack operators here, and run in Python.
#include "optable.h"
#include "values/raw_view.h"

namespace scriptlang {

SL_OP(prim_requires_grad) { out[0].set_bool(args.tensor(0).requires_grad()); }
SL_OP(aten_requires_grad_) {
  const Tensor& t = args.tensor(0);
  bool wanted = args.boolean(1);
  SL_CHECK(!wanted || is_floating(t.dtype()) || is_complex(t.dtype()),
           "only Tensors of floating point dtype can require gradients");
  t.impl()->requires_grad = wanted;
  out[0] = t;
}
SL_OP(aten_is_leaf) { out[0] = (args.tensor(0), Value(true)); }
SL_OP(prim_grad) { out[0] = (args.tensor(0), Value()); }
SL_OP(prim_data) {
  const Tensor& t = args.tensor(0);
  out[0] = unchecked_view(t, t.sizes(), t.strides(), t.storage_offset());  // its own geometry
}
SL_OP(aten_detach_) {
  const Tensor& t = args.tensor(0);
  t.impl()->requires_grad = false;
  out[0] = t;
}

}  // namespace scriptlang
