"""The gradients of all time steps of one direction of a GRU layer, and of a plain one."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def gru_steps_gradient(
    grad_output: Tensor | None,
    grad_worked: Tensor | None,
    h: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    output: Tensor,
    worked: Tensor,
    reverse: bool,
    needs: list[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None]:
    if grad_output is None and grad_worked is None:
        return None, None, None, None
    of_gates, of_own, of_h, of_weight = torch.ops.scriptlang._gru_steps_backward(
        grad_output, grad_worked, h, weight, output, worked, reverse
    )
    of_bias: Tensor | None = None
    if bias is not None and needs[3]:
        of_bias = of_own.sum(0)
    return of_gates, of_h, of_weight, of_bias


def rnn_steps_gradient(
    grad: Tensor,
    h: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    output: Tensor,
    relu: bool,
    reverse: bool,
    needs: list[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None]:
    of_gates, of_h, of_weight = torch.ops.scriptlang._rnn_steps_backward(
        grad, h, weight, output, relu, reverse
    )
    of_bias: Tensor | None = None
    if bias is not None and needs[3]:
        of_bias = of_gates.sum(0)
    return of_gates, of_h, of_weight, of_bias
