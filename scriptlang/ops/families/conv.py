"""Convolutions of one to three spatial dimensions.

Windows are gathered into columns, followed by one matrix product per image and group.
"""

from __future__ import annotations

import math

import numpy as np

from ...tensors import Tensor
from ..shared.layout import format_of, format_of_signal, in_format, in_format_of
from ..shared.numeric import finish, working
from ..table import declare, describe, primitive


def per_dimension(name: str, values, n: int) -> list[int]:
    """The values of a parameter for n spatial dimensions; a single value is repeated."""
    values = list(values)
    if len(values) == 1:
        return values * n
    if len(values) != n:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {n} values "
            f"to match the convolution dimensions, but got {name}={values}"
        )
    return values


def by_x(sizes) -> str:
    return "(" + " x ".join(map(str, sizes)) + ")"


def check_convolution(
    x, weight, bias, stride, padding, dilation, transposed, output_padding, groups
):
    """Raise RuntimeError, with PyTorch's wording, for parameters or shapes that do not match."""
    for name, values in (("padding", padding), ("output_padding", output_padding)):
        if min(values, default=0) < 0:
            raise RuntimeError(f"negative {name} is not supported")
    if min(stride, default=1) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(dilation, default=1) <= 0:
        raise RuntimeError("dilation should be greater than zero")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    check_channels(x, weight, bias, transposed, groups)
    for name, other in (("weight", weight), ("bias", bias)):
        if other is not None and other.dtype is not x.dtype:
            raise RuntimeError(
                f"Input type ({x.dtype}) and {name} type ({other.dtype}) should be the same"
            )
    if not transposed:
        padded = [n + 2 * p for n, p in zip(x._size[2:], padding)]
        kernel = [d * (k - 1) + 1 for k, d in zip(weight._size[2:], dilation)]
        if any(n < k for n, k in zip(padded, kernel)):
            raise RuntimeError(
                f"Calculated padded input size per channel: {by_x(padded)}. Kernel "
                f"size: {by_x(kernel)}. Kernel size can't be greater than actual "
                "input size"
            )


def check_channels(x, weight, bias, transposed, groups):
    """Raise RuntimeError for a weight or bias whose size does not fit the input or the groups."""
    size, wsize = list(x._size), list(weight._size)
    if 0 in wsize[2:]:
        raise RuntimeError(
            f"weight should have at least one element along each dimension, but got sizes {wsize}"
        )
    if weight.dim() != x.dim():
        raise RuntimeError(
            f"Expected {weight.dim()}-dimensional input for "
            f"{weight.dim()}-dimensional weight {wsize}, but got "
            f"{x.dim()}-dimensional input of size {size} "
            "instead"
        )
    if wsize[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at "
            f"dimension 0, but got weight of size {wsize} instead"
        )
    if wsize[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at "
            f"dimension 0, but got weight of size {wsize} instead"
        )
    if transposed:
        expected, given = wsize[0], f"transposed=1, weight of size {wsize}"
    else:
        expected = wsize[1] * groups
        given = f"groups={groups}, weight of size {wsize}"
    if size[1] != expected:
        raise RuntimeError(
            f"Given {given}, expected input{size} to have {expected} channels, but "
            f"got {size[1]} channels instead"
        )
    out = wsize[1] * groups if transposed else wsize[0]
    if bias is not None and list(bias._size) != [out]:
        raise RuntimeError(
            f"Given {given}, expected bias to be 1-dimensional with {out} elements, "
            f"but got bias of size {list(bias._size)} instead"
        )


def windows(x: np.ndarray, kernel, stride, dilation, out) -> np.ndarray:
    """A view (N, C, *kernel, *out) of the windows that a kernel sees in a padded array.

    numpy's as_strided does not check bounds, so this checks that every window is inside the array.
    """
    for have, k, s, d, n in zip(x.shape[2:], kernel, stride, dilation, out):
        if min(k, s, d) < 1 or n < 0 or (n > 0 and (n - 1) * s + (k - 1) * d >= have):
            raise RuntimeError(
                f"windows {tuple(kernel)} of stride {tuple(stride)} and dilation "
                f"{tuple(dilation)} do not lie in {x.shape[2:]} elements"
            )
    steps = x.strides[2:]
    return np.lib.stride_tricks.as_strided(
        x,
        (*x.shape[:2], *kernel, *out),
        (
            *x.strides[:2],
            *(s * d for s, d in zip(steps, dilation)),
            *(s * t for s, t in zip(steps, stride)),
        ),
        writeable=False,
    )


def pad_spatial(x: np.ndarray, before, after, value=0) -> np.ndarray:
    """Pad the spatial dimensions of an array (N, C, *)."""
    if not any(before) and not any(after):
        return x
    return np.pad(x, ((0, 0), (0, 0), *zip(before, after)), constant_values=value)


def correlate(x: np.ndarray, weight: np.ndarray, stride, dilation, groups: int) -> np.ndarray:
    """The convolution of a padded array (N, C, *) with (O, C / groups, *)."""
    n, channels = x.shape[:2]
    kernel = weight.shape[2:]
    out = [
        (size - d * (k - 1) - 1) // s + 1
        for size, k, s, d in zip(x.shape[2:], kernel, stride, dilation)
    ]
    length, window = math.prod(out), math.prod(kernel)
    if window == 1 and all(s == 1 for s in stride):
        columns = np.ascontiguousarray(x)
    else:
        columns = windows(x, kernel, stride, dilation, out)
    columns = columns.reshape(n, groups, channels // groups * window, length)
    rows = weight.reshape(groups, weight.shape[0] // groups, channels // groups * window)
    return np.matmul(rows, columns).reshape(n, weight.shape[0], *out)


def scatter(
    x: np.ndarray, weight: np.ndarray, stride, padding, dilation, output_padding, groups: int
) -> np.ndarray:
    """The transposed convolution of (N, C, *) with a weight (C, O / groups, *)."""
    n, channels, *size = x.shape
    per_group, kernel = weight.shape[1], weight.shape[2:]
    rows = weight.reshape(groups, channels // groups, per_group * math.prod(kernel))
    x = x.reshape(n, groups, channels // groups, math.prod(size))
    columns = np.matmul(rows.transpose(0, 2, 1), x)
    columns = columns.reshape(n, groups * per_group, *kernel, *size)
    full = [
        (s - 1) * t + d * (k - 1) + 1 + p
        for s, t, d, k, p in zip(size, stride, dilation, kernel, output_padding)
    ]
    result = np.zeros((n, groups * per_group, *full), columns.dtype)
    for at in np.ndindex(*kernel) if columns.size else ():
        place = tuple(
            slice(i * d, i * d + (s - 1) * t + 1, t)
            for i, d, s, t in zip(at, dilation, size, stride)
        )
        result[(..., *place)] += columns[(slice(None), slice(None), *at)]
    crop = tuple(slice(p, f - p) for p, f in zip(padding, full))
    return np.ascontiguousarray(result[(..., *crop)])


@primitive(
    "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] "
    "padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) "
    "-> Tensor",
    autocast="reduced",
    weight=1,
)
def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    n = weight.dim() - 2
    if n < 1:
        raise RuntimeError(
            f"convolution: weight must have at least 3 dimensions, got size {list(weight._size)}"
        )
    if input.dim() == n + 1 and input.dim() > 1:
        batched = convolution(
            input._as_view((1, *input._size), (0, *input._stride), input._offset),
            weight,
            bias,
            stride,
            padding,
            dilation,
            transposed,
            output_padding,
            groups,
        )
        return batched._as_view(batched._size[1:], batched._stride[1:], batched._offset)
    stride = per_dimension("stride", stride, n)
    padding = per_dimension("padding", padding, n)
    dilation = per_dimension("dilation", dilation, n)
    output_padding = per_dimension("output_padding", output_padding, n)
    check_convolution(
        input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )
    x, w = working(input), working(weight)
    if transposed:
        check_transposed(input, weight, stride, padding, dilation, output_padding)
        result = scatter(x, w, stride, padding, dilation, output_padding, groups)
    else:
        result = correlate(pad_spatial(x, padding, padding), w, stride, dilation, groups)
    if bias is not None:
        result = result + working(bias).reshape(-1, *([1] * n))
    lies = result_format(input, weight, stride, transposed, output_padding, groups)
    return finish(in_format(result, lies), input.dtype)


def result_format(input, weight, stride, transposed: bool, output_padding, groups: int) -> int:
    """The memory format of a convolution's result: channels last if the input or the weight is.

    For signals only the weight counts.  For volumes it only applies to the cases that PyTorch runs
    in oneDNN: several volumes, several groups, large windows or large inputs, of at most 4 bytes
    per element.
    """
    if input.dim() == 3:
        return format_of_signal(weight)
    if input.dim() == 5:
        padded_most = transposed and any(p >= s for p, s in zip(output_padding, stride))
        large = (
            groups > 1
            or min(weight._size[-2:]) > 3
            or input._size[0] > 1
            or math.prod(input._size[:4]) > 20480
        )
        if input.dtype.kind != "f" or input.dtype.itemsize > 4 or padded_most or not large:
            return 0
    return format_of(input) or format_of(weight)


def check_transposed(input, weight, stride, padding, dilation, output_padding):
    """Raise RuntimeError if the output is empty, or padded more than stride and dilation allow."""
    for p, s, d in zip(output_padding, stride, dilation):
        if p >= max(s, d):
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, "
                f"but got output_padding: {output_padding} stride: {stride} "
                f"dilation: {dilation}"
            )
    sizes = [
        (n - 1) * s - 2 * p + d * (k - 1) + 1 + o
        for n, s, p, d, k, o in zip(
            input._size[2:], stride, padding, dilation, weight._size[2:], output_padding
        )
    ]
    if any(n < 1 for n in sizes):
        raise RuntimeError(
            f"Given input size per channel: {by_x(input._size[2:])}. Calculated "
            f"output size per channel: {by_x(sizes)}. Output size is too small"
        )


FLAGS = "bool benchmark, bool deterministic, bool cudnn_enabled"
PARAMETERS = (
    "Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
    "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups"
)
declare(
    f"aten::_convolution({PARAMETERS}, {FLAGS}, bool allow_tf32) -> Tensor",
    lambda *args: convolution(*args[:9]),
    "primitive",
)
declare(
    "aten::_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, int[] stride, "
    "int[] padding, int[] dilation, bool transposed, int[] output_padding, int groups, "
    f"{FLAGS}) -> Tensor",
    lambda *args: convolution(*args[:9]),
    "primitive",
)
declare(
    "aten::convolution_overrideable(Tensor input, Tensor weight, Tensor? bias, SymInt[] "
    "stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, "
    "SymInt groups) -> Tensor",
    convolution,
    "primitive",
)


def check_rank(input: Tensor, weight: Tensor, n: int, name: str) -> None:
    if input.dim() not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, "
            f"but got input of size: {list(input._size)}"
        )
    if weight.dim() != n + 2:
        raise RuntimeError(
            f"weight should have {n + 2} dimensions for {name}, got size {list(weight._size)}"
        )


def padding_by_name(input, weight, bias, stride, padding, dilation, groups):
    """A convolution with padding "valid" or "same"; "same" may pad one element more at the end."""
    n = weight.dim() - 2
    stride, dilation = per_dimension("stride", stride, n), per_dimension("dilation", dilation, n)
    zeros = [0] * n
    if padding == "valid":
        return convolution(input, weight, bias, stride, zeros, dilation, False, zeros, groups)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    if min(dilation) < 1 or 0 in weight._size[2:]:
        raise RuntimeError(
            f"padding='same' takes windows with elements, {dilation=} apart, not of "
            f"size {list(weight._size[2:])}"
        )
    total = [d * (k - 1) for k, d in zip(weight._size[2:], dilation)]
    before = [t // 2 for t in total]
    extra = [t - 2 * b for t, b in zip(total, before)]
    if any(extra):
        lead = input.dim() - n
        wider = np.pad(input._array, [(0, 0)] * lead + [(0, e) for e in extra])
        input = Tensor._wrap(in_format_of(wider, input))
    return convolution(input, weight, bias, stride, before, dilation, False, zeros, groups)


declare(
    "aten::_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str "
    "padding, SymInt[] dilation, SymInt groups) -> Tensor",
    padding_by_name,
    "primitive",
)


def declare_convolutions(n: int) -> None:
    """Declare conv{n}d, with padding by number and by name, and conv_transpose{n}d."""
    name, ones, zeros = f"conv{n}d", [1] * n, [0] * n

    def conv(input, weight, bias, stride, padding, dilation, groups):
        check_rank(input, weight, n, name)
        return convolution(input, weight, bias, stride, padding, dilation, False, zeros, groups)

    def conv_named(input, weight, bias, stride, padding, dilation, groups):
        check_rank(input, weight, n, name)
        return padding_by_name(input, weight, bias, stride, padding, dilation, groups)

    def conv_transpose(input, weight, bias, stride, padding, output_padding, groups, dilation):
        check_rank(input, weight, n, f"conv_transpose{n}d")
        return convolution(
            input, weight, bias, stride, padding, dilation, True, output_padding, groups
        )

    head = f"Tensor input, Tensor weight, Tensor? bias=None, SymInt[{n}] stride={ones}"
    tail = f"SymInt[{n}] dilation={ones}, SymInt groups=1) -> Tensor"
    declare(f"aten::{name}({head}, SymInt[{n}] padding={zeros}, {tail}", conv, "primitive")
    declare(f'aten::{name}.padding({head}, str padding="valid", {tail}', conv_named, "primitive")
    overload = ".input" if n > 1 else ""
    declare(
        f"aten::conv_transpose{n}d{overload}({head}, SymInt[{n}] padding={zeros}, SymInt[{n}] "
        f"output_padding={zeros}, SymInt groups=1, SymInt[{n}] dilation={ones}) -> Tensor",
        conv_transpose,
        "primitive",
    )


for _n in (1, 2, 3):
    declare_convolutions(_n)


# windows as columns


def check_columns(kernel, dilation, padding, stride) -> None:
    if min(*kernel, *dilation, *stride) < 1 or min(padding) < 0:
        raise RuntimeError(
            "kernel size, dilation and stride should be greater than zero and padding not negative"
        )


def pairs(*lists):
    for v in lists:
        if len(v) != 2:
            raise RuntimeError(f"expected 2 numbers for height and width, but got {list(v)}")
    return [list(v) for v in lists]


@primitive(
    "aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] "
    "stride) -> Tensor"
)
def im2col(self, kernel_size, dilation, padding, stride):
    """Gather windows as columns: (N, C, H, W) -> (N, C * window, number of windows)."""
    if self.dim() not in (3, 4) or 0 in self._size[1:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and "
            f"other non-zero dimensions for input, but got: {list(self._size)}"
        )
    kernel, dilation, padding, stride = pairs(kernel_size, dilation, padding, stride)
    check_columns(kernel, dilation, padding, stride)
    x = pad_spatial(self._array.reshape((-1, *self._size[-3:])), padding, padding)
    out = [
        (n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(x.shape[2:], kernel, stride, dilation)
    ]
    if min(out) < 1:
        raise RuntimeError(
            f"Given input with spatial size {tuple(self._size[-2:])}, "
            f"kernel_size={tuple(kernel)}, dilation={tuple(dilation)}, "
            f"padding={tuple(padding)}, calculated shape of the array of sliding "
            f"blocks as {tuple(out)}, but its components must be at least one."
        )
    columns = windows(x, kernel, stride, dilation, out).reshape(
        x.shape[0], x.shape[1] * math.prod(kernel), math.prod(out)
    )
    return Tensor._wrap(np.array(columns if self.dim() == 4 else columns[0], order="C"))


@primitive(
    "aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, "
    "int[2] padding, int[2] stride) -> Tensor"
)
def col2im(self, output_size, kernel_size, dilation, padding, stride):
    """Add up windows at their positions; the inverse of im2col if they do not overlap."""
    output_size, kernel, dilation, padding, stride = pairs(
        output_size, kernel_size, dilation, padding, stride
    )
    check_columns(kernel, dilation, padding, stride)
    if min(output_size) < 1:
        raise RuntimeError(f"col2im: output_size {tuple(output_size)} has no elements")
    out = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, d, p in zip(output_size, kernel, stride, dilation, padding)
    ]
    window = math.prod(kernel)
    if self.dim() not in (2, 3) or self._size[-2] % window or self._size[-1] != math.prod(out):
        raise RuntimeError(
            f"Given output_size={tuple(output_size)}, kernel_size={tuple(kernel)}, "
            f"dilation={tuple(dilation)}, padding={tuple(padding)}, "
            f"stride={tuple(stride)}, expected size of input's dimension 2 to match "
            f"the calculated number of sliding blocks {out[0]} * {out[1]} = "
            f"{math.prod(out)}, but got input of size {list(self._size)}"
        )
    x = working(self).reshape(-1, self._size[-2] // window, *kernel, *out)
    full = [n + 2 * p for n, p in zip(output_size, padding)]
    result = np.zeros((*x.shape[:2], *full), x.dtype)
    for i, j in np.ndindex(*kernel):
        result[
            :,
            :,
            i * dilation[0] : i * dilation[0] + (out[0] - 1) * stride[0] + 1 : stride[0],
            j * dilation[1] : j * dilation[1] + (out[1] - 1) * stride[1] + 1 : stride[1],
        ] += x[:, :, i, j]
    result = np.ascontiguousarray(
        result[:, :, padding[0] : full[0] - padding[0], padding[1] : full[1] - padding[1]]
    )
    return finish(result if self.dim() == 3 else result[0], self.dtype)


@primitive(
    "aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
    autocast="reduced",
)
def conv_tbc(self, weight, bias, pad):
    """A 1-d convolution of (time, batch, channels) with (kernel, channels, out)."""
    if bias.dim() != 1 or bias._size[0] != weight._size[-1]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    x = working(self).transpose(1, 2, 0)
    w = working(weight).transpose(2, 1, 0)
    result = correlate(
        np.ascontiguousarray(pad_spatial(x, [pad], [pad])), np.ascontiguousarray(w), [1], [1], 1
    )
    return finish(np.ascontiguousarray(result.transpose(2, 0, 1)) + working(bias), self.dtype)


describe("_convolution conv1d conv2d conv3d conv_transpose1d", autocast="reduced")
describe(
    """_convolution conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d""",
    weight=1,
)
