"""Losses that select elements by class, composed of others, and the gradient of ctc_loss."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def reduced(loss: Tensor, reduction: int) -> Tensor:
    if reduction == 1:
        return loss.mean()
    return loss.sum() if reduction == 2 else loss


def nll_loss_of_any(
    x: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> Tensor:
    """nll_loss of any rank; spatial dimensions other than two are flattened to one row."""
    if x.dim() < 3:
        return torch.nll_loss_forward(x, target, weight, reduction, ignore_index)[0]
    if x.dim() == 4:
        return torch.nll_loss2d_forward(x, target, weight, reduction, ignore_index)[0]
    wide = x.reshape([x.size(0), x.size(1), 1, -1])
    flat = target.reshape([target.size(0), 1, -1])
    loss = torch.nll_loss2d_forward(wide, flat, weight, reduction, ignore_index)[0]
    return loss.reshape(target.size()) if reduction == 0 else loss


def check_labels(x: Tensor, target: Tensor) -> None:
    if target.dtype != torch.int64 and x.numel() > 0:
        raise RuntimeError("expected scalar type Long but found another one")


def multi_margin(
    x: Tensor, target: Tensor, p: float, margin: float, weight: Tensor | None, reduction: int
) -> Tensor:
    check_labels(x, target)
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
    """multilabel_margin_loss; each row of targets ends at its first -1."""
    check_labels(x, target)
    if x.dim() > 2 or x.dim() > 0 and x.size(-1) == 0:
        raise RuntimeError(
            "Expected non-empty vector or matrix with optional 0-dim batch size, but got: "
            f"{x.size()}"
        )
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
    """The elements of a tensor as a list of ints."""
    flat = x.reshape([-1])
    found: list[int] = []
    for i in range(flat.numel()):
        found.append(int(flat[i].item()))
    return found


def ctc_reduced(
    loss: Tensor, target_lengths: list[int], reduction: int, zero_infinity: bool
) -> Tensor:
    """Reduce ctc losses; for the mean, they are divided by their target lengths first."""
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
    """The gradient of ctc_loss as PyTorch defines it: for the logits in front of a log_softmax.

    It is the probability of each class minus its probability given the target.
    """
    if grad is None:
        return None
    x = log_probs if log_probs.dim() == 3 else log_probs.unsqueeze(1)
    steps, batch = x.size(0), x.size(1)
    losses, grads = nll.reshape([batch, 1]), grad.reshape([batch, 1])
    labels = labels_of(targets, target_lengths, blank)
    ends = torch.tensor(input_lengths, dtype=torch.int64)
    inside = torch.arange(steps).unsqueeze(1) < ends.unsqueeze(0)
    at = x.gather(2, labels.unsqueeze(0).expand([steps, batch, labels.size(1)]))
    joint = ctc_paths(at, labels, target_lengths, ends, blank)
    known = torch.where(joint == -torch.inf, 0, torch.exp(joint - at + losses))
    known = torch.where(torch.isnan(known), 0, known)
    given = torch.zeros_like(x).scatter_add(2, labels.unsqueeze(0).expand(at.size()), known)
    # A target that is too long for its input has no probabilities.
    lost = torch.isinf(losses)
    given = torch.where(lost, 0.0 if zero_infinity else torch.nan, given)
    made = (torch.exp(x) - given) * grads
    made = made.masked_fill(inside.logical_not().unsqueeze(2), 0)
    if zero_infinity:
        made = made.masked_fill(lost, 0)
    return made if log_probs.dim() == 3 else made.squeeze(1)


def labels_of(targets: Tensor, lengths: list[int], blank: int) -> Tensor:
    """The labels (batch, 2 * longest + 1): the targets with blanks between and around them."""
    widest = max(lengths)
    rows: list[Tensor] = []
    start = 0
    for i, number in enumerate(lengths):
        if targets.dim() == 1:
            row = targets.narrow(0, start, number)
            start += number
        else:
            row = targets[i].narrow(0, 0, number)
        rows.append(torch.constant_pad_nd(row.to(dtype=torch.int64), [0, widest - number], blank))
    inner = torch.stack(rows)
    gaps = torch.full_like(inner, blank)
    pairs = torch.stack([gaps, inner], 2).reshape([len(lengths), 2 * widest])
    return torch.constant_pad_nd(pairs, [0, 1], blank)


def ctc_paths(
    at: Tensor, labels: Tensor, target_lengths: list[int], ends: Tensor, blank: int
) -> Tensor:
    """For each time and label, the log-probability of all paths through it.

    The label's own log-probability is counted twice.  at: (time, batch, labels), the
    log-probability of each label.  Paths end with the last label or the blank after it, at the last
    time of their sequence; the backward recursion starts there.
    """
    steps, width = at.size(0), labels.size(1)
    place = torch.arange(width).unsqueeze(0)
    last = (2 * torch.tensor(target_lengths, dtype=torch.int64)).unsqueeze(1)
    before = torch.constant_pad_nd(labels, [2, 0], blank).narrow(1, 0, width)
    skips = (labels != blank) & (labels != before) & (place >= 2)
    low = torch.full(list(labels.size()), -torch.inf, dtype=at.dtype)
    alpha = [torch.where(place < 2, at[0], low)]
    for t in range(1, steps):
        one, two = shifted(alpha[-1], 1), shifted(alpha[-1], 2)
        ways = torch.logaddexp(torch.logaddexp(alpha[-1], one), torch.where(skips, two, low))
        alpha.append(ways + at[t])
    final = (place <= last) & (place >= last - 1)
    jumps = torch.constant_pad_nd(skips.to(dtype=torch.int64), [0, 2]).narrow(1, 2, width) > 0
    beta = low
    found: list[Tensor] = []
    for i in range(steps):
        t = steps - 1 - i
        one, two = shifted(beta, -1), shifted(beta, -2)
        ways = torch.logaddexp(torch.logaddexp(beta, one), torch.where(jumps, two, low))
        start = (ends == t + 1).unsqueeze(1)
        beta = torch.where(start, torch.where(final, at[t], low), ways + at[t])
        beta = torch.where((ends <= t).unsqueeze(1), low, beta)
        found.append(alpha[t] + beta)
    return torch.stack(found[::-1])


def shifted(x: Tensor, by: int) -> Tensor:
    """Shift columns to the right (or left, if `by` is negative), filling with -inf."""
    if by > 0:
        return torch.constant_pad_nd(x, [by, 0], -torch.inf).narrow(1, 0, x.size(1))
    return torch.constant_pad_nd(x, [0, -by], -torch.inf).narrow(1, -by, x.size(1))
