// Derivatives that programs call as operators: of activations, and of the negative log likelihood.
#include <algorithm>

#include "express.h"
#include "pointwise_binary.h"
#include "reduce.h"
#include "row_kernels.h"

namespace scriptlang {

using namespace express;

namespace {

Scalar zero() { return Scalar(int64_t{0}); }

// The gradient in the common type of it and another tensor.
Tensor common(const Tensor& grad, const Tensor& self) {
  return to_dtype(grad, result_type(grad, self));
}

// The slope of shrinking is 0 from -lambda to lambda.
Tensor shrink_back(Args args) {
  const Tensor self = common(args.tensor(1), args.tensor(0));
  Scalar high = args.scalar(2), low = high;
  if (high.is_integral() && high.i != std::numeric_limits<int64_t>::min()) low = Scalar(-high.i);
  else if (high.kind == Scalar::Complex) low = Scalar(-high.to_complex());
  else low = Scalar(-high.d);
  Tensor flat = logical_and(ge(self, low), le(self, high));
  return where(flat, zero(), common(args.tensor(0), self));
}

// ---- negative log likelihood

void check_type(const Tensor& t, ScalarType wanted) {
  SL_CHECK(t.dtype() == wanted, "expected scalar type ", dtype_display_name(wanted), " but found ",
           dtype_display_name(t.dtype()));
}

// Whether targets fit scores [n, classes, ...] or [classes].
bool fit(const Tensor& self, const Tensor& target) {
  if (self.dim() == 1) return target.dim() == 0 || (target.dim() == 1 && target.size(0) == 1);
  bool fits = target.dim() == self.dim() - 1 && target.size(0) == self.size(0);
  for (int64_t d = 2; fits && d < self.dim(); ++d) fits = target.size(d - 1) == self.size(d);
  return fits;
}

struct Picked {
  int64_t n, classes, inner, ignore;
  bool one_for_all;  // the same gradient for all targets
};

// Writes minus the class weight times the gradient at each target that is not ignored.
template <class T>
void pick_back(const Picked& p, const T* grad, const int64_t* target, const T* weight, T* y) {
  for (int64_t i = 0; i < p.n * p.inner; ++i) {
    int64_t k = target[i];
    kernels::worked_at(i);
    if (k == p.ignore) continue;
    if (k < 0 || k >= p.classes) {
      raise(ErrorKind::IndexError, "Target ", k, " is out of bounds.");
    }
    T g = grad[p.one_for_all ? 0 : i];
    y[(i / p.inner * p.classes + k) * p.inner + i % p.inner] = -(weight ? weight[k] : T(1)) * g;
  }
}

Tensor likelihood_back(Args args) {
  const Tensor &grad = args.tensor(0), &self = args.tensor(1), &target = args.tensor(2);
  const Tensor &weight = args.opt_tensor(3), &total = args.tensor(6);
  const int64_t reduction = args.integer(4), dims = self.dim();
  ScalarType computed = computed_type(self.dtype(), "nll_loss_backward_out_frame");
  check_type(grad, self.dtype());
  check_type(total, self.dtype());
  SL_CHECK(target.dtype() == ScalarType::Int64 || target.dtype() == ScalarType::UInt8,
           "expected scalar type Long but found ", dtype_display_name(target.dtype()));
  SL_CHECK(fit(self, target), "size mismatch (got input: ", to_string(self.sizes()),
           ", target: ", to_string(target.sizes()), ")");
  Picked p{dims == 1 ? 1 : self.size(0), self.size(dims == 1 ? 0 : 1), 1, args.integer(5), true};
  for (int64_t d = 2; d < dims; ++d) p.inner *= self.size(d);
  SL_CHECK(total.numel() == 1,
           "expected total_weight to be a single element tensor, got: ", to_string(total.sizes()));
  if (weight.defined()) {
    check_type(weight, self.dtype());
    SL_CHECK(weight.numel() == p.classes, "weight tensor should be defined either for all or no ",
             "classes, got ", to_string(weight.sizes()));
  }
  p.one_for_all = reduction != 0 || dims == 1;
  SL_CHECK(p.one_for_all ? grad.dim() <= 1 && grad.numel() == 1 : grad.sizes() == target.sizes(),
           "grad_output of size ", to_string(grad.sizes()), " does not fit a target of size ",
           to_string(target.sizes()));
  Tensor g = contiguous_as(grad, computed);
  if (reduction == 1) g = div(g, to_dtype(total, computed));
  Tensor labels = contiguous_as(target, ScalarType::Int64);
  Tensor each = weight.defined() ? contiguous_as(weight, computed) : Tensor();
  Tensor y = Tensor::zeros(self.sizes(), computed);
  for_float_type(computed, [&](auto zero) {
    using T = decltype(zero);
    const T* shares = each.defined() ? each.data<T>() : nullptr;
    pick_back(p, g.data<T>(), labels.data<int64_t>(), shares, y.data<T>());
  });
  return to_dtype(y, self.dtype());
}

}  // namespace

SL_OP(aten_threshold_backward) {
  const Tensor self = common(args.tensor(1), args.tensor(0));
  out[0] = where(le(self, args.scalar(2)), zero(), common(args.tensor(0), self));
}
SL_OP(aten_gelu_backward) {
  const std::string_view how = args.string(2);
  SL_CHECK(how == "none" || how == "tanh", "approximate argument must be either none or tanh.");
  using kernels::Binary;
  pointwise::binary(args, out, how == "tanh" ? Binary::k_gelu_tanh_back : Binary::k_gelu_back,
                    "GeluBackwardKernelImpl", Rule::kSame);
}
SL_OP(aten_hardtanh_backward) {
  const Tensor self = common(args.tensor(1), args.tensor(0));
  Tensor flat = logical_or(le(self, args.scalar(2)), ge(self, args.scalar(3)));
  out[0] = where(flat, zero(), common(args.tensor(0), self));
}
SL_OP(aten_hardshrink_backward) { out[0] = shrink_back(args); }
SL_OP(aten_softshrink_backward) { out[0] = shrink_back(args); }
SL_OP(aten_leaky_relu_backward) {
  Tensor grad = common(args.tensor(0), args.tensor(1));
  out[0] = where(gt(args.tensor(1), zero()), grad, mul(grad, args.scalar(2)));
}
SL_OP(aten__prelu_kernel_backward) {
  const Tensor &grad = args.tensor(0), &self = args.tensor(1), &weight = args.tensor(2);
  Tensor above = gt(self, zero());
  Tensor of_input = where(above, grad, mul(weight, grad));
  Tensor of_weight = where(above, zero(), mul(self, grad));
  out[1] = to_contiguous(view_expand(of_weight, of_input.sizes()));
  out[0] = std::move(of_input);
}
SL_OP(aten_nll_loss_backward) {
  int64_t dims = args.tensor(1).dim();
  SL_CHECK(dims == 1 || dims == 2, "input tensor should be 1D or 2D");
  out[0] = likelihood_back(args);
}
SL_OP(aten_nll_loss2d_backward) {
  SL_CHECK(args.tensor(1).dim() == 4 && args.tensor(2).dim() == 3,
           "only batches of spatial inputs and targets are supported (4D and 3D tensors), but got "
           "dimensions ",
           args.tensor(1).dim(), " and ", args.tensor(2).dim());
  out[0] = likelihood_back(args);
}

}  // namespace scriptlang
