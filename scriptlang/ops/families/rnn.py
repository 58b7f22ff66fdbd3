"""Recurrent networks: cells in the scripted language, layers and packed sequences in numpy."""

from __future__ import annotations

import numpy as np

from ...tensors import Tensor
from ..calling import functions as torch
from ..calling.dispatch import call
from ..shared.numeric import check_floating
from ..table import composite, declare, describe, primitive

CELL = "Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None"


def _check_cell(input: Tensor, hidden: Tensor, w_ih: Tensor, w_hh: Tensor, label: int) -> None:
    if input.size(-1) != w_ih.size(1):
        raise RuntimeError(
            "input has inconsistent input_size: got {} expected {}".format(
                input.size(-1), w_ih.size(1)
            )
        )
    if input.dim() == hidden.dim():
        if input.dim() > 1 and input.size(0) != hidden.size(0):
            raise RuntimeError(
                "Input batch size {} doesn't match hidden{} batch size {}".format(
                    input.size(0), label, hidden.size(0)
                )
            )
        if hidden.size(-1) != w_hh.size(1):
            raise RuntimeError(
                "hidden{} has inconsistent hidden_size: got {}, expected {}".format(
                    label, hidden.size(-1), w_hh.size(1)
                )
            )


@composite(
    f"aten::lstm_cell(Tensor input, Tensor[] hx, {CELL}) -> (Tensor, Tensor)", autocast="reduced"
)
def lstm_cell(
    input: Tensor,
    hx: list[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    _check_cell(input, hx[0], w_ih, w_hh, 0)
    _check_cell(input, hx[1], w_ih, w_hh, 1)
    gates = torch.linear(input, w_ih, b_ih) + torch.linear(hx[0], w_hh, b_hh)
    parts = gates.chunk(4, -1)
    cell = torch.sigmoid(parts[1]) * hx[1] + torch.sigmoid(parts[0]) * torch.tanh(parts[2])
    return torch.sigmoid(parts[3]) * torch.tanh(cell), cell


@composite(f"aten::gru_cell(Tensor input, Tensor hx, {CELL}) -> Tensor", autocast="reduced")
def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    _check_cell(input, hx, w_ih, w_hh, 0)
    x = torch.linear(input, w_ih, b_ih).chunk(3, -1)
    h = torch.linear(hx, w_hh, b_hh).chunk(3, -1)
    reset = torch.sigmoid(x[0] + h[0])
    update = torch.sigmoid(x[1] + h[1])
    new = torch.tanh(x[2] + reset * h[2])
    return (hx - new) * update + new


@composite(f"aten::rnn_tanh_cell(Tensor input, Tensor hx, {CELL}) -> Tensor", autocast="reduced")
def rnn_tanh_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    _check_cell(input, hx, w_ih, w_hh, 0)
    return torch.tanh(torch.linear(input, w_ih, b_ih) + torch.linear(hx, w_hh, b_hh))


@composite(f"aten::rnn_relu_cell(Tensor input, Tensor hx, {CELL}) -> Tensor", autocast="reduced")
def rnn_relu_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    _check_cell(input, hx, w_ih, w_hh, 0)
    return torch.relu(torch.linear(input, w_ih, b_ih) + torch.linear(hx, w_hh, b_hh))


INPUT = (
    "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
    "bool bidirectional, bool batch_first"
)
DATA = (
    "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
    "bool bidirectional"
)


class Weights:
    """The weights of one layer in one direction, taken from the flat list `params`."""

    def __init__(self, params, at: int, has_biases: bool, projected: bool):
        self.w_ih, self.w_hh = params[at]._array, params[at + 1]._array
        self.b_ih = params[at + 2]._array if has_biases else 0
        self.b_hh = params[at + 3]._array if has_biases else 0
        self.w_hr = params[at + (4 if has_biases else 2)]._array if projected else None


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_step(gates, h, c, w):
    i, f, g, o = np.split(gates + h @ w.w_hh.T + w.b_hh, 4, -1)
    c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
    h = _sigmoid(o) * np.tanh(c)
    return (h if w.w_hr is None else h @ w.w_hr.T), c


def gru_step(gates, h, c, w):
    xr, xz, xn = np.split(gates, 3, -1)
    hr, hz, hn = np.split(h @ w.w_hh.T + w.b_hh, 3, -1)
    update, new = _sigmoid(xz + hz), np.tanh(xn + _sigmoid(xr + hr) * hn)
    return new + update * (h - new), c


def simple_step(f):
    return lambda gates, h, c, w: (f(gates + h @ w.w_hh.T + w.b_hh), c)


STEPS = {
    "lstm": lstm_step,
    "gru": gru_step,
    "rnn_tanh": simple_step(np.tanh),
    "rnn_relu": simple_step(lambda x: np.maximum(x, 0)),
}


def run_direction(step, gates, sizes, h, c, w, reverse: bool):
    """Run one direction of one layer over packed rows.

    gates: (sum of sizes, gate size); sizes: the number of active sequences at each time step.
    Sequences are sorted by length, longest first.  Returns (outputs, last h, last c).
    """
    starts = np.concatenate([[0], np.cumsum(sizes)])
    # The gates of bfloat16 are float32, since NumPy makes its products so.
    outputs = np.empty((len(gates), h.shape[-1]), h.dtype)
    last_h, last_c = h.copy(), c.copy()
    for t in range(len(sizes))[::-1] if reverse else range(len(sizes)):
        n = sizes[t]
        hn, cn = step(gates[starts[t] : starts[t] + n], last_h[:n], last_c[:n], w)
        last_h[:n], last_c[:n] = hn, cn
        outputs[starts[t] : starts[t] + n] = hn
    return outputs, last_h, last_c


def run_layers(
    kind, data, sizes, h0, c0, params, has_biases, num_layers, dropout, train, bidirectional
):
    """Run all layers over packed (rows, features); return (outputs, h, c).

    h and c have the size (layers, batch, size).
    """
    directions = 2 if bidirectional else 1
    projected = kind == "lstm" and h0.shape[-1] != c0.shape[-1]
    each = 2 + 2 * has_biases + projected
    if len(params) != each * num_layers * directions:
        raise RuntimeError(
            f"{kind}: expected {each * num_layers * directions} weights, got {len(params)}"
        )
    check_input(kind, data, h0, params, num_layers * directions)
    hs, cs = [], []
    for layer in range(num_layers):
        outs = []
        for d in range(directions):
            k = layer * directions + d
            w = Weights(params, k * each, has_biases, projected)
            gates = data @ w.w_ih.T + w.b_ih
            out, h, c = run_direction(STEPS[kind], gates, sizes, h0[k], c0[k], w, d == 1)
            outs.append(out)
            hs.append(h)
            cs.append(c)
        data = np.concatenate(outs, -1) if bidirectional else outs[0]
        if train and dropout and layer < num_layers - 1:
            data = call("aten::dropout", (Tensor._wrap(data), dropout, True))._array
    return data, np.stack(hs), np.stack(cs)


def check_input(kind, data, h0, params, count):
    if data.dtype != params[0].dtype.numpy:
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {data.dtype} != {params[0].dtype}"
        )
    if data.shape[-1] != params[0]._size[1]:
        raise RuntimeError(
            f"input.size(-1) must be equal to input_size. Expected "
            f"{params[0]._size[1]}, got {data.shape[-1]}"
        )
    if h0.ndim != 3 or h0.shape[0] != count:
        raise RuntimeError(f"Expected hidden[0] size ({count}, batch, size), got {list(h0.shape)}")


def check_states(kind, hx) -> None:
    if kind == "lstm" and len(hx) != 2:
        raise RuntimeError("lstm expects two hidden states")


def layers_input(kind):
    """The kernel of `kind.input`: sequences of equal length."""

    def kernel(
        input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    ):
        check_states(kind, hx)
        h0, c0 = (hx[0]._array, hx[1]._array) if kind == "lstm" else (hx._array, hx._array)
        check_floating("rnn", input)
        x = input._array
        flat = x.ndim == 2
        if flat:
            x, h0, c0 = x[:, None], h0[:, None], c0[:, None]
        elif batch_first:
            x = x.swapaxes(0, 1)
        steps, batch = x.shape[:2]
        if not steps:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        if h0.shape[1] != batch:
            raise RuntimeError(
                f"Expected hidden[0] size ({h0.shape[0]}, {batch}, {h0.shape[2]}), "
                f"got {list(h0.shape)}"
            )
        rows = x.reshape(steps * batch, x.shape[2])
        out, h, c = run_layers(
            kind,
            rows,
            [batch] * steps,
            h0,
            c0,
            params,
            has_biases,
            num_layers,
            dropout,
            train,
            bidirectional,
        )
        out = out.reshape(steps, batch, out.shape[-1])
        if flat:
            out, h, c = out[:, 0], h[:, 0], c[:, 0]
        elif batch_first:
            out = out.swapaxes(0, 1)
        results = (out, h, c) if kind == "lstm" else (out, h)
        return tuple(Tensor._wrap(r) for r in results)

    return kernel


def layers_data(kind):
    """The kernel of `kind.data`: packed sequences."""

    def kernel(
        data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional
    ):
        check_states(kind, hx)
        check_floating("rnn", data)
        h0, c0 = (hx[0]._array, hx[1]._array) if kind == "lstm" else (hx._array, hx._array)
        out, h, c = run_layers(
            kind,
            data._array,
            batch_sizes._array.tolist(),
            h0,
            c0,
            params,
            has_biases,
            num_layers,
            dropout,
            train,
            bidirectional,
        )
        results = (out, h, c) if kind == "lstm" else (out, h)
        return tuple(Tensor._wrap(r) for r in results)

    return kernel


for _kind in STEPS:
    _state = "Tensor[] hx" if _kind == "lstm" else "Tensor hx"
    _results = "(Tensor, Tensor, Tensor)" if _kind == "lstm" else "(Tensor, Tensor)"
    declare(
        f"aten::{_kind}.input(Tensor input, {_state}, {INPUT}) -> {_results}",
        layers_input(_kind),
        "primitive",
    )
    declare(
        f"aten::{_kind}.data(Tensor data, Tensor batch_sizes, {_state}, {DATA}) -> {_results}",
        layers_data(_kind),
        "primitive",
    )


@primitive(
    "aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first)"
    " -> (Tensor, Tensor)"
)
def pack_padded_sequence(input, lengths, batch_first):
    n = lengths._array
    if (n[1:] > n[:-1]).any():
        raise RuntimeError(
            f"Expected sequence lengths to be sorted in decreasing order, got {n.tolist()}"
        )
    if n.size == 0 or n[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element "
            "in 'lengths' that is <= 0"
        )
    x = input._array.swapaxes(0, 1) if batch_first else input._array
    if len(n) != x.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(n)} "
            f"(batch_size={x.shape[1]})"
        )
    if n[0] > x.shape[0]:
        raise RuntimeError(f"Expected all sequences to have at most {x.shape[0]} steps, got {n[0]}")
    sizes = np.array([int((n > t).sum()) for t in range(int(n[0]))], np.int64)
    return (
        Tensor._wrap(np.concatenate([x[t, :k] for t, k in enumerate(sizes)])),
        Tensor._wrap(sizes),
    )


@primitive(
    "aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, "
    "Scalar padding_value, int total_length) -> (Tensor, Tensor)"
)
def pad_packed_sequence(data, batch_sizes, batch_first, padding_value, total_length):
    sizes = batch_sizes._array
    if sizes.ndim != 1:
        raise RuntimeError("pad_packed_sequence: batch_sizes must be a vector")
    steps = len(sizes)
    if total_length > 0:
        if total_length < steps:
            raise RuntimeError(
                "Expected total_length to be at least the length of the longest "
                f"sequence in input, but got total_length={total_length} and max "
                f"sequence length being {steps}"
            )
        steps = total_length
    x = data._array
    if not len(sizes) or sizes.min() < 0 or (np.diff(sizes) > 0).any() or sizes.sum() > len(x):
        raise RuntimeError("pad_packed_sequence: batch_sizes do not fit the data")
    made = np.full((steps, int(sizes[0]), *x.shape[1:]), padding_value, x.dtype)
    start = 0
    for t, k in enumerate(sizes):
        made[t, :k] = x[start : start + k]
        start += k
    lengths = np.array([int((sizes > b).sum()) for b in range(int(sizes[0]))], np.int64)
    return (Tensor._wrap(made.swapaxes(0, 1) if batch_first else made), Tensor._wrap(lengths))


describe("_thnn_fused_gru_cell _thnn_fused_lstm_cell", autocast="reduced")
describe("gru lstm rnn_relu rnn_tanh", may_share=True)
describe("gru lstm rnn_relu rnn_tanh", random=True)
describe("_pack_padded_sequence _pad_packed_sequence", dynamic_shape=True)
