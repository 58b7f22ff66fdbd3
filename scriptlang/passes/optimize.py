"""What is done for speed to the methods of a frozen module: folding, fusion, layouts.

The result computes what the module computed, up to the rounding of sums in another order.  A
function keeps its graph, which is what is shown and saved; engines run the graph made here.
"""

from __future__ import annotations

from ..ir import Function, Graph
from . import (after_raise, batch_linears, fold_batch_norm, fold_shapes, fuse, fuse_pointwise,
               layouts, out_of_place, pipeline)
from .pipeline import Step, apply

OPTIMIZED = "optimized_graph"
"""Attribute of a Function that holds the graph that engines run in place of its own."""

CHECKS = (
    Step(out_of_place.run, "in-place activations and sums of fresh results join the chains"),
    Step(fold_shapes.run, "what asks the same of different tensors asks it once"),
    Step(pipeline.run, "then the checks are one value"),
    Step(after_raise.run, "which is known once it has been looked at"),
    Step(pipeline.run, "so that only the first check is left"),
    Step(fold_shapes.run, "what has moved out of branches has shapes that are known"),
)
"""Chains of layers without checks between them."""

LAYERS = (
    Step(fold_batch_norm.run, "then convolutions are followed by what can be fused"),
    Step(batch_linears.run, "layers that nothing will be fused to"),
    Step(fuse.run, "each layer with all that follows it"),
    Step(layouts.run, "between the convolutions that are now fused"),
    Step(pipeline.run, "clears constants that nothing uses any more"),
    Step(fuse_pointwise.run, "what no layer has taken in"),
)


def optimize(function: Function) -> None:
    """Give a function, whose weights are constants, a faster graph to run."""
    graph = function.graph.copy()
    run(graph)
    function.attributes[OPTIMIZED] = graph


def run(graph: Graph) -> bool:
    """Improve a graph in place."""
    return any([apply(step, graph) for step in (*CHECKS, *LAYERS)])
