"""Backward operators of losses that select elements by class."""

from __future__ import annotations

from ...tensors import Tensor
from ..calling import functions as torch
from ..table import composite, describe


def _picked(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    """The gradient of nll_loss: -grad times the class weight at each target that is not ignored.

    For the mean it is divided by total_weight, the sum of those weights.
    """
    _check_picked(grad_output, self, target, weight, reduction, total_weight)
    dim = 1 if self.dim() > 1 else 0
    index = target.to(dtype=torch.int64)
    if dim == 0:
        index, grad_output = index.reshape([]), grad_output.reshape([])
    counts = index != ignore_index
    index = torch.where(counts, index, 0)
    wrong = (index < 0) | (index >= self.size(dim))
    if bool((counts & wrong).any()):
        raise IndexError("Target is out of bounds.")
    if reduction == 1:
        grad_output = grad_output / total_weight.reshape([])
    zeros = torch.zeros(self.size(), dtype=grad_output.dtype)
    if self.size(dim) == 0:
        return zeros
    filled = -grad_output
    if weight is not None:
        filled = filled * weight.reshape([-1]).take(index)
    filled = torch.where(counts, filled, 0)
    return zeros.scatter(dim, index.unsqueeze(dim), filled.unsqueeze(dim))


def _check_picked(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    total_weight: Tensor,
) -> None:
    """Raise if the types or sizes of the arguments of nll_loss's backward do not match."""
    if not self.is_floating_point():
        raise NotImplementedError("gradients of nll_loss are not implemented for integers")
    if grad_output.dtype != self.dtype or total_weight.dtype != self.dtype:
        raise RuntimeError("expected grad_output and total_weight of the type of the input")
    if target.dtype != torch.int64 and target.dtype != torch.uint8:
        raise RuntimeError("expected scalar type Long for targets")
    dim = 1 if self.dim() > 1 else 0
    wanted = list(self.size())
    if dim == 1:
        wanted = wanted[:1] + wanted[2:]
    elif target.dim() == 0:
        wanted = []
    else:
        wanted = [1]
    if list(target.size()) != wanted:
        raise RuntimeError(
            "size mismatch (got input: {}, target: {})".format(self.size(), target.size())
        )
    if total_weight.numel() != 1:
        raise RuntimeError("expected total_weight to be a single element tensor")
    if weight is not None:
        if weight.dtype != self.dtype or weight.numel() != self.size(dim):
            raise RuntimeError("weight tensor should be defined either for all or no classes")
    if reduction != 0 or dim == 0:
        if grad_output.dim() > 1 or grad_output.numel() != 1:
            raise RuntimeError("Expected a single element grad_output tensor")
    elif grad_output.size() != target.size():
        raise RuntimeError("grad_output does not fit the target")


@composite(
    "aten::nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, "
    "int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor"
)
def nll_loss_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    if self.dim() != 1 and self.dim() != 2:
        raise RuntimeError("input tensor should be 1D or 2D")
    return _picked(grad_output, self, target, weight, reduction, ignore_index, total_weight)


@composite(
    "aten::nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, "
    "int reduction, SymInt ignore_index, Tensor total_weight) -> Tensor"
)
def nll_loss2d_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    if self.dim() != 4 or target.dim() != 3:
        raise RuntimeError(
            "only batches of spatial inputs and targets are supported (4D and 3D tensors), but got "
            "dimensions {} and {}".format(self.dim(), target.dim())
        )
    return _picked(grad_output, self, target, weight, reduction, ignore_index, total_weight)


describe("""nll_loss_backward nll_loss2d_backward""", shape="like_self")
