"""Derivatives of the gradients of convolutions."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch
from .conv import sized


def conv_gradient_gradients(
    grad_input: Tensor | None,
    grad_weight: Tensor | None,
    grad_bias: Tensor | None,
    grad: Tensor,
    x: Tensor,
    weight: Tensor,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
    mask: list[bool],
    needs: list[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """The gradients of convolution_backward for its grad, input and weight.

    Each of its results is linear in the output's gradient, and in the input or the weight.
    """
    number = weight.dim() - 2
    s, p = sized(stride, number), sized(padding, number)
    d, rest = sized(dilation, number), sized(output_padding, number)
    of_grad: Tensor | None = None
    of_x: Tensor | None = None
    of_weight: Tensor | None = None
    if mask[0] and grad_input is not None:
        if needs[0]:
            of_grad = torch.convolution(grad_input, weight, None, s, p, d, transposed, rest, groups)
        if needs[2]:
            only = [False, True, False]
            of_weight = torch.convolution_backward(
                grad, grad_input, weight, None, s, p, d, transposed, rest, groups, only
            )[1]
    if mask[1] and grad_weight is not None:
        if needs[0]:
            made = torch.convolution(x, grad_weight, None, s, p, d, transposed, rest, groups)
            of_grad = made if of_grad is None else of_grad + made
        if needs[1]:
            only = [True, False, False]
            of_x = torch.convolution_backward(
                grad, x, grad_weight, None, s, p, d, transposed, rest, groups, only
            )[0]
    if mask[2] and grad_bias is not None and needs[0]:
        shape = [1 for _ in range(grad.dim())]
        shape[1] = grad.size(1)
        made = grad_bias.reshape(shape).expand(grad.size())
        of_grad = made if of_grad is None else of_grad + made
    return of_grad, of_x, of_weight


def conv_gradient_by_input(
    tangent: Tensor,
    grad: Tensor,
    weight: Tensor,
    bias: list[int] | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
    mask: list[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """What the input's tangent adds: the weight's gradient depends on the input."""
    if not mask[1]:
        return None, None, None
    made = torch.convolution_backward(
        grad, tangent, weight, bias, stride, padding, dilation, transposed, output_padding, groups,
        [False, True, False],
    )  # fmt: skip
    return None, made[1], None


def conv_gradient_by_weight(
    tangent: Tensor,
    grad: Tensor,
    x: Tensor,
    bias: list[int] | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
    mask: list[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """What the weight's tangent adds: the input's gradient depends on the weight."""
    if not mask[0]:
        return None, None, None
    made = torch.convolution_backward(
        grad, x, tangent, bias, stride, padding, dilation, transposed, output_padding, groups,
        [True, False, False],
    )  # fmt: skip
    return made[0], None, None
