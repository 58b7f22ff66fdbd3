"""Kernels of arithmetic on two and three tensors: add, div, remainder, pow, ..."""

from __future__ import annotations

import numpy as np

from ... import dtypes
from ...dtypes import DType
from ...dtypes import bool as BOOL
from ...tensors import Tensor
from ..shared import special
from ..shared.elementwise import (
    DISPLAY,
    apply,
    array_of,
    beside_halves,
    check_broadcast,
    check_factor,
    check_fits,
    check_kind,
    declare_pointwise,
    floating,
    lying,
    rounded,
    store,
    unsupported,
)
from ..shared.layout import rows
from ..table import declare, describe, primitive


def check_alpha(dtype: DType, *factors) -> None:
    """Raise RuntimeError if a factor is of a higher category than the result."""
    for factor in factors:
        if isinstance(factor, bool) and dtype is not BOOL:
            raise RuntimeError("Boolean alpha only supported for Boolean results.")
        if isinstance(factor, float) and dtype.kind in "bui":
            raise RuntimeError(
                "For integral input tensors, argument alpha must not be a floating point number."
            )
        if isinstance(factor, complex) and dtype.kind != "c":
            raise RuntimeError(
                "For non-complex input tensors, argument alpha must not be a complex number."
            )
        check_fits(factor, dtype)


def of_rounded(kernel):
    """Wrap a kernel to round numbers to the result's type if that is a half type.

    PyTorch passes numbers to these kernels as tensors; mul and div use numbers unrounded.
    """
    return lambda self, other, *rest: kernel(*beside_halves(self, other), *rest)


def binary(f, name="", kinds="buifc"):
    """Make a kernel that computes in the result type."""
    return lambda self, other: apply(
        f, dtypes.result_type(self, other), self, other, name=name, kinds=kinds
    )


def add(self, other, alpha=1):
    dtype = dtypes.result_type(self, other)
    if type(alpha) is int and alpha == 1:
        return apply(np.add, dtype, self, other, name="add")
    check_alpha(dtype, alpha)
    return apply(lambda a, b: a + array_of(alpha, dtype, a.dtype) * b, dtype, self, other)


def subtract(self, other, alpha=1):
    dtype = dtypes.result_type(self, other)
    if dtype is BOOL or is_bool(self) or is_bool(other):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
            if dtype is BOOL
            else "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
            "trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )
    check_alpha(dtype, alpha)
    if alpha == 1:
        return apply(np.subtract, dtype, self, other, name="sub")
    return apply(lambda a, b: a - array_of(alpha, dtype, a.dtype) * b, dtype, self, other)


ADDED_AND_CUT = ("int8", "int16", "int32", "int64", "float32", "float64")
"""Element types that `self` of _add_relu may have."""


def add_relu(self, other, alpha=1):
    """self + alpha * other, or 0 if that is less.

    Nothing is above the greatest finite number of self's type, which may be narrower than the
    result's.  NaN stays, as in all but the last few elements of PyTorch's results.
    """
    dtype, own = dtypes.result_type(self, other), self.dtype
    check_broadcast(self, other)
    if own.name not in ADDED_AND_CUT:
        raise RuntimeError(f"Unsupported datatype for add_relu: {DISPLAY[own.name]}")
    check_kind("add_clamp", dtype, "uif")
    if dtypes.is_half(dtype):
        raise unsupported("add_clamp", dtype)
    most = float(np.finfo(own.numpy).max) if own.kind == "f" else int(np.iinfo(own.numpy).max)
    check_fits(alpha, dtype)
    check_fits(most, dtype)

    def f(a, b):
        total = a + array_of(alpha, dtype) * b
        return np.where(total > most, most, np.where(total < 0, 0, total)).astype(total.dtype)

    return apply(f, dtype, self, other)


declare_pointwise(
    "_add_relu.Tensor",
    "Tensor other, *, Scalar alpha=1",
    add_relu,
    keeps_type="floating",
    layout="keeps",
)
declare_pointwise(
    "_add_relu.Scalar",
    "Scalar other, Scalar alpha=1",
    add_relu,
    keeps_type="floating",
    layout="keeps",
    out="exact",
)


def is_bool(x) -> bool:
    return isinstance(x, bool) or isinstance(x, Tensor) and x.dtype is BOOL


def multiply(self, other):
    dtype = dtypes.result_type(self, other)
    return apply(np.multiply, dtype, self, other, name="mul", last_is_exact=True)


def true_divide(self, other):
    dtype = floating(dtypes.result_type(self, other))
    return apply(np.true_divide, dtype, self, other, last_is_exact=True)


def check_divisor(dtype: DType, self, other) -> None:
    """Raise RuntimeError for an integer division by zero, unless the result is empty."""
    if (
        dtype.kind in "bui"
        and not np.all(array_of(other, dtype))
        and 0 not in check_broadcast(self, other)
    ):
        raise RuntimeError("ZeroDivisionError")


def floor_divide(self, other):
    dtype = dtypes.result_type(self, other)
    check_kind("div_floor", dtype, "uif")
    check_divisor(dtype, self, other)
    f = np.floor_divide if dtype.kind in "ui" else special.floor_divide
    if rounds_quotient(dtype, other):

        def f(a, b):
            return special.floor_divide_halves(a, b, lambda x: rounded(x, dtype))

    return apply(f, dtype, self, other, last_is_exact=True)


def trunc_divide(self, other):
    dtype = dtypes.result_type(self, other)
    check_kind("div_trunc", dtype, "uif")
    check_divisor(dtype, self, other)

    def f(a, b):
        return np.trunc(rounded(a / b, dtype) if rounds_quotient(dtype, other) else a / b)

    f = special.trunc_divide_int if dtype.kind in "ui" else f
    return apply(f, dtype, self, other, last_is_exact=True)


def rounds_quotient(dtype: DType, divisor) -> bool:
    """Whether quotients are rounded before they are truncated.

    They are for half types, unless the divisor is a single number.
    """
    half = dtypes.working_type(dtype) != dtype.numpy
    return half and isinstance(divisor, Tensor) and divisor.numel() != 1


def divide_mode(self, other, mode):
    if mode is None:
        return true_divide(self, other)
    if mode not in ("floor", "trunc"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{mode}'"
        )
    return floor_divide(self, other) if mode == "floor" else trunc_divide(self, other)


def remainder(self, other):
    dtype = dtypes.result_type(self, other)
    check_kind("remainder", dtype, "uif")
    check_divisor(dtype, self, other)
    return apply(np.remainder, dtype, self, other)


def fmod(self, other):
    dtype = dtypes.result_type(self, other)
    check_kind("fmod", dtype, "uif")
    check_divisor(dtype, self, other)
    return apply(np.fmod, dtype, self, other)


def power(self, other):
    dtype = dtypes.result_type(self, other)
    check_kind(
        "pow", dtype, "uifc" if isinstance(self, Tensor) and isinstance(other, Tensor) else "buifc"
    )
    if dtype.kind in "bui":
        if not isinstance(other, Tensor) and other < 0:
            raise RuntimeError("Integers to negative integer powers are not allowed.")
        return of_number(self, apply(special.int_power, dtype, self, other))
    if not isinstance(other, Tensor) and other == 2:
        return apply(np.square, dtype, self)
    if dtypes.is_half(dtype) and not isinstance(other, Tensor):
        return apply(powers_of_halves(other, dtype), dtype, self, other)
    return of_number(self, apply(powers_by(other), dtype, self, other))


def powers_of_halves(exponent: float, dtype: DType):
    """The power function of half types for a number as exponent.

    For bfloat16, a cube rounds the square first.  For float16, roots follow the rules of powers:
    those of -0 and -inf are positive.
    """
    if dtype is dtypes.bfloat16 and exponent == 3:
        return lambda a, b: rounded(a * a, dtype) * a
    if dtype is dtypes.float16 and abs(exponent) == 0.5:

        def root(a, b):
            made = np.sqrt(np.where(a == -np.inf, np.inf, a) + a.dtype.type(0))
            return made if exponent > 0 else 1 / made

        return root
    return powers_by(exponent)


def float_power(self, other):
    wide = dtypes.complex128 if dtypes.result_type(self, other).kind == "c" else dtypes.float64
    return of_number(self, apply(powers_by(other), wide, self, other))


def powers_by(exponent):
    """The power function for an exponent; -0.5 is an inverse root, also for -0 and -inf."""
    if isinstance(exponent, Tensor):
        return power_of_complex
    if exponent == 0.5:
        return lambda a, b: np.sqrt(a) if a.dtype.kind == "c" else np.power(a, b)
    return np.power if exponent != -0.5 else lambda a, b: 1 / np.sqrt(a)


def power_of_complex(a, b):
    """np.power, but nan where exp(b * log(a)) is: for b = 0, if log(a) is not finite."""
    powers = np.power(a, b)
    if powers.dtype.kind != "c":
        return powers
    return np.where((b == 0) & ((a == 0) | ~np.isfinite(a)), complex("nan+nanj"), powers).astype(
        powers.dtype
    )


def of_number(base, powers: Tensor) -> Tensor:
    """Make the powers row-major if the base is a number."""
    return powers if isinstance(base, Tensor) else Tensor._wrap(rows(powers._array))


def power_in_place(name, kernel):
    def form(self, exponent):
        if name == "float_power" and self.dtype.name not in ("float64", "complex128"):
            raise RuntimeError(
                "the base given to float_power_ has dtype "
                f"{DISPLAY[self.dtype.name]} but the operation's result requires "
                "dtype Double"
            )
        return store(self, kernel(self, exponent))

    return form


def reverse_subtract(self, other, alpha=1):
    """other - alpha * self."""
    if alpha == 1 and not isinstance(alpha, bool):
        return subtract_from(self, other)
    if is_bool(self) or is_bool(other):
        return subtract(self, other)  # raises an error
    dtype = dtypes.result_type(self, other)
    check_alpha(dtype, alpha)
    return apply(lambda b, a: b - array_of(alpha, dtype, a.dtype) * a, dtype, other, self)


def subtract_from(self, other):
    if is_bool(self) or is_bool(other):
        return subtract(self, other)  # raises an error
    return apply(np.subtract, dtypes.result_type(self, other), other, self)


for _name, _kernel in {
    "add": add,
    "sub": subtract,
    "subtract": subtract,
    "rsub": reverse_subtract,
}.items():
    declare_pointwise(f"{_name}.Tensor", "Tensor other, *, Scalar alpha=1", _kernel)
    declare_pointwise(f"{_name}.Scalar", "Scalar other, Scalar alpha=1", of_rounded(_kernel))
for _name, _kernel in {
    "mul": multiply,
    "multiply": multiply,
    "div": true_divide,
    "divide": true_divide,
    "true_divide": true_divide,
    "remainder": remainder,
    "fmod": fmod,
}.items():
    declare_pointwise(f"{_name}.Tensor", "Tensor other", _kernel)
    _rounds = _kernel in (remainder, fmod)
    declare_pointwise(
        f"{_name}.Scalar", "Scalar other", of_rounded(_kernel) if _rounds else _kernel
    )
for _name in ("mul", "multiply"):
    declare(
        f"aten::{_name}_.Scalar(Tensor(a!) self, Scalar other) -> Tensor(a!)",
        lambda self, other: store(self, multiply(*beside_halves(self, other))),
        "primitive",
    )
for _name in ("div", "divide"):
    for _type in ("Tensor", "Scalar"):
        declare_pointwise(
            f"{_name}.{_type}_mode", f"{_type} other, *, str? rounding_mode", divide_mode
        )
declare(
    "aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
    of_rounded(remainder),
    "primitive",
)
declare_pointwise("floor_divide", "Tensor other", floor_divide)
declare_pointwise("floor_divide.Scalar", "Scalar other", floor_divide)
for _name, _kernel in {"pow": power, "float_power": float_power}.items():
    declare_pointwise(f"{_name}.Tensor_Tensor", "Tensor exponent", _kernel)
    _kernel = of_rounded(_kernel) if _kernel is power else _kernel
    declare_pointwise(f"{_name}.Tensor_Scalar", "Scalar exponent", _kernel)
    declare(f"aten::{_name}.Scalar(Scalar self, Tensor exponent) -> Tensor", _kernel, "primitive")
    for _type in ("Scalar", "Tensor"):
        declare(
            f"aten::{_name}_.{_type}(Tensor(a!) self, {_type} exponent) -> Tensor(a!)",
            power_in_place(_name, _kernel),
            "primitive",
        )
for _type in ("Tensor", "Scalar"):
    declare(
        f"aten::floor_divide_.{_type}(Tensor(a!) self, {_type} other) -> Tensor(a!)",
        lambda self, other: store(self, floor_divide(self, other)),
        "primitive",
    )


def floating_binary(f, name, kinds="f", integers=True):
    """Make a kernel that computes in a floating type; integers are converted, or refused."""

    def kernel(self, other):
        dtype = dtypes.result_type(self, other)
        self, other = beside_halves(self, other)
        return apply(f, floating(dtype) if integers else dtype, self, other, name=name, kinds=kinds)

    return kernel


for _name, _f, _kinds, _integers in (
    ("atan2", np.arctan2, "f", True),
    ("arctan2", np.arctan2, "f", True),
    ("copysign.Tensor", np.copysign, "f", True),
    ("copysign.Scalar", np.copysign, "f", True),
    ("hypot", np.hypot, "f", False),
    ("logaddexp", special.logaddexp, "fc", False),
    ("logaddexp2", special.logaddexp2, "fc", False),
):
    _type = "Scalar" if _name.endswith("Scalar") else "Tensor"
    declare_pointwise(_name, f"{_type} other", floating_binary(_f, _name, _kinds, _integers))
for _name, _f, _kinds in (
    ("maximum", np.maximum, "buif"),
    ("minimum", np.minimum, "buif"),
    ("fmax", np.fmax, "buif"),
    ("fmin", np.fmin, "buif"),
    ("gcd", special.gcd, "ui"),
    ("lcm", special.lcm, "ui"),
):
    declare_pointwise(_name, "Tensor other", binary(_f, _name, _kinds))


def times_log(log, name):
    """Make a kernel of self * log(other).

    It is 0 where self is 0, and NaN where other is NaN; half types round the logarithm.
    """

    def kernel(self, other):
        dtype = floating(dtypes.result_type(self, other))

        def f(a, b):
            product = a * rounded(log(b), dtype)
            return np.where(np.isnan(b), b, np.where(a == 0, a.dtype.type(0), product))

        return apply(f, dtype, *beside_halves(self, other), name=name, kinds="f")

    return kernel


for _base, _log in {"xlogy": np.log, "special_xlogy": np.log, "special_xlog1py": np.log1p}.items():
    _kernel = times_log(_log, _base)
    _tensor = "" if _base.startswith("special") else ".Tensor"
    _scalar = "self_scalar" if _base.startswith("special") else "Scalar_Self"
    _other = "other_scalar" if _base.startswith("special") else "Scalar_Other"
    declare_pointwise(f"{_base}{_tensor}", "Tensor other", _kernel)
    declare_pointwise(f"{_base}.{_other}", "Scalar other", _kernel)
    declare(f"aten::{_base}.{_scalar}(Scalar self, Tensor other) -> Tensor", _kernel, "primitive")


@primitive("aten::nextafter(Tensor self, Tensor other) -> Tensor", pointwise=True)
def nextafter(self, other):
    dtype = dtypes.result_type(self, other)
    if dtype.kind != "f":
        raise unsupported("nextafter", dtype)
    a, b = array_of(self, dtype), array_of(other, dtype)
    return lying(np.asarray(np.nextafter(a, b)), dtype, self, other)


@primitive("aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor", pointwise=True, out="exact")
def ldexp(self, other):
    """self * 2^other; PyTorch reads an integer exponent as 32 bits."""
    if self.dtype.kind != "f" or other.dtype.kind not in "bui":
        return multiply(self, power(2.0, other))
    check_broadcast(self, other)
    if other.dtype is BOOL or other.dtype in dtypes.BAREBONES:
        raise NotImplementedError(
            f"\"ldexp_cpu_exp\" not implemented for '{DISPLAY[other.dtype.name]}'"
        )
    x = array_of(self, self.dtype, dtypes.working_type(self.dtype))
    with np.errstate(all="ignore"):
        result = np.asarray(np.ldexp(x, other._array.astype(np.int32)))
    return lying(result.astype(self.dtype.numpy), self.dtype, self, other)


@primitive(
    "aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    pointwise=True,
    fusible=True,
    autocast="full",
)
def addcmul(self, tensor1, tensor2, value):
    dtype = dtypes.result_type(self, tensor1, tensor2)
    check_factor(value, dtype)
    return apply(
        lambda a, b, c: a + array_of(value, dtype, a.dtype) * b * c, dtype, self, tensor1, tensor2
    )


@primitive(
    "aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
    pointwise=True,
    fusible=True,
    autocast="full",
)
def addcdiv(self, tensor1, tensor2, value):
    dtype = dtypes.result_type(self, tensor1, tensor2)
    if dtypes.result_type(tensor1, tensor2).kind in "bui":
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported; use floating "
            "point tensors, or (self + value * torch.trunc(tensor1 / tensor2))"
        )
    check_factor(value, dtype)
    return apply(
        lambda a, b, c: a + array_of(value, dtype, a.dtype) * (b / c), dtype, self, tensor1, tensor2
    )


def lerp(self, end, weight):
    if self.dtype is not end.dtype:
        raise RuntimeError(f"expected dtype {self.dtype} for `end` but got dtype {end.dtype}")
    weighs = isinstance(weight, Tensor) and weight.dtype is not self.dtype
    if weighs and (weight._size or not self._size or weight.dtype.kind == "c"):
        raise RuntimeError(f"expected dtype {self.dtype} for `weight` but got dtype {weight.dtype}")
    if self.dtype.kind not in "fc":
        raise unsupported("lerp_kernel", self.dtype)
    if isinstance(weight, complex) and self.dtype.kind != "c":
        raise RuntimeError(f"value cannot be converted to type {self.dtype.name} without overflow")

    def f(a, b, w):
        w = w.astype(a.dtype)
        return np.where(np.abs(w) < 0.5, a + w * (b - a), b - (b - a) * (1 - w))

    wide = dtypes.promote(self.dtype, dtypes.result_type(weight))
    return apply(f, self.dtype if wide.kind != "c" else wide, self, end, weight)


declare_pointwise("lerp.Tensor", "Tensor end, Tensor weight", lerp)
declare_pointwise("lerp.Scalar", "Tensor end, Scalar weight", lerp)


@primitive("aten::heaviside(Tensor self, Tensor values) -> Tensor", pointwise=True, out="exact")
def heaviside(self, values):
    if self.dtype is not values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    if self.dtype.kind == "c":
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    return apply(
        lambda a, b: np.where(a == 0, b, (a > 0).astype(a.dtype)), self.dtype, self, values
    )


@primitive("aten::polar(Tensor abs, Tensor angle) -> Tensor", pointwise=True, out="exact")
def polar(abs, angle):
    if angle.dtype is not abs.dtype:
        raise RuntimeError(
            "Expected object of scalar type {} but got scalar type {} for second argument".format(
                DISPLAY[abs.dtype.name], DISPLAY[angle.dtype.name]
            )
        )
    array = abs._array * np.exp(1j * angle._array)
    if abs.dtype not in (dtypes.float32, dtypes.float64):
        raise unsupported("polar", abs.dtype)
    wide = dtypes.complex_of(abs.dtype).numpy
    return lying(array.astype(wide), None, abs, angle)


describe(
    """add arctan2 atan2 div divide mul multiply pow rsub.Tensor sub subtract true_divide""",
    autocast="full",
)
describe(
    """add arctan2 atan2 copysign div divide.Scalar divide.Tensor floor_divide fmax fmin fmod
         hypot lerp logaddexp logaddexp2 maximum minimum mul multiply pow remainder.Scalar
         remainder.Tensor rsub sub subtract true_divide xlogy""",
    fusible=True,
)
describe("add div mul sub", keeps_type="floating")
describe("add div mul sub", layout="keeps")
describe("float_power", may_share=True)
describe("remainder.Scalar_Tensor", out="converts")
describe("float_power lerp.Tensor rsub", out="exact")
describe("add.Scalar div.Scalar floor_divide.Scalar mul.Scalar sub.Scalar", out="number")
describe(
    """float_power.Scalar pow.Scalar special_xlog1py.self_scalar special_xlogy.self_scalar
         xlogy.Scalar_Self""",
    pointwise=True,
)
