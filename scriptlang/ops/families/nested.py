"""Nested tensors: sequences of different lengths, as far as PyTorch's transformer layers use them.

A NestedTensor stores its sequences padded with zeros, (batch, longest, features), and their
lengths.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...tensors import Tensor
from ..table import describe, primitive


class NestedTensor(Tensor):
    """Padded sequences; only the first `lengths[i]` rows of the i-th are elements."""

    __slots__ = ("lengths",)
    is_nested = True

    @classmethod
    def of(cls, padded: np.ndarray, lengths: list[int]) -> NestedTensor:
        """A nested tensor with a copy of an array, in which the rows after the lengths are zero."""
        padded = np.ascontiguousarray(padded[:, : max(lengths, default=0)])
        plain = Tensor._wrap(padded * inside(padded.shape[1], lengths)[..., None])
        made = cls(plain._storage, plain.dtype, plain._size, plain._stride, plain._offset)
        made.lengths = list(lengths)
        return made

    def each(self, f: Callable[[np.ndarray], np.ndarray]) -> NestedTensor:
        """Apply f to every sequence (1, length, features); return a nested tensor."""
        parts = [f(self._array[i : i + 1, :n])[0] for i, n in enumerate(self.lengths)]
        result = np.zeros((len(parts), self._size[1], parts[0].shape[-1]), parts[0].dtype)
        for row, part in zip(result, parts):
            row[: len(part)] = part
        return NestedTensor.of(result, self.lengths)


def inside(longest: int, lengths: list[int]) -> np.ndarray:
    """A mask (batch, longest) of the positions inside of their sequence."""
    return np.arange(longest) < np.asarray(lengths, np.int64).reshape(-1, 1)


def check_mask(mask: Tensor) -> None:
    if mask.dtype.name != "bool":
        raise RuntimeError(f"Expected mask to be of ScalarType Bool, but got {mask.dtype} instead.")
    if mask.dim() != 2:
        raise RuntimeError("Padding mask should be 2D")


@primitive("aten::_nested_tensor_from_mask_left_aligned(Tensor t, Tensor mask) -> bool")
def from_mask_left_aligned(t, mask):
    """Whether the true elements of each row of the mask come first."""
    check_mask(mask)
    kept = mask._array
    return bool((kept == inside(kept.shape[1], kept.sum(1).tolist())).all())


@primitive("aten::_nested_tensor_from_mask(Tensor t, Tensor mask, bool mask_check=True) -> Tensor")
def from_mask(t, mask, mask_check):
    """A nested tensor with the rows of each sequence that the mask keeps."""
    check_mask(mask)
    if t.dim() != 3:
        raise RuntimeError("Input should be a 3D tensor, N * L * D")
    if t._size[:2] != mask._size:
        raise RuntimeError(
            f"Mask size should match input size, got {list(mask._size)} for {list(t._size)}"
        )
    if mask_check and not from_mask_left_aligned(t, mask):
        raise RuntimeError("Mask must be left-aligned without gaps")
    return NestedTensor.of(t._array, mask._array.sum(1).tolist())


@primitive(
    "aten::to_padded_tensor(Tensor self, float padding, SymInt[]? output_size=None) -> Tensor",
    "aten::nested_to_padded_tensor(Tensor self, float padding, int[]? output_size=None) -> Tensor",
)
def to_padded_tensor(self, padding, output_size):
    if not isinstance(self, NestedTensor):
        raise RuntimeError(
            "to_padded_tensor takes a nested tensor, but got a plain one of size "
            f"{list(self._size)}"
        )
    size = list(self._size) if output_size is None else list(output_size)
    if len(size) != self.dim():
        raise RuntimeError(f"Length of output_size does not match NestedTensor dims, got {size}")
    if any(n < have for n, have in zip(size, self._size)):
        raise RuntimeError(
            "Value in output_size is less than NestedTensor padded size. "
            "Truncation is not supported."
        )
    result = np.full(size, padding, self._array.dtype)
    for i, n in enumerate(self.lengths):
        result[i, :n, : self._size[2]] = self._array[i, :n]
    return Tensor._wrap(result)


describe("nested_to_padded_tensor to_padded_tensor", dynamic_shape=True)
