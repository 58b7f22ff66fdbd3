"""Keeps images channels-last between convolutions.

A fused convolution computes in channels-last layout for any input, and pooling and pointwise
operators keep the layout of their input. So results of convolutions that only reach such operators
are left in that layout. For all other uses, one conversion is inserted:

    %a = scriptlang::conv2d(..., 0)              %a = scriptlang::conv2d(..., 2)
    %b = aten::max_pool2d(%a, ...)         ->    %b = aten::max_pool2d(%a, ...)
    %c = scriptlang::conv2d(%b, ..., 0)          %c = scriptlang::conv2d(%b, ..., 2)
    return (%c)                                  %d = aten::contiguous(%c, 0)
                                                 return (%d)

Only the strides differ, and no operator that could observe them gets such a tensor.
"""

from __future__ import annotations

from .. import logs
from .. import types as T
from ..ir import Graph, Node, Value
from ..ops import table
from .alias import AliasAnalysis
from .conditions import is_constant, unwritten
from .fuse import CHANNELS_LAST, CONTIGUOUS

FORMAT = {"scriptlang::conv2d": 9, "scriptlang::conv_transpose2d": 10}
"""The fused convolutions, and the index of their memory format argument."""


def keeps_layout(node: Node) -> bool:
    """Whether the result has the memory layout of the image inputs."""
    return table.facts_of(node.schema).layout == "keeps"


def hides_layout(node: Node) -> bool:
    """Whether the result does not depend on the memory layout of the inputs."""
    return (
        table.facts_of(node.schema).layout != ""
        or node.kind in FORMAT
        or node.kind in ("aten::flatten", "aten::reshape")
    )


def run(graph: Graph) -> bool:
    starts = [
        n
        for n in graph.walk()
        if n.kind in FORMAT and is_constant(n.inputs[FORMAT[n.kind]], CONTIGUOUS)
    ]
    if not starts:
        return False
    analysis = AliasAnalysis(graph)
    last = [
        n
        for n in starts
        if not logs.missed(n, "layouts", why_not_pays(n) or unwritten(analysis, n.output))
    ]
    found = {n.output for n in last}
    for node in last:
        with graph.at(node):
            node.replace_input(FORMAT[node.kind], graph.constant(CHANNELS_LAST, T.INT, like=node))
    for node in list(graph.walk()):
        if keeps_layout(node) and keeps(node, found) and not analysis.is_written(node.output):
            found.add(node.output)
    for value in found:
        convert_other_uses(value, found)
    return bool(last)


def why_not_pays(node: Node) -> str | None:
    """Whether some use of the convolution's result can take it channels-last."""
    if any(hides_layout(user) or user.kind == "aten::permute" for user, _ in node.output.uses):
        return None
    return "no operator that uses its result can take it channels-last"


def keeps(node: Node, found: set[Value]) -> bool:
    """Whether the result of a layout-preserving operator is channels-last, like `found`."""
    if node.schema is None or len(node.outputs) != 1:
        return False
    if node.kind == "aten::cat":
        parts = node.inputs[0].node
        return (
            parts.kind == "prim::ListConstruct"
            and is_constant(node.inputs[1], 1)
            and len(node.inputs[0].uses) == 1
            and all(v in found for v in parts.inputs)
        )
    return node.inputs[0] in found


def takes(user: Node, i: int, found: set[Value]) -> bool:
    if user.kind == "prim::ListConstruct":
        (only, _), *more = user.output.uses
        return not more and bool(only.outputs) and only.output in found
    if keeps_layout(user):
        return user.output in found
    if user.kind == "aten::permute":  # the result is contiguous
        return is_constant(user.inputs[1], [0, 2, 3, 1])
    return hides_layout(user)


def convert_other_uses(value: Value, found: set[Value]) -> None:
    """Give every use that could observe the layout a contiguous copy."""
    others = [(user, i) for user, i in value.uses if not takes(user, i, found)]
    if not others:
        return
    node = value.node
    graph = node.graph
    schema = table.schema_of("aten::contiguous")
    with graph.at(node.next):
        zero = graph.constant(CONTIGUOUS, T.INT, like=node)
        copy = graph.insert("aten::contiguous", [value, zero], [T.TENSOR], schema=schema, like=node)
    for user, i in others:
        user.replace_input(i, copy.output)
