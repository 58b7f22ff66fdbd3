"""Runs programs with operators that the native engine lacks, but that the program may never reach.

A scripted `nn.TransformerEncoder`, for example, has operators of nested tensors, which it only uses
for batches with padding.  If a program has no visible effect before it ends, it runs on the native
engine until it reaches such an operator.  That call is repeated on the Python engine, which then
runs all later ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .. import types as T
from ..errors import CompileError, GraphError, MissingOperatorError
from ..ir import Function, Graph, Node
from ..limits import Limits
from ..ops.shared.generator import default_generator
from ..ops.table import facts_of
from .engine import engine


class Trial:
    """An engine that runs functions natively until one reaches an operator that is missing.

    draws: whether they draw random numbers.  If so, the generator is reset before the call is
    repeated.
    """

    name = "native"

    def __init__(self, draws: bool) -> None:
        self.draws = draws
        self.failed = False

    def run(
        self,
        function: Function,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
    ) -> Any:
        if not self.failed:
            before = default_generator.snapshot() if self.draws else None
            try:
                return engine("native").run(function, args, kwargs, limits)
            except MissingOperatorError:
                self.failed = True
                self.name = "python"
                if before is not None:
                    default_generator.restore(before)
        return engine("python").run(function, args, kwargs, limits)

    def direct(self, function: Function) -> Any:
        return None

    def missing(self, function: Function, classes: Iterable[T.ClassType] = ()) -> Counter[str]:
        return engine("python").missing(function, classes)

    def adopt(self, obj: Any) -> Any:
        return obj


def trial_of(functions: Iterable[Function]) -> Trial | None:
    """A Trial, if all functions can be called again after they ended early; else None."""
    from ..passes.effects import is_random

    graphs = []
    for function in functions:
        graph = inlined(function)
        if graph is None or not leaves_no_trace(graph):
            return None
        graphs.append(graph)
    return Trial(draws=any(is_random(n) for g in graphs for n in g.walk()))


def inlined(function: Function) -> Graph | None:
    """A copy of the function's graph with all calls inlined; None if there is no graph."""
    from ..passes import inline

    if not function.is_defined:
        return None  # the analysis of memory needs a graph, not only bytecode
    try:
        graph = function.graph.copy()
        inline.run(graph)
    except (CompileError, GraphError):
        return None
    return graph


def is_repeatable(node: Node) -> bool:
    """Whether another run repeats the effects of a node without harm."""
    return node.kind == "prim::RaiseException" or facts_of(node.schema).effect in (
        "repeatable",
        "check",
    )


def leaves_no_trace(graph: Graph) -> bool:
    """Whether the graph writes no memory from outside, and has no other effect that cannot be
    repeated.  Random numbers are allowed; see `Trial.draws`."""
    from ..passes.alias import AliasAnalysis
    from ..passes.effects import has_side_effects, is_random

    for node in graph.walk():
        if (
            not node.blocks
            and has_side_effects(node)
            and not is_random(node)
            and not is_repeatable(node)
        ):
            return False
    analysis = AliasAnalysis(graph)
    return not analysis.written & analysis.outside
