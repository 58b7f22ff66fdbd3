"""Tensors of different lengths put together."""

from __future__ import annotations

from typing import List

from ..tensors import Tensor
from . import functions as torch
from .table import composite


@composite('aten::pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., '
           'str padding_side="right") -> Tensor')
def pad_sequence(sequences: List[Tensor], batch_first: bool, padding_value: float,
                 padding_side: str) -> Tensor:
    """Each sequence padded to the longest, stacked along a new dimension."""
    if len(sequences) == 0:
        raise RuntimeError("received an empty list of sequences")
    if padding_side != "left" and padding_side != "right":
        raise RuntimeError("Expected padding_side to be one of left or right, but got "
                           + padding_side + ".")
    longest = 0
    for s in sequences:
        longest = max(longest, s.size(0))
    padded: List[Tensor] = []
    for s in sequences:
        missing = longest - s.size(0)
        around: List[int] = []
        for _ in range(1, s.dim()):
            around.append(0)
            around.append(0)
        if padding_side == "left":
            around.append(missing)
            around.append(0)
        else:
            around.append(0)
            around.append(missing)
        padded.append(torch.constant_pad_nd(s, around, padding_value))
    return torch.stack(padded, 0 if batch_first else 1)


@composite("aten::_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor")
def chunk_cat(tensors: List[Tensor], dim: int, num_chunks: int) -> Tensor:
    """Each tensor padded to `num_chunks` equal parts along a dimension; the parts, flattened from
    that dimension on, side by side."""
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    if len(tensors) == 0:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    parts: List[Tensor] = []
    for t in tensors:
        at = dim if dim >= 0 else dim + t.dim()
        if at < 0 or at >= t.dim():
            raise IndexError("_chunk_cat: a dimension is out of range")
        size = t.size(at)
        missing = (size + num_chunks - 1) // num_chunks * num_chunks - size
        around: List[int] = []
        for _ in range(at + 1, t.dim()):
            around.append(0)
            around.append(0)
        around.append(0)
        around.append(missing)
        whole = torch.constant_pad_nd(t, around, 0)
        shape: List[int] = []
        for d in range(at):
            shape.append(t.size(d))
        shape.append(num_chunks)
        rest = (size + missing) // num_chunks
        for d in range(at + 1, t.dim()):
            rest = rest * t.size(d)
        shape.append(rest)
        parts.append(whole.reshape(shape))
    return torch.cat(parts, -1)


@composite("aten::narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)")
def narrow_at(self: Tensor, dim: int, start: Tensor, length: int) -> Tensor:
    """`narrow` from a start that a zero-dim tensor holds."""
    if start.dim() != 0 or start.is_floating_point() or start.dtype == torch.bool:
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    return torch.narrow(self, dim, int(start), length)
