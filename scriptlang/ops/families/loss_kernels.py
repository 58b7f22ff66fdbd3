"""Losses that select elements by class index, and connectionist temporal classification."""

from __future__ import annotations

import itertools

import numpy as np

from ...dtypes import DISPLAY, float32, int64
from ...tensors import Tensor
from ..shared.elementwise import check_fits
from ..shared.numeric import check_floating, finish, working
from ..table import declare, describe, primitive


def reduced(loss: np.ndarray, reduction: int, total=None) -> np.ndarray:
    """Reduce a loss: 0 none, 1 mean (the sum / `total`, if given), else the sum."""
    if reduction == 0:
        return loss
    with np.errstate(all="ignore"):
        if reduction != 1:
            return loss.sum()
        return loss.mean() if total is None else loss.sum() / total


def check_margin(x: Tensor, name: str) -> None:
    check_floating(name, x, "f")


def check_spatial(x: Tensor, target: Tensor) -> None:
    if target.dim() != 3 or x.dim() != 4:
        raise RuntimeError(
            "only batches of spatial inputs and targets are supported (4D and 3D "
            f"tensors), but got dimensions {x.dim()} and {target.dim()}"
        )


def nll_parts(x: Tensor, target: Tensor, weight, reduction: int, ignore_index: int):
    """(loss, total weight) of log-probabilities (N, C, ...) or (C) for class indices."""
    if x.dtype.kind != "f":
        raise NotImplementedError(
            f"\"nll_loss_out_frame\" not implemented for '{DISPLAY[x.dtype.name]}'"
        )
    if target.dtype.name not in ("int64", "uint8"):
        raise RuntimeError(f"expected scalar type Long but found {DISPLAY[target.dtype.name]}")
    log_p, index = working(x), target._array.astype(np.int64)
    axis = 1 if x.dim() > 1 else 0
    if axis == 0 and index.shape == (1,):
        index = index.reshape(())
    if tuple(index.shape) != tuple(s for d, s in enumerate(x._size) if d != axis):
        of_one = axis == 0 and target.dim() == 1
        raise (ValueError if of_one else RuntimeError)(
            f"size mismatch (got input: {list(x._size)}, target: {list(target._size)})"
        )
    classes = x._size[axis]
    if weight is not None and list(weight._size) != [classes]:
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or "
            f"no classes but got weight tensor of shape: {list(weight._size)}"
        )
    valid = index != ignore_index
    bad = valid & ((index < 0) | (index >= classes))
    if bad.any():
        raise IndexError(f"Target {index[bad].flat[0]} is out of bounds.")
    safe = np.where(valid, index, 0)
    picked = (
        np.take_along_axis(log_p, np.expand_dims(safe, axis), axis).squeeze(axis)
        if classes
        else np.zeros(index.shape, log_p.dtype)
    )
    share = valid.astype(log_p.dtype) if weight is None else working(weight)[safe] * valid
    loss = np.where(valid, -picked * share, log_p.dtype.type(0))
    total = share.sum()
    return finish(reduced(loss, reduction, total), x.dtype), finish(
        total if reduction or axis == 0 else np.zeros((), log_p.dtype), x.dtype
    )


NLL = "Tensor self, Tensor target, Tensor? weight"


def nll_parts_2d(x: Tensor, target: Tensor, *rest):
    check_spatial(x, target)
    return nll_parts(x, target, *rest)


def nll_parts_nd(x: Tensor, target: Tensor, *rest):
    if x.dim() == 0:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    batch = target._size[0] if target.dim() else 0
    if x.dim() != 1 and x._size[0] != batch:
        raise ValueError(
            f"Expected input batch_size ({x._size[0]}) to match target batch_size ({batch})."
        )
    return nll_parts(x, target, *rest)


for _name, _f in (
    ("nll_loss", nll_parts),
    ("nll_loss2d", nll_parts_2d),
    ("nll_loss_nd", nll_parts_nd),
):
    declare(
        f"aten::{_name}({NLL}=None, int reduction=1, SymInt ignore_index=-100) -> Tensor",
        lambda *args, f=_f: f(*args)[0],
        "primitive",
    )
for _name in ("nll_loss_forward", "nll_loss2d_forward"):
    declare(
        f"aten::{_name}({NLL}, int reduction, SymInt ignore_index) -> "
        "(Tensor output, Tensor total_weight)",
        nll_parts_2d if "2d" in _name else nll_parts,
        "primitive",
    )


def check_labels(self: Tensor, target: Tensor) -> None:
    if target.dtype != int64 and self.numel():
        raise RuntimeError(f"expected scalar type Long but found {DISPLAY[target.dtype.name]}")


@primitive(
    "aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, "
    "Tensor? weight=None, int reduction=1) -> Tensor",
    autocast="full",
)
def multi_margin_loss(self, target, p, margin, weight, reduction):
    """The mean over all classes but the target of max(0, margin - x[target] + x[class])^p."""
    check_margin(self, "multi_margin_loss_cpu")
    if p not in (1, 2):
        raise RuntimeError("only p == 1 and p == 2 supported")
    check_fits(margin, float32)
    x = np.atleast_2d(working(self))
    index = np.atleast_1d(target._array).reshape(-1, 1)
    if target.dim() > 1 or len(x) != len(index):
        raise RuntimeError(
            f"inconsistent target size, expected {len(x)} but got {list(target._size)}"
        )
    check_labels(self, target)
    if index.size and not (0 <= index.min() and index.max() < x.shape[1]):
        raise RuntimeError("target out of range")
    loss = np.maximum(margin - np.take_along_axis(x, index, 1) + x, 0) ** p
    if weight is not None:
        loss = loss * working(weight)[index]
    np.put_along_axis(loss, index, 0, 1)
    loss = loss.sum(1) / x.dtype.type(x.shape[1])
    return finish(reduced(loss if self.dim() > 1 else loss[0], reduction), self.dtype)


@primitive(
    "aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    autocast="full",
    out="converts",
)
def multilabel_margin_loss(self, target, reduction):
    """The multilabel margin loss; each row of targets ends at its first -1."""
    return multilabel_margin_loss_forward(self, target, reduction)[0]


@primitive(
    "aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> "
    "(Tensor output, Tensor is_target)"
)
def multilabel_margin_loss_forward(self, target, reduction):
    """The loss, and 1 for the classes that are targets, 0 for others."""
    check_margin(self, "multilabel_margin_loss_forward_out_frame")
    if len(self._size) > 2 or self._size and self._size[-1] == 0:
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, "
            f"but got: {list(self._size)}"
        )
    if self._size != target._size:
        raise RuntimeError(
            f"inconsistent target size: {list(target._size)} for input of size: {list(self._size)}"
        )
    check_labels(self, target)
    x, rows = np.atleast_2d(working(self)), np.atleast_2d(target._array)
    if rows.size and not (-1 <= rows.min() and rows.max() < x.shape[1]):
        raise RuntimeError("target out of range")
    loss, is_target = np.zeros(len(x), x.dtype), np.zeros(x.shape, x.dtype)
    for i, row in enumerate(rows):
        stop = np.flatnonzero(row < 0)
        chosen = row[: stop[0]] if len(stop) else row
        others = np.ones(x.shape[1], bool)
        others[chosen] = False
        is_target[i, chosen] = 1
        gaps = np.maximum(1 - x[i][chosen][:, None] + x[i][others], 0)
        loss[i] = gaps.sum() / x.shape[1]
    output = finish(reduced(loss if self.dim() > 1 else loss[0], reduction), self.dtype)
    return output, finish(is_target.reshape(self._size), self.dtype)


# connectionist temporal classification


def target_rows(targets: Tensor, lengths: list[int]) -> list[np.ndarray]:
    """The targets of each sequence, from a padded matrix or one concatenated vector."""
    array = targets._array
    if array.ndim > 1 and len(array) != len(lengths):
        raise RuntimeError(
            f"targets of size {list(targets._size)} do not fit a batch of {len(lengths)}"
        )
    if array.ndim == 1 and len(lengths) != 1 or array.ndim == 1 and array.size == sum(lengths):
        ends = np.cumsum([0, *lengths])
        return [array[a:b] for a, b in itertools.pairwise(ends)]
    return [row[:n] for row, n in zip(np.atleast_2d(array), lengths)]


def alphas(log_p: np.ndarray, target: np.ndarray, blank: int) -> np.ndarray:
    """The forward log-probabilities (time, 2 * targets + 1) of one sequence."""
    labels = np.full(2 * len(target) + 1, blank)
    labels[1::2] = target
    skips = np.zeros(len(labels), bool)
    skips[3::2] = labels[3::2] != labels[1:-2:2]  # a label may equal the blank
    result = np.full((len(log_p), len(labels)), -np.inf, log_p.dtype)
    if not len(log_p):
        return result
    result[0, :2] = log_p[0, labels[:2]]
    for t in range(1, len(log_p)):
        before = result[t - 1]
        one = np.concatenate([[-np.inf], before[:-1]])
        two = np.where(skips, np.concatenate([[-np.inf, -np.inf], before])[: len(labels)], -np.inf)
        result[t] = np.logaddexp(np.logaddexp(before, one), two) + log_p[t, labels]
    return result


def ctc_parts(log_probs: Tensor, targets: Tensor, input_lengths, target_lengths, blank: int):
    """(negative log-likelihood, forward log-probabilities) of each sequence."""
    batched = log_probs.dim() == 3
    x = working(log_probs)
    x = x if batched else x[:, None]
    steps, n, classes = x.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for name, lengths in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if len(lengths) != n:
            raise RuntimeError(f"{name} must be of size batch_size ({n}), got {len(lengths)}")
    if max(input_lengths, default=0) > steps:
        raise RuntimeError(
            f"Expected input_lengths to have value at most {steps}, but got value "
            f"{max(input_lengths)}"
        )
    rows = target_rows(targets, target_lengths)
    width = targets._size[-1] if targets.dim() > 1 else max(target_lengths, default=0)
    every = np.full((n, steps, 2 * width + 1), -np.inf, x.dtype)
    nll = np.zeros(n, x.dtype)
    for i, (row, length) in enumerate(zip(rows, input_lengths)):
        with np.errstate(all="ignore"):
            alpha = alphas(x[:length, i], row, blank)
            every[i, :length, : alpha.shape[1]] = alpha
            if not length:
                nll[i] = 0 if not len(row) else np.inf
                continue
            last = alpha[-1, -2:] if len(row) else alpha[-1, -1:]
            nll[i] = -np.logaddexp.reduce(last)
    if not batched:
        return finish(nll[0], log_probs.dtype), finish(every[0], log_probs.dtype)
    return finish(nll, log_probs.dtype), finish(every, log_probs.dtype)


def lengths_of(value) -> list[int]:
    if not isinstance(value, Tensor):
        return list(value)
    if value.dtype.kind not in "bui":
        raise RuntimeError("ctc_loss: input_lengths and target_lengths must be integral")
    return np.atleast_1d(value._array).tolist()


def ctc_forward(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity):
    counts = lengths_of(target_lengths)
    if min(counts, default=0) < 0:
        raise RuntimeError(f"Expected target_lengths to be non-negative, got {min(counts)}")
    flat = targets.dim() < 2
    have = targets.numel() if flat else targets._size[-1]
    if (sum(counts) if flat else max(counts, default=0)) > have:
        raise RuntimeError(
            f"Expected targets of size {list(targets._size)} to hold sequences as "
            "long as target_lengths says"
        )
    return ctc_parts(log_probs, targets, lengths_of(input_lengths), counts, blank)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity):
    """ctc_loss; for the mean, losses are divided by their target lengths first."""
    counts = lengths_of(target_lengths)
    loss = working(ctc_forward(log_probs, targets, input_lengths, counts, blank, zero_infinity)[0])
    if zero_infinity:
        loss = np.where(np.isinf(loss), loss.dtype.type(0), loss)
    if reduction == 1:
        loss = loss / np.maximum(np.asarray(counts, loss.dtype).reshape(loss.shape), 1)
    return finish(reduced(loss, reduction if reduction in (1, 2) else 0), log_probs.dtype)


for _overload, _type in (("IntList", "int[]"), ("Tensor", "Tensor")):
    _head = f"Tensor log_probs, Tensor targets, {_type} input_lengths, {_type} target_lengths"
    declare(
        f"aten::ctc_loss.{_overload}({_head}, int blank=0, int reduction=1, bool "
        "zero_infinity=False) -> Tensor",
        ctc_loss,
        "primitive",
    )
    declare(
        f"aten::_ctc_loss{'.Tensor' if _overload == 'Tensor' else ''}({_head}, int blank=0, "
        "bool zero_infinity=False) -> (Tensor, Tensor)",
        ctc_forward,
        "primitive",
    )


describe("nll_loss nll_loss2d", autocast="full")
describe("_ctc_loss.Tensor", dynamic_shape=True)
