"""Concatenated chunks of tensors; narrow with a start that is a tensor."""

from __future__ import annotations

from ...tensors import Tensor
from ..calling import functions as torch
from ..table import composite


@composite(
    "aten::_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor",
    out="converts",
    out_memory="apart",
)
def chunk_cat(tensors: list[Tensor], dim: int, num_chunks: int) -> Tensor:
    """Concatenate the chunks of tensors.

    Each tensor is padded and split into `num_chunks` equal chunks along a dimension; the chunks are
    flattened from that dimension on and joined.
    """
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    if len(tensors) == 0:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    parts: list[Tensor] = []
    for t in tensors:
        at = dim if dim >= 0 else dim + t.dim()
        if at < 0 or at >= t.dim():
            raise IndexError("_chunk_cat: a dimension is out of range")
        if t.numel() == 0:
            raise RuntimeError("_chunk_cat expects non-empty tensor")
        size = t.size(at)
        missing = (size + num_chunks - 1) // num_chunks * num_chunks - size
        around: list[int] = []
        for _ in range(at + 1, t.dim()):
            around.append(0)
            around.append(0)
        around.append(0)
        around.append(missing)
        whole = torch.constant_pad_nd(t, around, 0)
        shape: list[int] = []
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
    """`narrow` with a start that is a tensor without dimensions."""
    if start.dim() != 0 or start.is_floating_point() or start.dtype == torch.bool:
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    return torch.narrow(self, dim, int(start), length)
