"""Kernels of pointwise functions of one tensor: abs, exp, sin, round, ..."""

from __future__ import annotations

import math

import numpy as np

from ... import dtypes
from ...dtypes import bool as BOOL
from ...tensors import Tensor
from ..shared import special
from ..shared.elementwise import (
    apply,
    check_kind,
    declare_pointwise,
    floating,
    rounded,
    rounded_number,
    store,
)
from ..shared.layout import copied, rows
from ..table import describe, primitive


def _whole(f):
    """Wrap f for floating tensors: integers are returned unchanged."""
    return lambda a: a.copy() if a.dtype.kind in "ui" else f(a)


def _sign(a):
    return np.where(a == a, np.sign(a), a.dtype.type(0))


def _sgn(a):
    if a.dtype.kind != "c":
        return _sign(a)
    size = np.abs(a)
    return np.where(size == 0, a.dtype.type(0), a / np.where(size == 0, 1, size))


def _sinc(a):
    x = a * a.dtype.type(math.pi)
    return np.where(x == 0, a.dtype.type(1), np.sin(x) / np.where(x == 0, 1, x))


def _log1p(a):
    if a.dtype.kind != "c":
        return np.log1p(a)
    near = np.where(np.abs(a) < 0.5, a, 0)  # where 1 + a loses digits
    x, y = near.real, near.imag
    real = np.where(np.abs(a) < 0.5, np.log1p(x * (2 + x) + y * y) / 2, np.log(1 + a).real)
    result = np.empty_like(a)
    result.real, result.imag = real, np.arctan2(a.imag, 1 + a.real)
    return result


FLOAT = {
    "sqrt": np.sqrt,
    "rsqrt": lambda a: 1 / np.sqrt(a),
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": _log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "reciprocal": lambda a: 1 / a,
    "erf": special.erf,
    "erfc": special.erfc,
    "erfinv": special.erfinv,
    "lgamma": special.lgamma,
    "digamma": special.digamma,
    "i0": special.i0,
    "sinc": _sinc,
    "deg2rad": lambda a: a * a.dtype.type(math.pi / 180),
    "rad2deg": lambda a: a * a.dtype.type(180 / math.pi),
}
"""Functions with a floating result: integers are computed in the default float."""

REAL = {"erf", "erfc", "erfinv", "lgamma", "digamma", "i0", "deg2rad", "rad2deg"}
"""Functions in FLOAT that do not support complex numbers."""

SAME = {
    "neg": (np.negative, "uifc"),
    "abs": (np.abs, "uifc"),
    "sign": (_sign, "uif"),
    "floor": (_whole(np.floor), "uif"),
    "ceil": (_whole(np.ceil), "uif"),
    "trunc": (_whole(np.trunc), "uif"),
    "round": (_whole(np.rint), "uif"),
    "frac": (lambda a: a - np.trunc(a), "f"),
    "bitwise_not": (np.invert, "bui"),
    "conj_physical": (np.conj, "uifc"),
    "_conj_physical": (np.conj, "uifc"),
}
"""Functions that keep the element type, and the kinds of types that they support."""

ALIASES = {
    "absolute": "abs",
    "negative": "neg",
    "arccos": "acos",
    "arcsin": "asin",
    "arctan": "atan",
    "arccosh": "acosh",
    "arcsinh": "asinh",
    "arctanh": "atanh",
    "fix": "trunc",
    "special_expm1": "expm1",
    "special_erf": "erf",
    "special_erfc": "erfc",
    "special_sinc": "sinc",
    "special_exp2": "exp2",
    "special_log1p": "log1p",
    "special_expit": "sigmoid",
    "special_erfinv": "erfinv",
    "special_gammaln": "lgamma",
    "special_digamma": "digamma",
    "special_psi": "digamma",
    "special_i0": "i0",
}


def _float_kernel(name, f):
    kinds = "f" if name in REAL else "fc"
    return lambda self: apply(f, floating(self.dtype), self, name=name, kinds=kinds)


def _same_kernel(name, f, kinds):
    return lambda self: apply(f, self.dtype, self, name=name, kinds=kinds)


KERNELS = {name: _float_kernel(name, f) for name, f in FLOAT.items()}
KERNELS.update({name: _same_kernel(name, *facts) for name, facts in SAME.items()})


def neg(self):
    if self.dtype is BOOL:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you "
            "are trying to invert a mask, use the `~` or `logical_not()` operator "
            "instead."
        )
    return apply(np.negative, self.dtype, self)


def sgn(self):
    return apply(_sgn, self.dtype, self)


def square(self):
    return apply(np.square, dtypes.int64 if self.dtype is BOOL else self.dtype, self)


def _keeps_bool(kernel):
    """Wrap a kernel to return bool tensors unchanged, as a copy."""
    return lambda self: Tensor._wrap(copied(self)) if self.dtype is BOOL else kernel(self)


def _keeps_real(kernel):
    """Wrap a kernel to return the tensor itself unless it is complex."""
    return lambda self: kernel(self) if self.dtype.kind == "c" else self


KERNELS.update(neg=neg, sgn=sgn, square=square)
KERNELS.update({name: _keeps_bool(KERNELS[name]) for name in ("sign", "sgn", "_conj_physical")})
KERNELS["conj_physical"] = _keeps_real(KERNELS["conj_physical"])
for _name, _kernel in KERNELS.items():
    declare_pointwise(_name, "", _kernel)
for _alias, _name in ALIASES.items():
    declare_pointwise(_alias, "", KERNELS[_name])


@primitive("aten::positive(Tensor(a) self) -> Tensor(a)", pointwise=True, may_copy=True)
def positive(self):
    if self.dtype is BOOL:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self


@primitive(
    "aten::abs_(Tensor(a!) self) -> Tensor(a!)", "aten::absolute_(Tensor(a!) self) -> Tensor(a!)"
)
def abs_(self):
    if self.dtype.kind == "c":
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    return store(self, KERNELS["abs"](self))


@primitive(
    "aten::round.decimals(Tensor self, *, int decimals) -> Tensor",
    "aten::special_round(Tensor self, *, int decimals=0) -> Tensor",
    pointwise=True,
    out="exact",
)
def round_decimals(self, decimals):
    """Round to a number of decimals, half to even."""
    check_kind("round_vml", self.dtype, "f")
    if decimals == 0:
        return KERNELS["round"](self)
    scale = 10.0 ** abs(decimals) if abs(decimals) <= 308 else math.inf

    def f(a):
        scaled = a * a.dtype.type(scale) if decimals > 0 else a / a.dtype.type(scale)
        whole = np.rint(scaled)
        return whole / a.dtype.type(scale) if decimals > 0 else whole * a.dtype.type(scale)

    return apply(f, self.dtype, self, name="round", kinds="f")


def _angle(a):
    if a.dtype.kind == "c":
        return np.angle(a)
    return np.where(np.isnan(a), a, np.where(a < 0, a.dtype.type(math.pi), a.dtype.type(0)))


@primitive("aten::angle(Tensor self) -> Tensor", pointwise=True)
def angle(self):
    made = apply(_angle, floating(self.dtype), self)
    return made if self.dtype.kind != "c" else Tensor._wrap(rows(made._array))


@primitive("aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)")
def frexp(self):
    if self.dtype.kind != "f":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    working = self._array.astype(dtypes.working_type(self.dtype), copy=False)
    mantissa, exponent = np.frexp(working)
    return (
        Tensor._wrap(np.asarray(mantissa).astype(self.dtype.numpy)),
        Tensor._wrap(np.asarray(exponent, np.int32)),
    )


@primitive(
    "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None)"
    " -> Tensor",
    pointwise=True,
    fusible=True,
    out="exact",
)
def nan_to_num(self, nan, posinf, neginf):
    if self.dtype.kind not in "fc":
        return Tensor._wrap(copied(self))
    limits = dtypes.finfo(dtypes.part_of(self.dtype))
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    return apply(
        lambda a: np.nan_to_num(a, nan=nan or 0.0, posinf=high, neginf=low), self.dtype, self
    )


@primitive(
    "aten::logit(Tensor self, float? eps=None) -> Tensor",
    "aten::special_logit(Tensor self, float? eps=None) -> Tensor",
    pointwise=True,
)
def logit(self, eps):
    """log(x / (1 - x)), with x clamped to [eps, 1 - eps]; half types round every step."""
    dtype = floating(self.dtype)

    def f(a):
        x = a
        if eps is not None:  # the bounds may cross
            low = a.dtype.type(rounded_number(eps, dtype))
            high = a.dtype.type(rounded_number(1 - low, dtype))
            x = np.where(a > high, high, a)
            x = np.where(a < low, low, x)
        return np.log(rounded(x / rounded(1 - x, dtype), dtype))

    return apply(f, dtype, self, name="logit", kinds="f")


describe(
    """acos arccos arcsin asin cosh erfinv exp expm1 log log10 log1p log2 reciprocal rsqrt sinh
         special_erfinv special_expm1 special_log1p tan""",
    autocast="full",
)
describe(
    """abs absolute acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan
         atanh bitwise_not ceil cos cosh deg2rad erf erfc exp exp2 expm1 floor frac log log10 log1p
         log2 neg negative rad2deg reciprocal round. rsqrt sgn sigmoid sign sin sinc sinh sqrt
         square tan tanh trunc""",
    fusible=True,
)
describe("sigmoid tanh", keeps_type="floating")
describe("sigmoid tanh", layout="keeps")
describe("abs absolute", out="magnitude")
describe("_conj_physical", may_copy=True)
describe("conj_physical", may_share=True)
describe(
    """_conj_physical bitwise_not ceil conj_physical fix floor frac neg negative round. sgn
         sign trunc""",
    out="exact",
)
