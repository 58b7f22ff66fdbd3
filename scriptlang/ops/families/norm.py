"""Normalizations.  Statistics are computed in float64 and applied in the computing type."""

from __future__ import annotations

import numpy as np

from ...tensors import Tensor
from ..calling import functions as torch
from ..shared.elementwise import DISPLAY
from ..shared.layout import copied, in_format_of, rows
from ..shared.numeric import finish, working
from ..table import composite, declare, primitive


def empty(dtype: np.dtype) -> Tensor:
    return Tensor._wrap(np.empty(0, dtype))


def check_channels(name: str, x: Tensor | None, channels: int) -> None:
    if x is not None and x.numel() != channels:
        raise RuntimeError(f"{name} should contain {channels} elements not {x.numel()}")


def check_floating(x: Tensor, name: str) -> None:
    if x.dtype.kind != "f":
        raise NotImplementedError(f"\"{name}\" not implemented for '{DISPLAY[x.dtype.name]}'")


def check_mixed(x: Tensor, *parameters: Tensor | None) -> None:
    """Raise RuntimeError unless parameters have the input's type, or float32 for a half input."""
    types = {p.dtype.name for p in parameters if p is not None}
    if types <= {x.dtype.name}:
        return
    if types != {"float32"}:
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if x.dtype.name not in ("float16", "bfloat16"):
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


def scale_and_shift(
    x: np.ndarray, mean, invstd, weight: Tensor | None, bias: Tensor | None, shape
) -> np.ndarray:
    """(x - mean) * invstd * weight + bias, where these four are per channel."""
    alpha = invstd if weight is None else invstd * working(weight)
    beta = -mean * alpha if bias is None else working(bias) - mean * alpha
    alpha, beta = np.asarray(alpha, x.dtype), np.asarray(beta, x.dtype)
    return x * alpha.reshape(shape) + beta.reshape(shape)


def update(running: Tensor | None, value: np.ndarray, momentum: float) -> None:
    """Update a running statistic in place."""
    if running is not None:
        array = running._array
        array[...] = (array * (1 - momentum) + value * momentum).astype(array.dtype)


def batch_norm_parts(x, weight, bias, running_mean, running_var, training, momentum, eps):
    """(result, mean, 1 / standard deviation of the batch); both are empty in inference."""
    check_mixed(x, weight, bias, running_mean, running_var)
    check_floating(x, "batch_norm")
    if not x.numel():
        return Tensor._wrap(copied(x)), empty(x.dtype.numpy), empty(x.dtype.numpy)
    if x.dim() < 2:
        raise RuntimeError(f"batch_norm: expected at least 2 dimensions, got size {list(x._size)}")
    channels = x._size[1]
    for name, part in (
        ("running_mean", running_mean),
        ("running_var", running_var),
        ("weight", weight),
        ("bias", bias),
    ):
        check_channels(name, part, channels)
    array = working(x)
    shape = (1, channels, *([1] * (x.dim() - 2)))
    given = next((p for p in (weight, bias, running_mean, running_var) if p is not None), x)
    saved = given.dtype.numpy  # float32 if the parameters are, even for a half input
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "Expected running_mean and running_var to be defined when training is False"
            )
        mean, var = working(running_mean), working(running_var)
        with np.errstate(all="ignore"):
            invstd = 1 / np.sqrt(var + var.dtype.type(eps))
            result = scale_and_shift(array, mean, invstd, weight, bias, shape)
        return finish(in_format_of(result, x), x.dtype), empty(saved), empty(saved)
    axes = (0, *range(2, x.dim()))
    with np.errstate(all="ignore"):
        wide = array.astype(np.float64)
        mean, var = wide.mean(axis=axes), wide.var(axis=axes)
        n = x.numel() // max(channels, 1)
        update(running_mean, mean, momentum)
        update(running_var, var * n / np.float64(n - 1), momentum)  # NaN for a single value
        invstd = 1 / np.sqrt(var + eps)
        mean, invstd = (s.astype(saved).astype(np.float64) for s in (mean, invstd))
        result = scale_and_shift(array, mean, invstd, weight, bias, shape)
    return (
        finish(in_format_of(result, x), x.dtype),
        Tensor._wrap(mean.astype(saved)),
        Tensor._wrap(invstd.astype(saved)),
    )


AFFINE = "Tensor input, Tensor? weight, Tensor? bias, "
RATES = "float momentum, float eps"


@primitive(
    f"aten::batch_norm({AFFINE}Tensor? running_mean, Tensor? running_var, bool training, "
    f"{RATES}, bool cudnn_enabled) -> Tensor",
    keeps_type="floating",
    layout="keeps",
    shape="like_first",
)
def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn):
    return batch_norm_parts(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )[0]


def native_batch_norm(x, weight, bias, running_mean, running_var, training: bool, momentum, eps):
    if training and not x.numel():
        raise RuntimeError(
            f"input tensor must have at least one element, but got input_sizes = {list(x._size)}"
        )
    return batch_norm_parts(x, weight, bias, running_mean, running_var, training, momentum, eps)


declare(
    f"aten::native_batch_norm({AFFINE}Tensor? running_mean, Tensor? running_var, bool "
    f"training, {RATES}) -> (Tensor, Tensor, Tensor)",
    native_batch_norm,
    "primitive",
)
declare(
    f"aten::_native_batch_norm_legit({AFFINE}Tensor(a!) running_mean, Tensor(b!) running_var, "
    f"bool training, {RATES}) -> (Tensor, Tensor, Tensor)",
    native_batch_norm,
    "primitive",
)


@primitive(
    f"aten::_batch_norm_with_update({AFFINE}Tensor(a!) running_mean, Tensor(b!) "
    f"running_var, {RATES}) -> (Tensor, Tensor, Tensor, Tensor)"
)
def batch_norm_with_update(input, weight, bias, running_mean, running_var, momentum, eps):
    """Batch norm in training.

    The last result is empty: it is space that some devices reserve for the backward pass.
    """
    parts = native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return (*parts, Tensor._wrap(np.empty(0, np.uint8)))


@primitive(
    f"aten::_native_batch_norm_legit.no_stats({AFFINE}bool training, {RATES}) -> "
    "(Tensor, Tensor, Tensor)"
)
def batch_norm_no_stats(input, weight, bias, training, momentum, eps):
    return native_batch_norm(input, weight, bias, None, None, True, momentum, eps)


@primitive(
    f"aten::_native_batch_norm_legit_no_training({AFFINE}Tensor running_mean, Tensor "
    f"running_var, {RATES}) -> (Tensor, Tensor, Tensor)"
)
def batch_norm_no_training(input, weight, bias, running_mean, running_var, momentum, eps):
    return batch_norm_parts(input, weight, bias, running_mean, running_var, False, momentum, eps)


@composite(
    "aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
    "Tensor? running_var, bool use_input_stats, float momentum, float eps, bool "
    "cudnn_enabled) -> Tensor",
    shape="like_first",
)
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    if (running_mean is None) != (running_var is None):
        raise RuntimeError(
            "instance_norm: running_mean and running_var come together or not at all"
        )
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when use_input_stats is false"
        )
    n = input.size(0)
    c = input.size(1)
    shape: list[int] = [1, n * c]
    for d in range(2, input.dim()):
        shape.append(input.size(d))
    if weight is not None:
        weight = weight.repeat([n])
    if bias is not None:
        bias = bias.repeat([n])
    mean: Tensor | None = None
    var: Tensor | None = None
    if running_mean is not None:
        mean = running_mean.repeat([n])
    if running_var is not None:
        var = running_var.repeat([n])
    out = torch.batch_norm(
        input.reshape(shape), weight, bias, mean, var, use_input_stats, momentum, eps, cudnn_enabled
    )
    if use_input_stats and running_mean is not None and mean is not None:
        running_mean.copy_(mean.view([n, c]).mean([0]))
    if use_input_stats and running_var is not None and var is not None:
        running_var.copy_(var.view([n, c]).mean([0]))
    return out.view(input.size())


def check_normalized(x: Tensor, shape, weight: Tensor | None, bias: Tensor | None) -> None:
    """Raise RuntimeError unless the trailing dimensions, weight and bias have the size `shape`."""
    shape = list(shape)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., "
            "containing at least one element, but got normalized_shape = []"
        )
    for name, part in (("weight", weight), ("bias", bias)):
        if part is not None and list(part._size) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got "
                f"{name} of shape {list(part._size)} and normalized_shape = {shape}"
            )
    if x.dim() < len(shape) or list(x._size[x.dim() - len(shape) :]) != shape:
        wanted = ", ".join(["*", *map(str, shape)])
        raise RuntimeError(
            f"Given normalized_shape={shape}, expected input with shape "
            f"[{wanted}], but got input of size{list(x._size)}"
        )


@primitive(
    "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, "
    "Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
    autocast="full",
)
def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """(result, mean, 1 / standard deviation) over the trailing dimensions."""
    check_normalized(input, normalized_shape, weight, bias)
    check_mixed(input, weight, bias)
    check_floating(input, "LayerNormKernelImpl")
    x = working(input)
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    with np.errstate(all="ignore"):
        mean = x.mean(axis=axes, keepdims=True, dtype=np.float64)
        centred = x - mean.astype(x.dtype)
        var = np.square(centred, dtype=np.float64).mean(axis=axes, keepdims=True)
        invstd = 1 / np.sqrt(var + eps)
        result = centred * invstd.astype(x.dtype)
        if weight is not None:
            result = result * working(weight)
        if bias is not None:
            result = result + working(bias)
    return tuple(finish(rows(a), input.dtype) for a in (result, mean, invstd))


@primitive(
    "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? "
    "bias=None, float eps=1e-05, bool cudnn_enable=True) -> Tensor",
    fusible=True,
    autocast="full",
    keeps_type="floating",
    shape="like_first",
)
def layer_norm(input, normalized_shape, weight, bias, eps, cudnn_enable):
    return native_layer_norm(input, normalized_shape, weight, bias, eps)[0]


@primitive(
    "aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? "
    "eps) -> (Tensor, Tensor)"
)
def fused_rms_norm(input, normalized_shape, weight, eps):
    """(result, 1 / root mean square); the default of eps is that of the computing type."""
    check_normalized(input, normalized_shape, weight, None)
    x = working(input)
    if x.dtype.kind not in "fc":
        raise NotImplementedError(f"\"rms_norm\" not implemented for '{DISPLAY[input.dtype.name]}'")
    eps = float(np.finfo(x.dtype).eps) if eps is None else eps
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    with np.errstate(all="ignore"):
        rms = 1 / np.sqrt(np.square(x).mean(axis=axes, keepdims=True) + x.dtype.type(eps))
        result = x * rms
        if weight is not None:
            result = result * working(weight)
    return finish(rows(result), input.dtype), Tensor._wrap(rows(rms))


@primitive(
    "aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? "
    "eps=None) -> Tensor",
    fusible=True,
    may_share=True,
    shape="like_first",
)
def rms_norm(input, normalized_shape, weight, eps):
    return fused_rms_norm(input, normalized_shape, weight, eps)[0]


@primitive(
    "aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt "
    "C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)"
)
def native_group_norm(input, weight, bias, n, channels, area, group, eps):
    """(result, mean, 1 / standard deviation), the latter two of size (N, groups)."""
    check_groups(input, weight, bias, channels, group)
    if input.numel() != n * channels * area or n < 0:
        raise RuntimeError(
            f"native_group_norm: an input of shape {list(input._size)} has not "
            f"{n} * {channels} * {area} elements"
        )
    check_mixed(input, weight, bias)
    check_floating(input, "GroupNormKernelImpl")
    x = working(input).reshape(n, group, channels // group * area)
    with np.errstate(all="ignore"):
        mean = x.mean(axis=2, keepdims=True, dtype=np.float64)
        centred = x - mean.astype(x.dtype)
        var = np.square(centred, dtype=np.float64).mean(axis=2, keepdims=True)
        invstd = 1 / np.sqrt(var + eps)
        result = (centred * invstd.astype(x.dtype)).reshape(n, channels, area)
        if weight is not None:
            result = result * working(weight).reshape(-1, 1)
        if bias is not None:
            result = result + working(bias).reshape(-1, 1)
    return (
        finish(in_format_of(result.reshape(input._size), input), input.dtype),
        finish(mean.reshape(n, group), input.dtype),
        finish(invstd.reshape(n, group), input.dtype),
    )


def check_groups(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, channels: int, groups: int
) -> None:
    if groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {groups}")
    if channels % groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, "
            f"but got input of shape {list(x._size)} and num_groups={groups}"
        )
    for name, part in (("weight", weight), ("bias", bias)):
        if part is not None and list(part._size) != [channels]:
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of "
                f"channels in input, but got {name} of shape {list(part._size)} "
                f"and input of shape {list(x._size)}"
            )


@composite(
    "aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, "
    "float eps=1e-05, bool cudnn_enabled=True) -> Tensor",
    autocast="full",
    keeps_type="floating",
    shape="like_first",
)
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Tensor:
    if input.dim() < 2:
        raise RuntimeError(
            "Expected at least 2 dimensions for input tensor but received {}".format(input.dim())
        )
    area = 1
    for d in range(2, input.dim()):
        area = area * input.size(d)
    return torch.native_group_norm(
        input, weight, bias, input.size(0), input.size(1), area, num_groups, eps
    )[0]


@composite("aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor")
def weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    size = torch.norm_except_dim(v, 2, dim)
    if dim == 0 or dim == v.dim() - 1:
        if g.numel() != size.numel():
            raise RuntimeError(
                "_weight_norm: expected a length for each of {} vectors, got {}".format(
                    size.numel(), g.numel()
                )
            )
        g = g.reshape(size.size())
    return v * (g / size)
