"""Activation functions: pointwise kernels in a table, softmax, and functions composed of others."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ... import dtypes
from ...tensors import Tensor, wrap_dim
from ..calling import functions as torch
from ..shared import special
from ..shared.elementwise import DISPLAY, check_factor, check_fits, rounded_number
from ..shared.layout import laid_like, rows
from ..shared.numeric import check_floating, finish, working
from ..table import composite, declare, describe, primitive
from . import random

SQRT_HALF = math.sqrt(0.5)


def relu(x):
    return np.where(x < 0, x.dtype.type(0), x)  # unlike np.maximum, this keeps -0


def gelu(x, approximate):
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    if approximate != "none":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return x * 0.5 * (1 + special.erf((x * SQRT_HALF).astype(x.dtype)))


def silu(x):
    return x / (1 + np.exp(-x))


def mish(x):
    return x * np.tanh(np.logaddexp(x, x.dtype.type(0)))


def hardsigmoid(x):
    return np.clip(x + 3, 0, 6) / 6


def hardswish(x):
    return x * np.clip(x + 3, 0, 6) / 6


def leaky_relu(x, slope):
    return np.where(x > 0, x, x * slope)


def elu(x, alpha, scale, input_scale):
    return np.where(x <= 0, np.expm1(x * input_scale) * (alpha * scale), x * scale)


def softplus(x, beta, threshold):
    return np.where(x * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta)


def log_sigmoid(x):
    return np.minimum(x, x.dtype.type(0)) - np.log1p(np.exp(-np.abs(x)))


def hardshrink(x, bound):
    return np.where((x >= -bound) & (x <= bound), x.dtype.type(0), x)


def softshrink(x, bound):
    if bound < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {bound}.")
    return np.where(
        x > bound,
        x - bound,
        np.where(x < -bound, x + bound, np.where(np.isnan(x), x, x.dtype.type(0))),
    )


def threshold(x, bound, value):
    return np.where(x <= bound, x.dtype.type(value), x)


def hardtanh(x, low, high):
    if x.dtype.kind == "u" and (low < 0 or high < 0):
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return np.clip(x, x.dtype.type(low), x.dtype.type(high))


POINTWISE = (
    ("relu", "", relu, "uif", "relu_cpu"),
    ("gelu", '*, str approximate="none"', gelu, "f", "GeluKernelImpl"),
    ("silu", "", silu, "fc", "silu_cpu"),
    ("mish", "", mish, "f", "mish_cpu"),
    ("hardsigmoid", "", hardsigmoid, "f", "hardsigmoid_cpu"),
    ("hardswish", "", hardswish, "f", "hardswish_cpu"),
    ("leaky_relu", "Scalar negative_slope=0.01", leaky_relu, "f", "leaky_relu_cpu"),
    ("elu", "Scalar alpha=1, Scalar scale=1, Scalar input_scale=1", elu, "f", "elu_cpu"),
    ("softplus", "Scalar beta=1, Scalar threshold=20", softplus, "f", "softplus_cpu"),
    ("hardshrink", "Scalar lambd=0.5", hardshrink, "f", "hardshrink_cpu"),
    ("softshrink", "Scalar lambd=0.5", softshrink, "f", "softshrink_cpu"),
    ("threshold", "Scalar threshold, Scalar value", threshold, "uif", "threshold_cpu"),
    ("hardtanh", "Scalar min_val=-1, Scalar max_val=1", hardtanh, "uif", "hardtanh_cpu"),
)
"""Name, arguments after self, function of an array, supported kinds of element types, PyTorch's
name of the kernel (for errors)."""


EXACT = {
    "hardshrink_cpu": (0,),
    "softshrink_cpu": (0,),
    "threshold_cpu": (1,),
    "hardtanh_cpu": (0, 1),
}
"""Kernel name -> indices of the number arguments that are used in a half type's own precision.

Other numbers are float32, as computations on half types are.
"""


def setting(value, dtype, exact: bool):
    """Convert a number argument for a kernel on elements of `dtype`; a str is returned as it is.

    exact: whether it must be representable in `dtype` itself.
    """
    if isinstance(value, str):
        return value
    (check_fits if exact else check_factor)(value, dtype)
    value = value.real if isinstance(value, complex) else value
    return int(value) if dtype.kind in "ui" else value


def pointwise(f: Callable, kinds: str, kernel_name: str) -> Callable:
    def kernel(self, *args):
        if self.dtype.kind == "b" and kernel_name == "relu_cpu":
            raise RuntimeError("Boolean inputs not supported for relu")
        check_floating(kernel_name, self, kinds)
        exact = EXACT.get(kernel_name, ())
        args = [setting(v, self.dtype, i in exact) for i, v in enumerate(args)]
        if kernel_name == "hardshrink_cpu":
            args = [rounded_number(args[0], self.dtype)]
        with np.errstate(all="ignore"):
            return finish(laid_like(f(working(self), *args), self), self.dtype)

    return kernel


for _name, _rest, _f, _kinds, _kernel_name in POINTWISE:
    declare(
        f"aten::{_name}(Tensor self{', ' if _rest else ''}{_rest}) -> Tensor",
        pointwise(_f, _kinds, _kernel_name),
        "primitive",
        pointwise=True,
        fusible=True,
        out="" if _name == "threshold" else "exact",
    )


# softmax


def softmax_input(self: Tensor, dim: int, dtype: int | None, name: str):
    """Return (the array to normalize, its dimension, the type of the result)."""
    target = self.dtype if dtype is None else dtypes.by_code(dtype)
    check = self if dtype is None else None
    if check is not None and check.dtype.kind != "f" and self.numel():
        raise NotImplementedError(f"\"{name}\" not implemented for '{DISPLAY[self.dtype.name]}'")
    if target.kind != "f" and self.numel():
        raise NotImplementedError(f"\"{name}\" not implemented for '{DISPLAY[target.name]}'")
    dim = wrap_dim(dim, self.dim())
    array = working(self)
    if array.dtype.kind != "f" or target is dtypes.float64:
        array = array.astype(target.numpy if target.itemsize >= 4 else np.float32)
    return (array.reshape(1) if not array.ndim else array), dim, target


def check_half(dim: int, half_to_float: bool) -> int:
    if half_to_float:
        raise RuntimeError("softmax with half to float conversion is not supported on CPU")
    return dim


def softmax(self, dim, dtype=None):
    """exp(x) / sum(exp(x)) along a dimension, shifted by the maximum to avoid overflow."""
    x, dim, target = softmax_input(self, dim, dtype, "softmax_lastdim_kernel_impl")
    if not x.size:
        return finish(x.copy().reshape(self._size), target)
    with np.errstate(all="ignore"):
        weights = np.exp(x - x.max(axis=dim, keepdims=True))
        weights /= weights.sum(axis=dim, keepdims=True)
    return finish(np.ascontiguousarray(weights).reshape(self._size), target)


def log_softmax(self, dim, dtype=None):
    x, dim, target = softmax_input(self, dim, dtype, "log_softmax_lastdim_kernel_impl")
    if not x.size:
        return finish(x.copy().reshape(self._size), target)
    with np.errstate(all="ignore"):
        shifted = x - x.max(axis=dim, keepdims=True)
        result = shifted - np.log(np.exp(shifted).sum(axis=dim, keepdims=True))
    return finish(np.ascontiguousarray(result).reshape(self._size), target)


for _name, _f in (("softmax", softmax), ("log_softmax", log_softmax)):
    declare(
        f"aten::{_name}.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
        _f,
        "primitive",
    )
    declare(
        f"aten::_{_name}(Tensor self, int dim, bool half_to_float) -> Tensor",
        lambda self, dim, half_to_float, f=_f: f(self, check_half(dim, half_to_float)),
        "primitive",
    )


@primitive("aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")
def safe_softmax(self, dim, dtype):
    """softmax, but zero for rows that are all minus infinity."""
    result = softmax(self, dim, dtype)
    if not self.dim() or not self.numel():
        return result
    empty = (self._array == -np.inf).all(axis=dim, keepdims=True)
    return finish(np.where(empty, 0, working(result)), result.dtype)


@composite(
    "aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    shape="like_first",
)
def special_softmax(self: Tensor, dim: int, dtype: int | None = None) -> Tensor:
    return torch.softmax(self, dim, dtype)


@composite(
    "aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor",
    autocast="full",
    shape="like_first",
)
def special_log_softmax(self: Tensor, dim: int, dtype: int | None = None) -> Tensor:
    return torch.log_softmax(self, dim, dtype)


@primitive(
    "aten::prelu(Tensor self, Tensor weight) -> Tensor", autocast="reduced", shape="like_first"
)
def prelu(self, weight):
    """weight: one element, or one for each channel (dimension 1)."""
    if weight.dtype is not self.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {self.dtype} and {weight.dtype}"
        )
    if weight.dim() > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}"
        )
    if weight.numel() != 1:
        channels = self._size[1] if self.dim() > 1 else 1
        if not self.dim():
            raise RuntimeError("prelu: Not allow zero-dim input tensor.")
        if weight.numel() != channels:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found "
                f"parameter numbers = {weight.numel()} and channel size = "
                f"{channels}."
            )
    check_floating("prelu_cpu", self, "f")
    x, w = working(self), working(weight)
    if weight.numel() == 1:
        w = w.reshape(())
    else:
        w = w.reshape(1, -1, *([1] * (self.dim() - 2)))
    return finish(laid_like(np.where(x > 0, x, x * w), self), self.dtype)


@primitive("aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor", shape="like_first")
def prelu_kernel(self, weight):
    if self.dtype is not weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {self.dtype.name} and {weight.dtype.name}"
        )
    check_floating("prelu_cpu", self, "f")
    x = working(self)
    return finish(np.where(x > 0, x, x * working(weight)), self.dtype)


# composed of others


@composite("prim::abs(Tensor x) -> Tensor", pointwise=True)
def builtin_abs(x: Tensor) -> Tensor:
    return torch.abs(x)


@composite(
    "aten::relu6(Tensor self) -> Tensor",
    pointwise=True,
    fusible=True,
    keeps_type="any",
    layout="keeps",
)
def relu6(self: Tensor) -> Tensor:
    return torch.hardtanh(self, 0, 6)


@composite("aten::selu(Tensor self) -> Tensor", pointwise=True, fusible=True)
def selu(self: Tensor) -> Tensor:
    return torch.elu(self, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


@composite(
    "aten::celu(Tensor self, Scalar alpha=1.) -> Tensor", pointwise=True, fusible=True, out="exact"
)
def celu(self: Tensor, alpha: float = 1.0) -> Tensor:
    if alpha == 0.0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return torch.elu(self, alpha, 1.0, 1.0 / alpha)


def single(self: Tensor) -> Tensor:
    """The tensor, as float32 if it is of a half type, so that only the result is rounded."""
    if self.dtype == torch.float16 or self.dtype == torch.bfloat16:
        return self.to(dtype=torch.float32)
    return self


@composite("aten::glu(Tensor self, int dim=-1) -> Tensor", out="converts")
def glu(self: Tensor, dim: int = -1) -> Tensor:
    if self.dim() == 0:
        raise RuntimeError("glu does not support 0-dimensional tensors")
    if not self.is_floating_point():
        raise NotImplementedError("glu is not implemented for tensors of this type")
    if self.size(dim) % 2 != 0:
        raise RuntimeError(
            "Halving dimension must be even, but dimension {} is size {}".format(
                dim, self.size(dim)
            )
        )
    parts = single(self).chunk(2, dim)
    return (parts[0] * torch.sigmoid(parts[1])).to(dtype=self.dtype)


@primitive(
    "aten::rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool "
    "training=False, Generator? generator=None) -> Tensor",
    shape="like_first",
)
def rrelu(self, lower, upper, training, generator):
    """In training, each negative element has its own slope, drawn uniformly from [lower, upper)."""
    for bound in (lower, upper):
        check_fits(bound, dtypes.float64)
    lower, upper = (x.real if isinstance(x, complex) else x for x in (lower, upper))
    if not lower <= upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    check_floating("rrelu_with_noise_out_cpu", self, "f")
    x = working(self)
    if not training:
        return finish(rows(np.where(x > 0, x, x * ((lower + upper) / 2))), self.dtype)
    result, negative = x.copy("C"), x <= 0
    slopes = random.of(generator).uniform(int(negative.sum())) * (upper - lower) + lower
    result[negative] = x[negative] * slopes
    return finish(result, self.dtype)


@primitive(
    "aten::log_sigmoid(Tensor self) -> Tensor",
    pointwise=True,
    fusible=True,
    out="exact",
    out_memory="free",
)
def log_sigmoid_rows(self):
    return log_sigmoid_forward(self)[0]


@primitive("aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)")
def log_sigmoid_forward(self):
    """Return log(sigmoid(x)), and the buffer that PyTorch saves for the derivative: exp(-|x|)."""
    x = working(self)
    check_floating("log_sigmoid_cpu", self, "f")
    return (finish(rows(log_sigmoid(x)), self.dtype), finish(rows(np.exp(-np.abs(x))), self.dtype))


describe("gelu log_softmax softplus", autocast="full")
describe("log_softmax softmax", fusible=True)
describe("relu", keeps_type="any")
describe(
    """elu gelu hardsigmoid hardswish hardtanh leaky_relu mish silu softmax""",
    keeps_type="floating",
)
describe("elu gelu hardsigmoid hardswish hardtanh leaky_relu mish relu silu", layout="keeps")
describe("log_softmax softmax", out_memory="free")
describe("_log_softmax _softmax log_softmax softmax", shape="like_first")
