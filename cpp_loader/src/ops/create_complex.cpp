// Complex tensors from their parts.
#include "express.h"
#include "strided.h"
#include "view.h"
#include "values/raw_view.h"

namespace scriptlang {

using namespace express;

namespace {

Tensor from_parts(const Tensor& real, const Tensor& imag) {
  SL_CHECK(real.dtype() == imag.dtype() && is_floating(real.dtype()) &&
               real.dtype() != ScalarType::BFloat16,
           "Expected both inputs to be Half, Float or Double tensors but got ",
           dtype_display_name(real.dtype()), " and ", dtype_display_name(imag.dtype()));
  std::vector<int64_t> shape = broadcast_shapes(real.sizes(), imag.sizes());
  Tensor out = Tensor::empty(shape, complex_of(real.dtype()));
  StridedPlan plan;
  plan.begin(3);
  for (const Tensor* t : {&real, &imag}) plan.broadcast(t->sizes());
  plan.set_operand(1, real.sizes(), real.strides(), real.itemsize());
  plan.set_operand(2, imag.sizes(), imag.strides(), imag.itemsize());
  int64_t lies[kMaxDims];
  plan.result_strides(lies);
  lay(out, {lies, out.dim()});
  std::vector<int64_t> strides;
  for (int64_t s : out.strides()) strides.push_back(2 * s);
  for (int64_t part = 0; part < 2; ++part) {
    Tensor view = Tensor::on_storage(out.storage(), to_real(out.dtype()), shape, strides, part);
    copy_into(view, view_expand(part ? imag : real, shape));
  }
  return out;
}

}  // namespace

SL_OP(aten_complex) { out[0] = from_parts(args.tensor(0), args.tensor(1)); }
SL_OP(aten_polar) {
  const Tensor& size = args.tensor(0);
  const Tensor& angle = args.tensor(1);
  SL_CHECK(size.dtype() == angle.dtype() && is_floating(size.dtype()),
           "Expected both inputs to be Half, Float or Double tensors but got ",
           dtype_display_name(size.dtype()), " and ", dtype_display_name(angle.dtype()));
  out[0] = from_parts(mul(size, cos(angle)), mul(size, sin(angle)));
}

}  // namespace scriptlang
