// Activations composed of other operators: rrelu, softmax with zeros for rows without a finite
// element.
#include <limits>
#include <mutex>

#include "../../kernels/kernel_set.h"
#include "express.h"
#include "layout.h"
#include "random.h"

namespace scriptlang {

using namespace express;

namespace {

Tensor rrelu(Args args, Context& ctx, const Tensor& into) {
  const Tensor& self = args.tensor(0);
  double lower = args.scalar(1).to_double(), upper = args.scalar(2).to_double();
  SL_CHECK(lower <= upper, "Lower bound should be less than or equal to the upper bound");
  if (!args.boolean(3)) {
    double slope[kernels::kParams] = {(lower + upper) / 2};
    Tensor y = unary_result(self, Unary::k_leaky_relu, "leaky_relu", Rule::kSame, slope, into);
    return into.defined() ? y : to_contiguous(y);
  }
  if (!is_floating(self.dtype())) {
    raise(ErrorKind::NotImplementedError, "\"rrelu_with_noise_out_cpu\" not implemented for '",
          dtype_display_name(self.dtype()), "'");
  }
  Tensor slopes = Tensor::empty(self.sizes(), ScalarType::Float64);
  Tensor x = contiguous_as(self, ScalarType::Float64);
  {
    // A slope is drawn for each element that needs one.
    Generator& generator = args.generator(4, ctx);
    std::lock_guard<std::mutex> lock(generator.mutex);
    Draw draw(generator);
    for (int64_t i = 0; i < x.numel(); ++i) {
      kernels::worked(16);
      bool sloped = x.data<double>()[i] <= 0;
      slopes.data<double>()[i] = sloped ? draw.uniform() * (upper - lower) + lower : 1;
    }
  }
  Tensor result = to_dtype(mul(self, slopes), self.dtype());
  if (!into.defined()) return to_contiguous(result);
  copy_into(into, result);
  return into;
}

// Softmax, with zeros for rows in which all elements are -inf.
Tensor safe_softmax(const Tensor& self, int64_t dim) {
  double nothing = -std::numeric_limits<double>::infinity();
  Tensor y = softmax(self, dim);
  Tensor hidden = eq(self, Scalar(nothing));
  Tensor shown = sum_over(logical_not(hidden), {wrap_dim(dim, self.dim())}, true);
  return where(eq(shown, Scalar(int64_t{0})), Scalar(0.0), y);
}

}  // namespace

SL_OP(aten_rrelu) { out[0] = rrelu(args, ctx, Tensor()); }
SL_OP(aten_rrelu_) { out[0] = rrelu(args, ctx, args.tensor(0)); }
SL_OP(aten__safe_softmax) {
  ScalarType type = args.dtype(2, args.tensor(0).dtype());
  out[0] = to_dtype(safe_softmax(to_dtype(args.tensor(0), type), args.integer(1)), type);
}

}  // namespace scriptlang
