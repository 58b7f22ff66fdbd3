"""Derivatives of padding: padding the element numbers shows where each element was copied to."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch
from ..helpers import count, zeros


def places(size: list[int], padding: list[int]) -> Tensor:
    """The numbers of the elements of a plane that is padded, as a batch of one."""
    inner = size[len(size) - len(padding) // 2 :]
    return torch.arange(count(inner), dtype=torch.float64).reshape([1, 1] + inner)


def placed(grad: Tensor, size: list[int], numbers: Tensor) -> Tensor:
    """The gradient of each plane, added up at the elements that were copied."""
    inner = numbers.dim() - 2
    outer = size[: len(size) - inner]
    width = count(size[len(size) - inner :])
    index = numbers.reshape([-1]).to(dtype=torch.int64)
    flat = zeros(grad, [count(outer), width])
    return flat.index_add(1, index, grad.reshape([count(outer), index.numel()])).reshape(size)


def padded(x: Tensor, pad: list[int], mode: str, value: float | None) -> Tensor:
    """`pad`, by the operator for its mode and number of dimensions."""
    if mode == "constant":
        return torch.constant_pad_nd(x, pad, 0.0 if value is None else value)
    if value is not None and value != 0.0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode != "circular" and mode != "reflect" and mode != "replicate":
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    number = len(pad) // 2
    if mode == "circular":
        return torch._pad_circular(x, pad)
    if mode == "reflect":
        if number == 1:
            return torch.reflection_pad1d(x, pad)
        return torch.reflection_pad2d(x, pad) if number == 2 else torch.reflection_pad3d(x, pad)
    if number == 1:
        return torch.replication_pad1d(x, pad)
    return torch.replication_pad2d(x, pad) if number == 2 else torch.replication_pad3d(x, pad)
