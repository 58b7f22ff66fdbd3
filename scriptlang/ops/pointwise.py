"""Pointwise arithmetic: unary functions, binary operators, and the few with three operands."""

from __future__ import annotations

import math

import numpy as np

from .. import dtypes
from ..dtypes import bool as BOOL
from ..tensor import Tensor
from . import special
from .elementwise import apply, array_of, cast, declare_forms, floating, store
from .table import declare, primitive


def _where_int(f):
    """f for inexact types; the identity for integral ones."""
    return lambda a: a.copy() if a.dtype.kind in "buif"[:3] else f(a)


def _sign(a):
    return np.sign(a) if a.dtype.kind != "b" else a.copy()


def _rsqrt(a):
    return (1 / np.sqrt(a)).astype(a.dtype)


def _sigmoid(a):
    wide = a.astype(np.float32) if a.dtype.itemsize == 2 else a
    return (1 / (1 + np.exp(-wide))).astype(a.dtype)


def _frac(a):
    return a - np.trunc(a)


def _logit(a):
    return np.log(a / (1 - a))


FLOAT = {
    "sqrt": np.sqrt, "rsqrt": _rsqrt, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1,
    "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "sigmoid": _sigmoid, "reciprocal": lambda a: (1 / a).astype(a.dtype),
    "erf": special.erf, "erfc": special.erfc, "erfinv": special.erfinv, "lgamma": special.lgamma,
    "digamma": special.digamma, "i0": special.i0, "sinc": np.sinc,
    "deg2rad": lambda a: a * a.dtype.type(math.pi / 180),
    "rad2deg": lambda a: a * a.dtype.type(180 / math.pi),
}
"""Functions whose result is floating: integers compute in the default float."""

SAME = {
    "neg": lambda a: -a, "abs": np.abs, "sign": _sign, "floor": _where_int(np.floor),
    "ceil": _where_int(np.ceil), "trunc": _where_int(np.trunc), "round": _where_int(np.rint),
    "frac": _frac, "bitwise_not": np.invert,
    "sgn": _sign, "conj_physical": np.conj,
}
"""Functions that keep the type."""

ALIASES = {"absolute": "abs", "negative": "neg", "arccos": "acos", "arcsin": "asin",
           "arctan": "atan", "arccosh": "acosh", "arcsinh": "asinh", "arctanh": "atanh",
           "fix": "trunc", "special_expm1": "expm1", "special_erf": "erf",
           "special_erfc": "erfc", "special_sinc": "sinc", "special_exp2": "exp2",
           "special_log1p": "log1p", "special_expit": "sigmoid", "special_erfinv": "erfinv",
           "special_gammaln": "lgamma", "special_digamma": "digamma", "special_psi": "digamma",
           "special_i0": "i0", "special_round": "round"}


def _float_kernel(f):
    return lambda self: apply(f, floating(self.dtype), self)


def _same_kernel(name, f):
    def kernel(self):
        if name == "neg" and self.dtype is BOOL:
            raise RuntimeError("Negation, the `-` operator, on a bool tensor is not supported. If you "
                               "are trying to invert a mask, use the `~` or `logical_not()` operator")
        result = apply(f, self.dtype, self)
        return result

    return kernel


KERNELS = {name: _float_kernel(f) for name, f in FLOAT.items()}
KERNELS.update({name: _same_kernel(name, f) for name, f in SAME.items()})
for _name, _kernel in KERNELS.items():
    declare_forms(_name, "", _kernel)
for _alias, _name in ALIASES.items():
    declare_forms(_alias, "" if _alias != "special_round" else "*, int decimals=0",
                  KERNELS[_name] if _alias != "special_round"
                  else lambda self, decimals: round_decimals(self, decimals),
                  inplace=not _alias.startswith("special_"))


@primitive("aten::positive(Tensor(a) self) -> Tensor(a)")
def positive(self):
    if self.dtype is BOOL:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self


def round_decimals(self, decimals):
    """Round to a number of decimals, halves to even."""
    if self.dtype.kind in "ui":
        return KERNELS["round"](self)
    return apply(lambda a: np.round(a, decimals), self.dtype, self)


declare_forms("round.decimals", "*, int decimals", round_decimals, out="decimals_out")


def _angle(a):
    return np.angle(a) if a.dtype.kind == "c" else np.where(np.isnan(a), a, np.where(
        a < 0, a.dtype.type(math.pi), a.dtype.type(0)))


def square(self):
    return apply(np.square, dtypes.int64 if self.dtype is BOOL else self.dtype, self)


declare_forms("square", "", square)
declare_forms("angle", "", lambda self: apply(_angle, floating(self.dtype), self), inplace=False)


def arithmetic(f, alpha=False):
    """A binary kernel that computes in the result type."""
    if not alpha:
        return lambda self, other: apply(f, dtypes.result_type(self, other), self, other)

    def kernel(self, other, alpha):
        dtype = dtypes.result_type(self, other)
        if dtype.kind in "bui" and isinstance(alpha, float):
            raise RuntimeError("For integral input tensors, argument alpha must not be a floating "
                               "point number.")
        if dtype is BOOL and f is np.subtract:
            raise RuntimeError("Subtraction, the `-` operator, with two bool tensors is not supported."
                               " Use the `^` or `logical_xor()` operator instead.")
        if alpha == 1:
            return apply(f, dtype, self, other)
        return apply(lambda a, b: f(a, array_of(alpha, dtype) * b), dtype, self, other)

    return kernel


def true_divide(self, other):
    return apply(lambda a, b: (a / b).astype(a.dtype),
                 floating(dtypes.result_type(self, other)), self, other)


def floor_divide(self, other):
    dtype = dtypes.result_type(self, other)
    if dtype.kind in "bui":
        if not np.all(array_of(other, dtype)):
            raise RuntimeError("ZeroDivisionError")
        return apply(np.floor_divide, dtype, self, other)
    return apply(special.floor_divide, dtype, self, other)


def trunc_divide(self, other):
    dtype = dtypes.result_type(self, other)
    if dtype.kind in "bui":
        if not np.all(array_of(other, dtype)):
            raise RuntimeError("ZeroDivisionError")
        return apply(special.trunc_divide_int, dtype, self, other)
    return apply(lambda a, b: np.trunc(a / b).astype(a.dtype), dtype, self, other)


def divide_mode(self, other, mode):
    if mode is None:
        return true_divide(self, other)
    if mode not in ("floor", "trunc"):
        raise RuntimeError(f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but "
                           f"found '{mode}'")
    return floor_divide(self, other) if mode == "floor" else trunc_divide(self, other)


def remainder(self, other):
    dtype = dtypes.result_type(self, other)
    if dtype.kind in "bui" and not np.all(array_of(other, dtype)):
        raise RuntimeError("ZeroDivisionError")
    return apply(np.remainder, dtype, self, other)


def fmod(self, other):
    dtype = dtypes.result_type(self, other)
    if dtype.kind in "bui" and not np.all(array_of(other, dtype)):
        raise RuntimeError("ZeroDivisionError")
    return apply(np.fmod, dtype, self, other)


def power(self, other):
    dtype = dtypes.result_type(self, other)
    if dtype.kind in "bui":
        exponent = array_of(other, dtype)
        if not isinstance(other, Tensor) and np.any(exponent < 0):
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        return apply(special.int_power, dtype, self, other)
    if not isinstance(other, Tensor) and other == 2:
        return apply(np.square, dtype, self)
    return apply(np.power, dtype, self, other)


add, subtract, multiply = (arithmetic(np.add, True), arithmetic(np.subtract, True),
                           arithmetic(np.multiply))

declare_forms("add.Tensor", "Tensor other, *, Scalar alpha=1", add)
declare_forms("add.Scalar", "Scalar other, Scalar alpha=1", add, out="Scalar_out")
declare_forms("sub.Tensor", "Tensor other, *, Scalar alpha=1", subtract)
declare_forms("sub.Scalar", "Scalar other, Scalar alpha=1", subtract, out="Scalar_out")
declare_forms("subtract.Tensor", "Tensor other, *, Scalar alpha=1", subtract)
declare_forms("subtract.Scalar", "Scalar other, Scalar alpha=1", subtract, out="")
declare_forms("rsub.Tensor", "Tensor other, *, Scalar alpha=1",
              lambda self, other, alpha: subtract(other, self, alpha), inplace=False, out="")
declare_forms("rsub.Scalar", "Scalar other, Scalar alpha=1",
              lambda self, other, alpha: rsub_scalar(self, other, alpha), inplace=False, out="")


def rsub_scalar(self, other, alpha):
    """other - alpha * self, for a number `other`."""
    dtype = dtypes.result_type(self, other)
    return apply(lambda a, b: b - a if alpha == 1 else b - array_of(alpha, dtype) * a,
                 dtype, self, other)


for _name, _kernel in {"mul": multiply, "multiply": multiply, "div": true_divide,
                       "divide": true_divide, "true_divide": true_divide}.items():
    declare_forms(f"{_name}.Tensor", "Tensor other", _kernel)
    declare_forms(f"{_name}.Scalar", "Scalar other", _kernel,
                  out="Scalar_out" if _name in ("mul", "div") else "")
for _name in ("div", "divide"):
    declare_forms(f"{_name}.Tensor_mode", "Tensor other, *, str? rounding_mode", divide_mode,
                  out="out_mode")
    declare_forms(f"{_name}.Scalar_mode", "Scalar other, *, str? rounding_mode", divide_mode,
                  out="Scalar_mode_out" if _name == "div" else "")
for _name, _kernel in {"remainder": remainder, "fmod": fmod}.items():
    declare_forms(f"{_name}.Tensor", "Tensor other", _kernel,
                  out="Tensor_out")
    declare_forms(f"{_name}.Scalar", "Scalar other", _kernel, out="Scalar_out")
declare("aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", remainder,
        "primitive")
declare_forms("floor_divide", "Tensor other", floor_divide, inplace=False)
declare_forms("floor_divide.Scalar", "Scalar other", floor_divide, inplace=False,
              out="Scalar_out")
declare("aten::floor_divide_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
        lambda self, other: store(self, floor_divide(self, other)), "primitive")
declare("aten::floor_divide_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
        lambda self, other: store(self, floor_divide(self, other)), "primitive")
declare_forms("pow.Tensor_Tensor", "Tensor exponent", power, inplace=False,
              out="Tensor_Tensor_out")
declare_forms("pow.Tensor_Scalar", "Scalar exponent", power, inplace=False,
              out="Tensor_Scalar_out")
declare("aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor", power, "primitive")
for _overload, _type in (("Scalar", "Scalar"), ("Tensor", "Tensor")):
    declare(f"aten::pow_.{_overload}(Tensor(a!) self, {_type} exponent) -> Tensor(a!)",
            lambda self, other: store(self, power(self, other)), "primitive")

FLOAT_BINARY = {"atan2": np.arctan2, "arctan2": np.arctan2, "hypot": np.hypot,
                "logaddexp": np.logaddexp, "logaddexp2": np.logaddexp2, "nextafter": np.nextafter,
                "copysign.Tensor": np.copysign, "xlogy.Tensor": special.xlogy}
for _name, _f in FLOAT_BINARY.items():
    declare_forms(_name, "Tensor other",
                  lambda self, other, f=_f: apply(
                      f, floating(dtypes.result_type(self, other)), self, other),
                  inplace=not _name.startswith("logadd"),
                  out="OutTensor" if _name.startswith("xlogy") else "out")
for _name, _f in {"maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax,
                  "fmin": np.fmin}.items():
    declare_forms(_name, "Tensor other", arithmetic(_f), inplace=False)
for _name in ("gcd", "lcm"):
    declare_forms(_name, "Tensor other", arithmetic(getattr(np, _name)))


@primitive("aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor")
def addcmul(self, tensor1, tensor2, value):
    dtype = dtypes.result_type(self, tensor1, tensor2)
    return apply(lambda a, b, c: a + array_of(value, dtype) * b * c, dtype, self, tensor1, tensor2)


@primitive("aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor")
def addcdiv(self, tensor1, tensor2, value):
    dtype = dtypes.result_type(self, tensor1, tensor2)
    return apply(lambda a, b, c: (a + array_of(value, dtype) * (b / c)).astype(a.dtype),
                 dtype, self, tensor1, tensor2)


for _name, _kernel in {"addcmul": addcmul, "addcdiv": addcdiv}.items():
    declare(f"aten::{_name}_(Tensor(a!) self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)"
            " -> Tensor(a!)", lambda self, a, b, value, f=_kernel: store(self, f(self, a, b, value)),
            "primitive")


def lerp(self, end, weight):
    dtype = dtypes.result_type(self, end)
    w = weight if isinstance(weight, Tensor) else float(weight)

    def f(a, b, w):
        return np.where(np.abs(w) < 0.5, a + w * (b - a), b - (b - a) * (1 - w)).astype(a.dtype)

    return apply(f, dtype, self, end, w)


declare_forms("lerp.Tensor", "Tensor end, Tensor weight", lerp, out="Tensor_out")
declare_forms("lerp.Scalar", "Tensor end, Scalar weight", lerp, out="Scalar_out")


@primitive("aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None)"
           " -> Tensor")
def nan_to_num(self, nan, posinf, neginf):
    if self.dtype.kind not in "fc":
        return Tensor._wrap(self._array.copy())
    return Tensor._wrap(np.nan_to_num(self._array, nan=nan or 0.0, posinf=posinf, neginf=neginf))


@primitive("aten::logit(Tensor self, float? eps=None) -> Tensor")
def logit(self, eps):
    dtype = floating(self.dtype)
    return apply(lambda a: _logit(a if eps is None else np.clip(a, eps, 1 - eps)), dtype, self)
