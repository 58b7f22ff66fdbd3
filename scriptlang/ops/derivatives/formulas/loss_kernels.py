"""Derivatives of losses that pick elements by class, and of ctc_loss."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def reduced(loss: Tensor, reduction: int) -> Tensor:
    if reduction == 1:
        return loss.mean()
    return loss.sum() if reduction == 2 else loss


def nll_gradient(
    grad: Tensor,
    size: list[int],
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
) -> Tensor:
    """Minus the weight of the class at each target that counts; of the mean by their sum."""
    dim = 1 if len(size) > 1 else 0
    target = target.to(dtype=torch.int64)
    if dim == 0:
        target = target.reshape([])
    counts = target != ignore_index
    index = torch.where(counts, target, 0)
    share = counts.to(dtype=grad.dtype)
    if weight is not None:
        share = share * weight.detach().take(index)
    if reduction == 1:
        grad = grad / share.sum()
    filled = (-share * grad).unsqueeze(dim)
    return torch.zeros(size, dtype=grad.dtype).scatter(dim, index.unsqueeze(dim), filled)


def multi_margin(
    x: Tensor, target: Tensor, p: float, margin: float, weight: Tensor | None, reduction: int
) -> Tensor:
    rows = x.reshape([1, -1]) if x.dim() < 2 else x
    index = target.reshape([-1, 1])
    gap = margin - rows.gather(1, index) + rows
    loss = torch.where(gap > 0, gap, 0)
    if p == 2.0:
        loss = loss * loss
    if weight is not None:
        loss = loss * weight.take(index)
    own = torch.zeros_like(rows, dtype=torch.bool).scatter(1, index, True)
    loss = loss.masked_fill(own, 0).sum([1]) / rows.size(1)
    return reduced(loss if x.dim() > 1 else loss[0], reduction)


def multilabel_margin(x: Tensor, target: Tensor, reduction: int) -> Tensor:
    """Each row of targets ends at its first -1."""
    rows = x.reshape([1, -1]) if x.dim() < 2 else x
    marks = target.reshape([1, -1]) if target.dim() < 2 else target
    valid = (marks >= 0).to(dtype=torch.int64).cumprod(1) > 0
    index = torch.where(valid, marks, 0)
    chosen = torch.zeros_like(rows, dtype=torch.int64).scatter_add(
        1, index, valid.to(dtype=torch.int64)
    )
    gap = 1 - rows.gather(1, index).unsqueeze(2) + rows.unsqueeze(1)
    counts = (gap > 0) & valid.unsqueeze(2) & (chosen == 0).unsqueeze(1)
    loss = torch.where(counts, gap, 0).sum([1, 2]) / rows.size(1)
    return reduced(loss if x.dim() > 1 else loss[0], reduction)


def numbers(x: Tensor) -> list[int]:
    """The elements of a tensor of lengths."""
    flat = x.reshape([-1])
    found: list[int] = []
    for i in range(flat.numel()):
        found.append(int(flat[i].item()))
    return found


def ctc_reduced(
    loss: Tensor, target_lengths: list[int], reduction: int, zero_infinity: bool
) -> Tensor:
    """The mean is taken of losses divided by their target lengths."""
    if zero_infinity:
        loss = torch.where(torch.isinf(loss), 0, loss)
    if reduction == 1:
        lengths = torch.tensor(target_lengths, dtype=loss.dtype).clamp_min(1)
        loss = loss / lengths.reshape(loss.size())
    return reduced(loss, reduction)


def ctc_gradient(
    grad: Tensor | None,
    nll: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: list[int],
    target_lengths: list[int],
    blank: int,
    zero_infinity: bool,
) -> Tensor | None:
    """PyTorch's: of the loss behind a log_softmax, the probability of each class less that given
    the target."""
    if grad is None:
        return None
    batched = log_probs.dim() == 3
    x = log_probs if batched else log_probs.unsqueeze(1)
    losses, grads = nll.reshape([-1]), grad.reshape([-1])
    found: list[Tensor] = []
    start = 0
    for i, length in enumerate(input_lengths):
        number = target_lengths[i]
        if targets.dim() == 1:
            row = targets.narrow(0, start, number)
            start += number
        else:
            row = targets[i].narrow(0, 0, number)
        part = ctc_one(x.select(1, i).narrow(0, 0, length), row, blank, losses[i])
        if zero_infinity:
            part = torch.where(torch.isinf(losses[i]), 0, part)
        padded = torch.constant_pad_nd(part * grads[i], [0, 0, 0, x.size(0) - length])
        found.append(padded)
    made = torch.stack(found, 1)
    return made if batched else made.squeeze(1)


def ctc_one(log_p: Tensor, target: Tensor, blank: int, nll: Tensor) -> Tensor:
    """One sequence: (time, classes)."""
    steps, width = log_p.size(0), 2 * target.numel() + 1
    if steps == 0:
        return torch.zeros_like(log_p)
    labels = torch.full([width], blank, dtype=torch.int64)
    labels = (
        labels.index_copy(0, torch.arange(1, width, 2), target.to(dtype=torch.int64))
        if width > 1
        else labels
    )
    skips = (
        torch.constant_pad_nd(
            (
                (torch.slice(labels, 0, 2) != blank)
                & (torch.slice(labels, 0, 2) != torch.slice(labels, 0, 0, max(width - 2, 0)))
            ).to(dtype=torch.int64),
            [min(2, width), 0],
        )
        > 0
    )
    at = log_p.index_select(1, labels)
    ends = torch.arange(width) < 2
    alpha = ctc_walk(at, skips, ends)
    behind = torch.slice(skips, 0, 2).to(dtype=torch.int64)
    back = torch.constant_pad_nd(behind, [0, min(2, width)]) > 0
    beta = ctc_walk(at.flip([0, 1]), back.flip([0]), ends).flip([0, 1])
    joint = alpha + beta
    places = torch.full([steps, log_p.size(1)], -torch.inf, dtype=log_p.dtype)
    for s in range(width):
        column = labels[s].reshape([1, 1]).expand([steps, 1])
        one = torch.logaddexp(places.gather(1, column), joint.narrow(1, s, 1))
        places = places.scatter(1, column, one)
    return torch.exp(log_p) - torch.exp(places + nll - log_p)


def ctc_walk(at: Tensor, skips: Tensor, first: Tensor) -> Tensor:
    """Log-probabilities of the paths that end at each time in each label.

    at: the log-probability of each label at each time; skips: labels that the one before the last
    may precede; first: those in which a path may start.
    """
    width = at.size(1)
    low = torch.full([width], -torch.inf, dtype=at.dtype)
    rows = [torch.where(first, at[0], low)]
    for t in range(1, at.size(0)):
        before = rows[-1]
        one = torch.cat([low[:1], before[: width - 1]])
        two = torch.cat([low[: min(2, width)], before[: max(width - 2, 0)]])
        both = torch.logaddexp(torch.logaddexp(before, one), torch.where(skips, two, low))
        rows.append(both + at[t])
    return torch.stack(rows)
