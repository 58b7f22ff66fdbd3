"""Helpers of reductions: the dimensions, and the types to compute in and return."""

from __future__ import annotations

import numpy as np

from ... import dtypes
from ...dtypes import DType, working_type
from ...tensors import Tensor, wrap_dim
from .elementwise import DISPLAY, cast


def axes_of(dim, ndim: int) -> tuple[int, ...]:
    """The dimensions to reduce over, from a number, a list or None (all)."""
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return tuple(range(ndim))
    dims = [dim] if isinstance(dim, int) else list(dim)
    axes = tuple(wrap_dim(d, ndim) for d in dims)
    if len(set(axes)) != len(axes):
        raise RuntimeError(f"dim {dims} appears multiple times in the list of dims")
    return axes if ndim else ()


def reduced(f, x: Tensor, dim, keepdim: bool, out: DType, compute: DType | None = None) -> Tensor:
    """Reduce with f(array, axis=, keepdims=), computed in `compute` and returned in `out`."""
    axes = axes_of(dim, len(x._size))
    with np.errstate(all="ignore"):
        wide = working_type(compute or out)
        array = x._array.real if x.dtype.kind == "c" and wide.kind not in "cb" else x._array
        array = array.astype(wide, copy=False)
        value = f(array, axis=axes, keepdims=keepdim) if axes or array.ndim == 0 else array.copy()
        value = np.asarray(value, order="C")
        return cast(Tensor._wrap(value), out) if value.dtype != out.numpy else Tensor._wrap(value)


def summed(dtype: DType, wish: int | None) -> DType:
    """The type of a sum: the requested one (a ScalarType); else int64 for bool and integers."""
    if wish is not None:
        return dtypes.by_code(wish)
    return dtypes.int64 if dtype.kind in "bui" else dtype


def check_order_of_norm(ord) -> None:
    if isinstance(ord, complex):
        raise RuntimeError(
            "linalg.vector_norm: Expected a non-complex scalar as the order of norm."
        )


def check_type_of_norm(given: DType, target: DType) -> None:
    """Check that a norm can be computed in `target`: of the same kind, and at least as wide."""
    if given.kind not in "fc":
        raise RuntimeError(
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{DISPLAY[given.name]}"
        )
    if target is given:
        return
    if target.kind not in "fc":
        raise RuntimeError(
            "linalg.vector_norm: dtype should be floating point or complex, but got "
            f"{DISPLAY[target.name]}"
        )
    if given.kind != target.kind:
        kind = "complex" if given.kind == "c" else "real"
        raise RuntimeError(
            f"linalg.vector_norm: dtype should be {kind} for {kind} inputs, but got "
            f"{DISPLAY[target.name]}"
        )
    if dtypes.promote(given, target) is not target:
        raise RuntimeError(
            f"linalg.vector_norm: the dtype of the input ({DISPLAY[given.name]}) should be "
            f"convertible without narrowing to the specified dtype ({DISPLAY[target.name]})"
        )
