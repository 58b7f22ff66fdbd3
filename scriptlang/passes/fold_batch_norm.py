"""Folds a batch norm in eval mode into the convolution or linear layer before it.

    y = (conv(x, w, b) - mean) / sqrt(var + eps) * gamma + beta
      = conv(x, w * s, (b - mean) * s + beta)        where s = gamma / sqrt(var + eps)

w, b and the statistics all have to be constants, and nothing else may use the layer's result. The
new constants are computed in float64. Methods of a module that use the same layers get the same new
constants (see `shared`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from .. import logs
from ..ir import Graph, Node, Value
from ..rewrite import argument_of
from ..tensors import Tensor
from .conditions import equal, fixed, same_block, used_once, weight
from .fuse import (
    CONVOLUTIONS,
    TRANSPOSED,
    is_constant_transposed,
    transposed_places,
    why_no_transposed,
)
from .shape_facts import Fact
from .shapes import propagate

PRODUCTS = frozenset({"aten::linear"})
STRAIGHT = CONVOLUTIONS | {"aten::conv1d", "aten::conv3d"}
LAYERS = STRAIGHT | TRANSPOSED | PRODUCTS

Folded = dict[tuple[Any, ...], tuple[list[Any], Tensor, Tensor]]
"""The folded (weight, bias), by the memory of the constants they were made of.
The constants are kept alive so that their memory is not reused for others."""

_folded: ContextVar[Folded | None] = ContextVar("folded", default=None)


@contextmanager
def shared() -> Iterator[None]:
    """A context in which layers with the same constants share the folded ones in all graphs."""
    token = _folded.set({})
    try:
        yield
    finally:
        _folded.reset(token)


def run(graph: Graph) -> bool:
    norms = [n for n in graph.walk() if n.kind == "aten::batch_norm"]
    facts = propagate(graph) if any(n.inputs[0].node.kind in PRODUCTS for n in norms) else {}
    return any([fold(norm, facts) for norm in norms])


def fold(norm: Node, facts: Mapping[Value, Fact]) -> bool:
    if logs.missed(norm, "fold_batch_norm", why_not_fold(norm, facts)):
        return False
    layer = norm.inputs[0].node
    scale, shift = scaling(norm)
    weight, bias = layer.inputs[1], layer.inputs[2]
    w = weight.constant._array
    channel = channel_of(layer)
    folded = _folded.get()
    made_of = [v.constant for v in (weight, bias, *norm.inputs[1:5])]
    key = (channel, norm.argument("eps").constant, *map(memory, made_of))
    if folded is not None and key in folded:
        _, new_weight, new_bias = folded[key]
    else:
        b = (
            np.zeros(len(scale))
            if bias.constant is None
            else bias.constant._array.astype(np.float64)
        )
        sizes = [-1 if d == channel else 1 for d in range(w.ndim)]
        new_weight = tensor_of(w * scale.reshape(sizes), w.dtype)
        new_bias = tensor_of(b * scale + shift, w.dtype)
        if folded is not None:
            folded[key] = made_of, new_weight, new_bias
    replace(layer, 1, new_weight, weight)
    replace(layer, 2, new_bias, weight)
    norm.output.replace_all_uses_with(layer.output)
    norm.destroy()
    return True


def why_not_fold(norm: Node, facts: Mapping[Value, Fact]) -> str | None:
    """Why a batch norm cannot be folded into what is before it; None if it can."""
    layer = norm.inputs[0].node
    if layer.kind not in LAYERS:
        return f"{argument_of(norm, 0)} is not made by a convolution or linear layer"
    return (
        same_block(norm, layer)
        or used_once(layer.output)
        or why_no_layer(layer, facts)
        or why_not_constant(norm)
        or float_constant(layer, 1)
        or float_constant(layer, 2, or_none=True)
        or why_other_channels(norm, layer)
    )


def why_no_layer(layer: Node, facts: Mapping[Value, Fact]) -> str | None:
    if layer.kind == "aten::linear":  # only of a matrix are channels the last dimension
        return (
            None if facts[layer.output].rank == 2 else "what is normed is not known to be a matrix"
        )
    if not is_turned(layer):
        return (equal(layer, 6, False) if layer.kind in TRANSPOSED else None) or weight(
            layer, 1, 3, 4, 5
        )
    return why_no_transposed(layer) or equal(layer, transposed_places(layer)[3], 1)


def is_turned(layer: Node) -> bool:
    """Whether a layer is a transposed convolution, with a weight [in, out, ...]."""
    return layer.kind in TRANSPOSED and is_constant_transposed(layer)


def channel_of(layer: Node) -> int:
    """The dimension of the weight for output channels."""
    return 1 if is_turned(layer) else 0


def why_not_constant(norm: Node) -> str | None:
    """Why the numbers of a batch norm are not known."""
    assert norm.schema is not None
    gamma, beta, mean, var = range(1, 5)
    names = [a.name for a in norm.schema.arguments]
    return (
        equal(norm, names.index("training"), False)
        or fixed(norm, names.index("eps"))
        or float_constant(norm, mean)
        or float_constant(norm, var)
        or float_constant(norm, gamma, or_none=True)
        or float_constant(norm, beta, or_none=True)
    )


def why_other_channels(norm: Node, layer: Node) -> str | None:
    normed = len(norm.inputs[4].constant._array)
    channels = layer.inputs[1].constant._array.shape[channel_of(layer)]
    return None if normed == channels else f"{normed} channels are normed, and {channels} made"


def scaling(norm: Node) -> tuple[np.ndarray, np.ndarray]:
    """(scale, shift) in float64 of a batch norm with constant statistics."""
    gamma, beta, mean, var = norm.inputs[1:5]
    scale = 1 / np.sqrt(var.constant._array.astype(np.float64) + norm.argument("eps").constant)
    if gamma.constant is not None:
        scale = scale * gamma.constant._array
    shift = -mean.constant._array.astype(np.float64) * scale
    return scale, shift if beta.constant is None else shift + beta.constant._array


def float_constant(node: Node, i: int, or_none: bool = False) -> str | None:
    """Whether an input is a constant tensor of float32 or float64, or None where that may be."""
    v = node.inputs[i]
    if not v.is_constant:
        return fixed(node, i)
    if or_none and v.constant is None:
        return None
    if isinstance(v.constant, Tensor) and v.constant._array.dtype in (np.float32, np.float64):
        return None
    return f"{argument_of(node, i)} is no tensor of float32 or float64"


def memory(tensor: Tensor | None) -> tuple[Any, ...] | None:
    """Identifies the memory and layout of a tensor."""
    return (
        None
        if tensor is None
        else (
            id(tensor._storage),
            tensor._offset,
            tuple(tensor._size),
            tuple(tensor._stride),
            tensor.dtype,
        )
    )


def tensor_of(values: np.ndarray, dtype: Any) -> Tensor:
    return Tensor._wrap(np.ascontiguousarray(values, dtype))


def replace(layer: Node, i: int, tensor: Tensor, like: Value) -> None:
    """Make a constant input i of a layer; it has the type of the weight `like`."""
    with layer.graph.at(layer):
        layer.replace_input(i, layer.graph.constant(tensor, like.type, like=layer))
