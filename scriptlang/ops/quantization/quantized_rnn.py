"""Recurrent layers and embeddings with quantized weights; inputs and results are plain tensors.

The weights of a layer are in a CellParamsBase: ("quantized_dynamic", [biases], [], [reduce_range],
[packed weights]), or "quantized_fp16".
"""

from __future__ import annotations

import numpy as np

from ... import dtypes
from ...objects import ScriptObject
from ...tensors import Tensor
from ..families.rnn import run_direction
from ..table import declare, find, primitive
from .quantized_packed import CLASSES, LINEAR, dynamic_product, packed, state_of
from .quantized_tensors import QuantizedTensor

CELL = "__torch__.torch.classes.rnn.CellParamsBase"
EMBEDDING = CLASSES + "EmbeddingPackedParamsBase"
LAYERS = (
    f"{CELL}[] params, bool has_biases, int num_layers, float dropout, bool train, "
    "bool bidirectional"
)


class CellWeights:
    """The weights of one layer in one direction."""

    def __init__(self, params: ScriptObject):
        state = state_of(params, CELL)
        if len(state) != 5 or len(state[4]) != 2:
            raise RuntimeError("the weights of a recurrent layer are malformed")
        kind, self.biases, _, flags, self.packed = state
        self.reduce_range = bool(flags[0]) if flags else False
        self.is_half = kind == "quantized_fp16"

    def product(self, which: int, x: np.ndarray) -> np.ndarray:
        """x @ w_ih (which = 0) or x @ w_hh (which = 1), plus its bias."""
        weight, bias = state_of(self.packed[which], LINEAR)[:2]
        if len(self.biases) == 2 and not self.is_half:
            bias = self.biases[which]
        return dynamic_product(
            Tensor._wrap(np.ascontiguousarray(x)), weight, bias, self.reduce_range
        )


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def lstm_step(gates, h, c, w):
    i, f, g, o = np.split(gates + w.product(1, h), 4, -1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru_step(gates, h, c, w):
    r, z, n = np.split(gates, 3, -1)
    hr, hz, hn = np.split(w.product(1, h), 3, -1)
    r, z = sigmoid(r + hr), sigmoid(z + hz)
    n = np.tanh(n + r * hn)
    return (h - n) * z + n, c


STEPS = {"lstm": lstm_step, "gru": gru_step}


def run_layers(kind, data, sizes, h0, c0, params, num_layers, dropout, train, bidirectional):
    """Run all layers over packed rows; return (outputs, h, c)."""
    directions = 2 if bidirectional else 1
    if len(params) != num_layers * directions or len(h0) != len(params):
        raise RuntimeError(
            f"quantized_{kind}: {num_layers * directions} layers, but "
            f"{len(params)} weights and hidden state of size {list(h0.shape)}"
        )
    if train and dropout:
        raise RuntimeError(f"quantized_{kind} has no dropout; call eval() first")
    hs, cs = [], []
    for layer in range(num_layers):
        outs = []
        for d in range(directions):
            k = layer * directions + d
            w = CellWeights(params[k])
            gates = w.product(0, data)  # in one product, so that all steps have one range
            out, h, c = run_direction(STEPS[kind], gates, sizes, h0[k], c0[k], w, d == 1)
            outs.append(out)
            hs.append(h)
            cs.append(c)
        data = np.concatenate(outs, -1) if bidirectional else outs[0]
    return data, np.stack(hs), np.stack(cs)


def padded(kind: str):
    """The kernel of `quantized_<kind>.input`: sequences of equal length."""

    def kernel(
        input,
        hx,
        params,
        has_biases,
        num_layers,
        dropout,
        train,
        bidirectional,
        batch_first,
        dtype=None,
        use_dynamic=False,
    ):
        h0, c0 = states(kind, hx)
        x = input._array.swapaxes(0, 1) if batch_first else input._array
        steps, batch = x.shape[:2]
        out, h, c = run_layers(
            kind,
            x.reshape(steps * batch, -1),
            [batch] * steps,
            h0,
            c0,
            params,
            num_layers,
            dropout,
            train,
            bidirectional,
        )
        out = out.reshape(steps, batch, -1)
        return results(kind, out.swapaxes(0, 1) if batch_first else out, h, c)

    return kernel


def ragged(kind: str):
    """The kernel of `quantized_<kind>.data`: packed sequences."""

    def kernel(
        data,
        batch_sizes,
        hx,
        params,
        has_biases,
        num_layers,
        dropout,
        train,
        bidirectional,
        dtype=None,
        use_dynamic=False,
    ):
        h0, c0 = states(kind, hx)
        return results(
            kind,
            *run_layers(
                kind,
                data._array,
                batch_sizes._array.tolist(),
                h0,
                c0,
                params,
                num_layers,
                dropout,
                train,
                bidirectional,
            ),
        )

    return kernel


def states(kind: str, hx) -> tuple[np.ndarray, np.ndarray]:
    return (hx[0]._array, hx[1]._array) if kind == "lstm" else (hx._array, hx._array)


def results(kind: str, out, h, c) -> tuple[Tensor, ...]:
    made = (out, h, c) if kind == "lstm" else (out, h)
    return tuple(Tensor._wrap(v.astype(np.float32)) for v in made)


for _kind in STEPS:
    _state = "Tensor[] hx" if _kind == "lstm" else "Tensor hx"
    _more = ", *, ScalarType? dtype=None, bool use_dynamic=False" if _kind == "lstm" else ""
    _made = "(Tensor, Tensor, Tensor)" if _kind == "lstm" else "(Tensor, Tensor)"
    declare(
        f"aten::quantized_{_kind}.input(Tensor input, {_state}, {LAYERS}, bool batch_first"
        f"{_more}) -> {_made}",
        padded(_kind),
        "primitive",
    )
    declare(
        f"aten::quantized_{_kind}.data(Tensor data, Tensor batch_sizes, {_state}, {LAYERS}"
        f"{_more}) -> {_made}",
        ragged(_kind),
        "primitive",
    )


# Cells


def gates(x: Tensor, params: ScriptObject) -> np.ndarray:
    return dynamic_product(x, *state_of(params, LINEAR)[:2], True)


@primitive(
    f"quantized::quantized_lstm_cell_dynamic(Tensor input, Tensor[] hx, {LINEAR} w_ih, "
    f"{LINEAR} w_hh, Tensor bias_ih, Tensor bias_hh) -> (Tensor, Tensor)"
)
def lstm_cell(x, hx, w_ih, w_hh, bias_ih, bias_hh):
    i, f, g, o = np.split(gates(x, w_ih) + gates(hx[0], w_hh), 4, -1)
    c = sigmoid(f) * hx[1]._array + sigmoid(i) * np.tanh(g)
    return Tensor._wrap(sigmoid(o) * np.tanh(c)), Tensor._wrap(c)


@primitive(
    f"quantized::quantized_gru_cell_dynamic(Tensor input, Tensor hx, {LINEAR} w_ih, "
    f"{LINEAR} w_hh, Tensor b_ih, Tensor b_hh) -> Tensor"
)
def gru_cell(x, hx, w_ih, w_hh, b_ih, b_hh):
    r, z, n = np.split(gates(x, w_ih), 3, -1)
    hr, hz, hn = np.split(gates(hx, w_hh), 3, -1)
    r, z = sigmoid(r + hr), sigmoid(z + hz)
    n = np.tanh(n + r * hn)
    return Tensor._wrap((hx._array - n) * z + n)


for _name, _f in (("relu", lambda v: np.maximum(v, 0)), ("tanh", np.tanh)):
    declare(
        f"quantized::quantized_rnn_{_name}_cell_dynamic(Tensor input, Tensor hx, {LINEAR} w_ih,"
        f" {LINEAR} w_hh, Tensor b_ih, Tensor b_hh) -> Tensor",
        lambda x, hx, w_ih, w_hh, b_ih, b_hh, f=_f: Tensor._wrap(
            f(gates(x, w_ih) + gates(hx, w_hh))
        ),
        "primitive",
    )


@primitive(
    f"quantized::make_quantized_cell_params_dynamic({LINEAR} w_ih, {LINEAR} w_hh, Tensor "
    f"bias_ih, Tensor bias_hh, bool reduce_range=False) -> {CELL}"
)
def make_cell(w_ih, w_hh, bias_ih, bias_hh, reduce_range):
    return packed(
        CELL, ("quantized_dynamic", [bias_ih, bias_hh], [], [int(reduce_range)], [w_ih, w_hh])
    )


@primitive(f"quantized::make_quantized_cell_params_fp16({LINEAR} w_ih, {LINEAR} w_hh) -> {CELL}")
def make_half_cell(w_ih, w_hh):
    return packed(CELL, ("quantized_fp16", [], [], [], [w_ih, w_hh]))


# Embeddings


@primitive(f"quantized::embedding_bag_prepack(Tensor weight) -> {EMBEDDING} W_prepack")
def embedding_prepack(weight):
    if not isinstance(weight, QuantizedTensor):
        raise RuntimeError("embedding_bag_prepack takes a quantized weight")
    bits = 8 if weight.dtype is dtypes.quint8 else 4
    return packed(EMBEDDING, (1, [weight], [], [bits]))


@primitive(
    f"quantized::embedding_bag_unpack({EMBEDDING} W_prepack) -> Tensor W_origin", may_share=True
)
def embedding_unpack(params):
    return state_of(params, EMBEDDING)[1][0]


def table_of(params: ScriptObject) -> Tensor:
    """The rows of an embedding, dequantized."""
    weight = embedding_unpack(params)
    if not isinstance(weight, QuantizedTensor):
        raise RuntimeError("an embedding's weight is not quantized")
    return Tensor._wrap(weight.numbers())


def embedding(params, indices, pruned_weights):
    rows = table_of(params)._array
    at = indices._array
    if pruned_weights or at.size and (at.min() < 0 or at.max() >= len(rows)):
        raise RuntimeError("an index is outside of the embedding, or its rows are pruned")
    return Tensor._wrap(rows[at])


def embedding_bag(
    params,
    indices,
    offsets,
    scale_grad_by_freq,
    mode,
    pruned_weights,
    per_sample_weights,
    compressed_indices_mapping,
    include_last_offset,
):
    if pruned_weights or compressed_indices_mapping is not None:
        raise RuntimeError("embeddings with pruned rows are not supported")
    if indices.dim() == 2:
        n, length = indices._size
        offsets = Tensor._wrap(np.arange(0, n * length, length or 1, dtype=np.int64)[:n])
        indices = Tensor._wrap(indices._array.reshape(-1))
        include_last_offset = False
        if per_sample_weights is not None:
            per_sample_weights = Tensor._wrap(per_sample_weights._array.reshape(-1))
    return find("aten::embedding_bag").kernel(
        table_of(params),
        indices,
        offsets,
        False,
        mode,
        False,
        per_sample_weights,
        include_last_offset,
    )[0]


for _name in ("byte", "4bit"):
    declare(
        f"quantized::embedding_{_name}({EMBEDDING} weight, Tensor indices, bool "
        "pruned_weights=False) -> Tensor",
        embedding,
        "primitive",
    )
    declare(
        f"quantized::embedding_bag_{_name}({EMBEDDING} weight, Tensor indices, Tensor? "
        "offsets=None, bool scale_grad_by_freq=False, int mode=0, bool pruned_weights=False, "
        "Tensor? per_sample_weights=None, Tensor? compressed_indices_mapping=None, bool "
        "include_last_offset=False) -> Tensor",
        embedding_bag,
        "primitive",
    )
