// Special functions: Bessel and gamma families, error functions, orthogonal polynomials.
#include <limits>

#include "express.h"
#include "pointwise.h"

namespace scriptlang {

using kernels::Binary;
using kernels::Unary;

namespace {

void special(Args args, Value* out, Unary op, const char* name) {
  const Tensor& self = args.tensor(0);
  if (is_complex(self.dtype())) {
    raise(ErrorKind::NotImplementedError, '"', name, "_cpu\" not implemented for '",
          dtype_display_name(self.dtype()), "'");
  }
  out[0] = unary_result(self, op, name, Rule::kFloat, nullptr, Tensor(), true);
}

void special(Args args, Value* out, Binary op, const char* name) {
  out[0] = binary_result(Input::of(args[0]), Input::of(args[1]), op, name, Rule::kFloat);
}

// entr for half types: the logarithm is rounded first, as in PyTorch's loop.
Tensor entr_of_halves(const Tensor& x) {
  using namespace express;
  const Scalar zero(0.0), least(-std::numeric_limits<double>::infinity());
  Tensor below = where(isnan(x), x, least);
  return where(gt(x, zero), mul(neg(x), log(x)), where(eq(x, zero), zero, below));
}

Tensor polygamma(int64_t n, const Tensor& self, const Tensor& into = Tensor()) {
  SL_CHECK(n >= 0, "polygamma(n, x) does not support negative n.");
  double p[kernels::kParams] = {double(n)};
  return unary_result(self, Unary::k_polygamma, "polygamma", Rule::kFloat, p, into);
}

Tensor multigammaln(const Tensor& self, int64_t p) {
  SL_CHECK(self.dtype() != ScalarType::Bool, "The input tensor may not be a boolean tensor.");
  SL_CHECK(p >= 1, "p has to be greater than or equal to 1");
  SL_CHECK(p <= 1 << 16, "mvlgamma: p = ", p, " is too large");
  double params[kernels::kParams] = {double(p)};
  return to_contiguous(unary_result(self, Unary::k_multigammaln, "mvlgamma", Rule::kFloat, params));
}

}  // namespace

#define SL_SPECIAL(symbol, name) \
  SL_OP(aten_##symbol) { special(args, out, Unary::k_##name, #name); }
SL_SPECIAL(special_bessel_j0, bessel_j0)
SL_SPECIAL(special_bessel_j1, bessel_j1)
SL_SPECIAL(special_bessel_y0, bessel_y0)
SL_SPECIAL(special_bessel_y1, bessel_y1)
SL_SPECIAL(special_i0e, i0e)
SL_SPECIAL(special_i1, i1)
SL_SPECIAL(special_i1e, i1e)
SL_SPECIAL(special_modified_bessel_i0, i0)
SL_SPECIAL(special_modified_bessel_i1, i1)
SL_SPECIAL(special_modified_bessel_k0, modified_bessel_k0)
SL_SPECIAL(special_modified_bessel_k1, modified_bessel_k1)
SL_SPECIAL(special_scaled_modified_bessel_k0, scaled_modified_bessel_k0)
SL_SPECIAL(special_scaled_modified_bessel_k1, scaled_modified_bessel_k1)
SL_SPECIAL(special_spherical_bessel_j0, spherical_bessel_j0)
SL_SPECIAL(special_airy_ai, airy_ai)
SL_SPECIAL(special_erfcx, erfcx)
SL_SPECIAL(special_log_ndtr, log_ndtr)
SL_SPECIAL(special_ndtri, ndtri)
SL_OP(aten_special_entr) {
  const Tensor& self = args.tensor(0);
  if (is_half(self.dtype())) out[0] = entr_of_halves(self);
  else special(args, out, Unary::k_entr, "entr");
}

#define SL_SPECIAL_TWO(symbol, name) \
  SL_OP(aten_##symbol) { special(args, out, Binary::k_##name, #name); }
SL_SPECIAL_TWO(igamma, igamma)
SL_SPECIAL_TWO(igammac, igammac)
SL_SPECIAL_TWO(special_gammainc, igamma)
SL_SPECIAL_TWO(special_gammaincc, igammac)
SL_SPECIAL_TWO(special_zeta, zeta)
SL_SPECIAL_TWO(special_zeta_other_scalar, zeta)
SL_SPECIAL_TWO(special_zeta_self_scalar, zeta)

#define SL_POLYNOMIAL(name)                       \
  SL_SPECIAL_TWO(special_##name, name)            \
  SL_SPECIAL_TWO(special_##name##_x_scalar, name) \
  SL_SPECIAL_TWO(special_##name##_n_scalar, name)
SL_POLYNOMIAL(chebyshev_polynomial_t)
SL_POLYNOMIAL(chebyshev_polynomial_u)
SL_POLYNOMIAL(chebyshev_polynomial_v)
SL_POLYNOMIAL(chebyshev_polynomial_w)
SL_POLYNOMIAL(shifted_chebyshev_polynomial_t)
SL_POLYNOMIAL(shifted_chebyshev_polynomial_u)
SL_POLYNOMIAL(shifted_chebyshev_polynomial_v)
SL_POLYNOMIAL(shifted_chebyshev_polynomial_w)
SL_POLYNOMIAL(hermite_polynomial_h)
SL_POLYNOMIAL(hermite_polynomial_he)
SL_POLYNOMIAL(laguerre_polynomial_l)
SL_POLYNOMIAL(legendre_polynomial_p)

SL_OP(aten_polygamma) { out[0] = polygamma(args.integer(0), args.tensor(1)); }
SL_OP(aten_special_polygamma) { out[0] = polygamma(args.integer(0), args.tensor(1)); }
SL_OP(aten_polygamma_) { out[0] = polygamma(args.integer(1), args.tensor(0), args.tensor(0)); }
SL_OP(aten_mvlgamma) { out[0] = multigammaln(args.tensor(0), args.integer(1)); }
SL_OP(aten_special_multigammaln) { out[0] = multigammaln(args.tensor(0), args.integer(1)); }

}  // namespace scriptlang
