// PReLU: the activation whose negative slope is a tensor of weights.
#include "pointwise_binary.h"

namespace scriptlang {

using namespace pointwise;

SL_OP(aten_prelu) {
  const Tensor& self = args.tensor(0);
  const Tensor& weight = args.tensor(1);
  SL_CHECK(self.dtype() == weight.dtype(), "prelu: Type promoting not supported. Got ",
           dtype_display_name(self.dtype()), " and ", dtype_display_name(weight.dtype()));
  SL_CHECK(weight.dim() <= 1,
           "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", weight.dim());
  // The weight broadcasts along the channels.
  int64_t channels = self.dim() > 1 ? self.size(1) : 1;
  SL_CHECK(weight.numel() == 1 || weight.numel() == channels,
           "Mismatch of parameter numbers and input channel size. Found parameter numbers = ",
           weight.numel(), " and channel size = ", channels, ".");
  std::vector<int64_t> sizes(as_size(self.dim()), 1), strides(as_size(self.dim()), 0);
  if (self.dim() > 1) {
    sizes[1] = weight.numel();
    strides[1] = weight.dim() > 0 ? weight.stride(weight.dim() - 1) : 1;
  }
  Tensor spread = weight.as_strided(sizes, strides, weight.storage_offset());
  out[0] = binary_result(self, spread, Binary::k_prelu, "prelu", kCommon, nullptr, Tensor());
}
SL_OP(aten__prelu_kernel) {
  ScalarType type = args.tensor(0).dtype(), other = args.tensor(1).dtype();
  SL_CHECK(type == other, "prelu: Type promoting not supported. Got ", dtype_display_name(type),
           " and ", dtype_display_name(other));
  binary(args, out, Binary::k_prelu, "prelu", kCommon);
}

}  // namespace scriptlang
