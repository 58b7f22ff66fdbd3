"""All time steps of one direction of an LSTM layer in one operator.

`lstm` is composed of it if gradients are wanted.
"""

from __future__ import annotations

from ...tensors import Tensor
from ..calling import functions as torch
from ..table import composite


def _activated(gates: Tensor) -> list[Tensor]:
    """The input, forget, cell and output gates from the sums [batch, 4 * hidden]."""
    parts = torch.chunk(gates, 4, -1)
    return [
        torch.sigmoid(parts[0]),
        torch.sigmoid(parts[1]),
        torch.tanh(parts[2]),
        torch.sigmoid(parts[3]),
    ]


def _check(gates: Tensor, h: Tensor, c: Tensor, weight: Tensor) -> None:
    fit = gates.dim() == 2 and h.dim() == 2 and weight.dim() == 2 and h.size() == c.size()
    if fit:
        batch, hidden = h.size(0), h.size(1)
        fit = batch > 0 and hidden > 0 and gates.size(0) > 0 and gates.size(0) % batch == 0
        fit = fit and gates.size(1) == 4 * hidden and list(weight.size()) == [4 * hidden, hidden]
    if not fit:
        raise RuntimeError(
            "lstm: gates of size {} and a weight of size {} do not fit states of size {}".format(
                gates.size(), weight.size(), h.size()
            )
        )
    if not (gates.dtype == h.dtype and h.dtype == c.dtype and c.dtype == weight.dtype):
        raise RuntimeError("lstm: gates, states and weight must be of one type")
    if not gates.is_floating_point():
        raise NotImplementedError("lstm: not implemented for this type")


def _check_result(t: Tensor | None, like: Tensor, width: int) -> None:
    """Check a result of the forward pass, or its gradient."""
    if t is not None and (list(t.size()) != [like.size(0), width] or t.dtype != like.dtype):
        raise RuntimeError("lstm: a tensor of size {} does not fit a result".format(t.size()))


@composite(
    "scriptlang::_lstm_steps(Tensor gates, Tensor h, Tensor c, Tensor weight, Tensor? bias, "
    "bool reverse) -> (Tensor, Tensor, Tensor)"
)
def lstm_steps(
    gates: Tensor, h: Tensor, c: Tensor, weight: Tensor, bias: Tensor | None, reverse: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Run the time steps of an LSTM layer.

    gates: [times * batch, 4 * hidden], computed from the inputs; h, c: [batch, hidden], the initial
    states; weight: [4 * hidden, hidden].  Returns h and c after each step, [times * batch, hidden],
    and the activated gates.
    """
    _check(gates, h, c, weight)
    if bias is not None and (bias.dim() != 1 or bias.dtype != gates.dtype):
        raise RuntimeError("lstm: a bias does not fit gates of size {}".format(gates.size()))
    rows = torch.split(gates, h.size(0))
    outputs: list[Tensor] = []
    cells: list[Tensor] = []
    worked: list[Tensor] = []
    for i in range(len(rows)):
        t = len(rows) - 1 - i if reverse else i
        parts = _activated(rows[t] + torch.linear(h, weight, bias))
        c = parts[1] * c + parts[0] * parts[2]
        h = parts[3] * torch.tanh(c)
        outputs.append(h)
        cells.append(c)
        worked.append(torch.cat(parts, -1))
    if reverse:
        outputs, cells, worked = outputs[::-1], cells[::-1], worked[::-1]
    return torch.cat(outputs), torch.cat(cells), torch.cat(worked)


def _earlier(first: Tensor, states: Tensor, reverse: bool) -> Tensor:
    """The states before each time step, from the initial one and those after each step."""
    rest = states.size(0) - first.size(0)
    if reverse:
        return torch.cat([states.narrow(0, first.size(0), rest), first])
    return torch.cat([first, states.narrow(0, 0, rest)])


def _of_sums(grads: list[Tensor], parts: list[Tensor]) -> Tensor:
    """The gradients of the sums from those of the activated gates."""
    return torch.cat(
        [
            grads[0] * parts[0] * (1 - parts[0]),
            grads[1] * parts[1] * (1 - parts[1]),
            grads[2] * (1 - parts[2] * parts[2]),
            grads[3] * parts[3] * (1 - parts[3]),
        ],
        -1,
    )


@composite(
    "scriptlang::_lstm_steps_backward(Tensor? grad_output, Tensor? grad_cells, Tensor? grad_gates, "
    "Tensor h, Tensor c, Tensor weight, Tensor output, Tensor cells, Tensor gates, bool reverse)"
    " -> (Tensor, Tensor, Tensor, Tensor)"
)
def lstm_steps_backward(
    grad_output: Tensor | None,
    grad_cells: Tensor | None,
    grad_gates: Tensor | None,
    h: Tensor,
    c: Tensor,
    weight: Tensor,
    output: Tensor,
    cells: Tensor,
    gates: Tensor,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of `_lstm_steps`.

    output, cells, gates: its results; grad_output, grad_cells, grad_gates: their gradients.
    Returns the gradients of the gates' sums, of h, c and weight.
    """
    _check(gates, h, c, weight)
    _check_result(output, gates, h.size(1))
    _check_result(cells, gates, h.size(1))
    _check_result(grad_output, gates, h.size(1))
    _check_result(grad_cells, gates, h.size(1))
    _check_result(grad_gates, gates, 4 * h.size(1))
    batch = h.size(0)
    times = output.size(0) // batch
    bent = torch.tanh(cells)
    before = _earlier(c, cells, reverse)
    of_h, of_c = torch.zeros_like(h), torch.zeros_like(c)
    made: list[Tensor] = []
    for k in range(times):
        t = k if reverse else times - 1 - k
        at = t * batch
        parts = torch.chunk(gates.narrow(0, at, batch), 4, -1)
        if grad_output is not None:
            of_h = of_h + grad_output.narrow(0, at, batch)
        if grad_cells is not None:
            of_c = of_c + grad_cells.narrow(0, at, batch)
        now = bent.narrow(0, at, batch)
        of_c = of_c + of_h * parts[3] * (1 - now * now)
        of_parts = [
            of_c * parts[2],
            of_c * before.narrow(0, at, batch),
            of_c * parts[0],
            of_h * now,
        ]
        if grad_gates is not None:
            more = torch.chunk(grad_gates.narrow(0, at, batch), 4, -1)
            of_parts = [a + b for a, b in zip(of_parts, more)]
        of_rows = _of_sums(of_parts, parts)
        made.append(of_rows)
        of_h = torch.matmul(of_rows, weight)
        of_c = of_c * parts[1]
    if not reverse:
        made = made[::-1]
    of_gates = torch.cat(made)
    of_weight = torch.matmul(of_gates.t(), _earlier(h, output, reverse))
    return of_gates, of_h, of_c, of_weight
