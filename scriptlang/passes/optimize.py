"""Optimises the methods of a frozen module: folding, fusion, layouts.

Results are unchanged, except for the rounding of sums in another order. Each function gets two
graphs. The first only has operators that PyTorch can run, with folded weights. It is the function's
graph, which is shown and saved. The second also calls our own operators; engines run it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..ir import OPTIMIZED, Function, Graph
from . import (
    after_raise,
    batch_linears,
    fold_batch_norm,
    fold_shapes,
    fold_weights,
    fuse,
    fuse_expansion,
    fuse_pointwise,
    layouts,
    numeric_padding,
    out_of_place,
    peephole,
    pipeline,
)
from .pipeline import Step, apply

CHECKS = (
    Step(fold_weights.run, "weights that are made of weights become constants, of a known type"),
    Step(numeric_padding.run, "all convolutions are of one kind"),
    Step(out_of_place.run, "in-place activations and sums of fresh results join the chains"),
    Step(fold_shapes.run, "what asks the same of different tensors asks it once"),
    Step(pipeline.run, "then the checks are one value"),
    Step(after_raise.run, "which is known once it has been looked at"),
    Step(pipeline.run, "so that only the first check is left"),
    Step(fold_shapes.run, "what has moved out of branches has shapes that are known"),
)
"""Simplify checks, so that chains of layers have none between them."""

WEIGHTS = (
    Step(fold_batch_norm.run, "then convolutions are followed by what can be fused"),
    Step(batch_linears.run, "layers that nothing will be fused to"),
    Step(pipeline.run, "clears the weights that were folded or joined"),
)

LAYERS = (
    Step(peephole.run_unrecorded, "engines run this graph without derivatives"),
    Step(fuse.run, "each layer with all that follows it"),
    Step(layouts.run, "between the convolutions that are now fused"),
    Step(fuse_expansion.run, "pairs of them that are left with a layout between them"),
    Step(pipeline.run, "clears constants that nothing uses any more"),
    Step(fuse_pointwise.run, "what no layer has taken in"),
)


def optimize_all(functions: Iterable[Function]) -> None:
    """Optimise the methods of one module; weights that they share stay shared."""
    with fold_batch_norm.shared():
        for function in functions:
            optimize(function)


def optimize(function: Function) -> None:
    """Optimise a function with constant weights and give it a faster graph to run."""
    graph = function.graph.copy()
    for step in (*CHECKS, *WEIGHTS):
        apply(step, graph)
    function.forget()
    function.graph = graph
    fast = function.attributes[OPTIMIZED] = graph.copy()
    for step in LAYERS:
        apply(step, fast)


def run(graph: Graph) -> bool:
    """Apply all steps to a graph, in place."""
    return any([apply(step, graph) for step in (*CHECKS, *WEIGHTS, *LAYERS)])
