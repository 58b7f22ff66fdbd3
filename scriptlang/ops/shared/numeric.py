"""Helpers of numeric kernels: the type to compute in, and results in the requested type."""

from __future__ import annotations

import numpy as np

from ... import dtypes
from ...dtypes import DType, working_type
from ...tensors import Tensor
from .elementwise import DISPLAY


def working(x: Tensor) -> np.ndarray:
    """The array of a tensor, converted to the type to compute in."""
    return x._array.astype(working_type(x.dtype), copy=False)


def finish(array: np.ndarray, dtype: DType) -> Tensor:
    """Convert a result to a tensor of `dtype`."""
    with np.errstate(all="ignore"):
        return Tensor._wrap(np.asarray(array).astype(dtype.numpy, copy=False))


def check_same_dtype(what: str, *tensors: Tensor | None) -> None:
    """Raise RuntimeError if the tensors do not all have the same element type."""
    given = [t for t in tensors if t is not None]
    for other in given[1:]:
        if other.dtype is not given[0].dtype:
            raise RuntimeError(
                f"{what} to have the same dtype, but got: {given[0].dtype} != {other.dtype}"
            )


def check_floating(name: str, x: Tensor, kinds: str = "fc") -> None:
    """Raise NotImplementedError, as PyTorch does, if a kernel does not support an element type."""
    if x.dtype.kind not in kinds or x.dtype in dtypes.BAREBONES:
        raise NotImplementedError(f"\"{name}\" not implemented for '{DISPLAY[x.dtype.name]}'")
