"""`x[...]` of a torch tensor while a trace is recorded.

Torch calls no operator for a slice that covers the whole dimension, such as `x[:3]` of three rows.
A tensor of another size would need it.  Here each part of an index calls its operator.
"""

from __future__ import annotations

from typing import Any

import torch

original = torch._C.TensorBase.__getitem__

BASIC = (slice, type(None), type(Ellipsis))


def get_item(tensor: torch.Tensor, index: Any) -> torch.Tensor:
    """`tensor[index]`, with an operator for each slice, number and None in the index."""
    parts = index if isinstance(index, tuple) else (index,)
    if not any(isinstance(p, slice) for p in parts) or not all(map(_is_simple, parts)):
        return original(tensor, index)
    dim, made = 0, tensor
    rest: list[Any] = []
    for i, part in enumerate(parts):
        if part is Ellipsis:
            skipped = tensor.dim() - sum(map(_dims, parts[:i])) - sum(map(_dims, parts[i + 1 :]))
            rest += [slice(None)] * skipped
            dim += skipped
        elif part is None:
            made = made.unsqueeze(dim)
            rest.append(slice(None))
            dim += 1
        elif isinstance(part, slice):
            if part != slice(None):
                made = torch.ops.aten.slice.Tensor(
                    made, dim, part.start, part.stop, 1 if part.step is None else part.step
                )
            rest.append(slice(None))
            dim += 1
        elif isinstance(part, (torch.Tensor, list)):
            rest.append(part)
            dim += _dims(part)
        else:
            made = made.select(dim, part)
    if any(isinstance(p, (torch.Tensor, list)) for p in rest):
        return original(made, tuple(rest))
    return made if made is not tensor else original(tensor, index)


def _is_simple(part: Any) -> bool:
    return isinstance(part, (*BASIC, torch.Tensor, list, torch.SymInt)) or (
        isinstance(part, int) and not isinstance(part, bool)
    )


def _dims(part: Any) -> int:
    """How many dimensions of the tensor a part of an index uses."""
    if part is None or part is Ellipsis:
        return 0
    if isinstance(part, torch.Tensor) and part.dtype in (torch.bool, torch.uint8):
        return part.dim()
    return 1
