"""The gradient of all time steps of one direction of an LSTM layer."""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def lstm_steps_gradient(
    grad_output: Tensor | None,
    grad_cells: Tensor | None,
    grad_gates: Tensor | None,
    h: Tensor,
    c: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    output: Tensor,
    cells: Tensor,
    gates: Tensor,
    reverse: bool,
    needs: list[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None, Tensor | None]:
    if grad_output is None and grad_cells is None and grad_gates is None:
        return None, None, None, None, None
    of_gates, of_h, of_c, of_weight = torch.ops.scriptlang._lstm_steps_backward(
        grad_output, grad_cells, grad_gates, h, c, weight, output, cells, gates, reverse
    )
    of_bias: Tensor | None = None
    if bias is not None and needs[4]:
        of_bias = of_gates.sum(0)
    return of_gates, of_h, of_c, of_weight, of_bias
