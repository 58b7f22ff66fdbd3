"""Dropout: sets elements or whole channels to zero at random in training."""

from __future__ import annotations

import warnings

from ...ops.calling import functions as torch
from ...tensors import Tensor


def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Set elements to zero with probability p and divide the others by 1 - p, if `training`.

    Raises ValueError if p is not in [0, 1]."""
    _check_probability(p)
    return torch.dropout_(input, p, training) if inplace else torch.dropout(input, p, training)


def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that preserves mean 0 and variance 1, for use with selu."""
    _check_probability(p)
    return (
        torch.alpha_dropout_(input, p, training)
        if inplace
        else torch.alpha_dropout(input, p, training)
    )


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """alpha_dropout of whole channels."""
    _check_probability(p)
    return (
        torch.feature_alpha_dropout_(input, p, training)
        if inplace
        else torch.feature_alpha_dropout(input, p, training)
    )


def _feature_dropout(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    return (
        torch.feature_dropout_(input, p, training)
        if inplace
        else torch.feature_dropout(input, p, training)
    )


def _single_sample_dropout(input: Tensor, p: float, training: bool, inplace: bool) -> Tensor:
    """Channel dropout of a single sample, whose first dimension is the channels."""
    if inplace:
        return _feature_dropout(input.unsqueeze_(0), p, training, True).squeeze_(0)
    return _feature_dropout(input.unsqueeze(0), p, training, False).squeeze(0)


def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Set whole channels of (N, C, L) or (C, L) to zero. Raises RuntimeError for other ranks."""
    _check_probability(p)
    dim = input.dim()
    if dim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {dim}D input. Note that dropout1d "
            "exists to provide channel-wise dropout on inputs with 1 spatial dimension, a channel "
            "dimension, and an optional batch dimension (i.e. 2D or 3D inputs)."
        )
    return (
        _feature_dropout(input, p, training, inplace)
        if dim == 3
        else _single_sample_dropout(input, p, training, inplace)
    )


def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Set whole channels of (N, C, H, W) to zero. The first dimension is N for other ranks too."""
    _check_probability(p)
    dim = input.dim()
    if dim not in (3, 4):
        warnings.warn(
            f"dropout2d: Received a {dim}-D input to dropout2d, which is deprecated and "
            "will result in an error in a future release."
        )
    if dim == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise "
            "1D dropout behavior is desired - input is interpreted as shape (N, C, L), "
            "where C is the channel dim."
        )
    return _feature_dropout(input, p, training, inplace)


def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Set whole channels of (N, C, D, H, W) or (C, D, H, W) to zero."""
    _check_probability(p)
    dim = input.dim()
    if dim not in (4, 5):
        warnings.warn(
            f"dropout3d: Received a {dim}-D input to dropout3d, which is deprecated and "
            "will result in an error in a future release."
        )
    return (
        _feature_dropout(input, p, training, inplace)
        if dim == 5
        else _single_sample_dropout(input, p, training, inplace)
    )
