"""Operators that query a tensor's size, strides and type, or change its size in place."""

from __future__ import annotations

import numpy as np

from ... import dtypes
from ...tensors import Tensor, wrap_dim
from ..shared.layout import (
    become,
    check_rank,
    dense_strides,
    format_order,
    is_dense,
    order_of,
    resize,
)
from ..table import declare, describe, primitive


@primitive("aten::size(Tensor self) -> int[]", layout="hides")
def size(self):
    return list(self._size)


@primitive("aten::size.int(Tensor self, int dim) -> int", layout="hides")
def size_int(self, dim):
    return self._size[wrap_dim(dim, len(self._size))] if self._size else _no_dims(dim)


def _no_dims(dim):
    raise IndexError("Dimension specified as " + str(dim) + " but tensor has no dimensions")


def in_format(x: Tensor, memory_format: int) -> bool:
    return memory_format in range(4) and x.is_contiguous(memory_format)


for _text, _f in {
    "aten::dim(Tensor self) -> int": lambda x: len(x._size),
    "aten::numel(Tensor self) -> int": lambda x: x.numel(),
    "aten::stride(Tensor self) -> int[]": lambda x: list(x._stride),
    "aten::stride.int(Tensor self, int dim) -> int": lambda x, d: x.stride(d),
    "aten::storage_offset(Tensor self) -> int": lambda x: x._offset,
    "aten::is_contiguous(Tensor self) -> bool": lambda x: x.is_contiguous(),
    "aten::is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool": in_format,
    "aten::element_size(Tensor self) -> int": lambda x: x.element_size(),
    "aten::is_floating_point(Tensor self) -> bool": lambda x: x.is_floating_point(),
    "aten::is_complex(Tensor self) -> bool": lambda x: x.is_complex(),
    "aten::is_signed(Tensor self) -> bool": lambda x: x.is_signed(),
    "aten::len.Tensor(Tensor t) -> int": len,
}.items():
    declare(_text, _f, "primitive")


for _text, _f in {
    "aten::is_same_size(Tensor self, Tensor other) -> bool": lambda x, y: x._size == y._size,
    "aten::is_set_to(Tensor self, Tensor tensor) -> bool": lambda x, y: is_set_to(x, y),
    "aten::is_conj(Tensor self) -> bool": lambda x: False,
    "aten::is_neg(Tensor self) -> bool": lambda x: False,
    "aten::is_inference(Tensor self) -> bool": lambda x: (
        x._autograd is not None and x._autograd.is_inference
    ),
    "aten::is_pinned(Tensor self, Device? device=None) -> bool": lambda x, device: False,
    "aten::is_non_overlapping_and_dense(Tensor self) -> bool": is_dense,
    "aten::_shape_as_tensor(Tensor self) -> Tensor": lambda x: Tensor._wrap(
        np.array(x._size, np.int64)
    ),
}.items():
    declare(_text, _f, "primitive")


@primitive("aten::_tensor_to_list(Tensor self) -> int[]")
def tensor_to_list(self):
    if not self._size:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    if self.dtype is not dtypes.int32:
        raise RuntimeError(f"expected scalar type Int but found {dtypes.DISPLAY[self.dtype.name]}")
    return self._array.reshape(-1).tolist()


@primitive("aten::_list_to_tensor(int[] self) -> Tensor")
def list_to_tensor(items):
    if any(v != np.int64(v).astype(np.int32) for v in items):
        raise RuntimeError("value cannot be converted to type int without overflow")
    return Tensor._wrap(np.array(items, np.int32))


def is_set_to(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors are the same view of the same memory."""
    return x._size == y._size and x._stride == y._stride and x.data_ptr() == y.data_ptr()


@primitive("aten::set_.source_Tensor(Tensor(a!) self, Tensor source) -> Tensor(a!)", reshapes=True)
def set_source(self, source):
    self._storage, self.dtype = source._storage, source.dtype
    return become(self, source)


@primitive(
    "aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None)"
    " -> Tensor(a!)",
    reshapes=True,
)
def resize_(self, size, memory_format):
    return resize(self, size, memory_format)


@primitive(
    "aten::resize_as_(Tensor(a!) self, Tensor the_template, *, "
    "MemoryFormat? memory_format=None) -> Tensor(a!)",
    reshapes=True,
)
def resize_as_(self, the_template, memory_format):
    resize(self, the_template._size, None)
    if not memory_format:
        return self
    check_rank(memory_format, len(self._size))
    order = (
        order_of(the_template)
        if memory_format == 1
        else format_order(len(self._size), memory_format)
    )
    return become(self, self._as_view(self._size, dense_strides(self._size, order), self._offset))


describe("set set.source_Tensor", may_share=True)
describe(
    """set_. set_.source_Storage set_.source_Storage_storage_offset
         set_.source_Tensor_storage_offset""",
    reshapes=True,
)
describe("dim", layout="hides", total=True)
