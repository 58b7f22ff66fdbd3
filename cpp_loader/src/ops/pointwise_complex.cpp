// Signs, angles and conjugates of elements.
#include "express.h"

namespace scriptlang {

using namespace express;

void op_aten_conj(Context&, Args, Value*);

SL_OP(aten_positive) {
  SL_CHECK(args.tensor(0).dtype() != ScalarType::Bool,
           "The `+` operator, on a bool tensor is not supported.");
  out[0] = args.tensor(0);
}
SL_OP(aten_angle) {
  Tensor angles = unary_result(args.tensor(0), Unary::k_angle, "angle", Rule::kFloat);
  out[0] = is_complex(args.tensor(0).dtype()) ? to_contiguous(angles) : angles;
}
SL_OP(aten_conj_physical) { op_aten_conj(ctx, args, out); }
SL_OP(aten__conj_physical) {
  const Tensor& self = args.tensor(0);
  out[0] = is_complex(self.dtype()) ? conj(self) : clone(self);
}

}  // namespace scriptlang
