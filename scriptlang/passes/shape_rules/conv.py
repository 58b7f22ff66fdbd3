"""Convolutions and pooling. The number of positions of a window along a dimension is

(size + before + after - dilation * (kernel - 1) - 1) // stride + 1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...dtypes import int64
from ..shape_facts import Shape, Unknown
from ..sizes import Size, add, floordiv, mul, sub
from . import Call, Several, rule


def windows(
    size: Size, kernel: Size, stride: Size, padding: Size, dilation: Size = 1, ceil: bool = False
) -> Size | None:
    """The number of positions of a window along a dimension that is padded on both sides; None if
    it is unknown."""
    span = sub(add(size, mul(2, padding)), add(mul(dilation, sub(kernel, 1)), 1))
    if not ceil:
        count = floordiv(span, stride)
        return None if count is None else add(count, 1)
    if not (isinstance(span, int) and isinstance(stride, int) and stride >= 1):
        return None
    if not (isinstance(size, int) and isinstance(padding, int)):
        return None
    last = -(-span // stride)
    # The last window has to begin inside the image or the padding before it.
    return last if last * stride >= size + padding else last + 1


def mapped(c: Call, sizes: Shape, one: Callable[..., Any]) -> Shape:
    """The sizes of the dimensions, computed by `one`; unknown ones are new symbols."""
    found = [one(i, s) for i, s in enumerate(sizes)]
    return tuple(c.fresh() if s is None else s for s in found)


def image(c: Call, key: str, n: int) -> tuple[Shape, Shape]:
    """Return (the dimensions before the last n, the last n dimensions).
    Raises Unknown if there are fewer."""
    shape = c.shape(key)
    if len(shape) < n:
        raise Unknown
    return shape[:-n], shape[-n:]


@rule("conv1d conv2d conv3d expanded_conv2d", dtype="any", ranks="first")
def conv(c: Call) -> Any:
    weight = c.shape("weight")
    n = len(weight) - 2
    before, sizes = image(c, "input", n)
    stride, dilation = c.sizes("stride", n), c.sizes("dilation", n)
    padding = c["padding"]
    if padding == "same":
        return (*before[:-1], weight[0], *sizes)
    pads = [0] * n if padding == "valid" else c.sizes("padding", n)
    return (
        *before[:-1],
        weight[0],
        *mapped(c, sizes, lambda i, s: windows(s, weight[2 + i], stride[i], pads[i], dilation[i])),
    )


@rule("_convolution convolution _convolution_mode", dtype="any", ranks="first")
def any_conv(c: Call) -> Any:
    if not c.has("transposed") or c.known("transposed") is False:
        return conv(c)
    return transposed(c)


@rule("conv_transpose1d conv_transpose2d conv_transpose3d", dtype="any", ranks="first")
def transposed(c: Call) -> Any:
    weight = c.shape("weight")
    n = len(weight) - 2
    before, sizes = image(c, "input", n)
    stride, padding, dilation, more = (
        c.sizes(name, n) for name in ("stride", "padding", "dilation", "output_padding")
    )

    def one(i: int, s: Size) -> Size:
        span = add(mul(dilation[i], sub(weight[2 + i], 1)), add(more[i], 1))
        return add(sub(mul(sub(s, 1), stride[i]), mul(2, padding[i])), span)

    return (*before[:-1], mul(weight[1], c.size("groups")), *mapped(c, sizes, one))


def pooled(c: Call, n: int) -> Shape:
    before, sizes = image(c, "self", n)
    kernel = c.sizes("kernel_size", n)
    stride = c.sizes("stride", n) if c["stride"] not in ((), None) else kernel
    padding = c.sizes("padding", n)
    dilation = c.sizes("dilation", n) if c.has("dilation") else [1] * n
    ceil = c.known("ceil_mode")
    return (
        *before,
        *mapped(
            c, sizes, lambda i, s: windows(s, kernel[i], stride[i], padding[i], dilation[i], ceil)
        ),
    )


def several_pools(names: str, n: int) -> None:
    plain = " ".join(f"{name}{n}d" for name in names.split())
    rule(plain, ranks="first")(lambda c: pooled(c, n))
    rule(f"max_pool{n}d_with_indices", dtype=("first", int64), ranks="first")(
        lambda c: Several((pooled(c, n),) * 2)
    )
    rule(f"adaptive_avg_pool{n}d" + f" _adaptive_avg_pool{n}d" * (n > 1), ranks="first")(
        lambda c: adaptive(c, n)
    )
    rule(f"adaptive_max_pool{n}d", dtype=("first", int64), ranks="first")(
        lambda c: Several((adaptive(c, n),) * 2)
    )


def adaptive(c: Call, n: int) -> Shape:
    before, _ = image(c, "self", n)
    return (*before, *map(c.not_negative, c.sizes("output_size", n)))


for _n in (1, 2, 3):
    several_pools("max_pool avg_pool", _n)


@rule("im2col")
def im2col(c: Call) -> Any:
    before, sizes = image(c, "self", 2)
    kernel, dilation, padding, stride = (
        c.sizes(name, 2) for name in ("kernel_size", "dilation", "padding", "stride")
    )
    places = mapped(
        c, sizes, lambda i, s: windows(s, kernel[i], stride[i], padding[i], dilation[i])
    )
    return (*before[:-1], mul(before[-1], mul(*kernel)), mul(*places))
