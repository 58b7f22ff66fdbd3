"""All time steps of one direction of a GRU layer, or of a plain recurrent layer, in one operator.

`gru` and `rnn_tanh` are composed of these if gradients are wanted.
"""

from __future__ import annotations

from ...tensors import Tensor
from ..calling import functions as torch
from ..table import composite


def _check(
    name: str, gates: Tensor, h: Tensor, weight: Tensor, bias: Tensor | None, parts: int
) -> None:
    fit = gates.dim() == 2 and h.dim() == 2 and weight.dim() == 2
    if fit:
        batch, hidden = h.size(0), h.size(1)
        fit = batch > 0 and hidden > 0 and gates.size(0) > 0 and gates.size(0) % batch == 0
        fit = fit and gates.size(1) == parts * hidden
        fit = fit and list(weight.size()) == [parts * hidden, hidden]
    if not fit:
        raise RuntimeError(
            "{}: gates of size {} and a weight of size {} do not fit states of size {}".format(
                name, gates.size(), weight.size(), h.size()
            )
        )
    if gates.dtype != h.dtype or h.dtype != weight.dtype:
        raise RuntimeError(name + ": gates, states and weight must be of one type")
    if bias is not None:
        if bias.dim() != 1 or bias.dtype != gates.dtype or bias.size(0) != gates.size(1):
            raise RuntimeError(name + ": a bias does not fit the gates")
    if not gates.is_floating_point():
        raise NotImplementedError(name + ": not implemented for this type")


def _check_result(name: str, t: Tensor | None, like: Tensor, width: int) -> None:
    """Check a result of the forward pass, or its gradient."""
    if t is not None and (list(t.size()) != [like.size(0), width] or t.dtype != like.dtype):
        raise RuntimeError("{}: a tensor of size {} does not fit a result".format(name, t.size()))


def _in_order(times: list[Tensor], reverse: bool) -> Tensor:
    return torch.cat(times[::-1] if reverse else times)


def _earlier(first: Tensor, states: Tensor, reverse: bool) -> Tensor:
    """The states before each time step, from the initial one and those after each step."""
    rest = states.size(0) - first.size(0)
    if reverse:
        return torch.cat([states.narrow(0, first.size(0), rest), first])
    return torch.cat([first, states.narrow(0, 0, rest)])


@composite(
    "scriptlang::_gru_steps(Tensor gates, Tensor h, Tensor weight, Tensor? bias, bool reverse)"
    " -> (Tensor, Tensor)"
)
def gru_steps(
    gates: Tensor, h: Tensor, weight: Tensor, bias: Tensor | None, reverse: bool
) -> tuple[Tensor, Tensor]:
    """Run the time steps of a GRU layer.

    gates: [times * batch, 3 * hidden], computed from the inputs; h: [batch, hidden], the initial
    state; weight: [3 * hidden, hidden].  Returns h after each step, [times * batch, hidden], and
    for each step the gates r, z and n, and the part of n computed from h.
    """
    _check("gru", gates, h, weight, bias, 3)
    rows = torch.split(gates, h.size(0))
    outputs: list[Tensor] = []
    worked: list[Tensor] = []
    for i in range(len(rows)):
        t = len(rows) - 1 - i if reverse else i
        x = torch.chunk(rows[t], 3, -1)
        own = torch.chunk(torch.linear(h, weight, bias), 3, -1)
        reset, update = torch.sigmoid(x[0] + own[0]), torch.sigmoid(x[1] + own[1])
        fresh = torch.tanh(x[2] + reset * own[2])
        h = fresh + update * (h - fresh)
        outputs.append(h)
        worked.append(torch.cat([reset, update, fresh, own[2]], -1))
    return _in_order(outputs, reverse), _in_order(worked, reverse)


@composite(
    "scriptlang::_gru_steps_backward(Tensor? grad_output, Tensor? grad_worked, Tensor h, Tensor "
    "weight, Tensor output, Tensor worked, bool reverse) -> (Tensor, Tensor, Tensor, Tensor)"
)
def gru_steps_backward(
    grad_output: Tensor | None,
    grad_worked: Tensor | None,
    h: Tensor,
    weight: Tensor,
    output: Tensor,
    worked: Tensor,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of `_gru_steps`.

    output, worked: its results; grad_output, grad_worked: their gradients.  Returns the gradients
    of gates, of the state's part of the gates, of h and of weight.
    """
    if h.dim() != 2 or worked.dim() != 2:
        raise RuntimeError("gru: a matrix is expected")
    batch, hidden = h.size(0), h.size(1)
    shape = torch.zeros([worked.size(0), 3 * hidden], dtype=h.dtype)
    _check("gru", shape, h, weight, None, 3)
    _check_result("gru", output, h.new_zeros([worked.size(0), 0]), hidden)
    _check_result("gru", worked, h.new_zeros([worked.size(0), 0]), 4 * hidden)
    _check_result("gru", grad_output, output, hidden)
    _check_result("gru", grad_worked, output, 4 * hidden)
    times = output.size(0) // batch
    before = _earlier(h, output, reverse)
    of_h = torch.zeros_like(h)
    gates: list[Tensor] = []
    owns: list[Tensor] = []
    for k in range(times):
        t = k if reverse else times - 1 - k
        at = t * batch
        parts = torch.chunk(worked.narrow(0, at, batch), 4, -1)
        reset, update, fresh = parts[0], parts[1], parts[2]
        if grad_output is not None:
            of_h = of_h + grad_output.narrow(0, at, batch)
        of_fresh = of_h * (1 - update)
        of_update = of_h * (before.narrow(0, at, batch) - fresh)
        if grad_worked is not None:
            more = torch.chunk(grad_worked.narrow(0, at, batch), 4, -1)
            of_fresh, of_update = of_fresh + more[2], of_update + more[1]
        whole = of_fresh * (1 - fresh * fresh)
        of_reset, own = whole * parts[3], whole * reset
        if grad_worked is not None:
            more = torch.chunk(grad_worked.narrow(0, at, batch), 4, -1)
            of_reset, own = of_reset + more[0], own + more[3]
        first = of_reset * reset * (1 - reset)
        second = of_update * update * (1 - update)
        gates.append(torch.cat([first, second, whole], -1))
        of_own = torch.cat([first, second, own], -1)
        owns.append(of_own)
        of_h = of_h * update + torch.matmul(of_own, weight)
    all_owns = _in_order(owns, not reverse)
    of_weight = torch.matmul(all_owns.t(), before)
    return _in_order(gates, not reverse), all_owns, of_h, of_weight


@composite(
    "scriptlang::_rnn_steps(Tensor gates, Tensor h, Tensor weight, Tensor? bias, bool relu, "
    "bool reverse) -> Tensor"
)
def rnn_steps(
    gates: Tensor, h: Tensor, weight: Tensor, bias: Tensor | None, relu: bool, reverse: bool
) -> Tensor:
    """Run the time steps of a plain recurrent layer: h is tanh (or relu) of the sums.

    The arguments are those of `_gru_steps`, with `hidden` columns instead of 3 * hidden.
    """
    _check("rnn", gates, h, weight, bias, 1)
    rows = torch.split(gates, h.size(0))
    outputs: list[Tensor] = []
    for i in range(len(rows)):
        sums = rows[len(rows) - 1 - i if reverse else i] + torch.linear(h, weight, bias)
        h = torch.relu(sums) if relu else torch.tanh(sums)
        outputs.append(h)
    return _in_order(outputs, reverse)


@composite(
    "scriptlang::_rnn_steps_backward(Tensor grad_output, Tensor h, Tensor weight, Tensor output, "
    "bool relu, bool reverse) -> (Tensor, Tensor, Tensor)"
)
def rnn_steps_backward(
    grad_output: Tensor, h: Tensor, weight: Tensor, output: Tensor, relu: bool, reverse: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of gates, h and weight."""
    _check("rnn", output, h, weight, None, 1)
    _check_result("rnn", grad_output, output, h.size(1))
    batch = h.size(0)
    times = output.size(0) // batch
    slope = (output > 0).to(dtype=output.dtype) if relu else 1 - output * output
    of_h = torch.zeros_like(h)
    gates: list[Tensor] = []
    for k in range(times):
        at = (k if reverse else times - 1 - k) * batch
        of_h = of_h + grad_output.narrow(0, at, batch)
        sums = of_h * slope.narrow(0, at, batch)
        gates.append(sums)
        of_h = torch.matmul(sums, weight)
    of_gates = _in_order(gates, not reverse)
    return of_gates, of_h, torch.matmul(of_gates.t(), _earlier(h, output, reverse))
