"""Dropout.  In inference each form returns its input tensor itself."""

from __future__ import annotations

from ...tensors import Tensor
from ..calling import functions as torch
from ..table import composite

ARGUMENTS = "float p, bool train"


def _check(p: float) -> None:
    if not (p >= 0.0 and p <= 1.0):
        raise RuntimeError("dropout probability has to be between 0 and 1, but got {}".format(p))


def _feature_mask(input: Tensor, p: float) -> Tensor:
    """An uninitialized mask with one element for each image and channel."""
    if p == 1.0:
        return torch.empty_like(input)
    if input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    shape: list[int] = [input.size(0), input.size(1)]
    for _ in range(2, input.dim()):
        shape.append(1)
    return torch.empty(shape, dtype=input.dtype)


def _scaled_mask(mask: Tensor, p: float) -> Tensor:
    """Fill the mask with 0 (with probability p) or 1 / (1 - p)."""
    if p == 1.0:
        return mask.zero_()
    return mask.bernoulli_(1.0 - p).div_(1.0 - p)


def _alpha_mask(mask: Tensor, p: float) -> tuple[Tensor, Tensor]:
    """(factor, addend) that preserve mean and variance in self-normalizing networks."""
    alpha = 1.7580993408473766
    keep = 1.0 / ((alpha * alpha * p + 1.0) * (1.0 - p)) ** 0.5
    mask = mask.bernoulli_(1.0 - p)
    addend = (mask - 1.0) * (alpha * keep) + alpha * keep * p
    return mask * keep, addend


@composite(
    f"aten::dropout(Tensor input, {ARGUMENTS}) -> Tensor",
    random=True,
    may_share=True,
    keeps_type="any",
    shape="like_first",
)
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    _check(p)
    if p == 0.0 or not train or input.numel() == 0:
        return input
    return input * _scaled_mask(torch.empty_like(input), p)


@composite(f"aten::dropout_(Tensor(a!) self, {ARGUMENTS}) -> Tensor(a!)", random=True)
def dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    _check(p)
    if p == 0.0 or not train or self.numel() == 0:
        return self
    return self.mul_(_scaled_mask(torch.empty_like(self), p))


@composite(
    f"aten::feature_dropout(Tensor input, {ARGUMENTS}) -> Tensor",
    random=True,
    may_share=True,
    shape="like_first",
)
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    _check(p)
    if p == 0.0 or not train or input.numel() == 0:
        return input
    return input * _scaled_mask(_feature_mask(input, p), p)


@composite(f"aten::feature_dropout_(Tensor(a!) self, {ARGUMENTS}) -> Tensor(a!)", random=True)
def feature_dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    _check(p)
    if p == 0.0 or not train or self.numel() == 0:
        return self
    return self.mul_(_scaled_mask(_feature_mask(self, p), p))


@composite(
    f"aten::alpha_dropout(Tensor input, {ARGUMENTS}) -> Tensor",
    random=True,
    may_share=True,
    shape="like_first",
)
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    _check(p)
    if p == 0.0 or not train or input.numel() == 0:
        return input
    if p == 1.0:
        return input * torch.zeros_like(input)
    factor, addend = _alpha_mask(torch.empty_like(input), p)
    return input * factor + addend


@composite(f"aten::alpha_dropout_(Tensor(a!) self, {ARGUMENTS}) -> Tensor(a!)", random=True)
def alpha_dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    _check(p)
    if p == 0.0 or not train or self.numel() == 0:
        return self
    if p == 1.0:
        return self.zero_()
    factor, addend = _alpha_mask(torch.empty_like(self), p)
    return self.mul_(factor).add_(addend)


@composite(
    f"aten::feature_alpha_dropout(Tensor input, {ARGUMENTS}) -> Tensor",
    random=True,
    may_share=True,
    shape="like_first",
)
def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    _check(p)
    if p == 0.0 or not train or input.numel() == 0:
        return input
    if p == 1.0:
        return input * torch.zeros_like(input)
    factor, addend = _alpha_mask(_feature_mask(input, p), p)
    return input * factor + addend


@composite(f"aten::feature_alpha_dropout_(Tensor(a!) self, {ARGUMENTS}) -> Tensor(a!)", random=True)
def feature_alpha_dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    _check(p)
    if p == 0.0 or not train or self.numel() == 0:
        return self
    if p == 1.0:
        return self.zero_()
    factor, addend = _alpha_mask(_feature_mask(self, p), p)
    return self.mul_(factor).add_(addend)


@composite(
    "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
    random=True,
    may_share=True,
)
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    if input.numel() == 0:
        return input, torch.empty_like(input)
    if train is not None and not train:
        return input.clone(), torch.ones_like(input, dtype=torch.bool)
    if not input.is_floating_point() and not input.is_complex():
        raise RuntimeError("result type Float can't be cast to an integral output type")
    mask = torch.empty_like(input, dtype=torch.bool)
    if p == 1.0:
        return torch.zeros_like(input), mask.zero_()
    mask.bernoulli_(1.0 - p)
    return input * mask * (1.0 / (1.0 - p)), mask
