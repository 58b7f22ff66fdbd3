"""Recurrent layers in the scripted language, over packed rows.

The time steps of a layer run as one operator if possible, else one by one.
"""

from __future__ import annotations

from ....tensors import Tensor
from ...calling import functions as torch


def numbers(x: Tensor) -> list[int]:
    found: list[int] = []
    for i in range(x.numel()):
        found.append(int(x[i].item()))
    return found


def step(
    kind: str, gates: Tensor, h: Tensor, c: Tensor, w_hh: Tensor, b_hh: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The states after one time step."""
    own = torch.linear(h, w_hh, b_hh)
    if kind == "lstm":
        parts = (gates + own).chunk(4, -1)
        c = torch.sigmoid(parts[1]) * c + torch.sigmoid(parts[0]) * torch.tanh(parts[2])
        return torch.sigmoid(parts[3]) * torch.tanh(c), c
    if kind == "gru":
        x, y = gates.chunk(3, -1), own.chunk(3, -1)
        update = torch.sigmoid(x[1] + y[1])
        new = torch.tanh(x[2] + torch.sigmoid(x[0] + y[0]) * y[2])
        return new + update * (h - new), c
    return torch.tanh(gates + own) if kind == "tanh" else torch.relu(gates + own), c


def is_even(sizes: list[int], batch: int) -> bool:
    """Whether all sequences have the same number of steps, and at least one."""
    for n in sizes:
        if n != batch:
            return False
    return len(sizes) > 0


def direction(
    kind: str,
    gates: Tensor,
    sizes: list[int],
    h: Tensor,
    c: Tensor,
    weights: list[Tensor],
    b_hh: Tensor | None,
    w_hr: Tensor | None,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Run one direction of one layer.  sizes: the number of active sequences at each time step."""
    batch = h.size(0)
    if w_hr is None and batch > 0 and h.size(1) > 0 and is_even(sizes, batch):
        last = 0 if reverse else gates.size(0) - batch
        if kind == "lstm":
            out, cells, _ = torch.ops.scriptlang._lstm_steps(gates, h, c, weights[1], b_hh, reverse)
            return out, out.narrow(0, last, batch), cells.narrow(0, last, batch)
        if kind == "gru":
            out, _ = torch.ops.scriptlang._gru_steps(gates, h, weights[1], b_hh, reverse)
        else:
            is_relu = kind == "relu"
            out = torch.ops.scriptlang._rnn_steps(gates, h, weights[1], b_hh, is_relu, reverse)
        return out, out.narrow(0, last, batch), c
    outputs: list[Tensor] = []
    rows = gates.split(sizes)  # one split: each narrow's gradient would be as large as all rows
    for i in range(len(sizes)):
        t = len(sizes) - 1 - i if reverse else i
        n = sizes[t]
        if n == batch:
            h, c = step(kind, rows[t], h, c, weights[1], b_hh)
            if w_hr is not None:
                h = torch.linear(h, w_hr)
            outputs.append(h)
        else:
            hn, cn = step(kind, rows[t], h.narrow(0, 0, n), c.narrow(0, 0, n), weights[1], b_hh)
            if w_hr is not None:
                hn = torch.linear(hn, w_hr)
            outputs.append(hn)
            h = torch.cat([hn, h.narrow(0, n, batch - n)])
            if kind == "lstm":
                c = torch.cat([cn, c.narrow(0, n, batch - n)])
    if reverse:
        outputs = outputs[::-1]
    return torch.cat(outputs), h, c


def layers(
    kind: str,
    data: Tensor,
    sizes: list[int],
    h0: Tensor,
    c0: Tensor,
    params: list[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Run all layers over packed rows; return the output and the last states of each layer."""
    directions = 2 if bidirectional else 1
    projected = kind == "lstm" and h0.size(2) != c0.size(2)
    each = 2 + (2 if has_biases else 0) + (1 if projected else 0)
    hs: list[Tensor] = []
    cs: list[Tensor] = []
    for layer in range(num_layers):
        outs: list[Tensor] = []
        for d in range(directions):
            k = layer * directions + d
            weights = params[k * each : (k + 1) * each]
            b_ih: Tensor | None = None
            b_hh: Tensor | None = None
            if has_biases:
                b_ih, b_hh = weights[2], weights[3]
            w_hr: Tensor | None = None
            if projected:
                w_hr = weights[-1]
            gates = torch.linear(data, weights[0], b_ih)
            out, h, c = direction(kind, gates, sizes, h0[k], c0[k], weights, b_hh, w_hr, d == 1)
            outs.append(out)
            hs.append(h)
            cs.append(c)
        data = torch.cat(outs, -1) if bidirectional else outs[0]
        if train and dropout > 0 and layer < num_layers - 1:
            data = torch.dropout(data, dropout, True)
    return data, torch.stack(hs), torch.stack(cs)


def padded(
    kind: str,
    x: Tensor,
    h0: Tensor,
    c0: Tensor,
    params: list[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Run all layers over sequences of equal length, or a single one without a batch dimension."""
    single = x.dim() == 2
    if single:
        x, h0, c0 = x.unsqueeze(1), h0.unsqueeze(1), c0.unsqueeze(1)
    elif batch_first:
        x = x.transpose(0, 1)
    steps, batch = x.size(0), x.size(1)
    rows = x.reshape([steps * batch, x.size(2)])
    out, h, c = layers(
        kind,
        rows,
        [batch for _ in range(steps)],
        h0,
        c0,
        params,
        has_biases,
        num_layers,
        dropout,
        train,
        bidirectional,
    )
    out = out.reshape([steps, batch, out.size(1)])
    if single:
        return out.squeeze(1), h.squeeze(1), c.squeeze(1)
    return out.transpose(0, 1) if batch_first else out, h, c


def lstm_input(
    x: Tensor,
    hx: list[Tensor],
    params: list[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    return padded(
        "lstm",
        x,
        hx[0],
        hx[1],
        params,
        has_biases,
        num_layers,
        dropout,
        train,
        bidirectional,
        batch_first,
    )


def rnn_input(
    kind: str,
    x: Tensor,
    hx: Tensor,
    params: list[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor]:
    out, h, _ = padded(
        kind, x, hx, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    )
    return out, h


def lstm_data(
    data: Tensor,
    batch_sizes: Tensor,
    hx: list[Tensor],
    params: list[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    return layers(
        "lstm",
        data,
        numbers(batch_sizes),
        hx[0],
        hx[1],
        params,
        has_biases,
        num_layers,
        dropout,
        train,
        bidirectional,
    )


def rnn_data(
    kind: str,
    data: Tensor,
    batch_sizes: Tensor,
    hx: Tensor,
    params: list[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, Tensor]:
    out, h, _ = layers(
        kind,
        data,
        numbers(batch_sizes),
        hx,
        hx,
        params,
        has_biases,
        num_layers,
        dropout,
        train,
        bidirectional,
    )
    return out, h


def unpacked(grad: Tensor, size: list[int], batch_sizes: Tensor, batch_first: bool) -> Tensor:
    """Scatter packed rows to their positions in padded sequences."""
    steps = size[1] if batch_first else size[0]
    batch = size[0] if batch_first else size[1]
    inner = size[2:]
    pads = [0 for _ in range(2 * len(inner) + 1)]
    found: list[Tensor] = []
    start = 0
    for n in numbers(batch_sizes):
        rows = grad.narrow(0, start, n)
        found.append(torch.constant_pad_nd(rows, pads + [batch - n]))
        start += n
    for _ in range(steps - len(found)):
        found.append(torch.zeros([batch] + inner, dtype=grad.dtype))
    return torch.stack(found, 1 if batch_first else 0)


def packed(grad: Tensor, batch_sizes: Tensor, batch_first: bool) -> Tensor:
    """The rows of padded sequences that are part of the packed ones."""
    found: list[Tensor] = []
    for t, n in enumerate(numbers(batch_sizes)):
        found.append(grad.select(1 if batch_first else 0, t).narrow(0, 0, n))
    return torch.cat(found)
