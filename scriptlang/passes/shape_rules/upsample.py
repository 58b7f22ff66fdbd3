"""Resizing and padding of images."""

from __future__ import annotations

from typing import Any

from ..shape_facts import Shape, Unknown
from ..sizes import add, mul
from . import Call, rule


@rule(
    """upsample_nearest1d.vec upsample_nearest2d.vec upsample_nearest3d.vec upsample_linear1d.vec
upsample_bilinear2d.vec upsample_bicubic2d.vec upsample_trilinear3d.vec
_upsample_nearest_exact1d.vec _upsample_nearest_exact2d.vec _upsample_nearest_exact3d.vec
_upsample_bilinear2d_aa.vec _upsample_bicubic2d_aa.vec""",
    ranks="first",
)
def upsample(c: Call) -> Any:
    shape = c.shape("input")
    before, sizes = shape[:2], shape[2:]
    if c["output_size"] is not None:
        return (*before, *c.sizes("output_size"))
    factors = c.known("scale_factors")
    if factors is None:
        raise Unknown  # the operator fails
    return (*before, *(scaled(c, s, f) for s, f in zip(sizes, factors, strict=True)))


def scaled(c: Call, size: Any, factor: float) -> Any:
    if isinstance(size, int):
        return int(size * factor)
    return mul(size, int(factor)) if factor == int(factor) else c.fresh()


@rule(
    """upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d
upsample_bilinear2d upsample_bicubic2d upsample_trilinear3d _upsample_nearest_exact1d
_upsample_nearest_exact2d _upsample_nearest_exact3d _upsample_bilinear2d_aa
_upsample_bicubic2d_aa""",
    ranks="first",
)
def upsample_to(c: Call) -> Any:
    return (*c.shape("self")[:2], *c.sizes("output_size"))


@rule(
    """pad constant_pad_nd reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d
replication_pad2d replication_pad3d _pad_circular""",
    ranks="first",
)
def pad(c: Call) -> Any:
    return padded(c.shape("self"), c.sizes(1))


def padded(shape: Shape, pads: list[Any]) -> Shape:
    n = len(pads) // 2
    if n > len(shape) or len(pads) % 2:
        raise Unknown
    return (
        *shape[: len(shape) - n],
        *(
            add(s, add(pads[2 * (n - 1 - i)], pads[2 * (n - 1 - i) + 1]))
            for i, s in enumerate(shape[len(shape) - n :])
        ),
    )


@rule("grid_sampler grid_sampler_2d grid_sampler_3d", ranks="first")
def grid_sampler(c: Call) -> Any:
    x, grid = c.shape("input"), c.shape("grid")
    return (*x[:2], *grid[1:-1])


@rule("affine_grid_generator")
def affine_grid(c: Call) -> Any:
    n, _, *sizes = c.sizes("size")
    return (n, *sizes, len(sizes))
