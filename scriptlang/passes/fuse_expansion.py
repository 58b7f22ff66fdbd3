"""Fuses an expansion (a 1 x 1 convolution) with the depthwise convolution after it.

    %a = scriptlang::conv2d(%x, %w, %b, [1, 1], [0, 0], [1, 1], 1, None, "relu6", 2)
    %c = scriptlang::conv2d(%a, %v, %d, [2, 2], [1, 1], [1, 1], 96, None, "relu6", 2)
 -> %c = scriptlang::expanded_conv2d(%x, %w, %b, "relu6",
                                     %v, %d, [2, 2], [1, 1], [1, 1], 96, None, "relu6", 2)

%w is 1 x 1 and %v has one channel for each group, as in networks of inverted residuals. The result
of an expansion is the largest tensor of such a network; an engine that runs the fused node only
needs some rows of it at a time.
"""

from __future__ import annotations

from ..ir import Graph, Node
from .alias import AliasAnalysis
from .fuse import is_constant, make

KIND = "scriptlang::conv2d"


def run(graph: Graph) -> bool:
    pairs = [
        (node.inputs[0].node, node)
        for node in graph.walk()
        if node.kind == KIND
        and is_depthwise(node)
        and is_expansion(node.inputs[0].node)
        and is_all_of(node.inputs[0].node, node)
    ]
    if not pairs:
        return False
    analysis = AliasAnalysis(graph)
    pairs = [
        (expansion, last)
        for expansion, last in pairs
        if not analysis.is_written(expansion.inputs[0], expansion.output)
    ]
    for expansion, last in pairs:
        x, weight, bias = expansion.inputs[:3]
        with graph.at(last):
            fused = make(
                last,
                "scriptlang::expanded_conv2d",
                [x, weight, bias, expansion.inputs[8], *last.inputs[1:]],
            )
        fused.output.name = last.output.name
        last.output.replace_all_uses_with(fused.output)
        last.destroy()
        expansion.destroy()
    return bool(pairs)


def is_expansion(node: Node | None) -> bool:
    if node is None or node.kind != KIND:
        return False
    _, weight, _, stride, padding, _, groups, added, *_ = node.inputs
    return (
        weight.is_constant
        and list(weight.constant.shape[2:]) == [1, 1]
        and is_constant(stride, [1, 1])
        and is_constant(padding, [0, 0])
        and is_constant(groups, 1)
        and is_constant(added, None)
    )


def is_depthwise(node: Node) -> bool:
    weight, groups = node.inputs[1], node.inputs[6]
    return (
        weight.is_constant
        and weight.constant.size(1) == 1
        and is_constant(groups, weight.constant.size(0))
    )


def is_all_of(expansion: Node, last: Node) -> bool:
    """Whether nothing else uses the result of the expansion."""
    return len(expansion.output.uses) == 1 and expansion.block is last.block
