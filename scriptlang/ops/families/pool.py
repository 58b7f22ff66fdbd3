"""Pooling over one to three spatial dimensions.

Kernels iterate over the offsets within a window, with one vectorized step over the whole output
for each.  Windows may extend beyond the end (`ceil_mode`).  Padding counts as minus infinity for
maxima, and is left out of, or counted in, averages.
"""

from __future__ import annotations

import math

import numpy as np

from ... import dtypes
from ...limits import reserve
from ...tensors import Tensor
from ..shared.elementwise import DISPLAY
from ..shared.layout import format_of, format_of_signal, in_format, rows
from ..shared.numeric import finish, working
from ..table import declare, describe, primitive
from .conv import pad_spatial


def sized(name: str, values, n: int, default=None) -> list[int]:
    """The values of a parameter for n dimensions.

    A single value is repeated; an empty list stands for the default.
    """
    values = list(values)
    if not values and default is not None:
        return list(default)
    if len(values) not in (1, n):
        raise RuntimeError(
            f"{name} must either be a single int, or a tuple of {n} ints, got {values}"
        )
    return values * n if len(values) == 1 else values


def check_input(name: str, x: Tensor, n: int) -> None:
    """Raise RuntimeError unless the input has n spatial dimensions and channels.

    It may have a batch dimension, which alone may be empty.
    """
    if x.dim() not in (n + 1, n + 2) or 0 in x._size[x.dim() - n - 1 :]:
        raise RuntimeError(
            f"{name}: Expected {n + 1}D or {n + 2}D (batch mode) tensor with "
            f"optional 0 dim batch size for input, but got: {list(x._size)}"
        )


class Windows:
    """The windows of a pool: output sizes, and the padding after the end, overhang included."""

    def __init__(self, size, kernel, stride, padding, dilation, ceil_mode: bool, channels: int):
        self.size, self.kernel, self.stride = size, kernel, stride
        self.padding, self.dilation = padding, dilation
        check_windows(kernel, stride, padding, dilation)
        self.out = [self.output_size(d, ceil_mode) for d in range(len(size))]
        if min(self.out) < 1:
            given = "x".join(map(str, [channels, *size]))
            made = "x".join(map(str, [channels, *self.out]))
            raise RuntimeError(
                f"Given input size: ({given}). Calculated output size: ({made}). "
                "Output size is too small"
            )
        self.after = [
            max((o - 1) * s + d * (k - 1) + 1 - n - p, 0)
            for o, s, d, k, n, p in zip(self.out, stride, dilation, kernel, size, padding)
        ]

    def output_size(self, d: int, ceil_mode: bool) -> int:
        stride, padding = self.stride[d], self.padding[d]
        room = self.size[d] + 2 * padding - self.dilation[d] * (self.kernel[d] - 1) - 1
        out = (room + (stride - 1 if ceil_mode else 0)) // stride + 1
        if ceil_mode and (out - 1) * stride >= self.size[d] + padding:
            out -= 1  # the last window must start inside
        return out

    def offsets(self):
        return np.ndindex(*self.kernel)

    def at(self, x: np.ndarray, offset) -> np.ndarray:
        """The elements of a padded array at one offset of every window."""
        place = tuple(
            slice(i * d, i * d + (o - 1) * s + 1, s)
            for i, d, o, s in zip(offset, self.dilation, self.out, self.stride)
        )
        return x[(..., *place)]

    def counts(self, include_pad: bool) -> np.ndarray:
        """The number of elements that each window averages."""
        result = np.ones([1] * len(self.size), np.int64)
        for d, n in enumerate(self.size):
            start = np.arange(self.out[d]) * self.stride[d] - self.padding[d]
            end = np.minimum(start + self.kernel[d], n + self.padding[d])
            if not include_pad:
                start, end = np.maximum(start, 0), np.minimum(end, n)
            shape = [1] * len(self.size)
            shape[d] = -1
            result = result * (end - start).reshape(shape)
        return result


def check_windows(kernel, stride, padding, dilation) -> None:
    if min(kernel) <= 0:
        raise RuntimeError(f"kernel size should be greater than zero, but got {kernel}")
    if min(stride) <= 0:
        raise RuntimeError(
            "stride should not be zero"
            if 0 in stride
            else f"stride should be greater than zero, but got {stride}"
        )
    if min(dilation) <= 0:
        raise RuntimeError(f"dilation should be greater than zero, but got {dilation}")
    for p, k, d in zip(padding, kernel, dilation):
        if p < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {p}")
        if p > ((d * (k - 1) + 1) // 2 if len(kernel) > 1 else k // 2):
            raise RuntimeError(
                "pad should be at most half of effective kernel size, but got "
                f"pad={p}, kernel_size={k} and dilation={d}"
            )


def planes(x: Tensor, n: int) -> np.ndarray:
    """The array in its computing type, of shape (batch, channels, *spatial)."""
    return working(x).reshape(
        (-1, *x._size[-n - 1 :]) if x.dim() == n + 1 or x.numel() else x._size
    )


def pooled_format(x: Tensor, n: int) -> int:
    """The memory format of the result of pooling over n dimensions."""
    if x.dim() != n + 2:
        return 0
    return format_of_signal(x) if n == 1 else format_of(x)


def like(x: Tensor, n: int, result: np.ndarray, dtype=None, memory_format: int = 0) -> Tensor:
    """A result as a tensor, without a batch dimension if the input had none."""
    result = in_format(result if x.dim() == n + 2 else result[0], memory_format)
    return Tensor._wrap(result) if dtype is None else finish(result, dtype)


def lowest(dtype: np.dtype):
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


def max_pool(x: Tensor, n: int, kernel, stride, padding, dilation, ceil_mode):
    """(maxima, flat positions in the plane).  Of equal elements the first counts; nan beats all."""
    name = f"max_pool{n}d"
    if x.dtype.kind not in "uif":
        raise NotImplementedError(f"\"{name}\" not implemented for '{DISPLAY[x.dtype.name]}'")
    kernel = sized(f"{name}: kernel_size", kernel, n)
    check_input(name, x, n)
    w = Windows(
        x._size[-n:],
        kernel,
        sized(f"{name}: stride", stride, n, kernel),
        sized(f"{name}: padding", padding, n),
        sized(f"{name}: dilation", dilation, n),
        ceil_mode,
        x._size[-n - 1],
    )
    array = planes(x, n)
    padded = pad_spatial(array, w.padding, w.after, lowest(array.dtype))
    places = np.arange(math.prod(w.size)).reshape(w.size)
    places = pad_spatial(places[None, None], w.padding, w.after, -1)[0, 0]
    best = index = None
    for offset in w.offsets():
        value, place = w.at(padded, offset), w.at(places, offset)
        if best is None:
            best = np.array(value)
            index = np.array(np.broadcast_to(place, best.shape))
            continue
        better = (value > best) | (value != value) | ((index < 0) & (place >= 0))
        np.copyto(best, value, where=better)
        np.copyto(index, np.broadcast_to(place, best.shape), where=better)
    lies = pooled_format(x, n)
    return like(x, n, best, x.dtype, lies), like(x, n, index, None, lies)


def avg_pool(x: Tensor, n: int, kernel, stride, padding, ceil_mode, include_pad, divisor=None):
    name = f"avg_pool{n}d"
    if x.dtype.kind != "f" and x.dtype is not dtypes.int64:
        raise NotImplementedError(f"\"{name}\" not implemented for '{DISPLAY[x.dtype.name]}'")
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    kernel = sized(f"{name}: kernel_size", kernel, n)
    check_input(name, x, n)
    w = Windows(
        x._size[-n:],
        kernel,
        sized(f"{name}: stride", stride, n, kernel),
        sized(f"{name}: padding", padding, n),
        [1] * n,
        ceil_mode,
        x._size[-n - 1],
    )
    padded = pad_spatial(planes(x, n), w.padding, w.after)
    total = sum(w.at(padded, offset) for offset in w.offsets())
    count = divisor if divisor is not None else w.counts(include_pad)
    lies = pooled_format(x, n) if n < 3 else 0
    if x.dtype.kind == "i":
        return like(x, n, np.trunc(total / count), x.dtype, lies)
    return like(x, n, total / np.asarray(count, total.dtype), x.dtype, lies)


def ranges(size: int, out: int) -> list[tuple[int, int]]:
    """The (start, end) of the parts of an adaptive pool along a dimension; they may overlap."""
    reserve(out * 128)
    return [(i * size // out, -(-(i + 1) * size // out)) for i in range(out)]


def check_adaptive(name: str, x: Tensor, n: int, out) -> list[int]:
    out = sized(f"{name}: output_size", out, n)
    if x.dim() not in (n + 1, n + 2):
        raise RuntimeError(
            f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got {list(x._size)}"
        )
    channels = x.dim() == n + 2 and ("max" in name or (n == 3 and out != [1, 1, 1]))
    for d in range(x.dim() - n - channels, x.dim()):
        if x._size[d] == 0:
            raise RuntimeError(
                f"{name}(): Expected input to have non-zero size for non-batch "
                f"dimensions, but input has sizes {list(x._size)} with dimension "
                f"{d} "
                "being empty"
            )
    if min(out) < 0:
        raise RuntimeError(
            f"{name}(): elements of output_size must be greater than or equal to 0 "
            f"but received {out}"
        )
    np.empty((*x._size[: x.dim() - n], *out), x.dtype.numpy)  # fails at once if it is too large
    return out


def adaptive_avg(x: Tensor, n: int, output_size) -> Tensor:
    """Means of equal parts, computed one dimension after the other."""
    if len(output_size) != n:
        raise RuntimeError(f"adaptive_avg_pool{n}d: output_size must be {n}")
    out = check_adaptive(f"adaptive_avg_pool{n}d", x, n, output_size)
    if x.dtype.kind != "f":
        raise NotImplementedError(
            f"\"adaptive_avg_pool{n}d\" not implemented for '{DISPLAY[x.dtype.name]}'"
        )
    result = working(x)
    for axis, o in zip(range(x.dim() - n, x.dim()), out):
        size = result.shape[axis]
        if o and size % o == 0:
            shape = (*result.shape[:axis], o, size // o, *result.shape[axis + 1 :])
            result = result.reshape(shape).mean(axis=axis + 1)
        else:
            parts = [result.take(range(a, b), axis).mean(axis=axis) for a, b in ranges(size, o)]
            result = np.stack(parts, axis) if parts else result.take([], axis)
    return finish(in_format(result, pooled_format(x, n) if n < 3 else 0), x.dtype)


def adaptive_max(x: Tensor, n: int, output_size):
    """(maxima of equal parts, flat positions in the plane)."""
    out = check_adaptive(f"adaptive_max_pool{n}d", x, n, output_size)
    if x.dtype.kind != "f":
        raise NotImplementedError(
            f"\"adaptive_max_pool{n}d\" not implemented for '{DISPLAY[x.dtype.name]}'"
        )
    size, array = x._size[-n:], working(x)
    lead = array.shape[:-n]
    best = np.empty((*lead, *out), array.dtype)
    index = np.empty((*lead, *out), np.int64)
    places = np.arange(math.prod(size)).reshape(size)
    parts = [ranges(s, o) for s, o in zip(size, out)]
    for at in np.ndindex(*out):
        place = tuple(slice(*parts[d][i]) for d, i in enumerate(at))
        window = array[(..., *place)].reshape(
            *lead, math.prod(b - a for a, b in (parts[d][i] for d, i in enumerate(at)))
        )
        chosen = window.argmax(-1)
        best[(..., *at)] = np.take_along_axis(window, chosen[..., None], -1)[..., 0]
        index[(..., *at)] = places[place].reshape(-1)[chosen]
    lies = pooled_format(x, n) if n < 3 else 0
    return finish(in_format(best, lies), x.dtype), Tensor._wrap(in_format(index, lies))


def values_of(n: int, pooled: Tensor) -> Tensor:
    """Maxima without their positions; for signals they are row-major."""
    return Tensor._wrap(rows(pooled._array)) if n == 1 else pooled


def max_arguments(n: int) -> str:
    padding, dilation = ("[0]", "[1]") if n == 1 else ("0", "1")
    return (
        f"(Tensor self, int[{n}] kernel_size, int[{n}] stride=[], int[{n}] padding={padding}, "
        f"int[{n}] dilation={dilation}, bool ceil_mode=False)"
    )


def declare_pools(n: int) -> None:
    """Declare the pooling operators of n spatial dimensions."""
    padding = "[0]" if n == 1 else "0"
    divisor = ", int? divisor_override=None" if n > 1 else ""
    size = "int[1]" if n == 1 else f"SymInt[{n}]"
    declare(
        f"aten::max_pool{n}d{max_arguments(n)} -> Tensor",
        lambda x, *args: values_of(n, max_pool(x, n, *args)[0]),
        "primitive",
    )
    declare(
        f"aten::max_pool{n}d_with_indices{max_arguments(n)} -> (Tensor, Tensor)",
        lambda x, *args: max_pool(x, n, *args),
        "primitive",
    )
    declare(
        f"aten::avg_pool{n}d(Tensor self, int[{n}] kernel_size, int[{n}] stride=[], int[{n}] "
        f"padding={padding}, bool ceil_mode=False, bool count_include_pad=True{divisor}) -> "
        "Tensor",
        lambda x, *args: avg_pool(x, n, *args),
        "primitive",
    )
    for name in (f"adaptive_avg_pool{n}d", *([f"_adaptive_avg_pool{n}d"] if n > 1 else [])):
        declare(
            f"aten::{name}(Tensor self, {size} output_size) -> Tensor",
            lambda x, out: adaptive_avg(x, n, out),
            "primitive",
        )
    declare(
        f"aten::adaptive_max_pool{n}d(Tensor self, int[{n}] output_size) -> (Tensor, Tensor)",
        lambda x, out: adaptive_max(x, n, out),
        "primitive",
    )


for _n in (1, 2, 3):
    declare_pools(_n)


def max_unpool(x: Tensor, indices: Tensor, output_size) -> Tensor:
    """Write each value at its position in a plane of zeros."""
    n = len(output_size)
    if indices.dtype.name != "int64":
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype}")
    if indices._size != x._size:
        raise RuntimeError(
            "Expected shape of indices to be same as that of the input tensor "
            f"({list(x._size)}), but got indices tensor with shape: "
            f"{list(indices._size)}"
        )
    volume = math.prod(output_size)
    lead = x._size[:-n]
    place = indices._array.reshape(math.prod(lead), -1)
    if place.size and not (0 <= place.min() and place.max() < volume):
        bad = place[(place < 0) | (place >= volume)][0]
        raise RuntimeError(
            f"Found an invalid max index: {bad} (output volumes are of size "
            f"{'x'.join(map(str, output_size))})"
        )
    result = np.zeros((math.prod(lead), volume), x._array.dtype)
    np.put_along_axis(result, place, x._array.reshape(place.shape), 1)
    lies = pooled_format(x, n) if n < 3 else 0
    return Tensor._wrap(in_format(result.reshape(*lead, *output_size), lies))


@primitive("aten::max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor")
def max_unpool2d(self, indices, output_size):
    if len(output_size) != 2:
        raise RuntimeError(
            "There should be exactly two elements (height, width) in output_size, "
            f"but got {len(output_size)} elements."
        )
    if self.dim() not in (3, 4):
        raise RuntimeError(
            f"Input to max_unpooling2d should be a 3d or 4d Tensor, but got size {list(self._size)}"
        )
    return max_unpool(self, indices, output_size)


@primitive(
    "aten::max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, "
    "int[3] padding) -> Tensor"
)
def max_unpool3d(self, indices, output_size, stride, padding):
    if len(output_size) != 3:
        raise RuntimeError(
            "There should be exactly three elements (depth, height, width) in output_size, "
            f"but got {len(output_size)} elements."
        )
    if self.dim() not in (4, 5):
        raise RuntimeError(
            f"Input to max_unpooling3d should be a 4d or 5d Tensor, but got size {list(self._size)}"
        )
    stride, _ = sized("stride", stride, 3), sized("padding", padding, 3)
    if min(stride) <= 0:
        raise RuntimeError(f"strides should be greater than zero, but got stride: {stride}")
    return max_unpool(self, indices, output_size)


def intervals(sample: float, size: int, out: int, kernel: int) -> list[int]:
    """The starts of the windows of a fractional pool: a pseudorandom sequence from `sample`."""
    if out == 1:
        return [size - kernel]
    reserve(out * 32)
    alpha = type(sample)((size - kernel) / (out - 1))
    starts = [int((i + sample) * alpha) - int(sample * alpha) for i in range(out - 1)]
    return [*starts, size - kernel]


def fractional_max_pool(x: Tensor, n: int, kernel, out, samples: Tensor):
    """(maxima, flat positions); each plane has its own window starts."""
    name = f"fractional_max_pool{n}d"
    kernel, out = sized(f"{name}: kernel_size", kernel, n), sized(f"{name}: output_size", out, n)
    check_input(name, x, n)
    if samples.dtype is not x.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    size = x._size[-n:]
    for s, k, o in zip(size, kernel, out):
        if o + k - 1 > s:
            raise RuntimeError(
                f"{name}: pool size {kernel} with output size {out} is too large "
                f"for input of size {list(size)}"
            )
    array = planes(x, n)
    flat = array.reshape(-1, *size)
    if samples._size != (*array.shape[:2], n):
        raise RuntimeError(
            f"{name}: expected _random_samples with {n} numbers for each of "
            f"{len(flat)} planes, got size {list(samples._size)}"
        )
    draws = samples._array.reshape(-1, n)
    draws = draws[:, ::-1] if n == 2 else draws  # in 2-d the first draw is for the width
    best = np.empty((len(flat), *out), array.dtype)
    index = np.empty((len(flat), *out), np.int64)
    places = np.arange(math.prod(size)).reshape(size)
    for i, (plane, draw) in enumerate(zip(flat, draws)):
        starts = [intervals(u, s, o, k) for u, s, o, k in zip(draw, size, out, kernel)]
        for at in np.ndindex(*out):
            place = tuple(slice(starts[d][j], starts[d][j] + kernel[d]) for d, j in enumerate(at))
            chosen = plane[place].argmax()
            best[(i, *at)] = plane[place].flat[chosen]
            index[(i, *at)] = places[place].flat[chosen]
    shape = (*array.shape[:2], *out)
    return (like(x, n, best.reshape(shape), x.dtype), like(x, n, index.reshape(shape)))


for _n in (2, 3):
    declare(
        f"aten::fractional_max_pool{_n}d(Tensor self, int[{_n}] kernel_size, int[{_n}] "
        "output_size, Tensor random_samples) -> (Tensor, Tensor)",
        lambda x, *args, n=_n: fractional_max_pool(x, n, *args),
        "primitive",
    )


describe(
    """adaptive_avg_pool1d adaptive_avg_pool2d avg_pool1d avg_pool2d max_pool1d max_pool2d""",
    keeps_type="floating",
)
describe("adaptive_avg_pool2d avg_pool2d max_pool2d", layout="keeps")
describe("avg_pool2d avg_pool3d", out_memory="free")
describe("fractional_max_pool2d fractional_max_pool3d", random=True)
