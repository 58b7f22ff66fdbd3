// Products that are added to a tensor: addbmm, addr.
#include <algorithm>
#include "express.h"
#include "layout.h"
#include "linalg.h"

namespace scriptlang {

using namespace express;

namespace {

Tensor scaled_sum(const Tensor& self, const Scalar& self_factor, const Tensor& product,
                  const Scalar& product_factor) {
  Scalar beta = factor_for(self_factor, self.dtype());
  Scalar alpha = factor_for(product_factor, product.dtype());
  auto times = [](const Tensor& t, const Scalar& by) {
    const bool one = by.is_integral() ? by.i == 1 : by.d == 1 && by.imag == 0;
    return one ? t : mul(t, by);
  };
  Tensor scaled = times(product, alpha);
  return beta.to_bool() ? add(times(self, beta), scaled) : scaled;
}

// addbmm for half types: the sum is rounded after every matrix.
Tensor addbmm_of_halves(const Tensor& self, const Tensor& a, const Tensor& b, Scalar beta,
                        const Scalar& alpha) {
  Tensor sum = self;
  for (int64_t i = 0; i < a.size(0); ++i) {
    Tensor one = matrix_product(to_dtype(view_select(a, 0, i), ScalarType::Float32),
                                to_dtype(view_select(b, 0, i), ScalarType::Float32));
    sum = to_dtype(scaled_sum(to_dtype(sum, ScalarType::Float32), beta, one, alpha), self.dtype());
    beta = Scalar(int64_t{1});
  }
  return sum;
}

// addr for half types: factors and every step are rounded.
Tensor addr_of_halves(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta,
                      const Scalar& alpha) {
  auto factor = [&](const Scalar& s) { return full(IntSpan(), self.dtype(), s); };
  Tensor part = mul(view_unsqueeze(mul(a, factor(alpha)), 1), b);
  return beta.to_double() == 0 ? part : add(mul(self, factor(beta)), part);
}

}  // namespace

SL_OP(aten_addbmm) {
  const Tensor &self = args.tensor(0), &a = args.tensor(1), &b = args.tensor(2);
  SL_CHECK(self.dtype() == a.dtype() && a.dtype() == b.dtype(),
           "addbmm: self, batch1 and batch2 must have the same dtype, but got ",
           dtype_display_name(self.dtype()), ", ", dtype_display_name(a.dtype()), " and ",
           dtype_display_name(b.dtype()));
  Tensor all = batched_product(a, b);
  view_expand(self, {all.size(1), all.size(2)});  // raises when self does not broadcast
  if (is_half(self.dtype()) && all.size(0) > 0) {
    out[0] = addbmm_of_halves(self, a, b, args.scalar(3), args.scalar(4));
  } else {
    Tensor product = to_dtype(sum_over(all, {0}), a.dtype());
    Tensor sum = scaled_sum(self, args.scalar(3), product, args.scalar(4));
    out[0] = to_contiguous(to_dtype(sum, self.dtype()));
  }
}
SL_OP(aten_addr) {
  const Tensor &self = args.tensor(0), &a = args.tensor(1), &b = args.tensor(2);
  SL_CHECK(a.dim() == 1 && b.dim() == 1, "addr: Expected 1-D arguments vec1 and vec2, but got ",
           a.dim(), "-D and ", b.dim(), "-D");
  view_expand(self, {a.numel(), b.numel()});  // raises when self does not broadcast
  ResultType common;
  for (const Tensor* t : {&self, &a, &b}) common.add(*t);
  for (int i : {3, 4}) check_alpha(args[i], common.get());
  if (is_half(self.dtype())) {
    out[0] = addr_of_halves(self, a, b, args.scalar(3), args.scalar(4));
  } else {
    out[0] = scaled_sum(to_dtype(self, common.get()), args.scalar(3), mul(view_unsqueeze(a, 1), b),
                        args.scalar(4));
  }
}
SL_OP(aten_kron) {
  const Tensor& a = args.tensor(0);
  const Tensor& b = args.tensor(1);
  int64_t n = std::max(a.dim(), b.dim());
  std::vector<int64_t> left, right, result;
  for (int64_t d = 0; d < n; ++d) {
    int64_t x = d < n - a.dim() ? 1 : a.size(d - (n - a.dim()));
    int64_t y = d < n - b.dim() ? 1 : b.size(d - (n - b.dim()));
    left.insert(left.end(), {x, 1});
    right.insert(right.end(), {1, y});
    result.push_back(x * y);
  }
  SL_CHECK(2 * n <= kMaxDims, "kron: too many dimensions");
  out[0] = reshape(mul(reshape(a, left), reshape(b, right)), result);
}

}  // namespace scriptlang
