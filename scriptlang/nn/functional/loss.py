"""Losses.
`reduction` is "none", "mean" or "sum"; size_average and reduce are deprecated forms of it."""

from __future__ import annotations

import math
import warnings
from typing import Any, Callable, Optional, Union

from ...ops.calling import functions as torch
from ...tensors import Tensor
from .activation import logsigmoid


def _reduction(size_average: Optional[bool], reduce: Optional[bool], reduction: str) -> str:
    """The name of the reduction; size_average and reduce override it if given."""
    if size_average is None and reduce is None:
        return reduction
    average = True if size_average is None else size_average
    reduced = True if reduce is None else reduce
    name = "none"
    if reduced:
        name = "mean" if average else "sum"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{name}' instead."
    )
    return name


def _code(reduction: str) -> int:
    """The number that operators use for a reduction. Raises ValueError for an unknown name."""
    if reduction == "none":
        return 0
    elif reduction == "mean":
        return 1
    elif reduction == "elementwise_mean":
        warnings.warn(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead."
        )
        return 1
    elif reduction == "sum":
        return 2
    raise ValueError(f"{reduction} is not a valid value for reduction")


def _warn_of_sizes(input: Tensor, target: Tensor) -> None:
    if target.size() != input.size():
        warnings.warn(
            f"Using a target size ({target.size()}) that is different to the input size "
            f"({input.size()}). This will likely lead to incorrect results due to broadcasting. "
            "Please ensure they have the same size.",
            stacklevel=3,
        )


def _weighted(
    errors: Tensor, input: Tensor, weight: Tensor, reduction: str, by_weights: bool
) -> Tensor:
    """Errors times weights, reduced; by_weights: the mean divides by the sum of the weights."""
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    losses = errors * weight
    if reduction == "none":
        return losses
    elif reduction == "sum":
        return torch.sum(losses)
    elif reduction == "mean":
        return torch.sum(losses) / torch.sum(weight) if by_weights else losses.mean()
    raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")


# ---- real-valued targets


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
    weight: Optional[Tensor] = None,
) -> Tensor:
    """The absolute error |input - target|."""
    _warn_of_sizes(input, target)
    reduction = _reduction(size_average, reduce, reduction)
    x, y = torch.broadcast_tensors([input, target])
    if weight is not None:
        return _weighted(torch.abs(x - y), input, weight, reduction, True)
    return torch.l1_loss(x, y, _code(reduction))


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
    weight: Optional[Tensor] = None,
) -> Tensor:
    """The squared error (input - target) ** 2."""
    _warn_of_sizes(input, target)
    reduction = _reduction(size_average, reduce, reduction)
    x, y = torch.broadcast_tensors([input, target])
    if weight is not None:
        return _weighted(torch.pow(x - y, 2), input, weight, reduction, True)
    return torch.mse_loss(x, y, _code(reduction))


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Quadratic for errors below beta, and linear above."""
    _warn_of_sizes(input, target)
    reduction = _reduction(size_average, reduce, reduction)
    x, y = torch.broadcast_tensors([input, target])
    if beta == 0.0:
        return torch.l1_loss(x, y, _code(reduction))
    return torch.smooth_l1_loss(x, y, _code(reduction), beta)


def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Optional[Tensor] = None,
) -> Tensor:
    """smooth_l1_loss with beta = delta, times delta."""
    _warn_of_sizes(input, target)
    x, y = torch.broadcast_tensors([input, target])
    if weight is not None:
        return _weighted(torch.huber_loss(x, y, 0, delta), input, weight, reduction, False)
    return torch.huber_loss(x, y, _code(reduction), delta)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Optional[bool] = None,
    eps: float = 1e-8,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of the counts `target` under Poisson distributions; full: add
    Stirling's approximation."""
    reduction = _reduction(size_average, reduce, reduction)
    if reduction != "none" and reduction != "mean" and reduction != "sum":
        raise ValueError(reduction + " is not a valid value for reduction")
    return torch.poisson_nll_loss(input, target, log_input, full, eps, _code(reduction))


def _fitting_variance(input: Tensor, var: Tensor) -> Tensor:
    """The variance with a shape that broadcasts to the input.
    Raises ValueError if there is none."""
    if var.size() == input.size():
        return var
    if input.size()[:-1] == var.size():
        return torch.unsqueeze(var, -1)
    if input.dim() == var.dim():
        others = 0
        for i in range(input.dim()):
            if input.size(i) != var.size(i):
                others += var.size(i)
        if others == 1:
            return var
    raise ValueError("var is of incorrect size")


def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Union[Tensor, float],
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of `target` under normal distributions with mean `input` and variance
    `var`. Raises ValueError for a negative variance."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        variance = var * torch.ones_like(input)
    else:
        if bool(torch.any(var < 0)):
            raise ValueError("var has negative entry/entries")
        variance = var
    variance = _fitting_variance(input, variance)
    if reduction != "none" and reduction != "mean" and reduction != "sum":
        raise ValueError(reduction + " is not valid")
    variance = variance.clone().clamp_(min=eps)
    loss = 0.5 * (torch.log(variance) + (input - target) ** 2 / variance)
    if full:
        loss += 0.5 * math.log(2 * math.pi)
    if reduction == "mean":
        return loss.mean()
    return loss.sum() if reduction == "sum" else loss


# ---- probabilities and classes


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Optional[Tensor] = None,
    size_average: Optional[bool] = None,
    ignore_index: int = -100,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood of target classes (N, ...); input: log probabilities (N, C, ...)."""
    reduction = _reduction(size_average, reduce, reduction)
    return torch.nll_loss_nd(input, target, weight, _code(reduction), ignore_index)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Optional[Tensor] = None,
    size_average: Optional[bool] = None,
    ignore_index: int = -100,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy of logits (N, C, ...) and class indices, or probabilities of the same shape."""
    reduction = _reduction(size_average, reduce, reduction)
    return torch.cross_entropy_loss(
        input, target, weight, _code(reduction), ignore_index, label_smoothing
    )


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Optional[Tensor] = None,
    weight: Optional[Tensor] = None,
    reduction: str = "mean",
    ignore_index: Optional[int] = None,
    label_smoothing: float = 0.0,
    options: Optional[Any] = None,
) -> Tensor:
    """cross_entropy of a linear layer. input: (N, in) or (in,); linear_weight: (C, ..., in).

    `options` only affects how PyTorch computes the same value.
    """
    if input.dim() < 1 or input.dim() > 2:
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}"
        )
    if input.size(-1) != linear_weight.size(-1):
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), "
            f"got {input.size(-1)} and {linear_weight.size(-1)}, respectively"
        )
    outputs = list(linear_weight.size()[:-1])
    if len(outputs) > 1 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape "
            f"{list(linear_weight.size())} requires batched input, got unbatched "
            f"input with shape {list(input.size())}"
        )
    if linear_bias is not None:
        if list(linear_bias.size()) != outputs:
            raise RuntimeError(
                f"expected linear_bias shape {outputs}, got {list(linear_bias.size())}"
            )
        linear_bias = linear_bias.reshape(-1)
    logits = torch.linear(input, linear_weight.reshape(-1, input.size(-1)), linear_bias)
    logits = logits.reshape(list(input.size()[:-1]) + outputs)
    if ignore_index is not None and target.size() == logits.size():
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    return cross_entropy(
        logits,
        target,
        weight,
        None,
        ignore_index if ignore_index is not None else -100,
        None,
        reduction,
        label_smoothing,
    )


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """Kullback-Leibler divergence target * (log(target) - input); input: log probabilities.

    reduction may also be "batchmean": the sum divided by the batch size."""
    batchmean = reduction == "batchmean"
    if size_average is None and reduce is None:
        if reduction == "mean":
            warnings.warn(
                "reduction: 'mean' divides the total loss by both the batch size and the "
                "support size.'batchmean' divides only by the batch size, and aligns "
                "with the KL div math definition."
            )
        if batchmean:
            reduction = "sum"
    loss = torch.kl_div(
        input, target, _code(_reduction(size_average, reduce, reduction)), log_target=log_target
    )
    return loss / input.size()[0] if batchmean and input.dim() != 0 else loss


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Optional[Tensor] = None,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    """Binary cross entropy of probabilities and targets in [0, 1].
    Raises ValueError if sizes differ."""
    code = _code(_reduction(size_average, reduce, reduction))
    if target.size() != input.size():
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input "
            f"size ({input.size()}) is deprecated. Please ensure they have the same "
            "size."
        )
    if weight is not None:
        weight = torch.broadcast_tensors([weight, target])[0]
    return torch.binary_cross_entropy(input, target, weight, code)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Optional[Tensor] = None,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
    pos_weight: Optional[Tensor] = None,
) -> Tensor:
    """binary_cross_entropy of sigmoid(input); pos_weight: a factor for positive targets."""
    code = _code(_reduction(size_average, reduce, reduction))
    if not target.size() == input.size():
        raise ValueError(
            f"Target size ({target.size()}) must be the same as input size ({input.size()})"
        )
    return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, code)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Connectionist temporal classification loss. log_probs: (T, N, C) or (T, C); targets: (N, S),
    or all targets concatenated."""
    return torch.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, _code(reduction), zero_infinity
    )


# ---- margins


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin). Raises RuntimeError if ranks differ."""
    code = _code(_reduction(size_average, reduce, reduction))
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but "
            f"got sizes: input1: {input1.size()}, input2: {input2.size()}, target: "
            f"{target.size()} "
        )
    return torch.margin_ranking_loss(input1, input2, target, margin, code)


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    """x for targets 1, and max(0, margin - x) for targets -1."""
    return torch.hinge_embedding_loss(
        input, target, margin, _code(_reduction(size_average, reduce, reduction))
    )


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    """Hinge loss between target classes and the others; the list of target classes ends with -1."""
    return torch.multilabel_margin_loss(
        input, target, _code(_reduction(size_average, reduce, reduction))
    )


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target * input)), with targets 1 and -1."""
    return torch.soft_margin_loss(input, target, _code(_reduction(size_average, reduce, reduction)))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Optional[Tensor] = None,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over classes of the binary cross entropy of logits."""
    reduction = _reduction(size_average, reduce, reduction)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    last = input.dim() - 1
    loss = loss.sum(dim=last) / input.size(last)
    if reduction == "none":
        return loss
    elif reduction == "mean":
        return loss.mean()
    elif reduction == "sum":
        return loss.sum()
    raise ValueError(reduction + " is not valid")


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos(x1, x2) for targets 1, and max(0, cos(x1, x2) - margin) for targets -1."""
    return torch.cosine_embedding_loss(
        input1, input2, target, margin, _code(_reduction(size_average, reduce, reduction))
    )


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Optional[Tensor] = None,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    """Hinge loss between the target class and each other class, to the power p (1 or 2)."""
    code = _code(_reduction(size_average, reduce, reduction))
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None:
        if weight.dim() != 1:
            raise ValueError("weight must be one-dimensional")
    return torch.multi_margin_loss(input, target, p, margin, weight, code)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: Optional[bool] = None,
    reduce: Optional[bool] = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, |anchor - positive| - |anchor - negative| + margin), with p-norms.
    Raises ValueError unless the margin is positive."""
    code = _code(_reduction(size_average, reduce, reduction))
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return torch.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, code)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Optional[Callable[[Tensor, Tensor], Tensor]] = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """triplet_margin_loss with any distance function (eager only: programs take no functions)."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    dims = anchor.dim(), positive.dim(), negative.dim()
    if len(set(dims)) > 1:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the "
            f"same number of dimensions, but got: anchor {dims[0]}D, positive "
            f"{dims[1]}D, and negative {dims[2]}D inputs"
        )
    distance = torch.pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = torch.minimum(far, distance(positive, negative))
    loss = torch.clamp_min(margin + near - far, 0)
    return loss.sum() if reduction == "sum" else loss.mean() if reduction == "mean" else loss
