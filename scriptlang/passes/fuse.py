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

from .. import types as T
from ..ir import Graph, Node, Value
from ..ops import table
from ..tensors import Tensor
from .alias import AliasAnalysis

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


def run(graph: Graph) -> bool:
    analysis = AliasAnalysis(graph)
    changed = False
    for node in list(graph.walk()):
        if node.kind in CONVOLUTIONS and is_plain_convolution(node):
            changed |= fuse(node, analysis, convolution)
        elif node.kind in TRANSPOSED and is_transposed_convolution(node):
            changed |= fuse(node, analysis, transposed_convolution)
        elif node.kind in PRODUCTS and product_of(node) is not None:
            changed |= fuse(node, analysis, linear)
    return changed


def is_plain_convolution(node: Node) -> bool:
    """Whether a node is a conv2d with numeric padding and constant weights."""
    if node.kind == "aten::conv2d":
        if node.schema is None or node.schema.overload:
            return False
        settings = node.inputs[3:6]
    else:
        if not (is_constant(node.inputs[6], False) and node.inputs[8].is_constant):
            return False
        settings = node.inputs[3:6]
    weight, bias = node.inputs[1], node.inputs[2]
    return (
        is_matrix(weight, 4)
        and bias.is_constant
        and settings_known(settings)
        and (bias.constant is None or is_matrix(bias, 1))
    )


def is_transposed_convolution(node: Node) -> bool:
    """Whether a node is a conv_transpose2d with constant weights."""
    if node.kind != "aten::conv_transpose2d" and not is_constant(node.inputs[6], True):
        return False
    stride, padding, output_padding, groups, dilation = transposed_settings(node)
    settings = [stride, padding, output_padding, dilation]
    weight, bias = node.inputs[1], node.inputs[2]
    return (
        groups.is_constant
        and is_matrix(weight, 4)
        and settings_known(settings)
        and bias.is_constant
        and (bias.constant is None or is_matrix(bias, 1))
    )


def transposed_settings(node: Node) -> tuple[Value, Value, Value, Value, Value]:
    """The stride, padding, output padding, groups and dilation of a transposed convolution."""
    if node.kind == "aten::conv_transpose2d":
        stride, padding, output_padding, groups, dilation = node.inputs[3:8]
    else:
        stride, padding, dilation, _, output_padding, groups = node.inputs[3:9]
    return stride, padding, output_padding, groups, dilation


def settings_known(settings: list[Value]) -> bool:
    return all(
        v.is_constant and isinstance(v.constant, (list, tuple)) and len(v.constant) in (1, 2)
        for v in settings
    )


def is_constant(v: Value, wanted: Any) -> bool:
    return v.is_constant and type(v.constant) is type(wanted) and v.constant == wanted


def is_matrix(v: Value, rank: int) -> bool:
    return v.is_constant and isinstance(v.constant, Tensor) and v.constant.dim() == rank


def is_overload(node: Node, overload: str) -> bool:
    return node.schema is not None and node.schema.overload == overload


def product_of(node: Node) -> tuple[Value, Value, bool, Any] | None:
    """Return (input, constant weight, whether that is [in, out], bias or None) of a matrix product,
    or None if it does not fit."""
    if node.kind == "aten::linear":
        x, w, b = node.inputs
        ok = is_matrix(w, 2) and b.is_constant and (b.constant is None or is_matrix(b, 1))
        return (x, w, False, b) if ok else None
    if node.kind == "aten::addmm":
        b, x, w, beta, alpha = node.inputs
        ones = all(v.is_constant and v.constant == 1 for v in (beta, alpha))
        ok = (
            ones
            and is_matrix(w, 2)
            and is_matrix(b, 1)
            and b.constant.size(0) == (w.constant.size(1))
        )
        return (x, w, True, b) if ok else None
    x, w = node.inputs[:2]
    return (x, w, True, None) if is_matrix(w, 2) else None


class Chain:
    """The nodes to fuse with a layer: the value they add and the activation they end with."""

    def __init__(self, layer: Node) -> None:
        self.nodes = [layer]
        self.added: Value | None = None
        self.activation = "none"
        while self.activation == "none" and (follower := self.only_user()) is not None:
            if not self.take(follower):
                break

    @property
    def last(self) -> Value:
        return self.nodes[-1].output

    def only_user(self) -> Node | None:
        if len(self.last.uses) != 1:
            return None
        user = self.last.uses[0][0]
        return user if user.block is self.nodes[0].block and user.schema is not None else None

    def take(self, node: Node) -> bool:
        if node.kind == "aten::add" and self.added is None and is_overload(node, "Tensor"):
            other = node.inputs[1 - node.inputs.index(self.last)]
            if other.type != T.TENSOR or not is_constant(node.inputs[2], 1):
                return False
            self.added = other
        else:
            name = activation_of(node)
            if name is None or node.inputs[0] is not self.last:
                return False
            self.activation = name
        self.nodes.append(node)
        return True


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
    if analysis.is_written(*outside, *(n.output for n in chain.nodes)):
        return False
    last = chain.nodes[-1]
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
        v if v.type == T.INT else list(v.constant) * (3 - len(v.constant))
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
