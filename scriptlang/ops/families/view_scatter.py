"""Copies of a tensor in which another one is written into a view."""

from __future__ import annotations

from ...tensors import Tensor
from ..shared.elementwise import cast, store
from ..shared.fresh import filled, formatted
from ..table import declare, primitive
from .create import empty_strided
from .view import as_strided, diagonal, expand, select, slice_tensor


def scattered(self: Tensor, src: Tensor, view) -> Tensor:
    """A copy of self in which `view` is replaced by src.  Raises RuntimeError if sizes differ."""
    result = with_strides_of(self)
    target = view(result)
    if target._size != src._size:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = "
            f"{list(src._size)}, slice size = {list(target._size)}"
        )
    target._array[...] = cast(src, self.dtype)._array
    return result


def with_strides_of(x: Tensor) -> Tensor:
    """A copy with exactly the strides of x, gaps included; dense if elements of x overlap."""
    if any(s == 0 and n > 1 for n, s in zip(x._size, x._stride)):
        return formatted(x, 0)
    result = empty_strided(x._size, x._stride, x.dtype)
    result._array[...] = x._array
    return result


@primitive(
    "aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
    shape="like_first",
)
def select_scatter(self, src, dim, index):
    return scattered(self, src, lambda x: select(x, dim, index))


@primitive(
    "aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, "
    "SymInt? end=None, SymInt step=1) -> Tensor",
    out_memory="free",
    shape="like_first",
)
def slice_scatter(self, src, dim, start, end, step):
    return scattered(self, src, lambda x: slice_tensor(x, dim, start, end, step))


@primitive(
    "aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1)"
    " -> Tensor",
    shape="like_first",
)
def diagonal_scatter(self, src, offset, dim1, dim2):
    return scattered(self, src, lambda x: diagonal(x, offset, dim1, dim2))


@primitive(
    "aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, "
    "SymInt? storage_offset=None) -> Tensor",
    shape="like_first",
)
def as_strided_scatter(self, src, size, stride, storage_offset):
    return scattered(self, src, lambda x: as_strided(x, size, stride, storage_offset))


@primitive(
    "aten::select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index)"
    " -> Tensor"
)
def select_backward(grad_output, input_sizes, dim, index):
    result = filled(input_sizes, 0, grad_output.dtype)
    target = select(result, dim, index)
    store(target, expand(grad_output, target._size))
    return result


@primitive(
    "aten::slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, "
    "SymInt end, SymInt step) -> Tensor"
)
def slice_backward(grad_output, input_sizes, dim, start, end, step):
    result = filled(input_sizes, 0, grad_output.dtype)
    target = slice_tensor(result, dim, start, end, step)
    store(target, expand(grad_output, target._size))
    return result


declare("aten::lift(Tensor self) -> Tensor", lambda self: self, "primitive", may_share=True)
declare(
    "aten::lift_fresh_copy(Tensor self) -> Tensor", lambda self: formatted(self, 1), "primitive"
)
