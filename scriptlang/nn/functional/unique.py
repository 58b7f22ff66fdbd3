"""Unique values of a tensor; the number of results depends on the arguments."""

from __future__ import annotations

from typing import Optional, Tuple

from ...ops.calling import functions as torch
from ...tensors import Tensor
from .boolean_dispatch import boolean_dispatch


def _unique_all(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Optional[int] = None,
) -> Tuple[Tensor, Tensor, Tensor]:
    if dim is None:
        return torch._unique2(input, sorted, return_inverse, return_counts)
    return torch.unique_dim(input, dim, sorted, return_inverse, return_counts)


def _unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Optional[int] = None,
) -> Tensor:
    """The unique values of a tensor, or its unique slices along `dim`. return_inverse: also the
    index of each element among them; return_counts: also how often each occurs."""
    return _unique_all(input, sorted, return_inverse, return_counts, dim)[0]


def _unique_inverse(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Optional[int] = None,
) -> Tuple[Tensor, Tensor]:
    found = _unique_all(input, sorted, return_inverse, return_counts, dim)
    return found[0], found[1]


def _unique_counts(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Optional[int] = None,
) -> Tuple[Tensor, Tensor]:
    found = _unique_all(input, sorted, return_inverse, return_counts, dim)
    return found[0], found[2]


def _consecutive_all(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Optional[int] = None,
) -> Tuple[Tensor, Tensor, Tensor]:
    return torch.unique_consecutive(input, return_inverse, return_counts, dim)


def _unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Optional[int] = None,
) -> Tensor:
    """The tensor without values, or slices along `dim`, that equal their predecessor.
    return_inverse: also the index of each element in the result; return_counts: also the length of
    each run."""
    return torch.unique_consecutive(input, return_inverse, return_counts, dim)[0]


def _consecutive_inverse(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Optional[int] = None,
) -> Tuple[Tensor, Tensor]:
    found = torch.unique_consecutive(input, return_inverse, return_counts, dim)
    return found[0], found[1]


def _consecutive_counts(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Optional[int] = None,
) -> Tuple[Tensor, Tensor]:
    found = torch.unique_consecutive(input, return_inverse, return_counts, dim)
    return found[0], found[2]


unique = boolean_dispatch(
    "return_counts",
    3,
    False,
    boolean_dispatch("return_inverse", 2, False, _unique_all, _unique_counts),
    boolean_dispatch("return_inverse", 2, False, _unique_inverse, _unique),
)
unique_consecutive = boolean_dispatch(
    "return_counts",
    2,
    False,
    boolean_dispatch("return_inverse", 1, False, _consecutive_all, _consecutive_counts),
    boolean_dispatch("return_inverse", 1, False, _consecutive_inverse, _unique_consecutive),
)
