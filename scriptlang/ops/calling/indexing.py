"""`x[key]` and `x[key] = value` of eager tensors, by select, slice, unsqueeze and index."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ... import dtypes
from ...tensors import Tensor, from_numpy
from . import functions
from .binding import in_tensor
from .dispatch import call


def get_item(x: Tensor, key: Any) -> Tensor:
    """The elements that a key selects: a view if it has only ints, slices, None and Ellipsis."""
    view, indices = split(x, key)
    if any(i is not None for i in indices):
        return call("aten::index", (view, indices))
    return view if view is not x else call("aten::alias", (x,))


def set_item(x: Tensor, key: Any, value: Any) -> None:
    """Write a value to the elements that a key selects."""
    view, indices = split(x, key)
    if not isinstance(value, Tensor):
        value = (
            functions.tensor(value, dtype=x.dtype)
            if not isinstance(value, np.ndarray)
            else from_numpy(value)
        )
    if any(i is not None for i in indices):
        if value.dtype is not x.dtype:
            value = call("aten::to", (value, x.dtype))
        while value.dim() and value.size(0) == 1:
            value = value.squeeze(0)
        call("aten::index_put_", (view, indices, value))
        return
    while value.dim() > view.dim() and value.size(0) == 1:
        value = value.squeeze(0)
    call("aten::copy_", (view, value))


def is_tuple_too(key: Any) -> bool:
    """Whether a list is taken as the tuple of its elements, as PyTorch does.

    So are short ones that hold other lists, slices, tensors, None or Ellipsis.
    """
    parts = (list, tuple, slice, Tensor, type(None), type(Ellipsis))
    if not isinstance(key, list) or len(key) >= 32 or not any(isinstance(p, parts) for p in key):
        return False
    warnings.warn(
        "Using a non-tuple sequence for multidimensional indexing is deprecated: use x[tuple(seq)] "
        "instead of x[seq]",
        UserWarning,
        5,
    )
    return True


def split(x: Tensor, key: Any) -> tuple[Tensor, list[Any]]:
    """Return (view by the basic parts of a key, list of an index tensor or None per dimension)."""
    parts = list(key) if isinstance(key, tuple) or is_tuple_too(key) else [key]
    parts = [_part(p) for p in parts]
    taken = sum(
        p.dim()
        if isinstance(p, Tensor) and p.dtype.kind == "b"
        else p is not None and p is not Ellipsis and not isinstance(p, bool)
        for p in parts
    )
    if taken > x.dim():
        raise IndexError(f"too many indices for tensor of dimension {x.dim()}")
    if Ellipsis not in [p for p in parts if not isinstance(p, Tensor)]:
        parts.append(Ellipsis)
    dim, indices = 0, []
    for p in parts:
        if p is Ellipsis:
            skip = x.dim() - dim - _left(parts, p)
            indices += [None] * skip
            dim += skip
        elif p is None:
            x = call("aten::unsqueeze", (x, dim))
            indices.append(None)
            dim += 1
        elif isinstance(p, bool):
            x = call("aten::unsqueeze", (x, dim))
            indices.append(functions.tensor([p]))
            dim += 1
        elif isinstance(p, int):
            x = call("aten::select", (x, dim, p))
        elif isinstance(p, slice):
            if p != slice(None):
                x = call("aten::slice", (x, dim, p.start, p.stop, 1 if p.step is None else p.step))
            indices.append(None)
            dim += 1
        else:
            mask = p.dtype.name in ("bool", "uint8")
            if mask and not p.dim():  # it selects all of x or nothing, along a new dimension
                x, p = call("aten::unsqueeze", (x, dim)), p.reshape([1])
            indices.append(p)
            dim += p.dim() if mask else 1
    return x, indices


def _left(parts: list[Any], mark: Any) -> int:
    """How many dimensions the parts after the Ellipsis consume."""
    after = parts[next(i for i, p in enumerate(parts) if p is mark) + 1 :]
    return sum(
        p.dim()
        if isinstance(p, Tensor) and p.dtype.name in ("bool", "uint8")
        else p is not None and not isinstance(p, bool)
        for p in after
    )


def _part(p: Any) -> Any:
    """Convert one part of a key to an int, bool, slice, None, Ellipsis or Tensor."""
    if isinstance(p, Tensor):
        return (
            in_tensor(p, "aten::Int")
            if p.dim() == 0 and p.dtype.kind in "iu" and p.dtype.name != "uint8"
            else p
        )
    if isinstance(p, np.ndarray):
        return from_numpy(p)
    if isinstance(p, np.integer):
        return int(p)
    if isinstance(p, (list, tuple, range)):
        return functions.tensor(list(p), dtype=None if len(p) else dtypes.int64)
    if p is None or p is Ellipsis or isinstance(p, (bool, int, slice)):
        return p
    if hasattr(p, "__index__"):
        return p.__index__()
    raise IndexError(
        f"tensors take ints, slices, None, Ellipsis and tensors as indices, not {type(p).__name__}"
    )
