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

from ..ir import Graph, Node, Value
from ..tensors import Tensor
from .fuse import (
    CONVOLUTIONS,
    TRANSPOSED,
    is_constant,
    is_transposed_convolution,
    transposed_settings,
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
    layer = norm.inputs[0].node
    if layer.kind not in LAYERS or layer.block is not norm.block or len(layer.output.uses) != 1:
        return False
    if layer.kind == "aten::linear":
        if facts[layer.output].rank != 2:  # only then are channels the last dimension
            return False
    elif not (is_straight(layer) or is_turned(layer)):
        return False
    scaled = scaling(norm)
    weight, bias = layer.inputs[1], layer.inputs[2]
    if (
        scaled is None
        or not is_float_constant(weight)
        or not (bias.is_constant and (bias.constant is None or is_float_constant(bias)))
    ):
        return False
    scale, shift = scaled
    w = weight.constant._array
    channel = 1 if is_turned(layer) else 0  # the dimension of w for output channels
    if len(scale) != w.shape[channel]:
        return False
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


def is_straight(layer: Node) -> bool:
    """Whether a layer is a convolution that is not transposed, with a weight [out, in, ...]."""
    transposed = layer.inputs[6] if layer.kind in TRANSPOSED else None
    weight = layer.inputs[1]
    return (
        layer.kind in STRAIGHT
        and (transposed is None or is_constant(transposed, False))
        and weight.is_constant
        and isinstance(weight.constant, Tensor)
        and 3 <= weight.constant.dim() <= 5
    )


def is_turned(layer: Node) -> bool:
    """Whether a layer is a transposed convolution without groups, with a weight [in, out, ...]."""
    return (
        layer.kind in TRANSPOSED
        and is_transposed_convolution(layer)
        and is_constant(transposed_settings(layer)[3], 1)
    )


def scaling(norm: Node) -> tuple[np.ndarray, np.ndarray] | None:
    """Return (scale, shift) in float64 if a batch norm has constant statistics, else None."""
    gamma, beta, mean, var = norm.inputs[1:5]
    training, eps = norm.argument("training"), norm.argument("eps")
    if not (
        training.is_constant
        and training.constant is False
        and eps.is_constant
        and is_float_constant(mean)
        and is_float_constant(var)
    ):
        return None
    if not all(
        v.is_constant and (v.constant is None or is_float_constant(v)) for v in (gamma, beta)
    ):
        return None
    scale = 1 / np.sqrt(var.constant._array.astype(np.float64) + eps.constant)
    if gamma.constant is not None:
        scale = scale * gamma.constant._array
    shift = -mean.constant._array.astype(np.float64) * scale
    return scale, shift if beta.constant is None else shift + beta.constant._array


def is_float_constant(v: Value) -> bool:
    return (
        v.is_constant
        and isinstance(v.constant, Tensor)
        and v.constant._array.dtype in (np.float32, np.float64)
    )


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
