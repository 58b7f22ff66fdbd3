"""Views of parts of a tensor along a dimension."""

from __future__ import annotations

from ...limits import reserve
from ...tensors import Tensor, wrap_dim
from ..table import declare, describe, primitive
from .view import narrow, select, slice_tensor

VIEW = 256
"""Roughly the bytes that a tensor takes besides its elements."""


def split_sizes(self, sizes, dim=0):
    dim = wrap_dim(dim, len(self._size))
    if sum(sizes) != self._size[dim] or min(sizes, default=0) < 0:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to "
            f"{self._size[dim]} (input tensor's size at dimension {dim}), but got "
            f"split_sizes={list(sizes)}"
        )
    parts, start = [], 0
    for n in sizes:
        parts.append(narrow(self, dim, start, n))
        start += n
    return parts


@primitive("aten::split.Tensor(Tensor(a -> *) self, int split_size, int dim=0) -> Tensor(a)[]")
def split(self, split_size, dim):
    dim = wrap_dim(dim, len(self._size))
    n = self._size[dim]
    reserve(VIEW * n // max(split_size, 1))
    if split_size < 0 or (split_size == 0 and n):
        raise RuntimeError(
            f"split expects split_size be non-negative, but got split_size={split_size}"
        )
    if n == 0:
        return [self._as_view(self._size, self._stride, self._offset)]
    return split_sizes(self, [min(split_size, n - i) for i in range(0, n, split_size)], dim)


declare(
    "aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]",
    split_sizes,
    "primitive",
)
declare(
    "aten::split_with_sizes(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]",
    split_sizes,
    "primitive",
)


@primitive("aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]")
def chunk(self, chunks, dim):
    if not self._size:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    reserve(VIEW * chunks)
    dim = wrap_dim(dim, len(self._size))
    size = -(-self._size[dim] // chunks)
    if size == 0:
        return split_sizes(self, [0] * chunks, dim)
    return split(self, size, dim)


def at_indices(self, indices, dim):
    """The parts between indices, which are read as those of slices."""
    bounds = [0, *indices, self._size[dim]]
    parts = [slice_tensor(self, dim, a, b, 1) for a, b in zip([0, *indices], indices)]
    return [*parts, slice_tensor(self, dim, indices[-1] if indices else 0, bounds[-1], 1)]


def in_sections(self, sections, dim):
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    reserve(VIEW * sections)
    small, extra = divmod(self._size[dim], sections)
    return split_sizes(self, [small + (i < extra) for i in range(sections)], dim)


def tensor_split(self, indices_or_sections, dim=0):
    if not self._size:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    dim = wrap_dim(dim, len(self._size))
    if isinstance(indices_or_sections, Tensor):
        if indices_or_sections.dtype.name != "int64" or indices_or_sections.dim() > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a long "
                "tensor of zero or one dimensions"
            )
        indices_or_sections = indices_or_sections.tolist()
    f = in_sections if isinstance(indices_or_sections, int) else at_indices
    return f(self, indices_or_sections, dim)


declare(
    "aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]",
    tensor_split,
    "primitive",
)
declare(
    "aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]",
    tensor_split,
    "primitive",
)
declare(
    "aten::tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, "
    "Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]",
    tensor_split,
    "primitive",
)


def numpy_split(name, least, dim_of):
    """Make hsplit, vsplit or dsplit: equal parts along the dimension that dim_of returns."""

    def kernel(self, sections):
        if len(self._size) < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension"
                f"{'s' if least > 1 else ''}, but got a tensor with "
                f"{len(self._size)} dimensions!"
            )
        dim = dim_of(self)
        if isinstance(sections, int) and (sections <= 0 or self._size[dim] % sections):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {dim}, but the "
                f"size of the dimension {self._size[dim]} is not divisible by the "
                f"split_size {sections}!"
            )
        return tensor_split(self, sections, dim)

    return kernel


for _name, _least, _dim in (
    ("hsplit", 1, lambda x: 0 if len(x._size) == 1 else 1),
    ("vsplit", 2, lambda x: 0),
    ("dsplit", 3, lambda x: 2),
):
    for _head, _arg in (("int", "int sections"), ("array", "int[] indices")):
        declare(
            f"aten::{_name}.{_head}(Tensor(a -> *) self, {_arg}) -> Tensor(a)[]",
            numpy_split(_name, _least, _dim),
            "primitive",
        )
declare(
    "aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
    split,
    "primitive",
)
declare(
    "aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
    split_sizes,
    "primitive",
)
declare("aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", chunk, "primitive")


@primitive("aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]")
def unbind(self, dim):
    if not self._size:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    dim = wrap_dim(dim, len(self._size))
    reserve(VIEW * self._size[dim])
    return [select(self, dim, i) for i in range(self._size[dim])]


describe("tensor_split", may_copy=True)
describe("unsafe_chunk unsafe_split unsafe_split_with_sizes", may_share=True)
describe("tensor_split.tensor_indices_or_sections", dynamic_shape=True)
