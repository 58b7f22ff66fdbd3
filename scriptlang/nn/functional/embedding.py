"""Table lookups of nn.functional: embedding and embedding_bag."""

from __future__ import annotations

from typing import Optional

from ...ops.calling import functions as torch
from ...tensors import Tensor

one_hot = torch.one_hot


def _no_grad_embedding_renorm_(
    weight: Tensor, input: Tensor, max_norm: float, norm_type: float
) -> None:
    """Scale the rows that are looked up, in place, to a norm of at most max_norm."""
    torch.embedding_renorm_(weight.detach(), input, max_norm, norm_type)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: Optional[int] = None,
    max_norm: Optional[float] = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """Look up rows of `weight` by index: (*) -> (*, weight.size(1)).

    max_norm: rows with a larger norm are scaled down first, in `weight` itself.
    """
    row = -1
    if padding_idx is not None:
        assert padding_idx < weight.size(0) and padding_idx >= -weight.size(0), (
            "Padding_idx must be within num_embeddings"
        )
        row = padding_idx if padding_idx >= 0 else weight.size(0) + padding_idx
    if max_norm is not None:
        input = input.contiguous()
        _no_grad_embedding_renorm_(weight, input, max_norm, norm_type)
    return torch.embedding(weight, input, row, scale_grad_by_freq, sparse)


def _mode_of_bag(mode: str, scale_grad_by_freq: bool, sparse: bool) -> int:
    if mode == "sum":
        return 0
    elif mode == "mean":
        return 1
    elif mode != "max":
        raise ValueError("mode has to be one of sum, mean or max")
    if scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if sparse:
        raise ValueError("max mode does not support sparse weights")
    return 2


def _check_bags(
    input: Tensor, weight: Tensor, offsets: Optional[Tensor], per_sample_weights: Optional[Tensor]
) -> None:
    """Raise ValueError if the shapes of the arguments of `embedding_bag` do not fit."""
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then "
            f"it must have the same shape as the input ({input.shape})"
        )
    if not weight.dim() == 2:
        raise ValueError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.dim()}"
        )
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated "
                "is a mini-batch of fixed length sequences. However, found "
                "offsets of type Tensor"
            )
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}"
        )


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Optional[Tensor] = None,
    max_norm: Optional[float] = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Optional[Tensor] = None,
    include_last_offset: bool = False,
    padding_idx: Optional[int] = None,
) -> Tensor:
    """The sum, mean or maximum of the rows of each bag: (B, embedding_dim).

    input: (B, n) for B bags of n indices, or (N,) with `offsets`, the start of each bag.
    per_sample_weights: factors of the rows; only for mode "sum".
    """
    if weight.dtype == torch.long and input.is_floating_point():
        weight, input = input, weight  # an old order of arguments
    _check_bags(input, weight, offsets, per_sample_weights)
    if input.dim() == 2:
        offsets = torch.arange(
            0, input.numel(), input.size(1), dtype=input.dtype, device=input.device
        )
        include_last_offset = False
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    assert offsets is not None
    chosen = _mode_of_bag(mode, scale_grad_by_freq, sparse)
    if max_norm is not None:
        _no_grad_embedding_renorm_(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )
    result, _, _, _ = torch.embedding_bag(
        weight,
        input,
        offsets,
        scale_grad_by_freq,
        chosen,
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )
    return result
