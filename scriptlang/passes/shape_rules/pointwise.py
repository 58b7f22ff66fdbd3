"""Operators that compute each element of the result from elements at its place."""

from __future__ import annotations

from ..fusible import POINTWISE
from ..shape_facts import TensorFacts, Unknown, is_size
from ..sizes import add, floordiv, mul, sub
from . import Call, broadcast, rule

FUSED = " ".join(dict.fromkeys(name.partition("::")[2] for name in POINTWISE))
"""Those that engines do together; each has its line in fusible.py, by overload."""

OTHERS = """positive conj conj_physical _conj_physical resolve_conj resolve_neg angle real imag
complex polar isreal isneginf isposinf signbit digamma lgamma erfinv i0 fix ldexp heaviside
nextafter gcd lcm isclose float_power bitwise_left_shift bitwise_right_shift __lshift__ __rshift__
masked_fill.Tensor not_equal multiply subtract logit polygamma mvlgamma xlogy igamma igammac
special_expm1 special_erf special_erfc special_sinc special_exp2 special_log1p special_expit
special_erfinv special_gammaln special_digamma special_psi special_entr special_log_ndtr
special_ndtr special_ndtri special_i0 special_i0e special_i1 special_i1e special_xlog1py
special_zeta special_logit special_erfcx special_round special_xlogy special_polygamma
special_multigammaln special_gammainc special_gammaincc special_airy_ai special_bessel_j0
special_bessel_j1 special_bessel_y0 special_bessel_y1 special_modified_bessel_i0
special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1
special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_spherical_bessel_j0
special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
special_chebyshev_polynomial_w special_hermite_polynomial_h special_hermite_polynomial_he
special_laguerre_polynomial_l special_legendre_polynomial_p special_shifted_chebyshev_polynomial_t
special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v
special_shifted_chebyshev_polynomial_w"""


ARITHMETIC = {"add.Tensor": add, "sub.Tensor": sub, "mul.Tensor": mul, "add.Scalar": add,
              "sub.Scalar": sub, "mul.Scalar": mul, "floor_divide": floordiv,
              "floor_divide.Scalar": floordiv}
"""Those that also compute with sizes that were put into tensors."""

ELSEWHERE = {"to.dtype", "div.Tensor_mode", "div.Scalar_mode", *ARITHMETIC}
"""Those that have other rules."""


def whole_names(text: str) -> str:
    return " ".join(n for n in dict.fromkeys(text.split()) if n not in ELSEWHERE)


@rule(whole_names(FUSED + " " + OTHERS), dtype="kernel", ranks="meet")
def pointwise(c: Call):
    if any(f.shape is None for f in c.tensors):
        raise Unknown
    return broadcast(c, *[f.shape for f in c.tensors])


def number(fact):
    """The size that an operand is, or holds."""
    fact = fact.value if isinstance(fact, TensorFacts) else fact
    return fact if is_size(fact) else None


@rule(" ".join(ARITHMETIC), dtype="kernel", ranks="meet")
def arithmetic(c: Call):
    shape = pointwise(c)
    name = c.schema.qualified_name.partition("::")[2]
    a, b = number(c["self"]), number(c["other"])
    alpha = c["alpha"] if c.has("alpha") else 1
    if shape or a is None or b is None or alpha != 1:
        return shape
    return TensorFacts((), None, 0, ARITHMETIC[name](a, b))


@rule("div.Tensor_mode div.Scalar_mode", dtype="kernel", ranks="meet")
def division(c: Call):
    shape = pointwise(c)
    a, b = number(c["self"]), number(c["other"])
    if shape or a is None or b is None or c["rounding_mode"] != "floor":
        return shape
    return TensorFacts((), None, 0, floordiv(a, b))


@rule("""mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy
binary_cross_entropy_with_logits kl_div soft_margin_loss hinge_embedding_loss poisson_nll_loss""",
      dtype="kernel")
def loss(c: Call):
    """Each element's, or one number for all."""
    if c.known("reduction") != 0:
        return ()
    return broadcast(c, c.shape(0), c.shape(1))
