"""Fuses convolutions and linear layers of constant weights with the sum and activation after them.

    %a = aten::conv2d(%x, %w, %b, ...)
    %c = aten::add(%a, %residual, 1)      ->    %y = scriptlang::conv2d(%x, %w, %b, ...,
    %y = aten::relu(%c)                                                 %residual, "relu", 0)

A chain ends where a value has another use or the next node lies in another block. The fused node
takes the place of the last one. Its inputs must not be written in between, so chains with an input
that is written anywhere are left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import logs
from .. import types as T
from ..ir import Graph, Node, Value
from ..ops import table
from .alias import AliasAnalysis
from .conditions import equal, fixed, is_constant, numbers, same_block, unwritten, used_once, weight

CONVOLUTIONS = frozenset({"aten::conv2d", "aten::_convolution", "aten::convolution"})
TRANSPOSED = frozenset({"aten::conv_transpose2d", "aten::_convolution", "aten::convolution"})
PRODUCTS = frozenset({"aten::linear", "aten::addmm", "aten::matmul", "aten::mm"})

SIMPLE = {
    "aten::relu": "relu",
    "aten::relu6": "relu6",
    "aten::silu": "silu",
    "aten::hardswish": "hardswish",
    "aten::hardsigmoid": "hardsigmoid",
    "aten::sigmoid": "sigmoid",
    "aten::tanh": "tanh",
}
"""Activations without parameters, by node kind."""

CONTIGUOUS, CHANNELS_LAST = 0, 2

NAME = "fuse"


def run(graph: Graph) -> bool:
    analysis = AliasAnalysis(graph)
    changed = False
    for node in list(graph.walk()):
        if node.kind in TRANSPOSED and is_constant_transposed(node):
            why, build = why_no_transposed(node), transposed_convolution
        elif node.kind in CONVOLUTIONS:
            why, build = why_no_convolution(node), convolution
        elif node.kind in PRODUCTS:
            why, build = why_no_product(node), linear
        else:
            continue
        if not logs.missed(node, NAME, why):
            changed |= fuse(node, analysis, build)
    return changed


def is_constant_transposed(node: Node) -> bool:
    return node.kind == "aten::conv_transpose2d" or is_constant(node.inputs[6], True)


def why_no_convolution(node: Node) -> str | None:
    """Why a node is no conv2d with numeric padding and constant weights; None if it is one."""
    if node.kind == "aten::conv2d":
        if node.schema is None or node.schema.overload:
            return "its padding is no list of numbers"
        why = None
    else:
        why = equal(node, 6, False) or fixed(node, 8)
    return (
        why
        or weight(node, 1, 4)
        or fixed(node, 2)
        or numbers(node, (3, 4, 5))
        or weight(node, 2, 1, or_none=True)
    )


def why_no_transposed(node: Node) -> str | None:
    """Why a node is no conv_transpose2d with constant weights; None if it is one."""
    if not is_constant_transposed(node):
        return equal(node, 6, True)
    stride, padding, _, groups, dilation = transposed_places(node)
    return (
        fixed(node, groups)
        or weight(node, 1, 4)
        or numbers(node, (stride, padding, dilation))
        or weight(node, 2, 1, or_none=True)
    )


def transposed_places(node: Node) -> tuple[int, int, int, int, int]:
    """Where the inputs of `transposed_settings` are."""
    return (3, 4, 5, 6, 7) if node.kind == "aten::conv_transpose2d" else (3, 4, 7, 8, 5)


def transposed_settings(node: Node) -> tuple[Value, Value, Value, Value, Value]:
    """The stride, padding, output padding, groups and dilation of a transposed convolution."""
    stride, padding, output_padding, groups, dilation = transposed_places(node)
    inputs = node.inputs
    return inputs[stride], inputs[padding], inputs[output_padding], inputs[groups], inputs[dilation]


def is_overload(node: Node, overload: str) -> bool:
    return node.schema is not None and node.schema.overload == overload


def why_no_product(node: Node) -> str | None:
    """Why a node is no product with a constant matrix; None if it is one."""
    if node.kind == "aten::linear":
        return weight(node, 1, 2) or weight(node, 2, 1, or_none=True)
    if node.kind == "aten::addmm":
        return (
            equal(node, 3, 1, 1.0)
            or equal(node, 4, 1, 1.0)
            or weight(node, 2, 2)
            or weight(node, 0, 1)
            or why_not_as_wide(node)
        )
    return weight(node, 1, 2)


def why_not_as_wide(node: Node) -> str | None:
    added, product = node.inputs[0].constant.size(0), node.inputs[2].constant.size(1)
    return None if added == product else f"{added} elements are added to rows of {product}"


def product_of(node: Node) -> tuple[Value, Value, bool, Any] | None:
    """Return (input, constant weight, whether that is [in, out], bias or None) of a matrix product,
    or None if it does not fit."""
    if why_no_product(node) is not None:
        return None
    if node.kind == "aten::linear":
        x, w, b = node.inputs
        return x, w, False, b
    if node.kind == "aten::addmm":
        b, x, w, *_ = node.inputs
        return x, w, True, b
    x, w = node.inputs[:2]
    return x, w, True, None


class Chain:
    """The nodes to fuse with a layer: the value they add and the activation they end with."""

    def __init__(self, layer: Node) -> None:
        self.nodes = [layer]
        self.added: Value | None = None
        self.activation = "none"
        self.why: str | None = None
        """Why it takes in no more, if that is not since it ends with an activation."""
        while self.activation == "none" and self.why is None:
            self.why = self.why_no_user() or self.take(self.last.uses[0][0])

    @property
    def last(self) -> Value:
        return self.nodes[-1].output

    def why_no_user(self) -> str | None:
        """Why what follows cannot be taken in, whatever it is."""
        why = used_once(self.last)
        if why is not None:
            return why
        user = self.last.uses[0][0]
        return same_block(self.nodes[0], user) or (
            f"its result goes to {user.kind}, which is no operator" if user.schema is None else None
        )

    def take(self, node: Node) -> str | None:
        """Take in a node, or return why not."""
        if node.kind == "aten::add" and self.added is None and is_overload(node, "Tensor"):
            other = node.inputs[1 - node.inputs.index(self.last)]
            if other.type != T.TENSOR:
                return f"{node.kind} adds a value of the type {other.type}"
            why = equal(node, 2, 1)
            if why is not None:
                return why
            self.added = other
        else:
            name = activation_of(node)
            if name is None and node.kind == "aten::add" and self.added is not None:
                return "it has taken in a sum"
            if name is None:
                return f"{node.kind} is no sum or activation that a layer takes in"
            if node.inputs[0] is not self.last:
                return f"{node.kind} takes the value as another argument"
            self.activation = name
        self.nodes.append(node)
        return None


def activation_of(node: Node) -> str | None:
    """The name of a node's activation in ops/families/fused.py; None if it is no activation."""
    if node.kind == "aten::gelu":
        how = node.inputs[1]
        return {"none": "gelu", "tanh": "gelu_tanh"}.get(how.constant) if how.is_constant else None
    if node.kind in ("aten::hardtanh", "aten::clamp") and is_overload(node, ""):
        ends = [v.constant if v.is_constant else None for v in node.inputs[1:3]]
        return "relu6" if ends == [0, 6] else None
    return SIMPLE.get(node.kind)


def fuse(layer: Node, analysis: AliasAnalysis, build: Callable[..., Any]) -> bool:
    chain = Chain(layer)
    outside = [
        v
        for node in chain.nodes
        for v in node.inputs
        if v.type == T.TENSOR and v.node not in chain.nodes
    ]
    why = unwritten(analysis, *outside, *(n.output for n in chain.nodes))
    if logs.missed(layer, NAME, why):
        return False
    last = chain.nodes[-1]
    if chain.why is not None:
        logs.missed(last, "taking in what follows", chain.why)
    with layer.graph.at(last):
        fused = build(layer, chain)
    fused.output.name = last.output.name
    last.output.replace_all_uses_with(fused.output)
    for node in reversed(chain.nodes):
        node.destroy()
    return True


def make(layer: Node, name: str, inputs: list[Any]) -> Node:
    """Insert a node of an operator; arguments that are no values become constants."""
    schema = table.schema_of(name)
    values = [
        v
        if isinstance(v, Value)
        else layer.graph.constant(v, None if v is None else a.type, like=layer)
        for v, a in zip(inputs, schema.arguments)
    ]
    return layer.graph.insert(name, values, [T.TENSOR], schema=schema, like=layer)


def convolution(layer: Node, chain: Chain) -> Node:
    settings = [list(v.constant) * (3 - len(v.constant)) for v in layer.inputs[3:6]]
    groups = layer.inputs[6 if layer.kind == "aten::conv2d" else 8]
    return make(
        layer,
        "scriptlang::conv2d",
        [*layer.inputs[:3], *settings, groups, chain.added, chain.activation, CONTIGUOUS],
    )


def transposed_convolution(layer: Node, chain: Chain) -> Node:
    stride, padding, output_padding, groups, dilation = (
        list(v.constant) * (3 - len(v.constant)) if v.is_constant and v.type != T.INT else v
        for v in transposed_settings(layer)
    )
    return make(
        layer,
        "scriptlang::conv_transpose2d",
        [
            *layer.inputs[:3],
            stride,
            padding,
            output_padding,
            groups,
            dilation,
            chain.added,
            chain.activation,
            CONTIGUOUS,
        ],
    )


def linear(layer: Node, chain: Chain) -> Node:
    product = product_of(layer)
    assert product is not None
    x, w, turned, b = product
    if turned:
        w = layer.graph.constant(w.constant.t(), w.type, like=layer)
    return make(layer, "scriptlang::linear", [x, w, b, chain.added, chain.activation])
