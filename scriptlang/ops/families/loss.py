"""Losses composed of other operators.  reduction: 0 none, 1 mean, 2 sum."""

from __future__ import annotations

from ...tensors import Tensor
from ..calling import functions as torch
from ..table import composite
from . import loss_kernels  # noqa: F401  declares the others


def _difference(self: Tensor, target: Tensor) -> Tensor:
    """input - target, where one of them may be bool."""
    if self.dtype == torch.bool:
        self = self.to(target.dtype)
    if target.dtype == torch.bool:
        target = target.to(self.dtype)
    return self - target


def _typed_as(self: Tensor, loss: Tensor) -> Tensor:
    """The loss in the type of `self`, as PyTorch computes it into a tensor of that type."""
    if not torch.can_cast(loss.dtype, self.dtype):
        raise RuntimeError("the losses can't be cast to the desired output type")
    return loss.to(self.dtype)


def _reduced(loss: Tensor, reduction: int) -> Tensor:
    if reduction == 1:
        return loss.mean()
    if reduction == 2:
        return loss.sum()
    return loss


def _laid_as(loss: Tensor, self: Tensor, reduction: int) -> Tensor:
    """An elementwise loss in the memory layout of the input, whatever that of the target."""
    if reduction != 0 or loss.is_contiguous() and self.is_contiguous():
        return loss
    return torch.empty_like(self, dtype=loss.dtype).copy_(loss)


@composite(
    "aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    fusible=True,
    autocast="full",
    out="converts",
    shape="loss",
)
def mse_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    difference = _difference(self, target)
    if difference.is_complex():
        raise NotImplementedError('"mse_cpu" not implemented for complex numbers')
    return _reduced(difference * difference, reduction)


@composite(
    "aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    fusible=True,
    autocast="full",
    shape="loss",
)
def l1_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    return _reduced((self - target).abs(), reduction)


@composite(
    "aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor",
    fusible=True,
    autocast="full",
    out="converts",
    shape="loss",
)
def smooth_l1_loss(self: Tensor, target: Tensor, reduction: int = 1, beta: float = 1.0) -> Tensor:
    if beta < 0.0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    z = _difference(self, target).abs()
    if beta == 0.0:
        return _reduced(z, reduction)
    return _reduced(torch.where(z < beta, z * z * (0.5 / beta), z - 0.5 * beta), reduction)


@composite(
    "aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor",
    fusible=True,
    out="converts",
    shape="loss",
)
def huber_loss(self: Tensor, target: Tensor, reduction: int = 1, delta: float = 1.0) -> Tensor:
    if not delta > 0.0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    z = _difference(self, target).abs()
    loss = torch.where(z <= delta, z * z * 0.5, (z - 0.5 * delta) * delta)
    return _reduced(_laid_as(_typed_as(self, loss), self, reduction), reduction)


@composite(
    "aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int "
    "reduction=1) -> Tensor",
    autocast="refused",
    shape="loss",
)
def binary_cross_entropy(
    self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = 1
) -> Tensor:
    if self.size() != target.size():
        raise RuntimeError(
            "Using a target size ({}) that is different to the input size ({}) is "
            "deprecated. Please ensure they have the same size.".format(target.size(), self.size())
        )
    if bool(torch.logical_or(self < 0, self > 1).any()):
        raise RuntimeError("all elements of input should be between 0 and 1")
    loss = (target - 1) * torch.log1p(-self).clamp_min(-100) - target * self.log().clamp_min(-100)
    if weight is not None:
        loss = loss * weight
    return _reduced(_laid_as(loss, self, reduction), reduction)


@composite(
    "aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? "
    "weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor",
    fusible=True,
    autocast="full",
    shape="loss",
)
def binary_cross_entropy_with_logits(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 1,
) -> Tensor:
    if pos_weight is not None:
        log_weight = (pos_weight - 1) * target + 1
        loss = (1 - target) * self - log_weight * torch.log_sigmoid(self)
    else:
        loss = (1 - target) * self - torch.log_sigmoid(self)
    if weight is not None:
        loss = loss * weight
    return _reduced(_typed_as(target, loss), reduction)


@composite(
    "aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor",
    autocast="full",
    shape="loss",
)
def kl_div(self: Tensor, target: Tensor, reduction: int = 1, log_target: bool = False) -> Tensor:
    for x in (self, target):
        if not x.is_floating_point() and not x.is_complex():
            raise RuntimeError("kl_div: Integral inputs not supported.")
    if log_target:
        return _reduced(target.exp() * (target - self), reduction)
    return _reduced(torch.xlogy(target, target) - target * self, reduction)


@composite(
    "aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float "
    "eps, int reduction) -> Tensor",
    shape="loss",
)
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    if log_input:
        loss = input.exp() - target * input
    else:
        loss = input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (6.283185307179586 * target).log()
        loss = (loss + stirling.masked_fill(target <= 1, 0)).to(loss.dtype)
    return _reduced(loss, reduction)


@composite(
    "aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    fusible=True,
    autocast="full",
    shape="loss",
)
def soft_margin_loss(self: Tensor, target: Tensor, reduction: int = 1) -> Tensor:
    if reduction < 0 or reduction > 2:
        raise RuntimeError("{} is not a valid value for reduction".format(reduction))
    product = target * self
    if product.size() != self.size():
        raise RuntimeError(
            "output with shape {} doesn't match the broadcast shape {}".format(
                self.size(), product.size()
            )
        )
    loss = torch.log1p((-_typed_as(self, product)).exp())
    return _reduced(_laid_as(_typed_as(self, loss), self, reduction), reduction)


@composite(
    "aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float "
    "margin=0., int reduction=1) -> Tensor",
    autocast="full",
)
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1
) -> Tensor:
    return _reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


@composite(
    "aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int "
    "reduction=1) -> Tensor",
    autocast="full",
    shape="loss",
)
def hinge_embedding_loss(
    self: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 1
) -> Tensor:
    zeros = torch.zeros_like(self)
    apart = torch.where(target != 1, (torch.full_like(self, margin) - self).clamp_min(0), zeros)
    return _reduced(apart + torch.where(target != -1, self, zeros), reduction)


@composite(
    "aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float "
    "margin=0., int reduction=1) -> Tensor",
    autocast="full",
)
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1
) -> Tensor:
    if target.dim() > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if input1.dim() != target.dim() + 1 or input2.dim() != target.dim() + 1:
        raise RuntimeError(
            "{}D target tensor expects {}D input tensors, but found inputs with "
            "sizes {} and {}.".format(target.dim(), target.dim() + 1, input1.size(), input2.size())
        )
    product = (input1 * input2).sum([-1])
    lengths = ((input1 * input1).sum([-1]) + 1e-12) * ((input2 * input2).sum([-1]) + 1e-12)
    cosine = product / lengths.sqrt()
    zeros = torch.zeros_like(cosine)
    near = torch.where(target == 1, 1 - cosine, zeros)
    far = torch.where(target == -1, (cosine - margin).clamp_min(0), zeros)
    return _reduced(near + far, reduction)


@composite(
    "aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float "
    "margin=1., float p=2., float eps=1e-06, bool swap=False, int reduction=1) -> Tensor",
    autocast="full",
)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-06,
    swap: bool = False,
    reduction: int = 1,
) -> Tensor:
    if anchor.dim() != positive.dim() or anchor.dim() != negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the "
            "same number of dimensions, but got: anchor {}D, positive {}D, and "
            "negative {}D "
            "inputs".format(anchor.dim(), positive.dim(), negative.dim())
        )
    near = torch.pairwise_distance(anchor, positive, p, eps)
    far = torch.pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = torch.minimum(far, torch.pairwise_distance(positive, negative, p, eps))
    return _reduced((margin + near - far).clamp_min(0), reduction)


@composite(
    "aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int "
    "reduction=1, SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor"
)
def cross_entropy_loss(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Tensor:
    """The cross entropy of logits and class indices.

    If the target has the input's size, it holds class probabilities.
    """
    if label_smoothing < 0.0 or label_smoothing > 1.0:
        raise RuntimeError(
            "label_smoothing must be between 0.0 and 1.0. Got: {}".format(label_smoothing)
        )
    axis = 0 if self.dim() == 1 else 1
    if weight is not None and (weight.dim() != 1 or weight.numel() != self.size(axis)):
        raise RuntimeError(
            "cross_entropy: weight tensor should be defined either for all {} "
            "classes or no classes but got weight tensor of shape: {}".format(
                self.size(axis), weight.size()
            )
        )
    log_p = torch.log_softmax(self, axis)
    if self.size() == target.size():
        if not target.is_floating_point():
            raise RuntimeError("Expected floating point type for target with class probabilities")
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _with_probabilities(log_p, target, weight, reduction, label_smoothing, axis)
    if label_smoothing > 0.0:
        return _smoothed(log_p, target, weight, reduction, ignore_index, label_smoothing, axis)
    return torch.nll_loss_nd(log_p, target, weight, reduction, ignore_index)


def _weighted(log_p: Tensor, weight: Tensor | None, axis: int) -> Tensor:
    """log_p times the weight of each class."""
    if weight is None:
        return log_p
    shape = [1] * log_p.dim()
    shape[axis] = weight.numel()
    return log_p * weight.reshape(shape)


def _with_probabilities(
    log_p: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    label_smoothing: float,
    axis: int,
) -> Tensor:
    classes = log_p.size(axis)
    if label_smoothing > 0.0:
        target = target * (1.0 - label_smoothing) + label_smoothing / classes
    loss = -(_weighted(log_p, weight, axis) * target).sum([axis])
    if reduction == 1:
        return loss.sum() / max(1, loss.numel()) if log_p.numel() > 0 else loss.mean()
    return _reduced(loss, reduction)


def _smoothed(
    log_p: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    label_smoothing: float,
    axis: int,
) -> Tensor:
    """The loss with label smoothing: all classes share a part; ignored targets do not count."""
    nll = torch.nll_loss_nd(log_p, target, weight, reduction, ignore_index)
    ignored = target == ignore_index
    smooth = (-_weighted(log_p, weight, axis).sum([axis])).masked_fill(ignored, 0)
    if reduction == 1:
        if weight is not None:
            shares = weight.index_select(0, target.masked_fill(ignored, 0).reshape([-1]))
            total = shares.masked_fill(ignored.reshape([-1]), 0).sum()
            smooth = smooth.sum() / total
        else:
            smooth = smooth.sum() / (target != ignore_index).sum()
    elif reduction == 2:
        smooth = smooth.sum()
    share = label_smoothing / log_p.size(axis)
    return nll * (1.0 - label_smoothing) + smooth * share
