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

from .. import logs
from ..ir import Graph, Node
from .alias import AliasAnalysis
from .conditions import equal, fixed, same_block, unwritten, used_once
from .fuse import make

KIND = "scriptlang::conv2d"
NAME = "fuse_expansion"


def run(graph: Graph) -> bool:
    pairs = [
        (node.inputs[0].node, node)
        for node in graph.walk()
        if node.kind == KIND and not logs.missed(node, NAME, why_no_pair(node))
    ]
    if not pairs:
        return False
    analysis = AliasAnalysis(graph)
    pairs = [
        (expansion, last)
        for expansion, last in pairs
        if not logs.missed(last, NAME, unwritten(analysis, expansion.inputs[0], expansion.output))
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


def why_no_pair(last: Node) -> str | None:
    """Why a convolution is none for each channel of an expansion that nothing else uses."""
    expansion = last.inputs[0].node
    return (
        why_not_depthwise(last)
        or why_no_expansion(expansion)
        or used_once(expansion.output)
        or same_block(last, expansion)
    )


def why_no_expansion(node: Node) -> str | None:
    if node.kind != KIND:
        return f"its input is not made by a convolution, but {maker_of(node)}"
    why = fixed(node, 1)
    if why is not None:
        return why
    sizes = list(node.inputs[1].constant.shape[2:])
    if sizes != [1, 1]:
        return f"the convolution before it is {sizes[0]} x {sizes[1]}"
    return (
        equal(node, 3, [1, 1])
        or equal(node, 4, [0, 0])
        or equal(node, 6, 1)
        or equal(node, 7, None)
    )


def why_not_depthwise(node: Node) -> str | None:
    why = fixed(node, 1)
    if why is not None:
        return why
    channels, each = node.inputs[1].constant.shape[:2]
    if each != 1:
        return f"it is no depthwise convolution: each group has {each} channels"
    return equal(node, 6, channels)


def maker_of(node: Node) -> str:
    return "comes in from outside" if node.kind == "prim::Param" else f"by {node.kind}"
